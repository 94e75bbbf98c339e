import { expect, test } from 'vitest';
import { machinePaths, nameProblem, textOf, trackedFiles } from './tracked-files.js';

test('files say what they are for, in kebab-case', () => {
  const ours = trackedFiles().filter((file) => /^(src|machines|compositions|test|scripts|examples)\//.test(file));
  expect(ours.length).toBeGreaterThan(20);
  expect(ours.map(nameProblem).filter(Boolean)).toEqual([]);
});

test.each([
  'src/kernel/utils.ts',
  'src/host/session-manager.ts',
  'src/tools/helpers/a.ts',
  'test/host/run.helper.ts',
  'src/stores/file-service.test.ts',
])('the name %s says nothing', (file) => {
  expect(nameProblem(file)).toContain('says nothing about what it is for');
});

test('a name in camelCase is refused, a name that only contains a vague word is not', () => {
  expect(nameProblem('src/kernel/eventMerge.ts')).toBe('src/kernel/eventMerge.ts: files are kebab-case');
  expect(nameProblem('src/kernel/commonality.ts')).toBeUndefined();
});

test('no file holds a path of the machine that it was written on', () => {
  expect(trackedFiles().flatMap((file) => machinePaths(file, textOf(file) ?? ''))).toEqual([]);
});

test('no lock names the registry that it was made with', () => {
  const locks = trackedFiles().filter((file) => file.endsWith('package-lock.json'));
  expect(locks).toContain('package-lock.json');
  expect(locks.filter((file) => /"resolved": "http/.test(textOf(file) ?? ''))).toEqual([]);
});

test('a path of a machine is found, with its line', () => {
  const path = ['', 'work', 'main', 'src'].join('/');
  expect(machinePaths('a.md', `one\nsee ${path}.`)).toEqual([`a.md:2: ${path}.`]);
  expect(machinePaths('a.md', ['', 'home', 'jane', 'x'].join('/'))).toHaveLength(1);
  expect(machinePaths('a.md', ['https://example.org', 'work', 'main'].join('/'))).toEqual([]);
  expect(machinePaths('a.md', './root/x and src/work/x')).toEqual([]);
});
