import type { AgentConstraints, AgentDefinition, ModelPrice } from '../contracts/index.js';
import { isFunctionAgent } from '../kernel/function-executor.js';
import { graphPlan } from '../kernel/graph-plan.js';
import { inputLimit, mostOf, outputBound } from '../kernel/price.js';

/** The most that one run can ask of models. */
export interface WorstCase {
  /** Model calls of the whole tree; absent when something in it has no bound. */
  modelCalls: number | undefined;
  /** Only where every agent that may be reached has a known price, or is bounded by a `maxBudgetUsd`. */
  usd?: number;
  /** What the number takes for granted, in sentences; empty when it holds as it stands. */
  assumptions: string[];
}

/** What holds for an agent that says nothing of its own: a root run, a sub-agent. */
const defaults = {
  root: { maxTurns: 100, maxLlmCalls: 500 },
  subAgent: { maxTurns: 15, maxLlmCalls: Number.POSITIVE_INFINITY },
} as const;
/** Executors whose model calls the host makes, and counts, itself. */
const ownExecutors: ReadonlySet<string> = new Set(['local', 'openrouter']);
const defaultMaxTransfers = 10;
const defaultMaxRestarts = 1;

/** Calls and dollars; `undefined` is no bound. */
interface Bound {
  calls: number | undefined;
  usd: number | undefined;
}

const nothing: Bound = { calls: 0, usd: 0 };

/**
 * How many model calls one run of `definition` can make, from its limits alone.
 *
 * An agent: its `maxTurns` (a root run: 100, a sub-agent: 15, where it sets none), and one more with `graceTurn`; answers
 * sent back because they do not fit the `outputSchema` are among them. `sequential`, `parallel`: the sum of the
 * children. `loop`: `maxIterations` times that sum. `transfer`: (`maxTransfers` + 1) times the costliest member that can
 * be reached. `graph`: the sum of the nodes, with a cycle `maxSteps` times the costliest. `hierarchical`: the leader's calls, and in each of its turns every child once: that a model asks for each
 * child once per turn is an assumption, as nothing limits it. A child with `restart: 'on_failure'` counts once more for
 * each restart. All of it at most `maxLlmCalls`, and the `maxTurns` of a composition without a leader, which count what is below a composition too (an agent or a leader as
 * root: 500); a grace turn goes one beyond a limit of its own. In USD: what each of these calls can cost at most, by the
 * price of the dearest model that may answer it, or the `maxBudgetUsd` above it, where that is less. Retries of failed calls, and the house's own calls (summaries, classifiers), are not counted: only
 * `maxLlmCalls` bounds them.
 */
export function worstCaseOf(definition: AgentDefinition, prices: ModelPrices = () => [undefined]): WorstCase {
  const assumptions = new Set<string>();
  const { calls, usd } = boundOf(definition, { path: definition.name, isRoot: true, assumptions, prices });
  const rounded = usd === undefined ? {} : { usd: Math.ceil(usd * CENTS) / CENTS };
  return { modelCalls: calls, ...rounded, assumptions: [...assumptions] };
}

/** Beyond any price; hides that sums of amounts are not exact. */
const CENTS = 1e6;

/** Prices of every model that a choice may end with. */
export type ModelPrices = (model: AgentDefinition['model']) => readonly (ModelPrice | undefined)[];

interface Place {
  path: string;
  isRoot: boolean;
  assumptions: Set<string>;
  prices: ModelPrices;
}

function boundOf(definition: AgentDefinition, place: Place): Bound {
  const { composition, constraints = {} } = definition.descriptor;
  const bound = composition === undefined ? agentBound(definition, place) : compositionBound(definition, place);
  if (constraints.maxBudgetUsd !== undefined && place.isRoot)
    place.assumptions.add('a model call that has begun is paid for, also when it goes beyond maxBudgetUsd');
  const usd = lower(bound.usd, constraints.maxBudgetUsd);
  const isDriven = composition === undefined || definition.leader !== undefined;
  const calls = lower(lower(bound.calls, constraints.maxLlmCalls), constraints.maxTurns);
  return { calls: isDriven ? bound.calls : calls, usd };
}

function agentBound(definition: AgentDefinition, place: Place): Bound {
  const { executor, constraints = {} } = definition.descriptor;
  if (isFunctionAgent(definition.descriptor)) return nothing;
  if (!ownExecutors.has(executor))
    place.assumptions.add(
      `${place.path} runs its own model (executor "${executor}"): its calls are counted by its limits, as far as it reports them`,
    );
  const { turns, calls, grace } = limitsOf(constraints, place);
  const made = Math.min(calls, turns) + grace;
  const each = ownExecutors.has(executor) ? callUsd(definition, place) : undefined;
  return { calls: made, usd: each === undefined ? undefined : each * made };
}

/** The most that one call of an agent can cost; undefined where a price is not known. */
function callUsd({ model, contextBudget, generation }: AgentDefinition, place: Place): number | undefined {
  const prices = place.prices(model);
  let most: number | undefined;
  for (const price of prices) {
    if (price === undefined) return undefined;
    const input = contextBudget?.maxTokens ?? inputLimit(price);
    const output = outputBound(generation === undefined ? {} : { config: generation }, price);
    place.assumptions.add(`a model call of ${place.path} has at most ${input} tokens of input and ${output} of output`);
    most = Math.max(most ?? 0, mostOf(price, input, output));
  }
  return most;
}

function limitsOf(constraints: AgentConstraints, place: Place): { turns: number; calls: number; grace: number } {
  const standard = place.isRoot ? defaults.root : defaults.subAgent;
  return {
    turns: constraints.maxTurns ?? standard.maxTurns,
    calls: constraints.maxLlmCalls ?? standard.maxLlmCalls,
    // A grace turn is made although a limit of its own has been reached; one of a composition above it stands.
    grace: constraints.graceTurn === true ? 1 : 0,
  };
}

function compositionBound(definition: AgentDefinition, place: Place): Bound {
  const config = definition.descriptor.composition;
  const children = (definition.children ?? []).map((child) => ({
    name: child.name,
    bound: childBound(definition, child, place),
  }));
  const sum = children.map(({ bound }) => bound).reduce(plus, nothing);
  switch (config?.pattern) {
    case 'sequential':
    case 'parallel':
      return sum;
    case 'loop':
      return isCount(config.maxIterations) ? times(config.maxIterations, sum) : { calls: undefined, usd: undefined };
    case 'transfer': {
      const reachable = reachableMembers(definition);
      const transfers = config.maxTransfers ?? defaultMaxTransfers;
      if (!Number.isInteger(transfers) || transfers < 0) return { calls: undefined, usd: undefined };
      const worst = children.filter(({ name }) => reachable.has(name)).map(({ bound }) => bound);
      return times(transfers + 1, worst.reduce(greater, nothing));
    }
    case 'hierarchical':
      return definition.leader === undefined ? sum : hierarchyBound(definition, definition.leader, sum, place);
    case 'graph': {
      // Without a cycle each node begins once at most; with one, `maxSteps` bounds them all.
      const plan = graphPlan(config);
      if (!plan.edges.some(({ isBack }) => isBack)) return sum;
      const worst = children.map(({ bound }) => bound).reduce(greater, nothing);
      return isCount(config.maxSteps) ? times(config.maxSteps, worst) : { calls: undefined, usd: undefined };
    }
    default:
      place.assumptions.add(`${place.path}: each child of the pattern "${config?.pattern}" is taken to run once`);
      return sum;
  }
}

/** The leader runs on the composition's own thread, and the composition's limits win over its own. */
function hierarchyBound(definition: AgentDefinition, leader: AgentDefinition, children: Bound, place: Place): Bound {
  const constraints = { ...leader.descriptor.constraints, ...definition.descriptor.constraints };
  const { turns, calls, grace } = limitsOf(constraints, place);
  const led = Math.min(turns, calls);
  const each = callUsd(leader, place);
  const total = plus({ calls: led, usd: each === undefined ? undefined : each * (led + grace) }, times(led, children));
  if (total.calls !== undefined && total.calls < calls && definition.descriptor.composition?.children.length !== 0) {
    const otherwise = Number.isFinite(calls)
      ? `otherwise its run ends at ${calls} model calls`
      : 'nothing but the number of its turns limits it';
    place.assumptions.add(`"${leader.name}" calls each of its children at most once per turn (${otherwise})`);
  }
  return { ...total, calls: (lower(total.calls, calls) ?? calls) + grace };
}

function childBound(parent: AgentDefinition, child: AgentDefinition, place: Place): Bound {
  const path = `${place.path}/${child.name}`;
  const bound = boundOf(child, { ...place, path, isRoot: false });
  const supervise = parent.descriptor.composition?.supervise ?? parent.behaviour?.supervise;
  const rule = supervise?.children?.[child.name];
  if (rule?.restart !== 'on_failure') return bound;
  if (rule.withinMs !== undefined)
    place.assumptions.add(
      `${path} may restart ${rule.maxRestarts ?? defaultMaxRestarts} times in every ${rule.withinMs} ms; one such span is counted`,
    );
  return times(1 + (rule.maxRestarts ?? defaultMaxRestarts), bound);
}

/** Names of the members that the conversation can get to from `start`. Without `targets` everybody may hand over to everybody. */
export function reachableMembers(definition: AgentDefinition): ReadonlySet<string> {
  const { start, transferTargets, children = [] } = definition.descriptor.composition ?? {};
  const first = start ?? children[0];
  const reached = new Set<string>(first === undefined ? [] : [first]);
  for (const name of reached)
    for (const target of transferTargets?.[name] ?? (transferTargets ? [] : children)) reached.add(target);
  return reached;
}

function plus(one: Bound, other: Bound): Bound {
  return { calls: both(one.calls, other.calls, (a, b) => a + b), usd: both(one.usd, other.usd, (a, b) => a + b) };
}

function times(factor: number, bound: Bound): Bound {
  return { calls: both(factor, bound.calls, (a, b) => a * b), usd: both(factor, bound.usd, (a, b) => a * b) };
}

function greater(one: Bound, other: Bound): Bound {
  return { calls: both(one.calls, other.calls, Math.max), usd: both(one.usd, other.usd, Math.max) };
}

function both(
  one: number | undefined,
  other: number | undefined,
  join: (one: number, other: number) => number,
): number | undefined {
  return one === undefined || other === undefined ? undefined : join(one, other);
}

function lower(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1;
}
