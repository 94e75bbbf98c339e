import type { AgentDefinition, AgentDescriptor } from '../contracts/index.js';
import { checkAgent, invalid, jsonProblems } from './agent-check.js';
import { checkComposition } from './composition-check.js';
import { type Problem, throwProblems } from './errors.js';
import { mergeDeclarations, type StateDeclaration } from './state-declaration.js';

/** Levels of agents that may stand below a composition that sets no `maxDepth`. */
const DEFAULT_MAX_DEPTH = 8;

/**
 * Every fault of a definition and all below it, each with its place (`report/gather/researcher.tools[1]`); empty when
 * it can run. Touches nothing outside the definition: host tools and executors are checked when a session is made.
 */
export function checkDefinition(definition: AgentDefinition): Problem[] {
  if (sound.has(definition)) return [];
  const tree: Tree = { problems: [], names: new Map(), state: [], isFrozen: true };
  visit(definition, { path: label(definition), depth: 0, deepest: Number.POSITIVE_INFINITY, above: [] }, tree);
  const problems = [...tree.problems, ...mergeDeclarations(tree.state).problems];
  if (problems.length === 0 && tree.isFrozen) sound.add(definition);
  return problems;
}

/** Definitions found without fault that cannot change any more: checking ten thousand agents again takes its time. */
const sound = new WeakSet<AgentDefinition>();

/** The whole descriptor tree as a plain JSON copy. Throws `INVALID_DEFINITION` with every fault of the tree. */
export function describeAgent(definition: AgentDefinition): AgentDescriptor {
  throwProblems(checkDefinition(definition));
  return JSON.parse(JSON.stringify(describe(definition))) as AgentDescriptor;
}

/**
 * What names are compared by, in a tree and when a model says one: case, surrounding space and quotes, and the kind of
 * separator do not tell them apart.
 */
export function normalizeAgentName(name: string): string {
  const bare = name.trim().replace(/^(["'`])(.*)\1$/s, '$2');
  return bare
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, '_');
}

interface Tree {
  problems: Problem[];
  /** Normalised name → where it was first seen. */
  names: Map<string, { path: string; definition: AgentDefinition }>;
  /** What each composition declares, outermost first. */
  state: { path: string; declaration: StateDeclaration }[];
  /** Every definition seen is frozen. */
  isFrozen: boolean;
}

interface Place {
  path: string;
  /** Levels below the root. */
  depth: number;
  deepest: number;
  above: readonly AgentDefinition[];
}

function visit(definition: AgentDefinition, place: Place, tree: Tree): void {
  tree.isFrozen &&= Object.isFrozen(definition) && Object.isFrozen(definition.descriptor);
  if (place.above.includes(definition)) {
    tree.problems.push(invalid(place.path, 'contains itself'));
    return;
  }
  if (place.depth > place.deepest) {
    tree.problems.push(
      invalid(place.path, `lies deeper than maxDepth allows (${place.deepest} levels below the root)`),
    );
    return;
  }
  if (!standsFor(definition, place.above.at(-1))) visitName(definition, place.path, tree);
  const faults = [...checkAgent(definition, place.path), ...checkComposition(definition, place.path)];
  tree.problems.push(
    ...faults,
    ...lostInJson(definition, place.path).filter((lost) => !isToldBy(faults, lost, place.path)),
  );
  const declared = Object.entries(definition.behaviour?.state ?? {}).filter(
    ([, entry]) => typeof entry === 'object' && entry,
  );
  if (declared.length > 0) tree.state.push({ path: `${place.path}.state`, declaration: Object.fromEntries(declared) });
  const inner: Omit<Place, 'path'> = {
    depth: place.depth + 1,
    deepest: deepestBelow(definition, place),
    above: [...place.above, definition],
  };
  for (const child of [definition.leader, ...childrenOf(definition)]) {
    if (isDefinition(child)) visit(child, { ...inner, path: `${place.path}/${label(child)}` }, tree);
  }
}

/** Where an agent of another framework was translated, the agent that the whole is made of keeps the name of the whole. */
function standsFor({ name }: AgentDefinition, above: AgentDefinition | undefined): boolean {
  return above !== undefined && above.name === name && above.descriptor?.metadata?.translatedFrom !== undefined;
}

/** What a descriptor holds that is no JSON; initial values of state are looked at with their declarations. */
function lostInJson({ descriptor }: AgentDefinition, path: string): Problem[] {
  if (typeof descriptor !== 'object' || descriptor === null) return [];
  const { subAgents, composition, ...own } = descriptor;
  const { state, ...options } = composition ?? {};
  return [...jsonProblems(own, path), ...jsonProblems(options, path)];
}

/** A value that is wrong in itself is told once. */
function isToldBy(faults: readonly Problem[], { path = '' }: Problem, node: string): boolean {
  return faults.some(({ path: told = node }) => told !== node && (isWithin(path, told) || isWithin(told, path)));
}

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}

function deepestBelow(definition: AgentDefinition, place: Place): number {
  const own = definition.descriptor?.composition?.maxDepth;
  if (typeof own === 'number') return Math.min(place.deepest, place.depth + own);
  return place.depth === 0 ? DEFAULT_MAX_DEPTH : place.deepest;
}

function visitName(definition: AgentDefinition, path: string, tree: Tree): void {
  if (typeof definition.name !== 'string') return;
  const normal = normalizeAgentName(definition.name);
  const first = tree.names.get(normal);
  if (first === undefined) {
    tree.names.set(normal, { path, definition });
  } else if (first.definition === definition) {
    tree.problems.push(
      invalid(path, `the agent "${definition.name}" also stands at ${first.path}; names are unique in a tree`),
    );
  } else {
    const clash = `the name "${definition.name}" is taken by "${first.definition.name}" at ${first.path}`;
    tree.problems.push(invalid(path, `${clash}; names are unique in a tree, whatever their case and separators`));
  }
}

function describe(definition: AgentDefinition): AgentDescriptor {
  const children = childrenOf(definition);
  return {
    ...definition.descriptor,
    ...(children.length > 0 && { subAgents: children.map(describe) }),
  };
}

function childrenOf(definition: AgentDefinition): readonly AgentDefinition[] {
  return Array.isArray(definition.children) ? definition.children : [];
}

function isDefinition(value: unknown): value is AgentDefinition {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'agent';
}

function label(definition: AgentDefinition): string {
  return typeof definition.name === 'string' && definition.name !== '' ? definition.name : '(unnamed)';
}
