import type { AgentMetadata, JsonSchema } from '../../contracts/index.js';
import { readAgentOptions, readCommon, readScriptPath, type Surroundings } from './agent-options.js';
import type { Dialect } from './dialect.js';
import { readForeignAgent } from './foreign.js';
import type { AgentNode, Origin, TeamNode } from './node.js';
import { describeRaw, type RawMap, toPlain } from './raw.js';
import type { Section } from './section.js';
import { readPattern, readTeamOptions, TEAM_MARKS } from './team-options.js';

/** The file that a section stands in, and the way to others. */
export interface Context {
  readonly folder: string;
  readonly metadata: AgentMetadata;
  readonly dialect: Dialect;
  /** Of a Markdown file, for the agent that the file is. */
  readonly body: string;
  readonly bodyPlace: string;
  readonly hostTools: readonly string[] | undefined;
  readonly takeExtension: (folder: string) => void;
  /** Reads the file that `place` names. Undefined after a problem. */
  readonly child: (path: string, place: string) => Promise<AgentNode | undefined>;
  readonly schema: (section: Section, key: string, path: string) => Promise<{ map: RawMap; file: string } | undefined>;
}

/** The agent or team that a map stands for; what is wrong is in its report. Undefined when it is neither. */
export async function readNode(section: Section, context: Context): Promise<AgentNode | undefined> {
  const isTeam = TEAM_MARKS.some((key) => section.has(key));
  return isTeam ? readTeam(section, context) : readLeaf(section, context);
}

async function readLeaf(section: Section, context: Context): Promise<AgentNode> {
  const { surroundings, origin } = open(section, context);
  const before = section.report.problems.length;
  const { dialect, body, hostTools } = context;
  const options =
    dialect === 'troupe'
      ? await readAgentOptions(section, surroundings, body)
      : await readForeignAgent(section, { ...surroundings, dialect, body, hostTools });
  return { type: 'agent', name: options.name, origin, sound: section.report.problems.length === before, options };
}

async function readTeam(section: Section, context: Context): Promise<TeamNode | undefined> {
  const { surroundings, origin } = open(section, context);
  const { problems } = section.report;
  const before = problems.length;
  const pattern = readPattern(section);
  if (context.body !== '') {
    const message = 'a team has no text of its own; give instructions to its agents';
    problems.push({ code: 'INVALID_DEFINITION', path: context.bodyPlace, message });
  }
  const read = pattern && (await readTeamOptions(section, pattern, surroundings));
  if (read === undefined) await readCommon(section, surroundings);
  const ownKey = pattern === 'transfer' ? 'members' : pattern === 'graph' ? 'nodes' : undefined;
  const childrenKey = ownKey !== undefined && !section.has('children') ? ownKey : 'children';
  if (ownKey !== undefined && section.has('children') && section.has(ownKey)) {
    section.say(ownKey, 'stands beside children; give one of them');
  }
  const leaderKey = pattern === 'hierarchical' ? readLeaderKey(section) : undefined;
  const script = await readScriptPath(section, surroundings);
  const sound = problems.length === before;
  const leader = leaderKey && (await readReference(section, leaderKey, undefined, context));
  const children = await readChildren(section, childrenKey, context);
  if (read === undefined || pattern === undefined) return undefined;
  return {
    type: 'team',
    name: read.options.name,
    origin,
    sound: sound && children !== undefined,
    pattern,
    options: read.options,
    own: read.own,
    children: children ?? [],
    leader,
    childrenKey,
    askedState: read.askedState,
    script,
  };
}

function readLeaderKey(section: Section): 'agent' | 'leader' | undefined {
  if (section.has('agent') && section.has('leader'))
    return section.say('leader', 'stands beside agent; give one of them');
  if (section.has('leader')) return 'leader';
  return section.has('agent') ? 'agent' : section.say('agent', 'is missing: the agent that leads');
}

async function readChildren(
  section: Section,
  key: string,
  context: Context,
): Promise<(AgentNode | undefined)[] | undefined> {
  if (!section.has(key)) return section.say(key, 'is missing: a team needs at least one agent');
  const list = section.list(key);
  if (list === undefined) return undefined;
  if (list.items.length === 0) return section.say(key, 'is empty: a team needs at least one agent');
  const children: (AgentNode | undefined)[] = [];
  // One after the other, so that problems and files come in the order of the file.
  for (const index of list.items.keys()) children.push(await readReference(section, key, index, context));
  return children;
}

/** A child: the path of its file, or the map itself. */
async function readReference(
  section: Section,
  key: string,
  index: number | undefined,
  context: Context,
): Promise<AgentNode | undefined> {
  const value = section.raw(key);
  const node = index === undefined ? value : value?.kind === 'list' ? value.items[index] : undefined;
  const steps = index === undefined ? [] : [index];
  if (node?.kind === 'map') {
    const inner = index === undefined ? section.section(key) : section.item(key, index);
    return inner && readNode(inner, { ...context, dialect: 'troupe', body: '' });
  }
  if (node?.kind === 'scalar' && typeof node.value === 'string' && node.value.trim() !== '') {
    return context.child(node.value, section.place(key, ...steps));
  }
  return (
    node && section.say(key, `must be the path of an agent file or an agent itself, not ${describeRaw(node)}`, ...steps)
  );
}

/** Remembers which schema came from which file, for the places of its faults. */
function open(section: Section, context: Context): { surroundings: Surroundings; origin: Origin } {
  const schemas = new Map<string, { file: string; map: RawMap }>();
  const surroundings: Surroundings = {
    folder: context.folder,
    metadata: context.metadata,
    takeExtension: context.takeExtension,
    readSchema: async (place, key, path) => {
      const found = await context.schema(place, key, path);
      if (found === undefined) return undefined;
      schemas.set(key, found);
      return toPlain(found.map) as JsonSchema;
    },
  };
  return { surroundings, origin: { section, schemas } };
}
