import type { ModelRequest, ModelUsage, ResolvedModel } from '../contracts/index.js';
import { outputBound } from '../kernel/price.js';
import { inputBound } from '../kernel/token-bound.js';
import type { Exhausted, Need, Reservation, TreeBudget } from './budget.js';
import { addCost, addTokens, budgetOf, tokensIn } from './limits.js';
import type { Thread } from './thread.js';

/** A model call that has reserved its worst case. */
export interface PaidCall {
  /** The answer may have no more tokens than these; undefined: as many as it wants. */
  readonly maxOutputTokens: number | undefined;
  /** What it used, as its provider says; its cost is counted by who publishes it. */
  note(usage: ModelUsage): void;
  /**
   * It is over. What was answered and not said to have cost or used anything counts as the worst case; what was not
   * answered as nothing. Twice does nothing.
   */
  settle(wasAnswered: boolean): void;
}

/** A model to be asked; without `model`, one that a backend brings and asks by itself. */
export type AskedModel = Pick<ResolvedModel, 'name' | 'provider'> & Partial<Pick<ResolvedModel, 'model'>>;

/** A model whose cost nobody would ever know, where a limit on cost stands above; undefined: it may be asked. */
export function unpriced(thread: Thread, { name, model }: AskedModel): { code: string; message: string } | undefined {
  if (thread.tree.budget === undefined || !isLimitedInUsd(thread)) return undefined;
  if (thread.tree.host.models.price(name) !== undefined || model?.reportsCost !== undefined) return undefined;
  return { code: 'UNKNOWN_PRICE', message: unknownPrice(name) };
}

export const unknownPrice = (name: string): string =>
  `maxBudgetUsd cannot be kept with the model "${name}": nothing says what it costs; give createHost({ prices: { "${name}": { input, output } } }), in USD per million tokens`;

function isLimitedInUsd(from: Thread): boolean {
  for (let at: Thread | undefined = from; at !== undefined; at = at.parent) {
    if (Number.isFinite(budgetOf(at))) return true;
  }
  return false;
}

/** The worst that a request can come to. */
export function needOf(thread: Thread, { name }: AskedModel, request: ModelRequest): Need {
  const price = thread.tree.host.models.price(name);
  return { inputTokens: inputBound(request), outputTokens: outputBound(request, price), price };
}

/** Waits where the budgets above ask for it. Undefined: `signal` fired first. */
export async function reserveFor(
  thread: Thread,
  need: Need,
  signal: () => AbortSignal,
  model: AskedModel['model'],
): Promise<PaidCall | Exhausted | undefined> {
  const budget = thread.tree.budget as TreeBudget;
  const reserved = await budget.reserve(thread, need, signal);
  if (reserved === undefined || 'exhausted' in reserved) return reserved;
  return new Paid(thread, budget, need, reserved, model);
}

class Paid implements PaidCall {
  readonly maxOutputTokens: number | undefined;
  #isCostKnown = false;
  #areTokensKnown = false;
  #isSettled = false;

  constructor(
    private readonly thread: Thread,
    private readonly budget: TreeBudget,
    private readonly need: Need,
    private readonly reserved: Reservation,
    private readonly model: AskedModel['model'],
  ) {
    this.maxOutputTokens = reserved.outputTokens < need.outputTokens ? reserved.outputTokens : undefined;
  }

  note(usage: ModelUsage): void {
    if (this.#isSettled) return;
    this.#isCostKnown ||= usage.cost?.usd !== undefined;
    const tokens = tokensIn(usage, this.model?.countsThoughtsAsOutput === true);
    if (tokens === undefined) return;
    this.#areTokensKnown = true;
    addTokens(this.thread, tokens);
  }

  settle(wasAnswered: boolean): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { thread, reserved, model } = this;
    if (wasAnswered && !this.#areTokensKnown) addTokens(thread, this.need.inputTokens + reserved.outputTokens);
    const isFree = this.need.price === undefined && model?.reportsCost !== 'always';
    if (wasAnswered && !this.#isCostKnown && !isFree)
      addCost(thread, Math.max(0, ...reserved.parts.map(({ usd }) => usd)));
    this.budget.release(reserved);
  }
}
