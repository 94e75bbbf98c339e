import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keptOutput } from '../../src/tools/workspace/kept-output.js';
import { pacedProgress } from '../../src/tools/workspace/paced-progress.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function paced() {
  const shown: string[] = [];
  return { shown, ...pacedProgress((text) => shown.push(text), { everyMs: 200, maxChars: 10 }) };
}

test('the first piece is shown at once, those of the next 200 ms together', () => {
  const { shown, add } = paced();
  add('a');
  expect(shown).toEqual(['a']);
  for (const piece of 'bcd') add(piece);
  vi.advanceTimersByTime(199);
  expect(shown).toEqual(['a']);
  vi.advanceTimersByTime(1);
  expect(shown).toEqual(['a', 'bcd']);
});

test('after a silence a piece is shown at once again', () => {
  const { shown, add } = paced();
  add('a');
  vi.advanceTimersByTime(200);
  expect(vi.getTimerCount()).toBe(0);
  add('b');
  expect(shown).toEqual(['a', 'b']);
});

test('of much text the end is shown, however it comes', () => {
  const { shown, add } = paced();
  add('x'.repeat(1_000));
  for (let n = 0; n < 1_000; n++) add(String(n % 10));
  vi.advanceTimersByTime(200);
  expect(shown).toEqual([`…${'x'.repeat(10)}`, '…0123456789']);
});

test('when it is stopped nothing more is shown, and no timer is left', () => {
  const { shown, add, stop } = paced();
  add('a');
  add('b');
  stop();
  vi.advanceTimersByTime(1_000);
  expect(shown).toEqual(['a']);
  expect(vi.getTimerCount()).toBe(0);
});

test('of a kept text no more is held than is needed, whatever the size of its pieces', () => {
  for (const size of [1, 7, 99, 5_000]) {
    const kept = keptOutput(100);
    const all = Array.from({ length: 20_000 }, (_, n) => String(n % 10)).join('');
    for (let at = 0; at < all.length; at += size) kept.add(all.slice(at, at + size));
    expect(kept.length()).toBe(20_000);
    expect(kept.shown(40)).toBe(`${all.slice(0, 10)}\n[19,960 characters left out]\n${all.slice(-30)}`);
  }
});

test('a text that fits is shown whole', () => {
  const kept = keptOutput(10);
  kept.add('01234');
  kept.add('56789');
  expect(kept.shown(10)).toBe('0123456789');
  expect(kept.shown(8)).toBe('01\n[2 characters left out]\n456789');
});
