import { expect, test } from 'vitest';
import { childThreadId, isDescendant, lastSegment, parentThreadId, parseThreadId } from '../../src/kernel/thread-id.js';

test('a child of the root has one segment, a grandchild its parent before it', () => {
  expect(childThreadId(undefined, 'research', 1)).toBe('research_1');
  expect(childThreadId('research_1', 'web-search_2', 12)).toBe('research_1.web-search_2_12');
});

test('what was put together comes apart', () => {
  const deep = childThreadId(childThreadId(childThreadId(undefined, 'a_1', 3), '_', 10), 'b-c', 2);
  expect(parseThreadId(deep)).toEqual([
    { agentName: 'a_1', ordinal: 3 },
    { agentName: '_', ordinal: 10 },
    { agentName: 'b-c', ordinal: 2 },
  ]);
  expect(lastSegment(deep)).toEqual({ agentName: 'b-c', ordinal: 2 });
  expect(parentThreadId(deep)).toBe('a_1_3.__10');
  expect(parentThreadId('a_1')).toBeUndefined();
});

test.each([
  '',
  'a',
  'a_0',
  'a_01',
  'a_-1',
  '_1',
  '1a_1',
  'a b_1',
  'a_1.',
  '.a_1',
  'a_1..b_2',
  'a_1.b',
  `${'x'.repeat(65)}_1`,
])('%o is no thread id', (text) => {
  expect(parseThreadId(text)).toBeUndefined();
});

test('a descendant is strictly below, by segments and not by text', () => {
  expect(isDescendant('a_1', undefined)).toBe(true);
  expect(isDescendant(undefined, undefined)).toBe(false);
  expect(isDescendant('a_1.b_1.c_1', 'a_1')).toBe(true);
  expect(isDescendant('a_1', 'a_1')).toBe(false);
  expect(isDescendant('a_12', 'a_1')).toBe(false);
  expect(isDescendant('a_12.b_1', 'a_1')).toBe(false);
  expect(isDescendant(undefined, 'a_1')).toBe(false);
});
