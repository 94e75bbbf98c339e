import { describe, expect, test } from 'vitest';
import { TroupeError } from '../../src/kernel/errors.js';
import { createCallState, createStateScope, mergeBranches } from '../../src/kernel/state.js';

const caught = (action: () => unknown): TroupeError => {
  try {
    action();
  } catch (error) {
    if (error instanceof TroupeError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const polluted = () => ({}) as { polluted?: unknown; ok?: unknown };

describe('the root scope', () => {
  test('a key starts with its stored value, else with its initial one, else empty', () => {
    const scope = createStateScope({
      declaration: {
        a: { initial: 1 },
        b: { initial: 1 },
        c: {},
        d: { initial: 1 },
        list: { reducer: 'append' },
        n: { reducer: 'sum' },
      },
      values: { b: 2, d: null, unknown: 3 },
    });
    expect(scope.values()).toEqual({ a: 1, b: 2, d: null, list: [], n: 0 });
    expect(scope.get('c')).toBeUndefined();
    expect(scope.updates()).toEqual([]);
  });

  test('an undeclared key is refused on read and on write, naming the nearest', () => {
    const scope = createStateScope({ declaration: { findings: {}, verdict: {} } });
    const error = caught(() => scope.set('finding', 1));
    expect(error.code).toBe('UNKNOWN_STATE_KEY');
    expect(error.message).toBe(
      'state key "finding" is not declared (did you mean "findings"?); declared: findings, verdict',
    );
    expect(caught(() => scope.get('toString')).code).toBe('UNKNOWN_STATE_KEY');
    expect(caught(() => scope.commit([{ key: 'x', value: 1 }])).code).toBe('UNKNOWN_STATE_KEY');
  });

  test('a start that its reducer cannot add to is refused', () => {
    expect(
      caught(() => createStateScope({ declaration: { k: { initial: 'x', reducer: 'append' } } })).message,
    ).toContain('"k"');
    expect(
      caught(() => createStateScope({ declaration: { k: { reducer: 'sum' } }, values: { k: '1' } })).message,
    ).toContain('"k"');
  });
});

describe('values', () => {
  const scope = () => createStateScope({ declaration: { k: {}, user: {} } });

  test.each([
    ['a function', () => 1, 'state key "k" is a function'],
    ['a function inside', { a: [() => 1] }, 'state key "k".a[0] is a function'],
    ['undefined', undefined, 'is undefined'],
    ['NaN', Number.NaN, 'is NaN'],
    ['a Date', { at: new Date(0) }, '.at is an instance of Date'],
    ['a Map', new Map(), 'an instance of Map'],
    ['a bigint', 1n, 'is a bigint'],
  ])('%s is refused, and nothing changes', (_, value, message) => {
    const state = scope();
    state.set('k', 'before');
    const error = caught(() => state.set('k', value));
    expect(error.code).toBe('INVALID_INPUT');
    expect(error.message).toContain(message);
    expect([state.get('k'), state.updates().length]).toEqual(['before', 1]);
  });

  test('a cycle and a bottomless value are refused', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = [cycle];
    expect(caught(() => scope().set('k', cycle)).message).toContain('.self[0] is a cycle');
    let deep: unknown = 1;
    for (let level = 0; level < 5_000; level++) deep = [deep];
    expect(caught(() => scope().set('k', deep)).message).toContain('nested deeper than 500 levels');
  });

  test('the same object twice is no cycle', () => {
    const shared = { a: 1 };
    const state = scope();
    state.set('k', [shared, shared]);
    expect(state.get('k')).toEqual([{ a: 1 }, { a: 1 }]);
  });

  test('what the writer changes later, and what a reader tries to change, does not reach the record', () => {
    const state = scope();
    const mine = { list: [1] };
    state.set('k', mine);
    mine.list.push(2);
    expect(state.get('k')).toEqual({ list: [1] });
    expect(() => (state.get('k') as typeof mine).list.push(3)).toThrow(TypeError);
    expect(() => Object.assign(state.values(), { k: 1 })).toThrow(TypeError);
  });

  test('B018: own __proto__ keys from JSON.parse pollute nothing and are dropped', () => {
    const state = createStateScope({
      declaration: { user: { reducer: (current: object, update: object) => ({ ...current, ...update }) } },
    });
    state.set(
      'user',
      JSON.parse(
        '{"a":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
      ),
    );
    state.set('user', { ok: 1 });
    expect(polluted().polluted).toBeUndefined();
    const user = state.get('user') as { a: object; polluted?: unknown };
    expect(Object.getPrototypeOf(user)).toBe(Object.prototype);
    expect(Object.keys(user)).toEqual(['a', 'constructor', 'ok']);
    expect(Object.keys(user.a)).toEqual([]);
    expect(user.polluted).toBeUndefined();
  });

  test('keys named like members of Object are ordinary keys, __proto__ is refused', () => {
    const state = createStateScope({ declaration: { constructor: {}, hasOwnProperty: {} } as never });
    expect(state.get('constructor')).toBeUndefined();
    state.set('constructor', 1);
    expect(state.delta()).toEqual({ constructor: 1 });
    const declaration = JSON.parse('{"__proto__":{"initial":1}}');
    expect(caught(() => createStateScope({ declaration })).code).toBe('INVALID_DEFINITION');
    expect(
      createStateScope({ declaration: { a: {} }, values: JSON.parse('{"__proto__":{"polluted":1}}') }).values(),
    ).toEqual({});
    expect(caught(() => createStateScope({ declaration: { a: {} } }).set('__proto__', { polluted: 1 })).code).toBe(
      'UNKNOWN_STATE_KEY',
    );
  });
});

describe('reducers', () => {
  const declaration = {
    list: { reducer: 'append' as const },
    total: { reducer: 'sum' as const },
    last: { reducer: 'last' as const },
    best: { initial: 0, reducer: (current: number, update: number) => Math.max(current, update) },
    plain: {},
  };

  test('a write contributes where a reducer is declared and overwrites where none is', () => {
    const state = createStateScope({ declaration });
    for (const value of [3, 7, 5]) for (const key of ['total', 'last', 'best', 'plain']) state.set(key, value);
    state.set('list', ['a', 'b']);
    state.set('list', 'c');
    state.set('list', [['d']]);
    expect(state.values()).toEqual({ list: ['a', 'b', 'c', ['d']], total: 15, last: 5, best: 7, plain: 5 });
  });

  test('an update that does not fit is refused, naming the key', () => {
    const state = createStateScope({ declaration });
    expect(caught(() => state.set('total', '1')).message).toBe('state key "total": sum adds numbers, not a string');
    state.set('total', Number.MAX_VALUE);
    expect(caught(() => state.set('total', Number.MAX_VALUE)).message).toContain('no finite number');
  });

  test('a function that throws, changes its input or returns no JSON fails loudly and changes nothing', () => {
    const of = (reducer: (current: string[], update: string) => unknown) =>
      createStateScope({ declaration: { k: { initial: ['a'], reducer } } });
    const boom = of(() => {
      throw new Error('boom');
    });
    expect(caught(() => boom.set('k', 'b'))).toMatchObject({
      code: 'STATE_REDUCER_FAILED',
      message: 'the reducer of state key "k" failed: boom',
    });
    const mutating = of((current, update) => {
      current.push(update);
      return current;
    });
    expect(caught(() => mutating.set('k', 'b')).code).toBe('STATE_REDUCER_FAILED');
    expect(mutating.values()).toEqual({ k: ['a'] });
    expect(caught(() => of(() => new Set()).set('k', 'b')).message).toContain('returned is an instance of Set');
  });

  test('an unknown reducer name is refused', () => {
    const state = createStateScope({ declaration: { k: { reducer: 'merge' as never } } });
    expect(caught(() => state.set('k', 1)).message).toContain('unknown reducer "merge"');
  });
});

describe('forks', () => {
  test('a child reads the snapshot of its start plus its own writes, and its parent sees them on commit', () => {
    const parent = createStateScope({ declaration: { a: { initial: 1 }, log: { reducer: 'append' } } });
    parent.set('log', ['p']);
    const child = parent.fork();
    parent.set('a', 2);
    expect(child.get('a')).toBe(1);
    child.set('log', ['c']);
    child.set('a', 3);
    expect(parent.values()).toEqual({ a: 2, log: ['p'] });
    expect(child.updates()).toEqual([
      { key: 'log', value: ['c'] },
      { key: 'a', value: 3 },
    ]);
    parent.commit(child.updates());
    expect(parent.values()).toEqual({ a: 3, log: ['p', 'c'] });
  });

  test('what a grandchild wrote goes up through its parent', () => {
    const root = createStateScope({ declaration: { log: { reducer: 'append' }, a: {} } });
    const child = root.fork();
    const grandchild = child.fork();
    grandchild.set('log', ['g']);
    child.set('a', 1);
    child.commit(grandchild.updates());
    expect(child.delta()).toEqual({ a: 1, log: ['g'] });
    root.commit(child.updates());
    expect(root.values()).toEqual({ a: 1, log: ['g'] });
  });

  test('a commit with one bad update applies none', () => {
    const scope = createStateScope({ declaration: { a: {}, n: { reducer: 'sum' } } });
    const updates = [
      { key: 'a', value: 1 },
      { key: 'n', value: 'x' },
    ];
    expect(caught(() => scope.commit(updates)).code).toBe('INVALID_INPUT');
    expect([scope.values(), scope.updates()]).toEqual([{ n: 0 }, []]);
  });

  test('settle forgets the writes and keeps the values', () => {
    const scope = createStateScope({ declaration: { a: {} } });
    scope.set('a', 1);
    scope.settle();
    expect([scope.updates(), scope.delta(), scope.get('a')]).toEqual([[], {}, 1]);
  });

  test('forking 10,000 children shares one record, and each write copies none of its siblings', () => {
    const declaration = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, { initial: i }]));
    const parent = createStateScope({ declaration: { ...declaration, log: { reducer: 'append' as const } } });
    const children = Array.from({ length: 10_000 }, () => parent.fork());
    expect(children.every((child) => child.values() === parent.values())).toBe(true);
    for (const [index, child] of children.entries()) child.set('log', index);
    const { conflicts } = mergeBranches(
      parent,
      children.map((child, index) => ({ name: `c_${index + 1}`, updates: child.updates() })),
    );
    expect(conflicts).toEqual([]);
    expect(parent.get('log')).toEqual(children.map((_, index) => index));
  });
});

describe('merging branches', () => {
  const declaration = { k: { initial: 0 }, other: {}, log: { reducer: 'append' as const } };
  const branch = (name: string, ...updates: [key: string, value: unknown][]) => ({
    name,
    updates: updates.map(([key, value]) => ({ key, value })),
  });

  test('B020: different values for one key without a reducer conflict, name key and branches, and apply nothing', () => {
    const scope = createStateScope({ declaration });
    const merged = mergeBranches(scope, [
      branch('A_1', ['k', 1], ['log', ['a']]),
      branch('B_2', ['k', 2], ['other', 'x']),
      branch('C_3', ['log', ['c']]),
      branch('D_4', ['k', 1]),
    ]);
    expect(merged).toEqual({ conflicts: [{ key: 'k', branches: ['A_1', 'B_2', 'D_4'] }] });
    expect(scope.values()).toEqual({ k: 0, log: [] });
    expect(scope.updates()).toEqual([]);
  });

  test('equal final values do not conflict, whatever was written before them and in whatever key order', () => {
    const scope = createStateScope({ declaration });
    const merged = mergeBranches(scope, [
      branch('A_1', ['k', 7], ['k', { a: 1, b: [2] }]),
      branch('B_2', ['k', { b: [2], a: 1 }]),
    ]);
    expect(merged.conflicts).toEqual([]);
    expect(scope.get('k')).toEqual({ a: 1, b: [2] });
    expect(scope.updates()).toEqual([{ key: 'k', value: { a: 1, b: [2] } }]);
  });

  test('one writer never conflicts', () => {
    const scope = createStateScope({ declaration });
    mergeBranches(scope, [branch('A_1', ['k', 1]), branch('B_2', ['other', 2])]);
    expect(scope.values()).toEqual({ k: 1, other: 2, log: [] });
  });

  test('merging with an undeclared key throws and changes nothing', () => {
    const scope = createStateScope({ declaration });
    const error = caught(() => mergeBranches(scope, [branch('A_1', ['k', 1]), branch('B_2', ['nope', 1])]));
    expect(error.code).toBe('UNKNOWN_STATE_KEY');
    expect(scope.get('k')).toBe(0);
  });
});

describe('the state of one tool call', () => {
  test('it reads its own writes, others see them on commit', () => {
    const scope = createStateScope({ declaration: { n: { reducer: 'sum' }, k: {} } });
    const call = createCallState(scope);
    call.view.set('n', 2);
    call.view.set('n', 3);
    call.view.set('k', 'mine');
    expect([call.view.get('n'), call.view.get('k')]).toEqual([5, 'mine']);
    expect([scope.get('n'), scope.get('k')]).toEqual([0, undefined]);
    scope.commit(call.updates());
    expect(scope.values()).toEqual({ n: 5, k: 'mine' });
  });

  test('B018: parallel calls do not see each other, and call order decides, not the order in which they end', () => {
    const scope = createStateScope({ declaration: { user: {}, seen: {}, n: { reducer: 'sum' } } });
    const calls = [createCallState(scope), createCallState(scope)] as const;
    calls[1].view.set('user', { from: 2 });
    calls[1].view.set('n', 1);
    calls[0].view.set('user', { from: 1 });
    calls[0].view.set('seen', calls[0].view.get('n') as number);
    for (const call of calls) scope.commit(call.updates());
    expect(scope.values()).toEqual({ user: { from: 2 }, seen: 0, n: 1 });
  });

  test('an undeclared key throws in the call', () => {
    const call = createCallState(createStateScope({ declaration: { k: {} } }));
    expect(caught(() => call.view.set('j', 1)).code).toBe('UNKNOWN_STATE_KEY');
  });
});

test('what others wrote to shared keys is taken over, and is no write of one’s own', () => {
  const scope = createStateScope({
    declaration: { 'app:n': { initial: 1 }, 'user:l': { reducer: 'append' }, n: { initial: 1 } },
  });
  scope.set('n', 2);
  const before = scope.fork();
  scope.refresh({ 'app:n': 5, 'user:l': ['x'], n: 9, 'app:unknown': 1, 'temp:n': 1 });
  expect(scope.values()).toEqual({ 'app:n': 5, 'user:l': ['x'], n: 2 });
  expect(scope.updates()).toEqual([{ key: 'n', value: 2 }]);
  expect(before.get('app:n')).toBe(1);
  const same = scope.values();
  scope.refresh({ 'app:n': 5 });
  expect(scope.values()).toBe(same);
});
