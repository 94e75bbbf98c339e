import { describe, expect, test } from 'vitest';
import { createStateScope, mergeBranches, type StateScope } from '../../src/kernel/state.js';
import { seededRandom, shuffled } from '../../src/testing/seeded.js';
import { fc } from '../support/fast-check.js';

const declaration = {
  plain: { initial: 'start' },
  list: { reducer: 'append' as const },
  total: { reducer: 'sum' as const },
  last: { reducer: 'last' as const },
  join: { initial: '', reducer: (current: string, update: string) => `${current}/${update}` },
};

const write = fc.oneof(
  fc.record({ key: fc.constantFrom('plain', 'last'), value: fc.jsonValue() }),
  fc.record({ key: fc.constant('list'), value: fc.array(fc.jsonValue(), { maxLength: 3 }) }),
  fc.record({ key: fc.constant('total'), value: fc.integer() }),
  fc.record({ key: fc.constant('join'), value: fc.string() }),
);
const branches = fc.array(fc.array(write, { maxLength: 6 }), { minLength: 1, maxLength: 6 });
const plainJson = (value: unknown) => JSON.parse(JSON.stringify(value));

/** Runs all branches at once, their writes interleaved as the seed says, each branch's own in order. */
function interleave(root: StateScope, plans: { key: string; value: unknown }[][], seed: number) {
  const scopes = plans.map(() => root.fork());
  const turns = shuffled(
    plans.flatMap((plan, index) => plan.map(() => index)),
    seededRandom(seed),
  );
  const at = plans.map(() => 0);
  for (const index of turns) {
    const update = plans[index]![at[index]!++]!;
    scopes[index]!.set(update.key, update.value);
  }
  return scopes;
}

describe('state', () => {
  test('the merge is the same for every order in which branches write and finish', () => {
    fc.assert(
      fc.property(branches, fc.integer(), fc.integer(), (plans, seedA, seedB) => {
        const outcome = (seed: number) => {
          const root = createStateScope({ declaration });
          const scopes = interleave(root, plans, seed);
          const named = scopes.map((scope, index) => ({ name: `b_${index + 1}`, updates: scope.updates() }));
          const { conflicts } = mergeBranches(root, named);
          return { conflicts, values: root.values(), delta: root.delta() };
        };
        expect(outcome(seedA)).toEqual(outcome(seedB));
      }),
    );
  });

  test('a merge without conflict equals the branches run one after the other', () => {
    fc.assert(
      fc.property(branches, (plans) => {
        const merged = createStateScope({ declaration });
        const { conflicts } = mergeBranches(
          merged,
          plans.map((updates, index) => ({ name: `b_${index + 1}`, updates })),
        );
        fc.pre(conflicts.length === 0);
        const inTurn = createStateScope({ declaration });
        for (const plan of plans) for (const { key, value } of plan) inTurn.set(key, value);
        expect(merged.values()).toEqual(inTurn.values());
      }),
    );
  });

  test('a conflict is told exactly when two branches end with different values for a key without a reducer', () => {
    fc.assert(
      fc.property(branches, (plans) => {
        const scope = createStateScope({ declaration });
        const finals = plans.flatMap((plan) => plan.filter(({ key }) => key === 'plain').slice(-1));
        const texts = new Set(finals.map(({ value }) => sortedText(value)));
        const { conflicts } = mergeBranches(
          scope,
          plans.map((updates, index) => ({ name: `b_${index + 1}`, updates })),
        );
        expect(conflicts.map(({ key }) => key)).toEqual(texts.size > 1 ? ['plain'] : []);
        if (texts.size > 1) {
          expect(conflicts[0]!.branches).toHaveLength(finals.length);
          expect(scope.updates()).toEqual([]);
        }
      }),
    );
  });

  test('siblings and their parent never see each other before a merge', () => {
    fc.assert(
      fc.property(branches, fc.integer(), (plans, seed) => {
        const root = createStateScope({ declaration });
        const before = plainJson(root.values());
        const scopes = interleave(root, plans, seed);
        expect(plainJson(root.values())).toEqual(before);
        for (const [index, scope] of scopes.entries()) {
          const alone = createStateScope({ declaration });
          for (const { key, value } of plans[index]!) alone.set(key, value);
          expect(scope.values()).toEqual(alone.values());
          expect(scope.updates()).toEqual(alone.updates());
        }
      }),
    );
  });

  test('committing a child to its unchanged parent gives the child’s view', () => {
    fc.assert(
      fc.property(fc.array(write), fc.array(write), (first, second) => {
        const parent = createStateScope({ declaration });
        for (const { key, value } of first) parent.set(key, value);
        const child = parent.fork();
        for (const { key, value } of second) child.set(key, value);
        parent.commit(child.updates());
        expect(parent.values()).toEqual(child.values());
      }),
    );
  });

  test('updates in one batch give what they give one by one, for every reducer', () => {
    fc.assert(
      fc.property(fc.array(write), fc.nat(), (updates, cut) => {
        const at = cut % (updates.length + 1);
        const batch = createStateScope({ declaration });
        batch.commit(updates.slice(0, at));
        batch.commit(updates.slice(at));
        const single = createStateScope({ declaration });
        for (const { key, value } of updates) single.set(key, value);
        expect(batch.values()).toEqual(single.values());
      }),
    );
  });

  test('values, updates and delta survive JSON unchanged and touch no prototype', () => {
    fc.assert(
      fc.property(fc.array(write), (updates) => {
        const scope = createStateScope({ declaration });
        scope.commit(updates);
        for (const shown of [scope.values(), scope.updates(), scope.delta()]) expect(plainJson(shown)).toEqual(shown);
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
    );
  });
});

/** JSON text with sorted keys and -0 as 0. */
function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([key]) => key !== '__proto__')
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  );
}
