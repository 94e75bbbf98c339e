import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import type { ToolDefinition } from '../../src/contracts/index.js';
import { workspaceTools } from '../../src/tools/workspace.js';

const tools = workspaceTools({ root: '.' });
const byName = (name: string): ToolDefinition => tools.find((tool) => tool.name === name) as ToolDefinition;
const validator = (name: string) => new Ajv2020({ strict: true }).compile(byName(name).descriptor.parametersSchema);

test('the four tools are read-only, plain data and take no unknown argument', () => {
  expect(tools.map(({ name, descriptor }) => [name, descriptor.name, descriptor.annotations])).toEqual([
    ['read_file', 'read_file', { readOnly: true, category: 'read' }],
    ['list_directory', 'list_directory', { readOnly: true, category: 'read' }],
    ['glob', 'glob', { readOnly: true, category: 'search' }],
    ['search_text', 'search_text', { readOnly: true, category: 'search' }],
  ]);
  for (const { descriptor } of tools) {
    expect(JSON.parse(JSON.stringify(descriptor))).toEqual(descriptor);
    expect(descriptor.parametersSchema).toMatchObject({ type: 'object', additionalProperties: false });
  }
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
});
