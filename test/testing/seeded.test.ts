import { expect, test } from 'vitest';
import { seededRandom, shuffled } from '../../src/testing/seeded.js';

const draw = (seed: number, count: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
};

test('the same seed gives the same numbers, another seed others', () => {
  expect(draw(7, 20)).toEqual(draw(7, 20));
  for (const other of [0, 6, 8, -7]) expect(draw(other, 20)).not.toEqual(draw(7, 20));
});

test('numbers lie in [0, 1) and fill it evenly', () => {
  for (const seed of [0, 1, 2, 2 ** 31]) {
    const counts = new Array<number>(10).fill(0);
    const numbers = draw(seed, 10_000);
    for (const number of numbers) counts[Math.floor(number * 10)]! += 1;
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
    expect(Math.min(...counts)).toBeGreaterThan(850);
    expect(Math.max(...counts)).toBeLessThan(1_150);
  }
});

test('shuffling keeps every item, leaves the list alone and reaches every order', () => {
  const list = Object.freeze(['a', 'b', 'c', 'd']);
  const random = seededRandom(1);
  const orders = new Set<string>();
  for (let round = 0; round < 1_000; round++) orders.add(shuffled(list, random).join(''));
  expect(orders.size).toBe(24);
  expect([...orders].every((order) => [...order].sort().join('') === 'abcd')).toBe(true);
});
