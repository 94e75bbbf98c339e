import { spawnSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PolicyRule } from '../../src/index.js';
import { policyFromToml } from '../../src/policy/toml.js';
import { appendRules, readUserFile } from '../../src/policy/user-file.js';
import { runFile } from '../examples/jiti-process.js';
import { fc } from '../support/fast-check.js';
import '../support/process-limit.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-rules-'));
  file = join(folder, 'policy.toml');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const rule = (toolName: string, more: Partial<PolicyRule> = {}): PolicyRule => ({
  toolName,
  decision: 'allow',
  always: true,
  ...more,
});
const namesIn = (path = file) => readUserFile(path).rules.map(({ toolName }) => toolName);

test('a file that is not there has no rules, one that does not load stops the start', () => {
  expect(readUserFile(file).rules).toEqual([]);
  writeFileSync(file, '[[rules]]\ntoolname = "x"\n');
  expect(() => readUserFile(file)).toThrow(/policy\.toml:2:rules\[0\]\.toolname: unknown key/);
  expect(() => readUserFile(folder)).toThrow(/cannot be read/);
});

test('a rule is added behind what is there, once, in a file of the owner only', async () => {
  const before = '# mine\n[[rules]]\ntoolName = "old" # kept\ndecision = "deny"';
  writeFileSync(file, before, { mode: 0o644 });
  await appendRules(file, [rule('new')]);
  await appendRules(file, [rule('new'), rule('newer')]);
  const text = readFileSync(file, 'utf8');
  expect(text.startsWith(`${before}\n\n[[rules]]\ntoolName = "new"\n`)).toBe(true);
  expect(namesIn()).toEqual(['old', 'new', 'newer']);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['policy.toml']);
});

test('folders that are missing are made, and a link stays a link', async () => {
  const deep = join(folder, 'a', 'b', 'policy.toml');
  await appendRules(deep, [rule('x')]);
  expect(namesIn(deep)).toEqual(['x']);
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700);
  symlinkSync(deep, file);
  await appendRules(file, [rule('y')]);
  expect(namesIn(deep)).toEqual(['x', 'y']);
});

test('nothing is written to a file that does not load, and no rule that could not be read back', async () => {
  writeFileSync(file, 'rules = 1\n');
  await expect(appendRules(file, [rule('x')])).rejects.toMatchObject({ code: 'POLICY_INVALID' });
  expect(readFileSync(file, 'utf8')).toBe('rules = 1\n');
  rmSync(file);
  await expect(appendRules(file, [rule('x', { argsPattern: '(a+)+' })])).rejects.toMatchObject({
    code: 'POLICY_INVALID',
  });
  await expect(appendRules(file, [rule('\ud800')])).rejects.toMatchObject({ code: 'POLICY_INVALID' });
  expect(readdirSync(folder)).toEqual([]);
});

test('many who write at once in one process lose nothing', async () => {
  await Promise.all(Array.from({ length: 20 }, (_, index) => appendRules(file, [rule(`r${index}`), rule('shared')])));
  expect(namesIn().filter((name) => name === 'shared')).toHaveLength(1);
  expect(new Set(namesIn()).size).toBe(21);
  expect(readdirSync(folder)).toEqual(['policy.toml']);
});

test('several processes that write at once lose nothing', async () => {
  const ended = await Promise.all(
    ['one', 'two', 'three'].map((name) => runFile('test/support/append-rules.ts', [file, name, '8'])),
  );
  expect(ended.map(({ code, err }) => [code, err])).toEqual([0, 0, 0].map((code) => [code, '']));
  expect(namesIn()).toHaveLength(25);
  expect(readdirSync(folder)).toEqual(['policy.toml']);
});

test('what a process that died left locked is taken over; what one that lives holds is waited for', async () => {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  writeFileSync(`${file}.lock`, JSON.stringify({ pid, host: hostname(), nonce: 'x' }));
  await appendRules(file, [rule('x')]);
  writeFileSync(`${file}.lock`, '');
  utimesSync(`${file}.lock`, new Date(0), new Date(0));
  await appendRules(file, [rule('y')]);
  writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.pid, host: hostname(), nonce: 'x' }));
  const waiting = appendRules(file, [rule('z')]);
  let isDone = false;
  void waiting.then(() => {
    isDone = true;
  });
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(isDone).toBe(false);
  rmSync(`${file}.lock`);
  await waiting;
  expect(namesIn()).toEqual(['x', 'y', 'z']);
});

test('any text that a rule may hold is read back as it was written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), async (text) => {
      rmSync(file, { force: true });
      const denied = rule('x', { allowMessage: text });
      await appendRules(file, [denied]);
      expect(policyFromToml(readFileSync(file, 'utf8')).rules).toEqual([denied]);
    }),
    { seed: 7, numRuns: 60 },
  );
});
