import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tool } from '../../src/define/tool.js';
import { TroupeError } from '../../src/kernel/errors.js';
import { faultsOf } from './faults.js';

const execute = () => 'done';

test('a tool is a descriptor as plain JSON, and what runs it', () => {
  const parameters = z.object({ path: z.string(), depth: z.number().default(1) });
  const confirm = () => 'why';
  const describeCall = () => ({ title: 'Reads' });
  const made = tool({
    name: 'read',
    displayName: 'Read',
    description: 'Reads a file.',
    parameters,
    annotations: { readOnly: true, category: 'read', 'acme.cost': 3 },
    outputSchema: z.array(z.string()),
    timeoutMs: 500,
    confirm,
    describe: describeCall,
    execute,
  });
  expect(made).toEqual({
    kind: 'tool',
    name: 'read',
    descriptor: {
      name: 'read',
      displayName: 'Read',
      description: 'Reads a file.',
      parametersSchema: {
        type: 'object',
        properties: { path: { type: 'string' }, depth: { type: 'number', default: 1 } },
        required: ['path'],
      },
      annotations: { readOnly: true, category: 'read', 'acme.cost': 3 },
    },
    validate: parameters,
    timeoutMs: 500,
    outputSchema: { type: 'array', items: { type: 'string' } },
    confirm,
    describe: describeCall,
    execute,
  });
  expect(JSON.parse(JSON.stringify(made.descriptor))).toStrictEqual(made.descriptor);
});

test('what is not given is not there', () => {
  const made = tool({ name: 'noop', description: '', execute });
  expect(made).toStrictEqual({
    kind: 'tool',
    name: 'noop',
    descriptor: { name: 'noop', description: '', parametersSchema: { type: 'object', properties: {} } },
    execute,
  });
});

test('plain JSON Schema leaves the validation to the host', () => {
  const made = tool({ name: 'x', description: '', parameters: { type: 'object', required: ['a'] }, execute });
  expect(made).not.toHaveProperty('validate');
  expect(made.descriptor.parametersSchema).toEqual({ type: 'object', required: ['a'] });
});

test('annotations that the author changes later do not change the tool', () => {
  const annotations = { readOnly: false };
  const made = tool({ name: 'x', description: '', annotations, execute });
  annotations.readOnly = true;
  expect(made.descriptor.annotations).toEqual({ readOnly: false });
});

describe('names', () => {
  test.each(['search', 'a', '9lives', 'files/read', 'ns:do-it', 'v1.find', '_x', 'x'.repeat(64)])(
    '%s is one',
    (name) => {
      expect(tool({ name, description: '', execute }).name).toBe(name);
    },
  );

  test.each([
    ['', 'tool .name: a tool needs a name'],
    ['two words', 'tool two words.name: "two words" is no tool name: letters, digits and _ . : / - only'],
    ['all*', 'tool all*.name: "all*" is no tool name: letters, digits and _ . : / - only'],
    [
      'provider:web',
      'tool provider:web.name: "provider:web" names a tool that the provider runs; it is declared by name only',
    ],
    ['exit_loop', 'tool exit_loop.name: "exit_loop" is a tool of the host; choose another name'],
    [
      'transfer_to_agent',
      'tool transfer_to_agent.name: "transfer_to_agent" is a tool of the host; choose another name',
    ],
    ['complete_task', 'tool complete_task.name: "complete_task" is a tool of the host; choose another name'],
  ])('%j is none', (name, message) => {
    expect(faultsOf(() => tool({ name, description: '', execute }))).toEqual([message]);
  });

  test('more than 64 characters are too many', () => {
    expect(faultsOf(() => tool({ name: 'x'.repeat(65), description: '', execute }))).toEqual([
      expect.stringContaining('is longer than 64 characters'),
    ]);
  });
});

test('everything that is wrong is told at once', () => {
  const options = {
    name: 'bad tool',
    descripton: 'typo',
    parameters: z.string(),
    outputSchema: { type: 'nothing' },
    annotations: { since: new Date(0) },
    timeoutMs: 0,
    confirm: true,
  };
  expect(faultsOf(() => tool(options as never))).toEqual([
    expect.stringMatching(/^tool bad tool\.descripton: is unknown \(did you mean "description"\?\); known: name, /),
    'tool bad tool.name: "bad tool" is no tool name: letters, digits and _ . : / - only',
    'tool bad tool.description: must be a text',
    'tool bad tool.execute: must be a function',
    'tool bad tool.confirm: must be a function',
    'tool bad tool.timeoutMs: must be a number of milliseconds above 0',
    'tool bad tool.annotations.since: must be plain JSON: is an instance of Date',
    expect.stringMatching(/^tool bad tool\.parameters: must describe an object/),
    expect.stringMatching(/^tool bad tool\.outputSchema\.type: unknown type "nothing"/),
  ]);
});

test('the error is one that a caller can act on', () => {
  const attempt = () => tool({ name: 'x', description: '', parameters: z.string() as never, execute });
  expect(attempt).toThrow(TroupeError);
  expect(attempt).toThrow(expect.objectContaining({ code: 'INVALID_DEFINITION', retryable: false }));
});
