import { describe, expect, test } from 'vitest';
import { canonicalJson, inertJson, jsonFault, sameJson } from '../../src/kernel/json-value.js';
import { fc } from '../support/fast-check.js';

const roundTrip = (value: unknown) => JSON.parse(JSON.stringify(value));

describe('inertJson', () => {
  test('the copy equals the JSON round trip, is frozen all the way down, and is not copied again', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = inertJson(value, 'it');
        expect(canonicalJson(copy)).toBe(canonicalJson(withoutProto(roundTrip(value))));
        expect(isFrozen(copy)).toBe(true);
        expect(inertJson(copy, 'it')).toBe(copy);
      }),
    );
  });

  test('a property that is undefined is dropped, in an array it is refused', () => {
    expect(inertJson({ a: undefined, b: 1 }, 'it')).toEqual({ b: 1 });
    expect(() => inertJson([undefined], 'it')).toThrow('it[0] is undefined');
  });
});

describe('jsonFault', () => {
  test('JSON values have none, a property that is undefined included', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => jsonFault(value) === undefined));
    expect(jsonFault({ a: undefined, list: [{ b: null }] })).toBeUndefined();
    expect(jsonFault(Object.create(null))).toBeUndefined();
  });

  test.each([
    [{ at: new Date(0) }, '.at is an instance of Date'],
    [{ list: [1, undefined] }, '.list[1] is undefined'],
    [{ n: Number.POSITIVE_INFINITY }, '.n is Infinity'],
    [{ f: () => 1 }, '.f is a function'],
    [{ b: 1n }, '.b is a bigint'],
    [{ [Symbol('s')]: 1 }, ' has a symbol for a key'],
    [{ x: { toJSON: () => 1 } }, '.x has a toJSON function'],
    [{ e: new Error('x') }, '.e is an instance of Error'],
  ])('%o would change', (value, fault) => {
    expect(jsonFault(value)).toBe(fault);
  });

  test('a cycle is one, the same object twice is none', () => {
    const cycle: Record<string, unknown> = {};
    cycle.a = { b: cycle };
    expect(jsonFault(cycle)).toBe('.a.b is a cycle');
    const shared = { a: 1 };
    expect(jsonFault([shared, shared])).toBeUndefined();
  });
});

describe('sameJson and canonicalJson', () => {
  test('two values are the same exactly when their canonical texts are', () => {
    const small = fc.jsonValue({ maxDepth: 2 });
    fc.assert(
      fc.property(small, small, (a, b) => {
        expect(sameJson(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
        expect(sameJson(a, roundTrip(a))).toBe(true);
      }),
    );
  });

  test('the order of keys does not count, the order of items does', () => {
    expect(canonicalJson({ b: [2, 1], a: { d: 1, c: undefined } })).toBe('{"a":{"d":1},"b":[2,1]}');
    expect(sameJson({ a: 1, b: 2 }, { b: 2, a: 1, c: undefined })).toBe(true);
    expect(sameJson([1, 2], [2, 1])).toBe(false);
    expect(sameJson([], {})).toBe(false);
    expect(sameJson({ a: undefined }, { b: undefined })).toBe(true);
    expect(sameJson({ toString: 1 }, { a: 1 })).toBe(false);
  });

  test('what is no JSON still has a text', () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(canonicalJson([undefined, () => 1, 1n, Number.NaN])).toBe('[null,null,null,null]');
    expect(canonicalJson(cycle)).toBe('["[cycle]"]');
  });
});

function withoutProto(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutProto);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== '__proto__')
      .map(([key, inner]) => [key, withoutProto(inner)]),
  );
}

function isFrozen(value: unknown): boolean {
  return (
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  );
}
