import { createHash } from 'node:crypto';
import type { AgentDefinition, AgentDescriptor, Bag } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { canonicalJson } from '../../kernel/json-value.js';
import { satisfies } from '../../kernel/version.js';
import type { CompiledAgent } from '../thread.js';

/**
 * What a log says of the definition that it was written with: one hash of all of it, and one per agent and thing of
 * an agent, so that what has changed can be named.
 */
export interface DefinitionMark {
  readonly hash: string;
  readonly version?: string;
  /** `report/writer tools.search` → hash. Left out for teams so large that the list would outgrow the log. */
  readonly parts?: Readonly<Record<string, string>>;
}

const MOST_PARTS = 200;
/** Characters that are hashed together. */
const FLUSH_AT = 64_000;
const marks = new WeakMap<AgentDefinition, DefinitionMark>();

/** Made once per definition, save for what its skills add. */
export function markOf(compiled: CompiledAgent): DefinitionMark {
  return compiled.hasSkills ? withSkills(markOfDefinition(compiled), compiled) : markOfDefinition(compiled);
}

/** A skill is what an agent is told: with another text the agent is another one. */
function withSkills({ hash, parts, ...rest }: DefinitionMark, compiled: CompiledAgent): DefinitionMark {
  const own: Record<string, string> = {};
  addSkills(compiled, compiled.definition.name, own);
  const all = parts && { ...parts, ...own };
  return {
    ...rest,
    hash: shortHash([hash, own]),
    ...(all && Object.keys(all).length <= MOST_PARTS && { parts: all }),
  };
}

function addSkills(
  { skills, driver, definition, children }: CompiledAgent,
  path: string,
  parts: Record<string, string>,
) {
  const own = driver === definition ? path : `${path}/${driver.name}`;
  for (const { name, hash } of skills?.skills ?? []) parts[`${own} skills.${name}`] = hash.slice(0, 16);
  for (const child of children) if (child.hasSkills) addSkills(child, `${path}/${child.definition.name}`, parts);
}

function markOfDefinition({ definition }: CompiledAgent): DefinitionMark {
  let mark = marks.get(definition);
  if (mark === undefined) {
    mark = makeMark(definition);
    marks.set(definition, mark);
  }
  return mark;
}

function makeMark(definition: AgentDefinition): DefinitionMark {
  const version = definition.descriptor.metadata?.version;
  if (countAgents(definition) > MOST_PARTS) {
    const whole = new WholeMark();
    whole.add(definition, definition.name);
    return { hash: whole.digest(), ...(typeof version === 'string' && { version }) };
  }
  const parts: Record<string, string> = {};
  addParts(definition, definition.name, parts);
  const hash = shortHash(parts);
  return {
    hash,
    ...(typeof version === 'string' && { version }),
    ...(Object.keys(parts).length <= MOST_PARTS && { parts }),
  };
}

function countAgents({ leader, children = [] }: AgentDefinition): number {
  let count = leader === undefined ? 1 : 1 + countAgents(leader);
  for (const child of children) count += countAgents(child);
  return count;
}

/**
 * The hash of a team so large that its parts are not told apart: what counts for each agent goes into one hash as it
 * stands, since a hash for each would hold up the beginning of its first run.
 */
class WholeMark {
  readonly #hash = createHash('sha256');
  /** Thousands of agents share a few schemas. */
  readonly #texts = new Map<unknown, string>();
  #text = '';
  /** What the last agent was like in all but its name, and what was said of that. */
  #last: Bag = {};
  #rest = '';

  add(definition: AgentDefinition, path: string): void {
    const { descriptor, instruction, leader, children = [], inheritTools, outputKey } = definition;
    const { executor, inputSchema, outputSchema, ownTools, requiredTools, composition } = descriptor;
    const said = typeof instruction === 'string' ? instruction : undefined;
    const last = this.#last;
    const isLikeLast =
      last.executor === executor &&
      last.inputSchema === inputSchema &&
      last.outputSchema === outputSchema &&
      last.requiredTools === requiredTools &&
      last.composition === composition &&
      last.inheritTools === inheritTools &&
      last.outputKey === outputKey &&
      last.said === said;
    if (!isLikeLast) {
      this.#last = { executor, inputSchema, outputSchema, requiredTools, composition, inheritTools, outputKey, said };
      const lines = [requiredTools, composition, inputSchema, outputSchema].map((value) => `${this.#json(value)}\n`);
      this.#rest = `",${this.#json(executor)},${inheritTools ?? null},${this.#json(outputKey)},${JSON.stringify(said ?? null)}]\n${lines.join('')}`;
    }
    // Names of agents hold nothing that JSON would write in another way.
    this.#text += `["${path}${this.#rest}`;
    for (const tool of ownTools ?? []) this.#text += `${canonicalJson(toolShape(tool))}\n`;
    if (this.#text.length > FLUSH_AT) this.#flush();
    if (leader !== undefined) this.add(leader, `${path}/${leader.name}`);
    for (const child of children) this.add(child, `${path}/${child.name}`);
  }

  digest(): string {
    this.#flush();
    return this.#hash.digest('hex').slice(0, 16);
  }

  #json(value: unknown): string {
    if (value === undefined) return 'null';
    let text = this.#texts.get(value);
    if (text === undefined) {
      text = canonicalJson(value);
      this.#texts.set(value, text);
    }
    return text;
  }

  #flush(): void {
    this.#hash.update(this.#text);
    this.#text = '';
  }
}

/** What makes a session another one: who is in the team, its tools, its schemas, its instructions. Not its model or its limits. */
function addParts(definition: AgentDefinition, path: string, parts: Record<string, string>): void {
  const { descriptor, instruction, leader, children = [] } = definition;
  const { executor, inputSchema, outputSchema, ownTools, requiredTools, composition } = descriptor;
  parts[path] = shortHash({
    executor,
    requiredTools,
    composition,
    inherit: definition.inheritTools,
    outputKey: definition.outputKey,
  });
  parts[`${path} inputSchema`] = shortHash(inputSchema);
  if (outputSchema !== undefined) parts[`${path} outputSchema`] = shortHash(outputSchema);
  if (typeof instruction === 'string') parts[`${path} instruction`] = shortHash(instruction);
  for (const tool of ownTools ?? []) parts[`${path} tools.${tool.name}`] = shortHash(toolShape(tool));
  if (leader !== undefined) addParts(leader, `${path}/${leader.name}`, parts);
  for (const child of children) addParts(child, `${path}/${child.name}`, parts);
}

/** How a tool is described is no part of what it does. */
function toolShape({ name, parametersSchema, annotations }: NonNullable<AgentDescriptor['ownTools']>[number]): Bag {
  return { name, parametersSchema, annotations };
}

const shortHash = (value: unknown): string =>
  createHash('sha256')
    .update(canonicalJson(value ?? null))
    .digest('hex')
    .slice(0, 16);

/** In words, what is another than it was; empty where nothing is. */
export function changesSince(before: DefinitionMark, compiled: CompiledAgent): string[] {
  const now = markOf(compiled);
  if (before.hash === now.hash) return [];
  if (before.parts === undefined || now.parts === undefined) return ['the definition is another one'];
  const changes: string[] = [];
  for (const [part, hash] of Object.entries(before.parts)) {
    const other = now.parts[part];
    if (other === undefined) changes.push(`${part} is gone`);
    else if (other !== hash) changes.push(`${part} has changed`);
  }
  for (const part of Object.keys(now.parts)) if (before.parts[part] === undefined) changes.push(`${part} is new`);
  return changes;
}

/**
 * Throws `DEFINITION_CHANGED`, naming what has changed, unless the definition says that it goes on with sessions of the
 * version that the log was written with (`metadata.resumes`, a range).
 */
export function assertDefinition(sessionId: string, before: DefinitionMark | undefined, compiled: CompiledAgent): void {
  if (before === undefined) return;
  const changes = changesSince(before, compiled);
  if (changes.length === 0) return;
  const { resumes } = compiled.definition.descriptor.metadata ?? {};
  if (typeof resumes === 'string' && before.version !== undefined && satisfies(before.version, resumes)) return;
  const shown = changes.slice(0, 10).join('; ');
  const more = changes.length > 10 ? ` and ${changes.length - 10} more` : '';
  throw new TroupeError({
    code: 'DEFINITION_CHANGED',
    message: `session "${sessionId}" was begun with another definition of "${compiled.definition.name}": ${shown}${more}. Resume it with the definition that it had, say with which versions this one goes on (metadata.resumes: "^1.0.0"), or give { migrate }`,
  });
}

/** The mark in an `initialize`; undefined where it has none. */
export function readMark(value: unknown): DefinitionMark | undefined {
  if (typeof value !== 'object' || value === null || typeof (value as Bag).hash !== 'string') return undefined;
  return value as DefinitionMark;
}
