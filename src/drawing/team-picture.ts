import type { AgentDefinition, CompositionConfig } from '../contracts/index.js';
import { endsOf } from '../kernel/graph-plan.js';
import { type Arrow, type Box, boxId, type Drawing } from './picture.js';

/** A team as frames in frames: an agent is a box, a composition a frame, the arrows say who comes after or can call whom. */
export function drawTeam(definition: AgentDefinition): Drawing {
  const arrows: Arrow[] = [];
  return { title: definition.name, boxes: [boxOf(definition, arrows, [])], arrows };
}

function boxOf(definition: AgentDefinition, arrows: Arrow[], notes: readonly string[]): Box {
  const { composition } = definition.descriptor;
  const id = boxId(definition.name);
  if (composition === undefined)
    return { id, ref: definition.name, label: [definition.name, ...agentLines(definition), ...notes] };
  const children = definition.children ?? [];
  const notesOf = ({ name }: AgentDefinition) => [
    ...(name === composition.start ? ['begins'] : []),
    ...(composition.pattern === 'graph' && endsOf(composition).includes(name) ? ['ends'] : []),
    ...(Object.hasOwn(composition.joins ?? {}, name) ? [`joins ${composition.joins?.[name]}`] : []),
  ];
  const boxes = [
    ...(definition.leader === undefined
      ? []
      : [{ ...boxOf(definition.leader, arrows, ['leads']), runsAs: definition.name }]),
    ...children.map((child) => boxOf(child, arrows, notesOf(child))),
  ];
  arrows.push(...arrowsOf(definition, composition, children));
  return { id, ref: definition.name, label: [definition.name, patternText(composition), ...notes], boxes };
}

function agentLines({ descriptor, model, tools }: AgentDefinition): string[] {
  const names = tools.map((tool) => (typeof tool === 'string' ? tool : tool.name));
  return [
    ...(descriptor.executor === 'local' ? [] : [descriptor.executor]),
    ...(typeof model === 'string' ? [model] : []),
    ...(names.length === 0 ? [] : [`tools: ${names.join(', ')}`]),
  ];
}

function patternText(config: CompositionConfig): string {
  switch (config.pattern) {
    case 'loop':
      return `loop, at most ${config.maxIterations} iterations`;
    case 'transfer':
      return `transfer, at most ${config.maxTransfers ?? 10} transfers`;
    case 'parallel':
      return joinText(config.join);
    case 'graph':
      return config.maxSteps === undefined ? 'graph' : `graph, at most ${config.maxSteps} steps`;
    default:
      return config.pattern;
  }
}

function joinText(join: CompositionConfig['join']): string {
  if (join === undefined || join === 'all') return 'parallel';
  return typeof join === 'object'
    ? `parallel, until ${join.quorum} have succeeded`
    : 'parallel, until one has succeeded';
}

function arrowsOf(
  definition: AgentDefinition,
  config: CompositionConfig,
  children: readonly AgentDefinition[],
): Arrow[] {
  const names = children.map((child) => boxId(child.name));
  const inOrder = names.slice(1).map((to, index): Arrow => ({ from: names[index] ?? to, to }));
  switch (config.pattern) {
    case 'sequential':
      return inOrder;
    case 'loop': {
      const [first] = children;
      const last = names.at(-1);
      if (first === undefined || last === undefined) return [];
      // A frame with an arrow to itself is more than Mermaid can draw; its title says that it repeats.
      if (children.length === 1 && first.descriptor.composition !== undefined) return [];
      return [...inOrder, { from: last, to: boxId(first.name), label: ['again'], dashed: true }];
    }
    case 'transfer':
      return children.flatMap((member) =>
        (config.transferTargets === undefined
          ? config.children.filter((name) => name !== member.name)
          : (config.transferTargets[member.name] ?? [])
        ).map((target): Arrow => ({ from: boxId(member.name), to: boxId(target), label: ['transfer'] })),
      );
    case 'graph':
      return (config.edges ?? []).map(({ from, to, guard, label }): Arrow => {
        const said = label ?? (guard === 'custom' ? 'guarded' : guard);
        return {
          from: boxId(from),
          to: boxId(to),
          ...(said !== undefined && { label: [said] }),
          ...(guard !== undefined && { dashed: true }),
        };
      });
    case 'hierarchical': {
      const { leader } = definition;
      if (leader === undefined) return [];
      return names.map((to): Arrow => ({ from: boxId(leader.name), to, label: ['calls'], dashed: true }));
    }
    default:
      return [];
  }
}
