import { expect, test } from 'vitest';
import { policyFaults } from '../../src/policy/rule-faults.js';

const faultsOf = (annotations: unknown) =>
  policyFaults([{ rules: [{ toolName: '*', decision: 'deny', annotations }] }]).map(({ message }) => message);

test('a misspelt annotation is a fault of its rule that says what was meant', () => {
  expect(faultsOf({ readonyl: true })).toEqual([expect.stringContaining('readOnly')]);
  expect(faultsOf({ destructve: true })).toEqual([expect.stringContaining('destructive')]);
});

test('an annotation of other makers is asked for as it is', () => {
  expect(faultsOf({ team: 'billing' })).toEqual([]);
  expect(faultsOf({ readOnly: true, category: 'edit' })).toEqual([]);
  expect(faultsOf(['read-only'])).toEqual([]);
});
