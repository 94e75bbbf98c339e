import type { AgentDefinition, ToolAnnotations, ToolContext, ToolDefinition } from '../../src/contracts/index.js';
import {
  agent,
  graph,
  hierarchical,
  loop,
  type Pending,
  parallel,
  pending,
  sequential,
  tool,
  transfer,
} from '../../src/index.js';
import { type Lines, lineOf } from './model.js';
import type { Shape, ToolName } from './plan.js';
import type { World } from './world.js';

const state = { notes: { reducer: 'append' as const, initial: [] }, sum: { reducer: 'sum' as const, initial: 0 } };

/** The team of a plan: the same definition in every process, with tools and lines that belong to this one. */
export function buildTeam(world: World, lines: Lines): AgentDefinition {
  const tools = toolsOf(world);
  return build(world.plan.team, '', true);

  function build(of: Shape, path: string, isRoot: boolean, handsTo?: string): AgentDefinition {
    const name = `n${path}`;
    if (of.kind === 'leaf') {
      lines.set(name, (step) => {
        if (handsTo === undefined) return lineOf(of.steps[step], name);
        if (step === 0) return { calls: [{ name: 'transfer_to_agent', args: { target: handsTo } }] };
        return lineOf(of.steps[step - 1], name);
      });
      return agent({ name, model: 'scripted', tools, constraints: { maxTurns: 6 } });
    }
    const hands = of.kind === 'transfer' && of.hands && of.children.length > 1;
    const children = of.children.map((child, at) =>
      build(child, `${path}_${at}`, false, hands && at === 0 ? `n${path}_1` : undefined),
    );
    const own = { name, ...(isRoot && { state }), ...supervision(of, children) };
    switch (of.kind) {
      case 'sequential':
        return sequential({ ...own, children, onFailure: of.goesOn ? 'continue' : 'stop' } as never);
      case 'parallel':
        return parallel({
          ...own,
          children,
          concurrency: of.concurrency,
          failure: of.mode === 'fail_fast' ? 'fail_fast' : 'settle',
          join: of.mode === 'any' ? 'any' : 'all',
        } as never);
      case 'loop':
        return loop({ ...own, children, maxIterations: of.rounds } as never);
      case 'transfer':
        return transfer({ ...own, members: children, start: children[0]!.name } as never);
      case 'graph':
        return graph({ ...own, ...graphOf(name, of.way, children) } as never);
      case 'hierarchical': {
        const leader = `${name}_lead`;
        lines.set(leader, (step) =>
          step === 0
            ? { calls: children.map((child) => ({ name: child.name, args: { prompt: 'x' } })) }
            : { text: leader },
        );
        return hierarchical({ ...own, agent: agent({ name: leader, model: 'scripted' }), children } as never);
      }
    }
  }
}

function supervision(of: Shape, children: readonly AgentDefinition[]): object {
  if (!('restarts' in of) || of.restarts === 0) return {};
  const each = { restart: 'on_failure', maxRestarts: of.restarts, backoffMs: 10 };
  return { supervise: { children: Object.fromEntries(children.map((child) => [child.name, each])) } };
}

/** All children at once between two functions; or one after another, twice. */
function graphOf(name: string, way: 'all' | 'any' | 'round', children: readonly AgentDefinition[]): object {
  const nodes = Object.fromEntries(children.map((child) => [child.name, child]));
  const names = Object.keys(nodes);
  const [first = '', last = ''] = [names[0], names.at(-1)];
  if (way === 'round') {
    return {
      nodes,
      edges: [
        ...names.slice(1).map((to, index) => ({ from: names[index], to })),
        { from: last, to: first, guard: ({ visits }: { visits: Record<string, number> }) => visits[last] === 1 },
      ],
      start: first,
      end: last,
      maxSteps: 2 * names.length,
    };
  }
  return {
    nodes: { [`${name}_split`]: () => 'go', ...nodes, [`${name}_join`]: () => undefined },
    edges: names.flatMap((one) => [
      { from: `${name}_split`, to: one },
      { from: one, to: `${name}_join` },
    ]),
    start: `${name}_split`,
    end: `${name}_join`,
    joins: { [`${name}_join`]: way },
  };
}

/** `pay` changes something and may not be done twice; `put` may; the others read, ask, or note something in the state. */
function toolsOf(world: World): ToolDefinition[] {
  const made = (
    name: ToolName,
    annotations: ToolAnnotations,
    run: (context: ToolContext) => Promise<string | Pending>,
  ) =>
    tool({
      name,
      description: name,
      parameters: { type: 'object' },
      annotations,
      async execute(args, context) {
        world.began(name, context, args);
        await suffer(world, context.signal);
        return run(context);
      },
    }) as ToolDefinition;
  const done = (name: string) => async () => `${name} done`;
  return [
    made('look', { readOnly: true }, done('look')),
    made('pay', {}, done('pay')),
    made('put', { idempotent: true }, done('put')),
    made('ask', { readOnly: true }, async ({ elicit }) => (await elicit({ message: 'well?' })).action),
    made('wait', {}, async ({ requestId }) => pending({ job: requestId })),
    made('add', { readOnly: true }, async ({ state: values, requestId }) => {
      // A team of one agent declares no state.
      if (world.plan.team.kind === 'leaf') return 'nowhere to add';
      values.set('notes', [requestId]);
      values.set('sum', 1);
      return 'added';
    }),
  ];
}

/** What a tool may do beside its work. */
async function suffer(world: World, signal: AbortSignal): Promise<void> {
  const { pick, plan } = world;
  const fault = pick.chance(plan.toolFaults) ? pick.of(['throws', 'slow', 'late', 'deaf'] as const) : undefined;
  if (fault !== undefined) world.trace(`  fault ${fault}`);
  switch (fault) {
    case 'throws':
      throw new Error('the tool broke');
    case 'slow':
      return world.sleep(pick.int(1_000, 60_000), signal);
    case 'late':
      return world.sleep(200_000, signal);
    case 'deaf':
      return world.sleep(300_000, undefined);
    default:
      return world.sleep(pick.of([0, 0, 1, 10, 100]), signal);
  }
}
