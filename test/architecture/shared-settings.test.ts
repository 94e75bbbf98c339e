import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './import-graph.js';
import { trackedFiles } from './tracked-files.js';

const tests = trackedFiles().filter((file) => /^test\/.*\.ts$/.test(file));
const holding = (pattern: RegExp) => tests.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')));

test('properties have their seed from one place', () => {
  expect(holding(/^import .* from 'fast-check';$/m)).toEqual(['test/support/fast-check.ts']);
});

test('a test file that starts processes has the limit of such tests', () => {
  const starting = holding(/^import .* from '(node:child_process|.*\/(troupe|jiti)-process\.js)';$/m);
  const limited = holding(/^import .*\/process-limit\.js';$/m);
  expect(starting.filter((file) => file.endsWith('.test.ts') && !limited.includes(file))).toEqual([]);
});
