import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { hierarchical } from '../../src/define/hierarchical.js';
import { loop } from '../../src/define/loop.js';
import { parallel } from '../../src/define/parallel.js';
import { sequential } from '../../src/define/sequential.js';
import { tool } from '../../src/define/tool.js';
import { transfer } from '../../src/define/transfer.js';
import { checkDefinition, describeAgent } from '../../src/kernel/definition.js';
import { DEFAULT_INPUT_SCHEMA } from '../../src/kernel/schema.js';
import { faultsOf } from './faults.js';

const search = tool({ name: 'search', description: 'Searches.', execute: () => [] });
const researcher = agent({ name: 'researcher', description: 'Finds facts.', tools: [search], outputKey: 'facts' });
const skeptic = agent({ name: 'skeptic' });
const writer = agent({ name: 'writer' });
const critic = agent({ name: 'critic', outputSchema: z.object({ ok: z.boolean() }) });

const CAPABILITIES = [
  'composition',
  'streaming',
  'elicitation',
  'pause_resume',
  'cancellation',
  'multi_turn',
  'host_tool_execution',
  'stream_end_events',
];

test('a composition is an agent with the executor "composition": options as data, functions beside it', () => {
  const until = () => true;
  const mapInput = () => 'x';
  const fold = (a: number, b: number) => Math.max(a, b);
  const input = z.object({ topic: z.string() });
  const state = { best: { initial: 0, reducer: fold }, log: { initial: ['a'], reducer: 'append' as const }, bare: {} };
  const supervise = { strategy: 'rest_for_one', children: { critic: { restart: 'on_failure', maxRestarts: 2 } } };
  const made = loop({
    name: 'polish',
    displayName: 'Polish',
    description: 'Until it is good.',
    children: [writer, critic],
    maxIterations: 3,
    until,
    mapInput,
    state,
    supervise,
    constraints: { maxTurns: 9 },
    maxDepth: 2,
    inputSchema: input,
    outputKey: 'verdict',
    metadata: { version: '1' },
  });
  expect(made.descriptor).toStrictEqual({
    name: 'polish',
    displayName: 'Polish',
    description: 'Until it is good.',
    executor: 'composition',
    inputSchema: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
    capabilities: CAPABILITIES,
    subAgents: [writer.descriptor, critic.descriptor],
    constraints: { maxTurns: 9 },
    composition: {
      pattern: 'loop',
      maxIterations: 3,
      children: ['writer', 'critic'],
      maxDepth: 2,
      supervise,
      state: { best: { initial: 0, reducer: 'custom' }, log: { initial: ['a'], reducer: 'append' }, bare: {} },
    },
    metadata: { version: '1' },
  });
  expect(made).toMatchObject({ kind: 'agent', name: 'polish', tools: [], outputKey: 'verdict' });
  expect(made.children).toEqual([writer, critic]);
  expect(made.inputValidator).toBe(input);
  expect(made.behaviour).toEqual({ until, mapInput, state, supervise });
});

test('every pattern says its own options, and nothing that was not given', () => {
  const config = (definition: AgentDefinition) => definition.descriptor.composition;
  expect(config(sequential({ name: 's', children: [writer] }))).toStrictEqual({
    pattern: 'sequential',
    children: ['writer'],
  });
  expect(config(sequential({ name: 's', children: [writer], onFailure: 'continue' }))).toMatchObject({
    onFailure: 'continue',
  });
  expect(
    config(
      parallel({ name: 'p', children: [writer, critic], concurrency: 2, failure: 'fail_fast', join: { quorum: 1 } }),
    ),
  ).toStrictEqual({
    pattern: 'parallel',
    concurrency: 2,
    failure: 'fail_fast',
    join: { quorum: 1 },
    children: ['writer', 'critic'],
  });
  expect(config(hierarchical({ name: 'h', agent: writer, children: [critic], concurrency: 3 }))).toStrictEqual({
    pattern: 'hierarchical',
    leader: 'writer',
    concurrency: 3,
    children: ['critic'],
  });
  expect(
    config(
      transfer({
        name: 't',
        members: [writer, critic],
        start: 'writer',
        targets: { writer: ['critic'] },
        maxTransfers: 4,
        context: { last: 3 },
      }),
    ),
  ).toStrictEqual({
    pattern: 'transfer',
    start: 'writer',
    transferTargets: { writer: ['critic'] },
    maxTransfers: 4,
    context: { last: 3 },
    children: ['writer', 'critic'],
  });
});

test('without an input schema a composition takes a prompt, and describes itself', () => {
  const made = parallel({ name: 'both', children: [writer, critic] });
  expect(made.descriptor.inputSchema).toBe(DEFAULT_INPUT_SCHEMA);
  expect(made.descriptor.description).toBe('Runs writer, critic at the same time.');
  expect(hierarchical({ name: 'h', agent: researcher, children: [critic] }).descriptor.description).toBe(
    'Finds facts.',
  );
});

test('a leader leads, and its children are the others', () => {
  const made = hierarchical({ name: 'lead', agent: researcher, children: [writer, critic] });
  expect(made.leader).toBe(researcher);
  expect(made.children).toEqual([writer, critic]);
  expect(describeAgent(made).subAgents?.map((child) => child.name)).toEqual(['writer', 'critic']);
});

test('a filter of a transfer is a function beside the descriptor, which says "custom"', () => {
  const filter = (messages: readonly unknown[]) => messages.slice(-1) as never;
  const made = transfer({ name: 't', members: [writer, critic], start: 'writer', context: filter });
  expect(made.behaviour?.contextFilter).toBe(filter);
  expect(made.descriptor.composition?.context).toBe('custom');
});

test('a transfer without targets lets everybody hand over to everybody else', () => {
  const made = transfer({ name: 't', members: [writer, critic, skeptic], start: 'writer' });
  expect(made.descriptor.composition?.transferTargets).toEqual({
    writer: ['critic', 'skeptic'],
    critic: ['writer', 'skeptic'],
    skeptic: ['writer', 'critic'],
  });
});

test('children added to a list later are not children', () => {
  const children = [writer, critic];
  const made = sequential({ name: 's', children });
  children.pop();
  expect(made.children).toHaveLength(2);
  expect(made.descriptor.subAgents).toHaveLength(2);
});

test('a tree with every pattern and many kinds of schema survives JSON unchanged', () => {
  const tree = sequential({
    name: 'report',
    children: [
      parallel({ name: 'gather', children: [researcher, skeptic] }),
      loop({ name: 'polish', children: [writer, critic], maxIterations: 3, until: ({ last }) => last.ok }),
      transfer({ name: 'desk', members: [agent({ name: 'triage' }), agent({ name: 'billing' })], start: 'triage' }),
      hierarchical({
        name: 'lead',
        agent: agent({ name: 'planner', tools: ['read_file'] }),
        children: [agent({ name: 'helper', inputSchema: { properties: { n: { type: 'number' } } } })],
        state: { n: { initial: { deep: [1, null] }, reducer: (a) => a } },
      }),
    ],
  });
  const described = describeAgent(tree);
  expect(JSON.parse(JSON.stringify(tree.descriptor))).toStrictEqual(tree.descriptor);
  expect(described).toStrictEqual(tree.descriptor);
  expect(described.subAgents?.map((child) => child.subAgents?.map((one) => one.name))).toEqual([
    ['researcher', 'skeptic'],
    ['writer', 'critic'],
    ['triage', 'billing'],
    ['helper'],
  ]);
});

describe('faults', () => {
  test('a composition tells what is wrong with it and with the tree that it makes, at once', () => {
    const inner = parallel({ name: 'Inner', children: [agent({ name: 'Writer' })] });
    const options = {
      name: 'inner',
      children: [inner, writer],
      onFailure: 'retry',
      maxIteration: 3,
      inputSchema: { type: 'string' },
      supervise: { children: { Writer: {} } },
      mapInput: 'x',
    };
    expect(faultsOf(() => sequential(options as never))).toEqual([
      expect.stringMatching(/^inner\.maxIteration: is unknown; known: name, /),
      expect.stringMatching(/^inner\.inputSchema: must describe an object/),
      'inner.onFailure: must be "stop" or "continue"',
      'inner.supervise.children.Writer: "Writer" (did you mean "writer"?) is no child; children: Inner, writer',
      'inner.mapInput: must be a function',
      expect.stringMatching(/^inner\/Inner: the name "Inner" is taken by "inner" at inner/),
      expect.stringMatching(/^inner\/writer: the name "writer" is taken by "Writer" at inner\/Inner\/Writer/),
    ]);
  });

  test.each([
    ['children', () => sequential({ name: 's' } as never), 's.children: needs at least one agent'],
    ['any child', () => parallel({ name: 'p', children: [] }), 'p.children: needs at least one agent'],
    ['members', () => transfer({ name: 't', members: [], start: 'x' as never }), 't.members: needs at least one agent'],
    [
      'a bound',
      () => loop({ name: 'l', children: [writer] } as never),
      'l.maxIterations: is required: a whole number from 1',
    ],
    [
      'a leader',
      () => hierarchical({ name: 'h', children: [writer] } as never),
      'h.agent: must be the agent that leads',
    ],
    [
      'a start',
      () => transfer({ name: 't', members: [writer] } as never),
      't.start: "undefined" is no member; members: writer',
    ],
  ])('without %s there is no composition', (_, define, message) => {
    expect(faultsOf(define)).toContain(message);
  });

  test('what is no agent is told by its place', () => {
    expect(faultsOf(() => sequential({ name: 's', children: [writer, 'critic', undefined] } as never))).toEqual([
      's.children[1]: is no agent, as agent() or a composition makes it',
      's.children[2]: is no agent, as agent() or a composition makes it',
    ]);
  });

  test('state that a nested composition declares otherwise is told where it stands', () => {
    const inner = sequential({ name: 'inner', children: [writer], state: { n: { initial: 1 } } });
    expect(faultsOf(() => sequential({ name: 'outer', children: [inner], state: { n: { initial: 2 } } }))).toEqual([
      expect.stringMatching(/^outer\/inner\.state: state key "n" starts as 1, in outer\.state as 2/),
    ]);
  });

  test('initial values that JSON would lose are told once', () => {
    const attempt = () => sequential({ name: 's', children: [writer], state: { at: { initial: new Date(0) } } });
    expect(faultsOf(attempt)).toEqual([
      expect.stringMatching(/^s\.state: state key "at": initial is an instance of Date/),
    ]);
  });

  test('a tree that grows too deep is refused where the last level is put on', () => {
    const put = (levels: number, maxDepth?: number): AgentDefinition =>
      levels === 0 ? writer : sequential({ name: `level_${levels}`, children: [put(levels - 1, maxDepth)], maxDepth });
    expect(checkDefinition(put(8))).toEqual([]);
    expect(faultsOf(() => put(9))).toEqual([expect.stringContaining('lies deeper than maxDepth allows (8 levels')]);
    expect(faultsOf(() => put(10, 10))).toEqual([]);
  });
});
