import { describe, expect, test } from 'vitest';
import type { ModelUsage } from '../../src/contracts/index.js';
import { amountsIn, createUsageTally } from '../../src/kernel/usage.js';
import { fc } from '../support/fast-check.js';

const tallyOf = (...usages: ModelUsage[]) => {
  const tally = createUsageTally();
  for (const usage of usages) tally.add(usage);
  return tally;
};
const amount = fc.nat(1_000_000);
const usage: fc.Arbitrary<ModelUsage> = fc.record(
  {
    inputTokens: amount,
    outputTokens: amount,
    cachedTokens: amount,
    thoughtTokens: amount,
    cost: fc.record({ usd: amount.map((micro) => micro / 1e6) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

describe('usage', () => {
  test('a field that no call gave stays absent, a given 0 is 0', () => {
    expect(tallyOf().totals()).toEqual({});
    expect(tallyOf({ inputTokens: 0 }, {}).totals()).toEqual({ inputTokens: 0 });
    expect(tallyOf({ inputTokens: 3, outputTokens: 1 }, { inputTokens: 4 }).totals()).toEqual({
      inputTokens: 7,
      outputTokens: 1,
    });
  });

  test('cost is absent without a price, and incomplete when a call had none', () => {
    expect(tallyOf().cost()).toBeUndefined();
    expect(tallyOf({ inputTokens: 1 }, { cost: {} }).cost()).toBeUndefined();
    expect(tallyOf({ cost: { usd: 0.1 } }, { cost: { usd: 0.2 } }).cost()).toEqual({ usd: 0.3 });
    expect(tallyOf({ cost: { usd: 0 } }).cost()).toEqual({ usd: 0 });
    expect(tallyOf({ cost: { usd: 1 } }, { inputTokens: 1 }).cost()).toEqual({ usd: 1, incomplete: true });
  });

  test('what is no finite number counts as not given', () => {
    const broken = { inputTokens: Number.NaN, outputTokens: '7', cost: { usd: Number.POSITIVE_INFINITY } } as never;
    const tally = tallyOf(broken, { outputTokens: 2 });
    expect(tally.totals()).toEqual({ outputTokens: 2 });
    expect(tally.cost()).toBeUndefined();
  });

  test('nobody gives tokens or money back', () => {
    const given = { inputTokens: -5, outputTokens: 2, cost: { usd: -1 } };
    expect(amountsIn(given)).toEqual({ outputTokens: 2 });
    expect(tallyOf({ inputTokens: 7 }, given).totals()).toEqual({ inputTokens: 7, outputTokens: 2 });
    expect(tallyOf(given).cost()).toBeUndefined();
    const fine = { inputTokens: 0, cost: { usd: 0 } };
    expect(amountsIn(fine)).toBe(fine);
  });

  test('a tree of tallies sums to the same as one tally, absent fields and missing prices included', () => {
    fc.assert(
      fc.property(fc.array(fc.array(usage)), (threads) => {
        const tree = createUsageTally();
        for (const calls of threads) tree.addTally(tallyOf(...calls));
        const flat = tallyOf(...threads.flat());
        expect(tree.totals()).toEqual(flat.totals());
        expect(tree.cost()).toEqual(flat.cost());
        expect([tree.calls, tree.unpriced]).toEqual([flat.calls, flat.unpriced]);
      }),
    );
  });

  test('an unpriced child makes the sum above it incomplete', () => {
    const parent = tallyOf({ cost: { usd: 1 } });
    parent.addTally(tallyOf({ inputTokens: 1 }));
    expect(parent.cost()).toEqual({ usd: 1, incomplete: true });
  });

  test('totals given out are copies', () => {
    const tally = tallyOf({ inputTokens: 1 });
    tally.totals().inputTokens = 9;
    expect(tally.totals()).toEqual({ inputTokens: 1 });
  });
});
