import type { CostTotals, ModelUsage, UsageTotals } from '../contracts/index.js';

/** Sums of model usage. A field that no call gave stays absent, never 0. */
export interface UsageTally {
  /** Adds one call. A field that is no finite number counts as not given. */
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

export function createUsageTally(): UsageTally {
  const sums: UsageTotals = {};
  let usd: number | undefined;
  let calls = 0;
  let unpriced = 0;

  const addFields = (more: UsageTotals) => {
    for (const field of FIELDS) {
      const value = more[field];
      if (isAmount(value)) sums[field] = (sums[field] ?? 0) + value;
    }
  };

  return {
    add(usage) {
      addFields(usage);
      calls += 1;
      const price = usage.cost?.usd;
      if (isAmount(price)) usd = (usd ?? 0) + price;
      else unpriced += 1;
    },
    addTally(other) {
      addFields(other.totals());
      calls += other.calls;
      unpriced += other.unpriced;
      const cost = other.cost();
      if (cost !== undefined) usd = (usd ?? 0) + cost.usd;
    },
    totals: () => ({ ...sums }),
    cost() {
      if (usd === undefined) return undefined;
      const rounded = Math.round(usd * DECIMALS) / DECIMALS;
      return unpriced > 0 ? { usd: rounded, incomplete: true } : { usd: rounded };
    },
    get calls() {
      return calls;
    },
    get unpriced() {
      return unpriced;
    },
  };
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
