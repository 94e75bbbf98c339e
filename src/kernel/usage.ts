import type { CostTotals, ModelUsage, UsageTotals } from '../contracts/index.js';

/** Sums of model usage. A field that no call gave stays absent, never 0. */
export interface UsageTally {
  /** Adds one call. A field that is no amount, a finite number from 0, counts as not given. */
  add(usage: ModelUsage): void;
  /** Adds what another tally holds by now. */
  addTally(other: UsageTally): void;
  totals(): UsageTotals;
  /** Absent when no call had a price; `incomplete` when some call had none. `usd` is rounded to 12 decimals. */
  cost(): CostTotals | undefined;
  /** Calls added, those of other tallies included. */
  readonly calls: number;
  /** How many of them had no price. */
  readonly unpriced: number;
}

const FIELDS = ['inputTokens', 'outputTokens', 'cachedTokens', 'thoughtTokens'] as const;
/** Beyond any price per token; hides that 0.1 + 0.2 is not 0.3. */
const DECIMALS = 1e12;

export const createUsageTally = (): UsageTally => new Tally();

/** A class, not an object with getters: there is one per run. */
class Tally implements UsageTally {
  calls = 0;
  unpriced = 0;
  #sums: UsageTotals | undefined;
  #usd: number | undefined;

  add(usage: ModelUsage): void {
    this.#addFields(usage);
    this.calls += 1;
    const price = usage.cost?.usd;
    if (isAmount(price)) this.#usd = (this.#usd ?? 0) + price;
    else this.unpriced += 1;
  }

  addTally(other: UsageTally): void {
    if (other.calls === 0) return;
    this.#addFields(other.totals());
    this.calls += other.calls;
    this.unpriced += other.unpriced;
    const cost = other.cost();
    if (cost !== undefined) this.#usd = (this.#usd ?? 0) + cost.usd;
  }

  totals(): UsageTotals {
    return { ...this.#sums };
  }

  cost(): CostTotals | undefined {
    if (this.#usd === undefined) return undefined;
    const usd = Math.round(this.#usd * DECIMALS) / DECIMALS;
    return this.unpriced > 0 ? { usd, incomplete: true } : { usd };
  }

  #addFields(more: UsageTotals): void {
    for (const field of FIELDS) {
      const value = more[field];
      if (!isAmount(value)) continue;
      this.#sums ??= {};
      this.#sums[field] = (this.#sums[field] ?? 0) + value;
    }
  }
}

/**
 * The same where each of its numbers is an amount, else a copy without those that are none: nobody gives anything back.
 * A cost without an amount is none.
 */
export function amountsIn<T extends ModelUsage>(usage: T): T {
  const isAbsentOrAmount = (value: unknown) => value === undefined || isAmount(value);
  const isCost = usage.cost === undefined || isAmount(usage.cost?.usd);
  if (isCost && FIELDS.every((field) => isAbsentOrAmount(usage[field]))) return usage;
  const kept = { ...usage };
  for (const field of FIELDS) if (!isAmount(kept[field])) delete kept[field];
  if (!isCost) delete kept.cost;
  return kept;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
