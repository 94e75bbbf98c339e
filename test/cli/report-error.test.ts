import { expect, test } from 'vitest';
import { exitCodeOf } from '../../src/cli/exit-codes.js';
import { badUse, reportError } from '../../src/cli/report-error.js';
import { TroupeError } from '../../src/kernel/errors.js';
import { fakeIo } from './fake-io.js';

const report = (thrown: unknown, env: Record<string, string> = {}) => {
  const io = fakeIo({ env });
  return { code: reportError(thrown, io), text: io.stderr.text };
};

test("a caller's mistake is one sentence and exit code 2", () => {
  expect(report(badUse('no prompt: give one'))).toEqual({ code: 2, text: 'troupe: no prompt: give one\n' });
  expect(report(new TroupeError({ code: 'UNKNOWN_MODEL', message: 'no model "x"' })).code).toBe(2);
  expect(report(Object.assign(new Error('cannot open a.yaml'), { code: 'ENOENT' })).code).toBe(2);
});

test('what nobody expected fails, and says how to learn more; a stack is shown only then', () => {
  const { code, text } = report(new TypeError('x is not a function'));
  expect(code).toBe(1);
  expect(text).toBe('troupe: x is not a function (DEBUG=troupe shows where it came from)\n');
  expect(report(new TypeError('x'), { DEBUG: 'http,troupe' }).text).toMatch(/^troupe: x\nTypeError: x\n {4}at /);
});

test('a message cannot steer the terminal', () => {
  expect(report(badUse('bad \u001b[2J name')).text).toBe('troupe: bad <U+001B>[2J name\n');
});

test('an unknown reason is a failure', () => {
  expect(exitCodeOf('abandoned')).toBe(1);
});
