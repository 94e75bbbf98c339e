import { describe, expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent } from '../../src/index.js';
import { agent, createHost, graph, loop, memoryStore, parallel, sequential, tool } from '../../src/index.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';

type Script = Parameters<typeof scriptedModel>[0];

async function play(
  team: AgentDefinition,
  byAgent: object = {},
  see: (event: AgentEvent, run: Run) => void = () => {},
) {
  const model = scriptedModel({ byAgent } as Script);
  const store = memoryStore();
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(team, 'kites');
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    see(event, run);
  }
  expect(validateLog(events)).toEqual([]);
  const started = events.flatMap((event) => (event.type === 'agent_started' ? [event.threadId] : []));
  const decisions: unknown[] = [];
  for await (const event of (await store.load(run.sessionId)).events) {
    if (event.type === 'custom' && event.kind === 'decision') decisions.push(event.data);
  }
  return { events, started, decisions, model, result: await run.result };
}
type Run = ReturnType<ReturnType<typeof createHost>['run']>;

const say = (text: string) => () => ({ text });
const given = (model: ReturnType<typeof scriptedModel>, name: string) =>
  model.requests.filter((request) => request._meta?.agent === name).map(({ messages }) => messages.at(-1)?.content);

const diamond = (join: 'all' | 'any', more: object = {}) =>
  graph({
    name: 'g',
    nodes: {
      split: ({ input }) => `about ${input}`,
      left: agent({ name: 'left' }),
      right: agent({ name: 'right' }),
      merge: agent({ name: 'merge' }),
    },
    edges: [
      { from: 'split', to: 'left' },
      { from: 'split', to: 'right' },
      { from: 'left', to: 'merge' },
      { from: 'right', to: 'merge' },
    ],
    start: 'split',
    end: 'merge',
    joins: { merge: join },
    ...more,
  });

describe('ways', () => {
  test('branches run at once, a join of all is given what each said, and the end says the result', async () => {
    const { started, result, model } = await play(diamond('all'), {
      left: say('L'),
      right: say('R'),
      merge: say('both'),
    });
    expect(started).toEqual(['split_1', 'left_2', 'right_3', 'merge_4']);
    expect(given(model, 'left')).toEqual([[{ type: 'text', text: 'about kites' }]]);
    expect(given(model, 'merge')).toEqual([[{ type: 'text', text: '{"left":"L","right":"R"}' }]]);
    expect(result).toMatchObject({ ok: true, text: 'both' });
    expect(result.data.results).toEqual({ split: 'about kites', left: 'L', right: 'R', merge: 'both' });
  });

  test('a join of any begins with the first, and aborts who is still on the way', async () => {
    const slow = tool({
      name: 'wait',
      description: 'Waits.',
      annotations: { readOnly: true },
      execute: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
    });
    const team = graph({
      name: 'g',
      nodes: {
        split: () => 'go',
        left: agent({ name: 'left', tools: [slow] }),
        right: agent({ name: 'right' }),
        merge: agent({ name: 'merge' }),
      },
      edges: [
        { from: 'split', to: 'left' },
        { from: 'split', to: 'right' },
        { from: 'left', to: 'merge' },
        { from: 'right', to: 'merge' },
      ],
      start: 'split',
      end: 'merge',
      joins: { merge: 'any' },
    });
    const { events, result, model } = await play(team, {
      left: () => ({ toolCalls: [{ name: 'wait', args: {} }] }),
      right: say('R'),
      merge: say('first'),
    });
    expect(result).toMatchObject({ ok: true, text: 'first' });
    expect(given(model, 'merge')).toEqual([[{ type: 'text', text: 'R' }]]);
    const end = events.find((event) => event.type === 'stream_end' && event.threadId === 'left_2');
    expect(end).toMatchObject({ reason: 'aborted', data: { reason: 'another way was faster' } });
  });

  test('guards see the run so far, and what they said is in the log', async () => {
    const seen: unknown[] = [];
    const team = graph({
      name: 'g',
      nodes: { writer: agent({ name: 'writer', outputKey: 'draft' }), critic: agent({ name: 'critic' }) },
      edges: [
        { from: 'writer', to: 'critic' },
        {
          from: 'critic',
          to: 'writer',
          guard: async ({ last, results, state, visits, input }) => {
            seen.push({ last, results, draft: state.draft, visits, input });
            return last !== 'fine';
          },
        },
      ],
      start: 'writer',
      end: 'critic',
      maxSteps: 6,
    });
    const { started, decisions, result } = await play(team, {
      writer: [{ text: 'one' }, { text: 'two' }],
      critic: [{ text: 'no' }, { text: 'fine' }],
    });
    expect(started).toEqual(['writer_1', 'critic_2', 'writer_3', 'critic_4']);
    expect(seen[1]).toEqual({
      last: 'fine',
      results: { writer: 'two', critic: 'fine' },
      draft: 'two',
      visits: { writer: 2, critic: 2 },
      input: 'kites',
    });
    expect(decisions).toEqual([
      { decision: 'edges', node: 'critic', taken: ['writer'] },
      { decision: 'edges', node: 'critic', taken: [] },
    ]);
    expect(result).toMatchObject({ ok: true, text: 'fine' });
  });

  test('an edge for otherwise is taken when no guarded one is', async () => {
    const way = (isLong: boolean) =>
      graph({
        name: 'g',
        nodes: { ask: ({ input }) => input, long: () => 'long', short: () => 'short' },
        edges: [
          { from: 'ask', to: 'long', guard: () => isLong },
          { from: 'ask', to: 'short', guard: 'otherwise' },
        ],
        start: 'ask',
        end: ['long', 'short'],
      });
    expect((await play(way(true))).result.text).toBe('long');
    expect((await play(way(false))).result.text).toBe('short');
  });

  test('mapInput gives a node something else, also a function', async () => {
    const { result } = await play(
      graph({
        name: 'g',
        nodes: { one: () => [1, 2], two: ({ input }) => ({ got: input }) },
        edges: [{ from: 'one', to: 'two' }],
        start: 'one',
        end: 'two',
        mapInput: (node, { results }) => (node === 'two' ? { mapped: results.one ?? [] } : undefined),
      }),
    );
    expect(result.result).toEqual({ got: { mapped: [1, 2] } });
  });
});

describe('functions', () => {
  test('data reaches them as it is, and one that returns nothing passes it on', async () => {
    const { result, model } = await play(
      graph({
        name: 'g',
        nodes: { make: () => ({ n: 1 }), look: () => undefined, tell: agent({ name: 'tell' }) },
        edges: [
          { from: 'make', to: 'look' },
          { from: 'look', to: 'tell' },
        ],
        start: 'make',
        end: 'tell',
      }),
      { tell: say('done') },
    );
    expect(given(model, 'tell')).toEqual([[{ type: 'text', text: '{"n":1}' }]]);
    expect(result.text).toBe('done');
  });

  test('what they write to the state counts once they have returned', async () => {
    const team = graph({
      name: 'g',
      state: { count: { initial: 1 } },
      nodes: {
        add: ({ state }) => state.set('count', Number(state.get('count')) + 1),
        breaks: ({ state }) => {
          state.set('count', 100);
          throw new Error('no');
        },
      },
      edges: [{ from: 'add', to: 'breaks' }],
      start: 'add',
      end: 'breaks',
    });
    const { events, result } = await play(team);
    expect(result).toMatchObject({
      ok: false,
      reason: 'failed',
      data: { code: 'EXECUTOR_FAILED', message: 'breaks: no' },
    });
    const deltas = events.flatMap((event) => (event.type === 'session_update' ? [event.stateDelta?.count] : []));
    expect(new Set(deltas)).toEqual(new Set([2]));
  });

  test('what is no JSON fails them, saying so', async () => {
    const team = graph({ name: 'g', nodes: { odd: () => new Map() }, edges: [], start: 'odd', end: 'odd' });
    expect((await play(team)).result.data).toMatchObject({ code: 'OUTPUT_INVALID' });
  });

  test('an abort reaches them', async () => {
    const team = graph({
      name: 'g',
      nodes: {
        hang: ({ signal }) => new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('late'))),
      },
      edges: [],
      start: 'hang',
      end: 'hang',
    });
    const { result } = await play(team, {}, (event, run) => {
      if (event.type === 'message' && event.threadId === 'hang_1') setImmediate(() => run.abort('enough'));
    });
    expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
    expect(result.data.forced).toBeUndefined();
  });

  test('words for a graph go past a function to who begins next, and run it no second time', async () => {
    let runs = 0;
    let open = () => {};
    const team = graph({
      name: 'g',
      nodes: {
        wait: () => {
          runs++;
          return new Promise<string>((resolve) => {
            open = () => resolve('waited');
          });
        },
        tell: agent({ name: 'tell' }),
      },
      edges: [{ from: 'wait', to: 'tell' }],
      start: 'wait',
      end: 'tell',
    });
    const { result, events } = await play(team, { tell: say('told') }, (event, run) => {
      if (event.type !== 'message' || event.threadId !== 'wait_1') return;
      setImmediate(() => {
        run.steer({ message: 'to all' }, { threadId: '*' });
        run.steer({ message: 'to it' }, { threadId: 'wait_1' });
        run.steer({ message: 'to the team', action: 'interrupt' });
        open();
      });
    });
    expect([runs, result.text]).toEqual([1, 'told']);
    const steered = events.filter((event) => event.type === 'message' && event._meta?.steered === true);
    expect(steered.map((event) => [event.threadId, event.type === 'message' && event.content[0]])).toEqual([
      ['tell_2', { type: 'text', text: 'to all' }],
      ['tell_2', { type: 'text', text: 'to it' }],
      ['tell_2', { type: 'text', text: 'to the team' }],
    ]);
  });
});

describe('ends that are none', () => {
  test('a node that fails fails the whole and aborts the rest, with the results kept', async () => {
    const broken = () => ({ error: { code: 'INVALID_ARGUMENT', message: 'broken', retryable: false } });
    const { result, started } = await play(diamond('all'), { left: broken, right: say('R'), merge: say('x') });
    expect(result).toMatchObject({ ok: false, reason: 'failed', data: { code: 'INVALID_ARGUMENT' } });
    expect(result.data.message).toContain('left: broken');
    expect(result.data.results).toMatchObject({ split: 'about kites' });
    expect(started).not.toContain('merge_4');
  });

  test('a guard that throws fails it', async () => {
    const team = graph({
      name: 'g',
      nodes: { a: () => 1, b: () => 2 },
      edges: [
        {
          from: 'a',
          to: 'b',
          guard: () => {
            throw new Error('who knows');
          },
        },
      ],
      start: 'a',
      end: 'b',
    });
    const { result } = await play(team);
    expect(result.data).toMatchObject({ code: 'GUARD_FAILED', message: expect.stringContaining('who knows') });
  });

  test('steps that are used up, and a node that leads nowhere, are failures that say so', async () => {
    const round = graph({
      name: 'g',
      nodes: { a: () => 1, b: () => 2, c: () => 3 },
      edges: [
        { from: 'a', to: 'b' },
        { from: 'b', to: 'a', guard: () => true },
        { from: 'b', to: 'c', guard: 'otherwise' },
      ],
      start: 'a',
      end: 'c',
      maxSteps: 5,
    });
    const { result, started } = await play(round);
    expect(started).toHaveLength(5);
    expect(result).toMatchObject({
      reason: 'failed',
      data: { code: 'MAX_STEPS', exit: 'max_steps', results: { a: 1 } },
    });
    const stuck = graph({
      name: 'g',
      nodes: { a: () => 1, b: () => 2 },
      edges: [{ from: 'a', to: 'b', guard: () => false }],
      start: 'a',
      end: 'b',
    });
    expect((await play(stuck)).result.data).toMatchObject({ code: 'NO_EDGE_TAKEN', exit: 'stuck' });
  });

  test('nodes that ran at once and wrote different values to one key are a conflict; after one another they are none', async () => {
    const keyed = (left: string, right: string, reducer?: 'append') =>
      graph({
        name: 'g',
        state: { k: reducer === undefined ? { initial: '' as unknown } : { initial: [] as unknown, reducer } },
        nodes: {
          split: () => 'go',
          left: ({ state }) => state.set('k', left),
          right: ({ state }) => state.set('k', right),
          last: ({ state }) => [state.get('k')],
        },
        edges: [
          { from: 'split', to: 'left' },
          { from: 'split', to: 'right' },
          { from: 'left', to: 'last' },
          { from: 'right', to: 'last' },
        ],
        start: 'split',
        end: 'last',
        joins: { last: 'all' },
      });
    const { result, events } = await play(keyed('x', 'y'));
    expect(result.data).toMatchObject({
      code: 'STATE_CONFLICT',
      message: expect.stringContaining('"k" by left and right'),
    });
    expect(events.filter((event) => event.type === 'error')).toHaveLength(1);
    expect((await play(keyed('x', 'x'))).result.result).toEqual(['x']);
    expect((await play(keyed('x', 'y', 'append'))).result.result).toEqual([['x', 'y']]);
    const inTurn = graph({
      name: 'g',
      state: { k: { initial: '' } },
      nodes: {
        a: ({ state }) => state.set('k', 'a'),
        b: ({ state }) => state.set('k', 'b'),
        c: ({ state }) => state.get('k'),
      },
      edges: [
        { from: 'a', to: 'b' },
        { from: 'b', to: 'c' },
      ],
      start: 'a',
      end: 'c',
    });
    expect((await play(inTurn)).result.result).toBe('b');
  });
});

describe('nested', () => {
  test('it holds compositions and stands in them', async () => {
    const inner = graph({
      name: 'inner',
      nodes: {
        both: parallel({ name: 'both', children: [agent({ name: 'p' }), agent({ name: 'q' })] }),
        pick: ({ input }) => (input as { p: string }).p,
      },
      edges: [{ from: 'both', to: 'pick' }],
      start: 'both',
      end: 'pick',
    });
    const team = sequential({ name: 'outer', children: [inner, agent({ name: 'last' })] });
    const { started, result, model } = await play(team, { p: say('P'), q: say('Q'), last: say('end') });
    expect(started).toEqual([
      'inner_1',
      'inner_1.both_1',
      'inner_1.both_1.p_1',
      'inner_1.both_1.q_2',
      'inner_1.pick_2',
      'last_2',
    ]);
    expect(given(model, 'last')).toEqual([[{ type: 'text', text: 'P' }]]);
    expect(result.text).toBe('end');
  });

  test('in a loop an escalation leaves it, and the other branches with it', async () => {
    const team = loop({
      name: 'again',
      maxIterations: 3,
      children: [
        graph({
          name: 'g',
          nodes: { a: agent({ name: 'a' }), b: agent({ name: 'b' }) },
          edges: [{ from: 'a', to: 'b' }],
          start: 'a',
          end: 'b',
        }),
      ],
    });
    const { started, result } = await play(team, {
      a: [{ text: 'A' }, { text: 'A' }],
      b: [{ text: 'B' }, { toolCalls: [{ name: 'exit_loop', args: {} }] }],
    });
    expect(started).toEqual(['g_1', 'g_1.a_1', 'g_1.b_2', 'g_2', 'g_2.a_1', 'g_2.b_2']);
    expect(result).toMatchObject({ ok: true, data: { exit: 'escalated', iterations: 2 } });
  });

  test('a node that is supervised starts again', async () => {
    const team = diamond('all', { supervise: { children: { left: { restart: 'on_failure' } } } });
    const broken = { error: { code: 'INVALID_ARGUMENT', message: 'broken', retryable: false } };
    const { started, result } = await play(team, { left: [broken, { text: 'L' }], right: say('R'), merge: say('m') });
    expect(started).toEqual(['split_1', 'left_2', 'right_3', 'left_4', 'merge_5']);
    expect(result.ok).toBe(true);
  });
});
