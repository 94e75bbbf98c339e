import { expect, test } from 'vitest';
import { z } from 'zod';
import type { StandardSchema } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { tool } from '../../src/define/tool.js';
import { describeAgent } from '../../src/kernel/definition.js';
import { DEFAULT_INPUT_SCHEMA, isDefaultInputSchema } from '../../src/kernel/schema.js';
import { faultsOf } from './faults.js';

const search = tool({ name: 'search', description: 'Searches.', execute: () => [] });

test('the least agent takes a prompt and runs here', () => {
  expect(agent({ name: 'plain' })).toStrictEqual({
    kind: 'agent',
    name: 'plain',
    descriptor: { name: 'plain', description: 'plain', executor: 'local', inputSchema: DEFAULT_INPUT_SCHEMA },
    tools: [],
  });
});

test('what is data stands in the descriptor, what is code beside it', () => {
  const input = z.object({ topic: z.string() });
  const output = z.object({ facts: z.array(z.string()) });
  const instruction = () => 'Be brief.';
  const model = { generate: async () => ({ content: [] }), async *generateStream() {} };
  const backend = { client: new Map() };
  const made = agent({
    name: 'researcher',
    displayName: 'Researcher',
    description: 'Finds facts.',
    model,
    instruction,
    tools: [search, 'read_file'],
    inputSchema: input,
    outputSchema: output,
    constraints: { maxTurns: 8 },
    executor: 'adk',
    backend,
    outputKey: 'facts',
    generation: { temperature: 0 },
    contextBudget: { maxTokens: 1000 },
    capabilities: ['streaming'],
    metadata: { version: '2.1.0', interfaceVersion: '1.0.0', team: 'red' },
    includeHistory: false,
    requiredTools: ['write_file'],
    inheritTools: true,
    script: './demo.yaml',
  });
  expect(made.descriptor).toStrictEqual({
    name: 'researcher',
    displayName: 'Researcher',
    description: 'Finds facts.',
    executor: 'adk',
    inputSchema: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
    outputSchema: {
      type: 'object',
      properties: { facts: { type: 'array', items: { type: 'string' } } },
      required: ['facts'],
    },
    capabilities: ['streaming'],
    ownTools: [{ name: 'search', description: 'Searches.', parametersSchema: { type: 'object', properties: {} } }],
    requiredTools: ['read_file', 'write_file'],
    constraints: { maxTurns: 8 },
    metadata: { version: '2.1.0', interfaceVersion: '1.0.0', team: 'red' },
  });
  expect(made).toMatchObject({
    instruction,
    tools: [search, 'read_file'],
    outputKey: 'facts',
    generation: { temperature: 0 },
    contextBudget: { maxTokens: 1000 },
    includeHistory: false,
    inheritTools: true,
    script: './demo.yaml',
  });
  expect(made.model).toBe(model);
  expect(made.backend).toBe(backend);
  expect(made.inputValidator).toBe(input);
  expect(made.outputValidator).toBe(output);
  expect(describeAgent(made)).toStrictEqual(made.descriptor);
});

test('a host tool that must be there is a plain name: no pattern, none that the provider runs', () => {
  const made = agent({ name: 'a', tools: ['read_file', 'mcp_github_*', 'provider:web_search', 'read_file2'] });
  expect(made.descriptor.requiredTools).toEqual(['read_file', 'read_file2']);
  expect(made.tools).toHaveLength(4);
});

test('an inputSchema of { prompt } is the default, written out', () => {
  expect(
    isDefaultInputSchema(agent({ name: 'a', inputSchema: z.object({ prompt: z.string() }) }).descriptor.inputSchema),
  ).toBe(true);
});

test('what the author changes later changes nothing', () => {
  const tools = [search];
  const constraints = { maxTurns: 1 };
  const metadata = { list: ['a'] };
  const made = agent({ name: 'a', tools, constraints, metadata });
  tools.pop();
  constraints.maxTurns = 99;
  metadata.list.push('b');
  expect(made.tools).toEqual([search]);
  expect(made.descriptor).toMatchObject({ constraints: { maxTurns: 1 }, metadata: { list: ['a'] } });
});

test('everything that is wrong is told at once', () => {
  const mute: StandardSchema = { '~standard': { version: 1, vendor: 'mute', validate: (value) => ({ value }) } };
  const options = {
    name: 'bad agent',
    instructions: 'typo',
    tools: [search, 'search', 7],
    inputSchema: { type: 'array' },
    outputSchema: mute,
    constraints: { maxTurns: 0 },
    executor: 'composition',
    model: 42,
    metadata: { made: new Date(0), interfaceVersion: '9.0.0' },
  };
  expect(faultsOf(() => agent(options as never))).toEqual([
    expect.stringMatching(/^bad agent\.instructions: is unknown \(did you mean "instruction"\?\)/),
    expect.stringMatching(/^bad agent\.inputSchema: must describe an object/),
    expect.stringMatching(
      /^bad agent\.outputSchema: the mute schema cannot say its JSON Schema .*pass \{ schema, jsonSchema \}/,
    ),
    expect.stringMatching(/^bad agent\.name: "bad agent" is no agent name/),
    expect.stringMatching(/^bad agent\.tools\[1\]: a second tool "search"/),
    expect.stringMatching(/^bad agent\.tools\[2\]: is neither a tool/),
    'bad agent.constraints.maxTurns: must be a whole number from 1, not 0',
    expect.stringMatching(/^bad agent\.model: must be a name/),
    expect.stringMatching(/^bad agent\.metadata\.interfaceVersion: interface 9\.0\.0 has another major version/),
    expect.stringMatching(
      /^bad agent\.executor: has children or the executor "composition" without being one; sequential/,
    ),
    'bad agent.metadata.made: must be plain JSON: is an instance of Date',
  ]);
});

test('an agent without a name is told as such', () => {
  expect(faultsOf(() => agent({} as never))).toEqual(['(unnamed).name: an agent needs a name']);
});
