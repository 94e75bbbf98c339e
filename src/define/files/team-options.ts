import type { ChildSupervision, SuperviseConfig, TransferContext } from '../../contracts/index.js';
import type { AnyCompositionOptions } from '../composition.js';
import { defined, readCommon, type Surroundings, TEAM_COMMON_KEYS } from './agent-options.js';
import { readCondition } from './condition.js';
import { readEdges } from './edges.js';
import { type AskedState, PATTERNS, type Pattern } from './node.js';
import { toPlain } from './raw.js';
import type { Section } from './section.js';

const SHARED_KEYS = [...TEAM_COMMON_KEYS, 'pattern', 'children', 'state', 'supervise', 'maxDepth'];

const PATTERN_KEYS: Readonly<Record<Pattern, readonly string[]>> = {
  sequential: ['onFailure'],
  parallel: ['concurrency', 'failure', 'join'],
  loop: ['maxIterations', 'until'],
  transfer: ['members', 'start', 'targets', 'maxTransfers', 'context'],
  hierarchical: ['agent', 'leader', 'concurrency'],
  graph: ['nodes', 'edges', 'start', 'end', 'joins', 'maxSteps'],
};

/** A map with any of these is a team, though its pattern may be missing or misspelt. */
export const TEAM_MARKS = ['pattern', 'children', 'members', 'nodes'];

/** Undefined after a problem. */
export function readPattern(section: Section): Pattern | undefined {
  if (!section.has('pattern')) return section.say('pattern', `is missing; one of ${PATTERNS.join(', ')}`);
  return section.choice('pattern', PATTERNS);
}

export async function readTeamOptions(section: Section, pattern: Pattern, surroundings: Surroundings) {
  refuseOtherKeys(section, pattern);
  const options: AnyCompositionOptions = defined({
    ...(await readCommon(section, surroundings)),
    description: section.text('description'),
    state: readState(section),
    supervise: readSupervise(section),
    maxDepth: section.count('maxDepth'),
  });
  const until = pattern === 'loop' ? readCondition(section, 'until') : undefined;
  const graph = pattern === 'graph' ? readEdges(section) : undefined;
  const own = defined({ ...readOwn(section, pattern), until: until?.holds, edges: graph?.edges });
  const askedState: readonly AskedState[] =
    until?.state === undefined ? (graph?.askedState ?? []) : [{ key: until.state, steps: ['until', 'state'] }];
  return { options, own, askedState };
}

/** A key of another pattern gets a sentence of its own. */
function refuseOtherKeys(section: Section, pattern: Pattern): void {
  const known = [...SHARED_KEYS, ...PATTERN_KEYS[pattern]];
  const elsewhere = PATTERNS.flatMap((other) => PATTERN_KEYS[other].map((key) => ({ key, other })));
  const foreign = elsewhere.filter(({ key }) => !known.includes(key) && section.has(key));
  for (const key of new Set(foreign.map((one) => one.key))) {
    const others = foreign.filter((one) => one.key === key).map(({ other }) => other);
    section.say(key, `belongs to ${others.join(' and ')}, not to ${pattern}`);
  }
  section.refuseOthers([...known, ...foreign.map(({ key }) => key)]);
}

function readOwn(section: Section, pattern: Pattern): Record<string, unknown> {
  switch (pattern) {
    case 'sequential':
      return { onFailure: section.choice('onFailure', ['stop', 'continue']) };
    case 'parallel':
      return {
        concurrency: section.count('concurrency'),
        failure: section.choice('failure', ['settle', 'fail_fast']),
        join: readJoin(section),
      };
    case 'loop':
      if (!section.has('maxIterations')) section.say('maxIterations', 'is missing: a loop needs a bound');
      return { maxIterations: section.count('maxIterations') };
    case 'transfer':
      if (!section.has('start')) section.say('start', 'is missing: the member that takes the first message');
      return {
        start: section.text('start'),
        targets: readTargets(section),
        maxTransfers: section.count('maxTransfers', 0),
        context: readContext(section),
      };
    case 'hierarchical':
      return { concurrency: section.count('concurrency') };
    case 'graph':
      return readGraph(section);
  }
}

function readGraph(section: Section): Record<string, unknown> {
  for (const [key, what] of [
    ['start', 'the node that begins'],
    ['end', 'the node whose output is the output, or a list of them'],
    ['edges', 'a list of { from, to }'],
  ] as const) {
    if (!section.has(key)) section.say(key, `is missing: ${what}`);
  }
  const joins = section.names('joins');
  return {
    start: section.text('start'),
    end: section.raw('end')?.kind === 'list' ? section.texts('end') : section.text('end'),
    joins: joins && Object.fromEntries(joins.keys().map((name) => [name, joins.choice(name, ['all', 'any'])])),
    maxSteps: section.count('maxSteps'),
  };
}

function readJoin(section: Section): 'all' | 'any' | { quorum: number } | undefined {
  if (section.raw('join')?.kind !== 'map') return section.choice('join', ['all', 'any']);
  const inner = section.section('join');
  inner?.refuseOthers(['quorum']);
  if (inner?.has('quorum') === false) inner.say('quorum', 'is missing');
  const quorum = inner?.count('quorum');
  return quorum === undefined ? undefined : { quorum };
}

function readContext(section: Section): TransferContext | undefined {
  if (section.raw('context')?.kind !== 'map') return section.choice('context', ['full', 'summary', 'none']);
  const inner = section.section('context');
  inner?.refuseOthers(['last']);
  if (inner?.has('last') === false) inner.say('last', 'is missing');
  const last = inner?.count('last');
  return last === undefined ? undefined : { last };
}

function readTargets(section: Section): Record<string, string[]> | undefined {
  const inner = section.names('targets');
  return inner && Object.fromEntries(inner.keys().map((from) => [from, inner.texts(from) ?? []]));
}

function readState(section: Section): AnyCompositionOptions['state'] {
  const inner = section.names('state');
  if (inner === undefined) return undefined;
  const state: NonNullable<AnyCompositionOptions['state']> = {};
  for (const key of inner.keys()) {
    const declared = inner.section(key);
    declared?.refuseOthers(['initial', 'reducer']);
    const initial = declared?.raw('initial');
    state[key] = defined({
      initial: initial && toPlain(initial),
      reducer: declared?.choice('reducer', ['append', 'sum', 'last'] as const),
    });
  }
  return state;
}

function readSupervise(section: Section): SuperviseConfig | undefined {
  const inner = section.section('supervise');
  if (inner === undefined) return undefined;
  inner.refuseOthers(['strategy', 'children']);
  const rules = inner.names('children');
  const children: Record<string, ChildSupervision> = {};
  for (const name of rules?.keys() ?? []) {
    const rule = rules?.section(name);
    rule?.refuseOthers(['restart', 'maxRestarts', 'withinMs', 'backoffMs']);
    children[name] = defined({
      restart: rule?.choice('restart', ['never', 'on_failure']),
      maxRestarts: rule?.count('maxRestarts', 0),
      withinMs: rule?.amount('withinMs'),
      backoffMs: rule?.amount('backoffMs'),
    });
  }
  const strategy = inner.choice('strategy', ['one_for_one', 'one_for_all', 'rest_for_one']);
  return defined({ strategy, children: rules && children });
}
