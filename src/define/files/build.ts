import type { AgentDefinition } from '../../contracts/index.js';
import { type Problem, TroupeError } from '../../kernel/errors.js';
import { agent } from '../agent.js';
import { graph } from '../graph.js';
import { hierarchical } from '../hierarchical.js';
import { loop } from '../loop.js';
import { parallel } from '../parallel.js';
import { sequential } from '../sequential.js';
import { transfer } from '../transfer.js';
import type { AgentNode, LeafNode, Origin, Pattern, TeamNode } from './node.js';
import { placeOf } from './raw.js';

/**
 * The definition that a tree of nodes stands for. What the definition functions find is told at its place in the
 * files and goes to `problems`; undefined then, and where a part was not sound to begin with. Without `teams` only the
 * agents are tried, for their problems.
 */
export function buildDefinition(
  node: AgentNode,
  problems: Problem[],
  options: { readonly teams: boolean },
): AgentDefinition | undefined {
  if (node.type === 'code') return node.definition;
  if (node.type === 'agent') return node.sound ? attempt(node, problems, () => agent(node.options)) : undefined;
  const leader = node.leader && buildDefinition(node.leader, problems, options);
  const children = node.children.map((child) => child && buildDefinition(child, problems, options));
  const whole = children.filter((child) => child !== undefined);
  const isWhole = whole.length === children.length && (node.leader === undefined || leader !== undefined);
  if (!options.teams || !node.sound || !isWhole) return undefined;
  const definition = attempt(node, problems, () => compose(node, whole, leader));
  return definition && (node.script === undefined ? definition : { ...definition, script: node.script });
}

/** The functions infer names and types from literals; of what a file says nothing is known before it is read. */
const DEFINE: Readonly<Record<Pattern, (options: never) => AgentDefinition>> = {
  sequential,
  parallel,
  loop,
  transfer,
  hierarchical,
  graph,
};

const CHILDREN_KEYS: { readonly [P in Pattern]?: string } = { transfer: 'members', graph: 'nodes' };

function compose(node: TeamNode, children: AgentDefinition[], leader: AgentDefinition | undefined): AgentDefinition {
  const members = { [CHILDREN_KEYS[node.pattern] ?? 'children']: children };
  const options = { ...node.options, ...node.own, ...members, ...(leader && { agent: leader }) };
  return DEFINE[node.pattern](options as never);
}

function attempt(
  node: LeafNode | TeamNode,
  problems: Problem[],
  define: () => AgentDefinition,
): AgentDefinition | undefined {
  try {
    return define();
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) throw thrown;
    const found = thrown.problems.length > 0 ? thrown.problems : [{ code: thrown.code, message: thrown.message }];
    problems.push(...found.map((problem) => ({ ...problem, path: placeInFiles(node, problem.path ?? '') })));
    return undefined;
  }
}

/** `report/gather/coder.tools[1]` → the place of that key in the file that the agent `coder` stands in. */
function placeInFiles(top: AgentNode, path: string): string {
  const [, way = '', keys = ''] = /^([^.[]*)(.*)$/s.exec(path) ?? [];
  const found = findNode(top, way.split('/').at(-1) ?? '') ?? top;
  if (found.type === 'code') return `${found.file}:1:${path}`;
  return placeOfOption(found.origin, stepsOf(keys));
}

function findNode(node: AgentNode, name: string): AgentNode | undefined {
  if (node.name === name) return node;
  if (node.type !== 'team') return undefined;
  for (const child of [node.leader, ...node.children]) {
    const found = child && findNode(child, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function placeOfOption({ section, schemas }: Origin, steps: readonly (string | number)[]): string {
  const [option, ...inside] = steps;
  const schema = typeof option === 'string' ? schemas.get(option) : undefined;
  if (schema !== undefined) return placeOf(schema.file, schema.map, inside);
  if (option === 'constraints' && !section.has('constraints')) return section.place(...inside);
  return section.place(...(steps.length === 0 ? ['name'] : steps));
}

/** `.tools[1]["odd key"]` → `tools`, 1, `odd key`. */
function stepsOf(keys: string): (string | number)[] {
  return [...keys.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g)].map(([, name, index, quoted]) =>
    index === undefined ? (name ?? quoted ?? '') : Number(index),
  );
}
