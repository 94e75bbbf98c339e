import { expect, test } from 'vitest';
import { closingLine } from '../../scripts/closing-line.mjs';

const green = { numPassedTests: 3, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };

test('passed and failed are always told, skipped only if there were any', () => {
  expect(closingLine(green, true)).toBe('3 passed, 0 failed');
  expect(closingLine({ ...green, numFailedTests: 2 }, false)).toBe('3 passed, 2 failed');
  expect(closingLine({ ...green, numPendingTests: 1, numTodoTests: 1 }, true)).toBe('3 passed, 0 failed, 2 skipped');
});

test('a file that did not load is a failure', () => {
  const testResults = [{ status: 'failed', assertionResults: [] }];
  expect(closingLine({ ...green, testResults }, false)).toBe('3 passed, 1 failed');
});

test('a failure without a failed test, or without a report, is told', () => {
  expect(closingLine(green, false)).toBe('3 passed, 1 failed');
  expect(closingLine(undefined, false)).toBe('0 passed, 1 failed');
});
