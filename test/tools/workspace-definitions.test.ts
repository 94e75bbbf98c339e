import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import type { ToolDefinition } from '../../src/contracts/index.js';
import { readOnlyWorkspaceTools, type WorkspaceToolName, workspaceTools } from '../../src/tools/workspace.js';

const tools = workspaceTools({ root: '.' });
const byName = (name: string): ToolDefinition => tools.find((tool) => tool.name === name) as ToolDefinition;
const validator = (name: string) => new Ajv2020({ strict: true }).compile(byName(name).descriptor.parametersSchema);

test('the seven tools say what they do to the workspace, are plain data and take no unknown argument', () => {
  expect(tools.map(({ name, descriptor }) => [name, descriptor.name, descriptor.annotations])).toEqual([
    ['read_file', 'read_file', { readOnly: true, category: 'read' }],
    ['list_directory', 'list_directory', { readOnly: true, category: 'read' }],
    ['glob', 'glob', { readOnly: true, category: 'search' }],
    ['search_text', 'search_text', { readOnly: true, category: 'search' }],
    ['write_file', 'write_file', { category: 'edit', destructive: true }],
    ['replace', 'replace', { category: 'edit', destructive: true }],
    ['run_shell_command', 'run_shell_command', { category: 'execute', destructive: true, longRunning: true }],
  ]);
  for (const { descriptor } of tools) {
    expect(JSON.parse(JSON.stringify(descriptor))).toEqual(descriptor);
    expect(descriptor.parametersSchema).toMatchObject({ type: 'object', additionalProperties: false });
  }
});

test('a caller takes some of the tools, in the same order', () => {
  const names = (only: readonly WorkspaceToolName[]) => workspaceTools({ root: '.', only }).map(({ name }) => name);
  expect(names(readOnlyWorkspaceTools)).toEqual(['read_file', 'list_directory', 'glob', 'search_text']);
  expect(names(['replace', 'read_file'])).toEqual(['read_file', 'replace']);
  expect(names([])).toEqual([]);
});

test.each<[string, object, RegExp]>([
  ['an unknown tool', { only: ['raed_file'] }, /there is no tool "raed_file" \(did you mean "read_file"\?\)/],
  ['a timeout that is none', { shell: { timeoutMs: 0 } }, /shell\.timeoutMs is 0; give a whole number from 1 on/],
  ['a timeout above the highest', { shell: { timeoutMs: 9, maxTimeoutMs: 8 } }, /more than shell\.maxTimeoutMs \(8\)/],
  ['a bound that is no number', { shell: { maxMemoryMb: '1' } }, /shell\.maxMemoryMb is "1"/],
  ['a relative bash', { shell: { bash: 'bash' } }, /shell\.bash is "bash"; give an absolute path/],
])('%s is refused when the tools are made', (_, options, message) => {
  expect(() => workspaceTools({ root: '.', ...options })).toThrow(message);
});

test.each([
  [
    'read_file',
    { path: 'a', offset: 1, limit: 2_000 },
    [{}, { path: '' }, { path: 'a', offset: 0 }, { path: 'a', limit: 2_001 }],
  ],
  ['list_directory', {}, [{ path: 1 }, { root: '/' }]],
  ['glob', { pattern: '*', path: '.', stats: true }, [{}, { pattern: '' }, { pattern: '*', stats: 'yes' }]],
  ['search_text', { pattern: 'x', path: '.', glob: '*', ignoreCase: true }, [{}, { pattern: 'x', regex: true }]],
  [
    'write_file',
    { path: 'a', content: '' },
    [{}, { path: 'a' }, { path: '', content: 'x' }, { path: 'a', content: 1 }],
  ],
  [
    'replace',
    { path: 'a', old_string: 'x', new_string: '', expected_replacements: 2 },
    [
      { path: 'a', new_string: 'y' },
      { path: 'a', old_string: '', new_string: 'y' },
      { path: 'a', old_string: 'x', new_string: 'y', expected_replacements: 0 },
      { path: 'a', old_string: 'x', new_string: 'y', regex: true },
    ],
  ],
  [
    'run_shell_command',
    { command: 'ls', timeout_ms: 600_000, description: 'Lists.' },
    [{}, { command: '' }, { command: 'ls', timeout_ms: 600_001 }, { command: 'ls', cwd: '/' }],
  ],
])('%s takes what it says and nothing else', (name, good, bad) => {
  const validate = validator(name);
  expect(validate(good)).toBe(true);
  for (const args of bad) expect([args, validate(args)]).toEqual([args, false]);
});

test('a call is described for a person, with the place it is about', () => {
  const describe = (name: string, args: object) => (byName(name).describe as (args: object) => unknown)(args);
  expect(describe('read_file', { path: 'src/a.ts', offset: 7 })).toEqual({
    title: 'Read src/a.ts',
    locations: [{ path: 'src/a.ts', line: 7 }],
  });
  expect(describe('search_text', { pattern: 'a b' })).toEqual({ title: 'Search "a b"' });
  expect(describe('write_file', { path: 'a' })).toEqual({ title: 'Write a', locations: [{ path: 'a' }] });
  expect(describe('replace', { path: 'a' })).toEqual({ title: 'Edit a', locations: [{ path: 'a' }] });
});

test('the title of a command is the command, whatever the model says that it does', () => {
  const describe = byName('run_shell_command').describe as (args: object) => unknown;
  expect(describe({ command: 'rm -rf src\n', description: 'Lists files.' })).toEqual({ title: 'Run "rm -rf src\\n"' });
  expect(describe({ command: 'x'.repeat(81) })).toEqual({ title: `Run "${'x'.repeat(80)}…"` });
});
