import { type AnyStateMachine, assign, sendParent, sendTo, setup } from 'xstate';
import { notProvided } from '../machines/agent-logic.js';
import type { AgentDescriptor } from '../src/contracts/index.js';
import type { CompositionEvent, Conclusion, CrewInput, CrewPlan } from '../src/kernel/crew.js';
import { TroupeError } from '../src/kernel/errors.js';
import { type GraphPlan, graphPlan } from '../src/kernel/graph-plan.js';
import { type CompositionContext, type CrewLogic, crewInput } from './spawn-agent.js';

/** Nodes and edges by their index in the plan. */
export interface GraphContext extends CompositionContext {
  /** Edges that were taken and whose target has yet to begin, oldest first. */
  readonly taken: readonly number[];
  /** Nodes that run, or whose guards are being asked. */
  readonly live: readonly number[];
  /** Nodes that a join left behind, and that have yet to settle. */
  readonly left: readonly number[];
  /** Runs of nodes so far. */
  readonly steps: number;
  /** The end that was reached last; -1: none. */
  readonly reached: number;
}

const settings = setup({
  types: { input: {} as CrewInput, context: {} as GraphContext, events: {} as CompositionEvent },
  actors: { crew: notProvided<CrewLogic>('crew') },
  guards: {
    isReached: ({ context }, { node }: { node: number }) => isReached(context, node),
    isUnreached: ({ context }, { node }: { node: number }) => !isReached(context, node),
    begins: ({ context }, { node }: { node: number }) => nextOf(context) === node && hasStepsLeft(context),
    isOutOfSteps: ({ context }, { node }: { node: number }) => nextOf(context) === node && !hasStepsLeft(context),
    isLeft: ({ context }, { node }: { node: number }) => context.left.includes(node),
    escalates: ({ event }, { node }: { node: number }) => isSettled(event, node) && event.escalated,
    fails: ({ event }, { node }: { node: number }) => isSettled(event, node) && !event.ok,
    settles: ({ event }, { node }: { node: number }) => isSettled(event, node),
    cannotDecide: ({ event }, { node }: { node: number }) => isDecided(event, node) && event.failed,
    decides: ({ event }, { node }: { node: number }) => isDecided(event, node),
    isOver: ({ event }, { node }: { node: number }) => isSettled(event, node) || isDecided(event, node),
    isQuiet: ({ context: { taken, live, left } }) => taken.length + live.length + left.length === 0,
    isAtEnd: ({ context: { taken, live, left, reached } }) =>
      taken.length + live.length + left.length === 0 && reached >= 0,
  },
  actions: {
    start: sendTo('crew', ({ context }, { node }: { node: number }) => ({
      type: 'crew.start',
      index: node,
      from: leadingTo(context, node).map((edge) => graphOf(context).edges[edge]?.from ?? -1),
    })),
    enter: assign(({ context }, { node }: { node: number }) => ({
      steps: context.steps + 1,
      live: [...context.live, node],
      taken: context.taken.filter((edge) => graphOf(context).edges[edge]?.to !== node),
    })),
    leaveOthers: sendTo('crew', ({ context }, { node }: { node: number }) => ({
      type: 'crew.leave',
      indexes: onTheWay(context, node),
    })),
    forgetOthers: assign(({ context }, { node }: { node: number }) => {
      const left = onTheWay(context, node);
      const before = ancestryOf(context, node);
      return {
        left: [...context.left, ...left],
        live: context.live.filter((one) => !left.includes(one)),
        taken: context.taken.filter((edge) => !before.has(graphOf(context).edges[edge]?.to ?? -1)),
      };
    }),
    decide: sendTo('crew', (_, { node }: { node: number }) => ({ type: 'crew.decideEdges', index: node })),
    leadOn: assign(({ context, event }, { node }: { node: number }) => {
      const edges = event.type === 'crew.decidedEdges' ? event.taken : edgesFrom(graphOf(context), node);
      return {
        live: context.live.filter((one) => one !== node),
        taken: [...context.taken, ...edges],
        reached: edges.length === 0 && graphOf(context).ends.includes(node) ? node : context.reached,
      };
    }),
    forget: assign(({ context }, { node }: { node: number }) => ({ left: context.left.filter((one) => one !== node) })),
    stopCrew: sendTo('crew', { type: 'crew.stop' }),
    conclude: sendTo('crew', ({ context }) => ({
      type: 'crew.conclude',
      conclusion: context.conclusion,
      end: context.reached,
    })),
    because: assign({ conclusion: (_, { why }: { why: Conclusion }) => why }),
    reportEnd: sendParent((_, { reason, endsSession }: { reason: string; endsSession: boolean }) => ({
      type: 'turn.ended',
      reason,
      endsSession,
    })),
  },
});

const graphOf = (context: CrewInput): GraphPlan => context.plan.graph as GraphPlan;

const edgesFrom = ({ edges }: GraphPlan, node: number): number[] =>
  edges.flatMap(({ from }, index) => (from === node ? [index] : []));

const leadingTo = (context: GraphContext, node: number): number[] =>
  context.taken.filter((edge) => graphOf(context).edges[edge]?.to === node);

const isReached = (context: GraphContext, node: number): boolean =>
  context.taken.some((edge) => graphOf(context).edges[edge]?.to === node);

/** By plan and node: the nodes that stand before it. */
const ancestries = new WeakMap<GraphPlan, readonly ReadonlySet<number>[]>();

function ancestryOf(context: GraphContext, node: number): ReadonlySet<number> {
  const plan = graphOf(context);
  const known = ancestries.get(plan) ?? plan.before.map((nodes) => new Set(nodes));
  ancestries.set(plan, known);
  return known[node] as ReadonlySet<number>;
}

/** Live nodes from which some way leads to `node`. */
function onTheWay(context: GraphContext, node: number): number[] {
  const before = ancestryOf(context, node);
  return context.live.filter((one) => before.has(one));
}

/** What each context comes to: every region asks the same of it. */
const nexts = new WeakMap<GraphContext, number>();

/** The node that begins next: the first in the order of the edges taken that has not to wait. One at a time, so that order decides. */
function nextOf(context: GraphContext): number {
  const known = nexts.get(context) ?? findNext(context);
  nexts.set(context, known);
  return known;
}

function findNext(context: GraphContext): number {
  const { edges, joins } = graphOf(context);
  const waiting = new Set([...context.live, ...context.left]);
  for (const edge of context.taken) {
    const node = edges[edge]?.to ?? -1;
    if (waiting.has(node)) continue;
    if (joins[node] !== 'all') return node;
    const before = ancestryOf(context, node);
    const isAwaited =
      context.live.some((one) => before.has(one)) || context.taken.some((other) => before.has(edges[other]?.to ?? -1));
    if (!isAwaited) return node;
    waiting.add(node);
  }
  return -1;
}

const hasStepsLeft = (context: GraphContext): boolean => context.steps < (graphOf(context).maxSteps ?? Infinity);

const isSettled = (event: CompositionEvent, node: number): event is CompositionEvent & { type: 'child.settled' } =>
  event.type === 'child.settled' && event.index === node;

const isDecided = (event: CompositionEvent, node: number): event is CompositionEvent & { type: 'crew.decidedEdges' } =>
  event.type === 'crew.decidedEdges' && event.index === node;

/**
 * The machine of a graph, from what `graph()` made (`team.descriptor`), by the graph's name: to be drawn, walked by pure
 * transitions and checked as it is. Each node is a region of its own, as several may run at once; nodes and edges are
 * told by their place in the definition, edges from 1. Needs no input. Throws for what is no graph.
 */
export function graphMachine({ name, composition }: AgentDescriptor): AnyStateMachine {
  if (composition?.pattern !== 'graph') {
    throw new TroupeError({ code: 'INVALID_DEFINITION', message: `"${name}" is no graph; give the descriptor of one` });
  }
  return planMachine(graphPlan(composition), name);
}

/** The same of a plan that is known already. */
export function planMachine(graph: GraphPlan, id = 'graph'): AnyStateMachine {
  const alone: CrewInput = { address: '', plan: { ...ALONE, count: graph.nodes.length, graph } };
  return settings.createMachine({
    id,
    context: ({ input }) => ({
      ...alone,
      taken: [0],
      live: [],
      left: [],
      steps: 0,
      reached: -1,
      conclusion: 'completed',
      ...input,
    }),
    invoke: { src: 'crew', id: 'crew', input: crewInput },
    initial: 'running',
    states: {
      running: {
        type: 'parallel',
        states: Object.fromEntries(graph.nodes.map((name, node) => [name, regionOf(graph, node, `#${id}.stopping`)])),
        always: [
          { guard: 'isAtEnd', target: 'concluding' },
          { guard: 'isQuiet', target: 'concluding', actions: { type: 'because', params: { why: 'stuck' } } },
        ],
        on: { 'run.stop': { target: 'stopping', actions: { type: 'because', params: { why: 'aborted' } } } },
      },
      stopping: {
        entry: 'stopCrew',
        on: {
          'run.stop': { actions: { type: 'because', params: { why: 'aborted' } } },
          'crew.stopped': 'concluding',
        },
      },
      concluding: {
        entry: 'conclude',
        on: { 'crew.concluded': { target: 'ended', actions: { type: 'reportEnd', params: ({ event }) => event } } },
      },
      // Not final: the session stops it once it has heard of the end.
      ended: {},
    },
  });
}

/** What a plan says where there is no crew to read it. */
const ALONE: Omit<CrewPlan, 'count' | 'graph'> = {
  concurrency: 1,
  failFast: false,
  goesOnAfterFailure: false,
  quorum: 0,
  maxIterations: 1,
  asksUntil: false,
  maxTransfers: 0,
  inLoop: false,
};

type Region = NonNullable<NonNullable<Parameters<typeof settings.createMachine>[0]['states']>[string]>;

/** What one node does. A region's transitions are all about its own node: the others let its events pass. */
function regionOf(plan: GraphPlan, node: number, stopping: string): Region {
  const params = { node };
  const entry = plan.joins[node] === 'any' ? anyEntry : plainEntry;
  const asks = plan.edges.some(({ from, guard }) => from === node && guard !== 'none');
  const mayBeLeft = plan.joins.some((join, other) => join === 'any' && plan.before[other]?.includes(node));
  const ends = (why: Conclusion) => ({ target: stopping, actions: { type: 'because', params: { why } } }) as const;
  const begin = [
    ...(plan.maxSteps === null ? [] : [{ guard: { type: 'isOutOfSteps', params }, ...ends('max_steps') }]),
    { guard: { type: 'begins', params }, target: 'running' },
  ];
  const leadOn = { target: 'idle', actions: { type: 'leadOn', params } } as const;
  const leave = mayBeLeft ? { always: { guard: { type: 'isLeft', params }, target: 'leaving' } } : {};
  const over = { guard: { type: 'isOver', params }, target: 'idle', actions: { type: 'forget', params } } as const;
  return {
    initial: 'idle',
    states: {
      idle: {
        always: plan.joins[node] === 'all' ? { guard: { type: 'isReached', params }, target: 'waiting' } : begin,
      },
      ...(plan.joins[node] === 'all' && {
        waiting: { always: [...begin, { guard: { type: 'isUnreached', params }, target: 'idle' }] },
      }),
      running: {
        entry: entry.map((type) => ({ type, params })),
        ...leave,
        on: {
          'child.settled': [
            { guard: { type: 'escalates', params }, ...ends('escalated') },
            { guard: { type: 'fails', params }, ...ends('failed') },
            { guard: { type: 'settles', params }, ...(asks ? { target: 'deciding' } : leadOn) },
          ],
        },
      },
      ...(asks && {
        deciding: {
          entry: { type: 'decide', params },
          ...leave,
          on: {
            'crew.decidedEdges': [
              { guard: { type: 'cannotDecide', params }, ...ends('failed') },
              { guard: { type: 'decides', params }, ...leadOn },
            ],
          },
        },
      }),
      ...(mayBeLeft && { leaving: { on: { 'child.settled': over, ...(asks && { 'crew.decidedEdges': over }) } } }),
    },
  } as Region;
}

const plainEntry = ['start', 'enter'] as const;
const anyEntry = ['start', 'enter', 'leaveOthers', 'forgetOthers'] as const;
