import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import type {
  AgentConstraints,
  AgentMetadata,
  ContextBudget,
  GenerationConfig,
  JsonSchema,
} from '../../contracts/index.js';
import type { FileAgentOptions } from './node.js';
import { describeRaw, toPlain } from './raw.js';
import type { Section } from './section.js';
import { readSkillFolders } from './skill-folders.js';

/** What an agent and a team have in common, where it stands, and how to reach other files. */
export interface Surroundings {
  /** Of the file that the section stands in, as it is shown. */
  readonly folder: string;
  /** `filePath` and `hash` of the file. */
  readonly metadata: AgentMetadata;
  /** Reads a schema file; reports what is wrong at the place that names it. */
  /** Takes an extension that the file names, as an absolute folder. */
  readonly takeExtension: (folder: string) => void;
  readonly readSchema: (section: Section, key: string, path: string) => Promise<JsonSchema | undefined>;
}

/** Limits may stand under `constraints` or beside the other keys. */
const LIMIT_KEYS = ['maxTurns', 'maxTimeMinutes', 'maxLlmCalls', 'maxBudgetUsd', 'maxTokens', 'graceTurn'] as const;
/** Another tool's name for `max_time_minutes`. */
const MINUTES_ALIAS = 'timeoutMins';
export const CONSTRAINT_KEYS = ['constraints', ...LIMIT_KEYS, MINUTES_ALIAS];

const COMMON_KEYS = [
  'name',
  'displayName',
  'description',
  'metadata',
  'inputSchema',
  'outputKey',
  'script',
  'extensions',
];
export const TEAM_COMMON_KEYS = [...COMMON_KEYS, ...CONSTRAINT_KEYS];

export const AGENT_KEYS = [
  ...COMMON_KEYS,
  ...CONSTRAINT_KEYS,
  'model',
  'instruction',
  'tools',
  'inheritTools',
  'skills',
  'requiredTools',
  'outputSchema',
  'executor',
  'backend',
  'generation',
  'contextBudget',
  'capabilities',
  'includeHistory',
];

/** Options of an agent that is written in our own form. `body` is the text of a Markdown file. */
export async function readAgentOptions(
  section: Section,
  surroundings: Surroundings,
  body: string,
): Promise<FileAgentOptions> {
  section.refuseOthers(AGENT_KEYS);
  if (section.has('executor') && section.text('executor') === 'composition') {
    section.say('executor', 'a team has no executor; give it a pattern and children');
  }
  const model = section.text('model');
  return defined({
    ...(await readCommon(section, surroundings)),
    description: readRequired(section, 'description'),
    model: model === 'inherit' ? undefined : model,
    instruction: readInstruction(section, body),
    tools: section.texts('tools'),
    inheritTools: section.flag('inheritTools'),
    skills: await readSkillFolders(section, surroundings.folder),
    requiredTools: section.texts('requiredTools'),
    outputSchema: await readSchemaOption(section, 'outputSchema', surroundings),
    executor: section.text('executor'),
    backend: section.plain('backend'),
    generation: readGeneration(section),
    contextBudget: readContextBudget(section),
    capabilities: section.texts('capabilities'),
    includeHistory: section.flag('includeHistory'),
    script: await readScriptPath(section, surroundings),
  });
}

/** What an agent and a team share, save the description, which only an agent must have. */
export async function readCommon(section: Section, surroundings: Surroundings) {
  readExtensions(section, surroundings);
  return defined({
    name: readRequired(section, 'name') ?? '',
    displayName: section.text('displayName'),
    constraints: readConstraints(section),
    metadata: readMetadata(section, surroundings),
    inputSchema: await readSchemaOption(section, 'inputSchema', surroundings),
    outputKey: section.text('outputKey'),
  });
}

/** Folders relative to the file. Whether they are extensions, and count, is seen when they are read. */
function readExtensions(section: Section, { folder, takeExtension }: Surroundings): void {
  for (const [index, path] of (section.texts('extensions') ?? []).entries()) {
    if (path.trim() === '' || path.includes('\0')) section.say('extensions', 'must be the path of a folder', index);
    else takeExtension(resolve(folder, path));
  }
}

/** Says so when the key is missing or empty. */
export function readRequired(section: Section, key: string): string | undefined {
  if (!section.has(key)) return section.say(key, 'is missing');
  const text = section.text(key);
  return text?.trim() === '' ? section.say(key, 'is empty') : text;
}

/** The absolute path of the script, which must exist. */
export async function readScriptPath(section: Section, { folder }: Surroundings): Promise<string | undefined> {
  const path = section.text('script');
  if (path === undefined) return undefined;
  const absolute = resolve(folder, path);
  const exists = await access(absolute).then(
    () => true,
    () => false,
  );
  return exists ? absolute : section.say('script', `"${path}" does not exist`);
}

export function readConstraints(section: Section): AgentConstraints | undefined {
  const inner = section.section('constraints');
  inner?.refuseOthers([...LIMIT_KEYS, MINUTES_ALIAS]);
  const limits: Record<string, number | boolean> = {};
  const places = [section, inner].filter((place) => place !== undefined);
  for (const limit of LIMIT_KEYS) {
    for (const key of limit === 'maxTimeMinutes' ? [limit, MINUTES_ALIAS] : [limit]) {
      for (const place of places.filter((one) => one.has(key))) {
        const value = readLimit(place, limit, key);
        if (value === undefined) continue;
        if (limits[limit] !== undefined) place.say(key, 'stands twice; give each limit once');
        limits[limit] = value;
      }
    }
  }
  return Object.keys(limits).length > 0 ? limits : undefined;
}

function readLimit(section: Section, limit: (typeof LIMIT_KEYS)[number], key: string): number | boolean | undefined {
  if (limit === 'graceTurn') return section.flag(key);
  if (limit === 'maxTimeMinutes') return section.amount(key, { above: 0 });
  return limit === 'maxBudgetUsd' ? section.amount(key) : section.count(key);
}

function readInstruction(section: Section, body: string): string | undefined {
  const given = section.text('instruction');
  if (body !== '' && section.has('instruction')) {
    return section.say('instruction', 'stands twice: here and as the text below the front matter');
  }
  return given ?? (body === '' ? undefined : body);
}

function readGeneration(section: Section): GenerationConfig | undefined {
  const inner = section.section('generation');
  if (inner === undefined) return undefined;
  inner.refuseOthers(['temperature', 'topP', 'topK', 'maxOutputTokens', 'stopSequences', 'thinking']);
  const thinking = inner.section('thinking');
  thinking?.refuseOthers(['budget', 'includeThoughts']);
  return defined({
    temperature: inner.amount('temperature'),
    topP: inner.amount('topP', { most: 1 }),
    topK: inner.count('topK', 0),
    maxOutputTokens: inner.count('maxOutputTokens'),
    stopSequences: inner.texts('stopSequences'),
    thinking:
      thinking && defined({ budget: thinking.count('budget', -1), includeThoughts: thinking.flag('includeThoughts') }),
  });
}

function readContextBudget(section: Section): ContextBudget | undefined {
  const inner = section.section('contextBudget');
  if (inner === undefined) return undefined;
  inner.refuseOthers(['maxTokens', 'strategy']);
  if (!inner.has('maxTokens')) inner.say('maxTokens', 'is missing');
  const strategy = inner.choice('strategy', ['summarize', 'truncate', 'sliding_window']);
  const maxTokens = inner.count('maxTokens');
  return maxTokens === undefined ? undefined : defined({ maxTokens, strategy });
}

export function readMetadata(section: Section, { metadata }: Surroundings): AgentMetadata {
  const given = section.section('metadata');
  return { ...(given && (toPlain(given.map) as AgentMetadata)), ...metadata };
}

async function readSchemaOption(
  section: Section,
  key: string,
  surroundings: Surroundings,
): Promise<JsonSchema | undefined> {
  const node = section.raw(key);
  if (node === undefined) return undefined;
  if (node.kind === 'map') return toPlain(node) as JsonSchema;
  if (node.kind === 'scalar' && typeof node.value === 'string')
    return surroundings.readSchema(section, key, node.value);
  return section.say(key, `must be a JSON Schema or the path of one, not ${describeRaw(node)}`);
}

/** Without the keys that hold nothing. */
export function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}
