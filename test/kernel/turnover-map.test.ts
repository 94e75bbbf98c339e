import { expect, test } from 'vitest';
import { TurnoverMap } from '../../src/kernel/turnover-map.js';
import { fc } from '../support/fast-check.js';

test('it holds what a Map would hold, in the same order, whatever comes and goes', () => {
  const step = fc.record({ key: fc.nat(40), isSet: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const map = new Map<number, number>();
      const turnover = new TurnoverMap<number, number>();
      steps.forEach(({ key, isSet }, at) => {
        if (isSet) {
          map.set(key, at);
          turnover.set(key, at);
        } else expect(turnover.delete(key)).toBe(map.delete(key));
        expect(turnover.size).toBe(map.size);
        expect(turnover.has(key)).toBe(map.has(key));
        expect(turnover.get(key)).toBe(map.get(key));
      });
      expect([...turnover.keys()]).toEqual([...map.keys()]);
      expect([...turnover.values()]).toEqual([...map.values()]);
    }),
    { seed: 11 },
  );
});

test('it begins a new table once more has gone than there is, and never copies a large one', () => {
  const copies: number[] = [];
  const { Map: Plain } = globalThis;
  globalThis.Map = class<K, V> extends Plain<K, V> {
    constructor(entries?: Iterable<readonly [K, V]> | null) {
      super(entries);
      copies.push(this.size);
    }
  } as MapConstructor;
  try {
    const map = new TurnoverMap<number, number>();
    for (let at = 0; at < 99; at++) {
      map.set(at, at);
      map.delete(at);
    }
    // The first, and another after every 33 that went.
    expect(copies).toEqual([0, 0, 0, 0]);
    copies.length = 0;
    for (let at = 0; at < 10_000; at++) map.set(at, at);
    for (let at = 0; at < 10_000; at++) map.delete(at);
    expect(map.size).toBe(0);
    expect(Math.max(...copies)).toBeLessThanOrEqual(1024);
    expect(copies.length).toBeLessThan(20);
  } finally {
    globalThis.Map = Plain;
  }
});
