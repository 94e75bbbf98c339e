import type { AgentDefinition } from '../../contracts/index.js';
import { normalizeAgentName } from '../../kernel/definition.js';
import type { Problem } from '../../kernel/errors.js';
import { didYouMean } from '../../kernel/text.js';
import type { AgentNode, TeamNode } from './node.js';

/**
 * What only the whole tree shows, said also when parts of it are not sound: names that stand twice, in whatever files,
 * names of members and children that are none, and state keys that nothing declares.
 */
export function checkTree(root: AgentNode): Problem[] {
  const tree: Tree = { problems: [], names: new Map(), stateKeys: new Set(), asked: [] };
  visit(root, tree);
  for (const { key, place } of tree.asked) {
    if (tree.stateKeys.has(key)) continue;
    const known = [...tree.stateKeys];
    const hint = didYouMean(key, known) || `; declared: ${known.join(', ') || 'none'}`;
    tree.problems.push(problem(place, `no state key "${key}" is declared, by state or an output_key${hint}`));
  }
  return tree.problems;
}

interface Tree {
  problems: Problem[];
  /** Normalised name → name and place of the first agent that has it. */
  names: Map<string, { name: string; place: string }>;
  stateKeys: Set<string>;
  asked: { key: string; place: string }[];
}

function visit(node: AgentNode, tree: Tree): void {
  if (node.type === 'code') {
    visitDefinition(node.definition, `${node.file} (${node.definition.name})`, tree);
    return;
  }
  claimName(node.name, node.origin.section.place('name'), tree);
  if (node.options.outputKey !== undefined) tree.stateKeys.add(node.options.outputKey);
  if (node.type === 'agent') return;
  for (const key of Object.keys(node.options.state ?? {})) tree.stateKeys.add(key);
  for (const { key, steps } of node.askedState) tree.asked.push({ key, place: node.origin.section.place(...steps) });
  if (node.children.every((child) => child?.name !== undefined)) checkNames(node, tree);
  for (const child of [node.leader, ...node.children]) if (child !== undefined) visit(child, tree);
}

function visitDefinition(definition: AgentDefinition, place: string, tree: Tree): void {
  claimName(definition.name, place, tree);
  if (definition.outputKey !== undefined) tree.stateKeys.add(definition.outputKey);
  for (const key of Object.keys(definition.behaviour?.state ?? {})) tree.stateKeys.add(key);
  for (const child of [definition.leader, ...(definition.children ?? [])]) {
    if (child !== undefined) visitDefinition(child, place, tree);
  }
}

function claimName(name: string | undefined, place: string, tree: Tree): void {
  if (name === undefined || name === '') return;
  const normal = normalizeAgentName(name);
  const first = tree.names.get(normal);
  if (first === undefined) tree.names.set(normal, { name, place });
  else {
    const other = first.name === name ? 'it' : `"${first.name}"`;
    tree.problems.push(
      problem(place, `the name "${name}" is taken: ${other} stands at ${first.place}; names are unique in a tree`),
    );
  }
}

/** Names in `start`, `targets`, `edges`, `end`, `joins` and `supervise`. */
function checkNames(node: TeamNode, tree: Tree): void {
  const names = node.children.map((child) => child?.name ?? '');
  const refuse = (name: unknown, steps: (string | number)[]) => {
    if (typeof name !== 'string' || names.includes(name)) return;
    const hint = didYouMean(name, names) || `; there are: ${names.join(', ')}`;
    tree.problems.push(
      problem(node.origin.section.place(...steps), `"${name}" is none of the ${node.childrenKey}${hint}`),
    );
  };
  refuse(node.own.start, ['start']);
  for (const [from, targets] of Object.entries((node.own.targets ?? {}) as Record<string, string[]>)) {
    refuse(from, ['targets', from]);
    for (const [index, to] of targets.entries()) refuse(to, ['targets', from, index]);
  }
  for (const [index, edge] of ((node.own.edges ?? []) as { from?: unknown; to?: unknown }[]).entries()) {
    refuse(edge.from, ['edges', index, 'from']);
    refuse(edge.to, ['edges', index, 'to']);
  }
  const { end } = node.own;
  if (!Array.isArray(end)) refuse(end, ['end']);
  else for (const [index, name] of end.entries()) refuse(name, ['end', index]);
  for (const name of Object.keys(node.own.joins ?? {})) refuse(name, ['joins', name]);
  const supervised = (node.options.supervise ?? {}) as { children?: object };
  for (const name of Object.keys(supervised.children ?? {})) refuse(name, ['supervise', 'children', name]);
}

function problem(path: string, message: string): Problem {
  return { code: 'INVALID_DEFINITION', path, message };
}
