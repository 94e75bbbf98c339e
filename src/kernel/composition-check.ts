import type { AgentDefinition, CompositionConfig } from '../contracts/index.js';
import { invalid, isHostsTool } from './agent-check.js';
import type { Problem } from './errors.js';
import { checkGraph } from './graph-check.js';
import { didYouMean } from './text.js';

const NO_COMPOSITION =
  'has children or the executor "composition" without being one; sequential(), parallel(), loop(), transfer(), hierarchical() and graph() make compositions';

/** What one check needs: the composition's plain options, its definition, and a way to say what is wrong at a key. */
interface Subject {
  config: CompositionConfig;
  definition: AgentDefinition;
  /** Of the children. */
  names: ReadonlySet<string>;
  say: (key: string, message: string) => void;
}

/** Faults of one composition: its options and the names in them. Its children are not looked into. */
export function checkComposition(definition: AgentDefinition, path: string): Problem[] {
  const config = definition.descriptor?.composition;
  if (config === undefined) {
    const holdsChildren = definition.children !== undefined || definition.descriptor?.executor === 'composition';
    return holdsChildren ? [invalid(`${path}.executor`, NO_COMPOSITION)] : [];
  }
  const problems: Problem[] = [];
  const subject: Subject = {
    config,
    definition,
    names: new Set(Array.isArray(config.children) ? config.children : []),
    say: (key, message) => problems.push(invalid(key === '' ? path : `${path}.${key}`, message)),
  };
  checkChildren(subject);
  checkPattern(subject);
  checkSupervision(subject);
  checkState(subject);
  if (config.pattern !== 'hierarchical' && definition.descriptor.constraints?.graceTurn === true) {
    subject.say('constraints.graceTurn', 'is one more model call of an agent: set it on the agents of the team');
  }
  if (config.maxDepth !== undefined && !isCount(config.maxDepth))
    subject.say('maxDepth', 'must be a whole number from 1');
  for (const key of ['mapInput', 'until', 'contextFilter'] as const) {
    const value = definition.behaviour?.[key];
    if (value !== undefined && typeof value !== 'function') subject.say(key, 'must be a function');
  }
  return problems;
}

const CHILDREN_KEYS: Readonly<Record<string, string>> = { transfer: 'members', graph: 'nodes' };

function checkChildren({ config, definition, say }: Subject): void {
  const key = CHILDREN_KEYS[config.pattern] ?? 'children';
  const { children } = definition;
  if (!Array.isArray(children) || children.length === 0) {
    say(key, 'needs at least one agent');
    return;
  }
  for (const [index, child] of (children as readonly unknown[]).entries()) {
    if ((child as { kind?: unknown } | undefined)?.kind !== 'agent') {
      say(`${key}[${index}]`, 'is no agent, as agent() or a composition makes it');
    }
  }
  const names = children.map((child: AgentDefinition | undefined) => child?.name);
  if (JSON.stringify(names) !== JSON.stringify(config.children)) say(key, 'are not those that the descriptor names');
}

function checkPattern(subject: Subject): void {
  const { pattern, maxIterations } = subject.config;
  if (pattern === 'sequential') oneOf(subject, 'onFailure', ['stop', 'continue']);
  if (pattern === 'parallel') checkParallel(subject);
  if (pattern === 'loop' && !isCount(maxIterations)) {
    subject.say('maxIterations', 'is required: a whole number from 1');
  }
  if (pattern === 'transfer') checkTransfer(subject);
  if (pattern === 'hierarchical') checkHierarchical(subject);
  if (pattern === 'graph') checkGraph(subject.config, subject.definition, subject.say);
}

function checkParallel(subject: Subject): void {
  const { join } = subject.config;
  const most = subject.names.size;
  checkConcurrency(subject);
  oneOf(subject, 'failure', ['settle', 'fail_fast']);
  if (typeof join === 'object' && join !== null) {
    if (!isCount(join.quorum) || join.quorum > most) {
      subject.say(
        'join.quorum',
        `must be a whole number from 1 to ${most}, the number of children, not ${String(join.quorum)}`,
      );
    }
  } else if (join !== undefined && join !== 'all' && join !== 'any') {
    subject.say('join', 'must be "all", "any" or { quorum }');
  }
}

function checkTransfer(subject: Subject): void {
  const { config, names, say } = subject;
  const checkMember = (key: string, name: unknown) => {
    if (typeof name !== 'string' || !names.has(name))
      say(key, `${notAmong(names, name)} is no member; members: ${listed(names)}`);
  };
  checkMember('start', config.start);
  for (const [from, targets] of Object.entries(config.transferTargets ?? {})) {
    checkMember(`targets.${from}`, from);
    if (!Array.isArray(targets)) {
      say(`targets.${from}`, 'must be a list of names of members');
      continue;
    }
    for (const to of targets) checkMember(`targets.${from}`, to);
  }
  if (config.maxTransfers !== undefined && !isWhole(config.maxTransfers))
    say('maxTransfers', 'must be a whole number from 0');
  const { context } = config;
  if (typeof context === 'object' && context !== null) {
    if (!isCount(context.last)) say('context.last', 'must be a whole number from 1');
  } else if (context !== undefined && !['full', 'summary', 'none', 'custom'].includes(context)) {
    say('context', 'must be "full", "summary", "none", { last } or a function');
  }
}

function checkHierarchical(subject: Subject): void {
  const { config, definition, names, say } = subject;
  const { leader } = definition;
  checkConcurrency(subject);
  if (leader?.kind !== 'agent') {
    say('agent', 'must be the agent that leads');
    return;
  }
  if (leader.name !== config.leader) say('agent', 'is not the leader that the descriptor names');
  if (leader.descriptor?.executor === 'composition')
    say('agent', `"${leader.name}" is a composition; only an agent can call others as tools`);
  for (const name of names) {
    if (isHostsTool(name))
      say('children', `the child "${name}" is a tool of its leader, and the host has a tool "${name}"; rename it`);
  }
  for (const tool of Array.isArray(leader.tools) ? leader.tools : []) {
    // A name among the tools may mean the child itself.
    if (typeof tool === 'object' && names.has(tool?.name)) {
      say('children', `the child "${tool.name}" has the name of a tool of its leader "${leader.name}"`);
    }
  }
}

function checkSupervision({ config, definition, names, say }: Subject): void {
  const supervise = config.supervise ?? definition.behaviour?.supervise;
  if (supervise === undefined) return;
  if (typeof supervise !== 'object' || supervise === null) {
    say('supervise', 'must be { strategy?, children? }');
    return;
  }
  const strategies = ['one_for_one', 'one_for_all', 'rest_for_one'];
  if (supervise.strategy !== undefined && !strategies.includes(supervise.strategy)) {
    say('supervise.strategy', `must be one of ${strategies.join(', ')}`);
  }
  const rules: unknown = supervise.children ?? {};
  if (typeof rules !== 'object' || Array.isArray(rules)) {
    say('supervise.children', 'must be { name: { restart?, maxRestarts?, withinMs?, backoffMs? } }');
    return;
  }
  for (const [name, rule] of Object.entries(supervise.children ?? {})) {
    const key = `supervise.children.${name}`;
    if (typeof rule !== 'object' || rule === null) {
      say(key, 'must be { restart?, maxRestarts?, withinMs?, backoffMs? }');
      continue;
    }
    if (!names.has(name)) say(key, `${notAmong(names, name)} is no child; children: ${listed(names)}`);
    if (rule?.restart !== undefined && rule.restart !== 'never' && rule.restart !== 'on_failure') {
      say(`${key}.restart`, 'must be "never" or "on_failure"');
    }
    if (rule?.maxRestarts !== undefined && !isWhole(rule.maxRestarts))
      say(`${key}.maxRestarts`, 'must be a whole number from 0');
    for (const span of ['withinMs', 'backoffMs'] as const) {
      const value = rule?.[span];
      if (value !== undefined && !(Number.isFinite(value) && value >= 0))
        say(`${key}.${span}`, 'must be a number of milliseconds from 0');
    }
  }
}

/** Initial values and reducers are looked at where the declarations of the whole tree are joined. */
function checkState({ config, definition, say }: Subject): void {
  for (const [key, declared] of Object.entries(definition.behaviour?.state ?? config.state ?? {})) {
    if (key === '') say('state', 'a state key needs a name');
    if (typeof declared !== 'object' || declared === null) say(`state.${key}`, 'must be { initial, reducer? }');
  }
}

function notAmong(names: ReadonlySet<string>, name: unknown): string {
  return `"${String(name)}"${didYouMean(String(name), names)}`;
}

function listed(names: ReadonlySet<string>): string {
  return [...names].join(', ') || 'none';
}

function checkConcurrency({ config, say }: Subject): void {
  if (config.concurrency !== undefined && !isCount(config.concurrency))
    say('concurrency', 'must be a whole number from 1');
}

function oneOf({ config, say }: Subject, key: 'onFailure' | 'failure', known: readonly string[]): void {
  const value = config[key];
  if (value !== undefined && !known.includes(value)) say(key, `must be ${known.map((one) => `"${one}"`).join(' or ')}`);
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1;
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0;
}
