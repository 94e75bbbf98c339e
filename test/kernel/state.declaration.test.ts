import { describe, expect, test } from 'vitest';
import { mergeDeclarations } from '../../src/kernel/state.js';

const keepBest = (current: number, update: number) => Math.max(current, update);

describe('declarations of a tree', () => {
  test('declarations that agree become one', () => {
    const { declaration, problems } = mergeDeclarations([
      {
        path: 'report',
        declaration: { notes: { initial: [], reducer: 'append' }, best: { initial: 0, reducer: keepBest } },
      },
      { path: 'report/gather', declaration: { notes: { initial: [], reducer: 'append' }, draft: {} } },
      { path: 'report/polish', declaration: { best: { initial: 0, reducer: keepBest } } },
    ]);
    expect(problems).toEqual([]);
    expect(declaration).toEqual({
      notes: { initial: [], reducer: 'append' },
      best: { initial: 0, reducer: keepBest },
      draft: {},
    });
  });

  test('the bare key of an outputKey agrees with any other, before or after it', () => {
    const full = { facts: { initial: [], reducer: 'append' as const } };
    const bare = { facts: {} };
    for (const sources of [
      [bare, full],
      [full, bare],
    ]) {
      const merged = mergeDeclarations(sources.map((declaration, i) => ({ path: `p${i}`, declaration })));
      expect(merged).toEqual({ declaration: full, problems: [] });
    }
  });

  test('an append without an initial starts at [], and agrees with one that says so', () => {
    const merged = mergeDeclarations([
      { path: 'a', declaration: { k: { reducer: 'append' } } },
      { path: 'b', declaration: { k: { reducer: 'append', initial: [] } } },
    ]);
    expect(merged.problems).toEqual([]);
  });

  test('each disagreement is one problem that names both places, and the first stands', () => {
    const { declaration, problems } = mergeDeclarations([
      {
        path: 'report',
        declaration: { a: { initial: 1 }, b: { reducer: 'sum' }, c: { initial: 0, reducer: keepBest } },
      },
      {
        path: 'report/gather',
        declaration: { a: { initial: { x: 1 } }, b: { initial: 0 }, c: { initial: 0, reducer: (x: number) => x } },
      },
    ]);
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'report/gather: state key "a" starts as {"x":1}, in report as 1',
      'report/gather: state key "b" is declared with no reducer, in report with the reducer sum',
      'report/gather: state key "c" is declared with another reducer function, in report with a reducer function',
    ]);
    expect(problems.every(({ code }) => code === 'INVALID_DEFINITION')).toBe(true);
    expect(declaration.a).toEqual({ initial: 1 });
  });

  test('a key that cannot work is a problem where it is declared', () => {
    const { declaration, problems } = mergeDeclarations([
      {
        path: 'p',
        declaration: {
          ...(JSON.parse('{"__proto__":{"initial":1}}') as object),
          at: { initial: { date: new Date(0) } },
          list: { initial: 'x', reducer: 'append' },
          odd: { reducer: 'merge' as never },
        },
      },
    ]);
    expect(problems.map(({ message }) => message)).toEqual([
      'a state key cannot be named "__proto__"',
      'state key "at": initial.date is an instance of Date; only JSON values can be kept',
      'state key "list": append needs an array to add to, and it holds a string',
      'state key "odd" has the unknown reducer "merge"; known: append, sum, last, or a function',
    ]);
    expect(declaration).toEqual({});
  });
});
