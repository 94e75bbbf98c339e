import { expect, test } from 'vitest';
import { wrapToWidth } from '../../src/cli/text-width.js';

test.each([
  ['', 4, ['']],
  ['abcd', 4, ['abcd']],
  ['abcde', 4, ['abcd', 'e']],
  ['a漢字b', 4, ['a漢', '字b']],
  ['e\u0301e\u0301e\u0301', 2, ['e\u0301e\u0301', 'e\u0301']],
  ['漢', 1, ['漢']],
])('%j in %i columns', (text, columns, rows) => {
  expect(wrapToWidth(text, columns)).toEqual(rows);
});
