import { expect, test } from 'vitest';
import { RowHeights } from '../../../src/studio/web/row-heights.js';

test('rows stand where the heights before them add up, measured or not', () => {
  const rows = new RowHeights(10);
  rows.resize(1_000);
  const plain = Array.from({ length: 1_000 }, () => 10);
  let seed = 7;
  for (let turn = 0; turn < 300; turn++) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const index = seed % 1_000;
    const height = 1 + (seed % 97);
    expect(rows.set(index, height)).toBe(height - (plain[index] ?? 0));
    plain[index] = height;
  }
  const offsets = [0];
  for (const height of plain) offsets.push((offsets.at(-1) ?? 0) + height);
  for (const index of [0, 1, 17, 500, 999, 1_000]) expect(rows.offsetOf(index)).toBe(offsets[index]);
  for (const index of [0, 3, 64, 511, 999]) {
    expect(rows.indexAt(offsets[index] ?? 0)).toBe(index);
    expect(rows.indexAt((offsets[index + 1] ?? 0) - 0.5)).toBe(index);
  }
  expect(rows.total).toBe(offsets.at(-1));
});

test('a list that grows keeps what was measured; one that shrinks forgets what is gone', () => {
  const rows = new RowHeights(10);
  rows.resize(3);
  rows.set(2, 50);
  for (let count = 4; count <= 500; count++) rows.resize(count);
  expect(rows.total).toBe(5_000 + 40);
  rows.resize(2);
  expect(rows.total).toBe(20);
  rows.resize(3);
  expect(rows.total).toBe(30);
});

test('an offset outside is the first or the last row', () => {
  const rows = new RowHeights(10);
  expect(rows.indexAt(100)).toBe(0);
  rows.resize(5);
  expect(rows.indexAt(-3)).toBe(0);
  expect(rows.indexAt(10_000)).toBe(4);
});
