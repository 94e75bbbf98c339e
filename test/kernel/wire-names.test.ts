import { expect, test } from 'vitest';
import { createWireNames } from '../../src/kernel/wire-names.js';
import { fc } from '../support/fast-check.js';

test('a name that every provider takes stays as it is', () => {
  const names = createWireNames(['read_file', 'a-b', '_x']);
  expect(['read_file', 'a-b', '_x'].map(names.out)).toEqual(['read_file', 'a-b', '_x']);
});

test('what is not allowed becomes an underscore, and comes back as it was', () => {
  const names = createWireNames(['researcher.search', '9lives', 'mcp/server:tool']);
  expect(names.out('researcher.search')).toBe('researcher_search');
  expect(names.out('9lives')).toBe('_9lives');
  for (const name of ['researcher.search', '9lives', 'mcp/server:tool']) expect(names.back(names.out(name))).toBe(name);
});

test('names that would fall together stay apart, whatever their order', () => {
  for (const order of [
    ['a.b', 'a_b', 'a/b'],
    ['a_b', 'a/b', 'a.b'],
    ['a/b', 'a.b', 'a_b'],
  ]) {
    const names = createWireNames(order);
    expect(names.out('a_b')).toBe('a_b');
    expect(new Set(order.map(names.out)).size).toBe(3);
    expect(order.map((name) => names.back(names.out(name)))).toEqual(order);
  }
});

test('a name over 64 characters is cut and still told from its like', () => {
  const long = ['x'.repeat(80), `${'x'.repeat(80)}y`];
  const names = createWireNames(long);
  for (const name of long) expect(names.out(name)).toMatch(/^x{55}_[0-9a-f]{8}$/);
  expect(long.map((name) => names.back(names.out(name)))).toEqual(long);
});

test('a name that the model made up stays as it said it', () => {
  expect(createWireNames(['a.b']).back('nowhere')).toBe('nowhere');
});

test('any names: allowed on the wire, one to one, and back', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1, maxLength: 90, unit: fc.constantFrom(...'ab._-/é🙂 9') }), {
        maxLength: 20,
      }),
      (all) => {
        const names = createWireNames(all);
        const wire = all.map(names.out);
        expect(new Set(wire).size).toBe(all.length);
        for (const name of wire) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
        expect(wire.map(names.back)).toEqual(all);
      },
    ),
  );
});
