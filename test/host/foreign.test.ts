import { expect, test, vi } from 'vitest';
import type { AgentSession, ExecutorCreator } from '../../src/contracts/index.js';
import { agent, createHost, type HostOptions, loop, type Run, sequential, tool } from '../../src/index.js';
import {
  expectNoLeaks,
  type MockEvent,
  type MockScript,
  type MockSession,
  mockSession,
  scriptedModel,
  virtualClock,
} from '../../src/testing/index.js';
import { collect, deferred, ofType, settle, textIn, typesOf } from '../support/team.js';
import { textOf } from './tool-desk.js';

const text = (said: string) => [{ type: 'text' as const, text: said }];
const says = (said: string, messageId = 'm'): MockEvent => ({
  type: 'message',
  messageId,
  role: 'agent',
  content: text(said),
});
const call = (requestId: string, name = 'look', args: unknown = {}): MockEvent => ({
  type: 'tool_request',
  requestId,
  name,
  args,
  messageId: 'm',
  index: 0,
});
const end = (reason = 'completed'): MockEvent => ({ type: 'stream_end', reason });

interface ForeignOptions {
  host?: HostOptions;
  tools?: Parameters<typeof agent>[0]['tools'];
  /** Default: it leaves tools to the host. */
  capabilities?: string[];
  onEvent?: (event: Awaited<ReturnType<typeof collect>>[number], run: Run) => void;
  clock?: HostOptions['clock'];
}

const foreigner = (options: ForeignOptions = {}) =>
  agent({
    name: 'guest',
    executor: 'foreign',
    capabilities: options.capabilities ?? ['host_tool_execution'],
    ...(options.tools && { tools: options.tools }),
  });

/** Runs one foreign session to its end, the events held to the rules of a log. */
async function runForeign(session: AgentSession | ExecutorCreator, options: ForeignOptions = {}) {
  const host = createHost(options.host);
  host.registerExecutor('foreign', typeof session === 'function' ? session : () => session);
  try {
    const run = host.run(foreigner(options), 'go');
    const events = await collect(
      (async function* () {
        for await (const event of run) {
          options.onEvent?.(event, run);
          yield event;
        }
      })(),
    );
    return { events, result: await run.result };
  } finally {
    await host.close();
  }
}

const replays = (script: MockScript) => mockSession(script);
const look = (execute = vi.fn((_args: unknown) => 'seen')) =>
  tool({ name: 'look', description: 'Looks.', annotations: { readOnly: true }, execute });
const notices = (events: Awaited<ReturnType<typeof collect>>) =>
  ofType(events, 'custom').flatMap(({ kind, data }) =>
    kind === 'notice' ? [data as { code: string; text: string }] : [],
  );

test('a foreign session is merged like ours: our ids, order and run; no initialize of its own is needed', async () => {
  const session = replays([
    { ...says('hel'), id: 'theirs', seq: 99, threadId: undefined, agentId: 'somebody' } as never,
    says('lo'),
    { type: 'usage', inputTokens: 3, outputTokens: 1 },
    end(),
  ]);
  const { events, result } = await runForeign(session);
  expect(typesOf(events)).toEqual(['initialize', 'message', 'message', 'message', 'usage', 'stream_end']);
  expect(events.every(({ agentId, id }) => agentId === 'guest' && id !== 'theirs')).toBe(true);
  expect(result).toMatchObject({ ok: true, text: 'hello', usage: { inputTokens: 3, outputTokens: 1 } });
  expect(session.received).toEqual([{ kind: 'message', content: text('go'), input: { prompt: 'go' } }]);
});

test('what it is told comes back from it and is not said twice', async () => {
  const echo: MockEvent = { type: 'message', messageId: 'u', role: 'user', content: text('go') };
  const { events } = await runForeign(replays([echo, says('hi'), end()]));
  expect(ofType(events, 'message').map(({ role }) => role)).toEqual(['user', 'agent']);
});

test('events of unknown types, and parts of unknown kinds, are passed on', async () => {
  const odd = { type: 'hologram', beams: 3, id: 'x', seq: 1, threadId: 'y_1' } as never;
  const part = { type: 'message', messageId: 'm', role: 'agent', content: [{ type: 'scent', of: 'rose' }] } as never;
  const { events } = await runForeign(replays([odd, part, end()]));
  expect(events.find(({ type }) => (type as string) === 'hologram')).toMatchObject({ beams: 3, agentId: 'guest' });
  expect(ofType(events, 'message').at(-1)?.content).toEqual([{ type: 'scent', of: 'rose' }]);
});

test('its calls pass the gate and run here; the results go back together under its own ids', async () => {
  const execute = vi.fn((_args: unknown) => 'seen');
  const session = replays([call('a', 'look', { at: 1 }), call('b', 'nowhere'), says('done'), end()]);
  const { events, result } = await runForeign(session, { tools: [look(execute)] });
  expect(execute).toHaveBeenCalledTimes(1);
  expect(ofType(events, 'tool_response').map(({ requestId, name, errorType }) => [requestId, name, errorType])).toEqual(
    [
      ['b', 'nowhere', 'tool_not_registered'],
      ['a', 'guest.look', undefined],
    ],
  );
  const [first] = session.options;
  expect(first).toMatchObject({ hostToolExecution: true, permissionMode: 'default', tools: [{ name: 'look' }] });
  const delivered = session.received[1];
  expect(delivered).toMatchObject({ kind: 'tool_results', results: [{ requestId: 'a' }, { requestId: 'b' }] });
  expect(result.text).toBe('done');
});

test('one result goes back as one', async () => {
  const session = replays([call('a'), end()]);
  await runForeign(session, { tools: [look()] });
  expect(session.received[1]).toMatchObject({
    kind: 'tool_result',
    requestId: 'a',
    result: { llmContent: text('seen') },
  });
});

test('a call that is denied or declined runs nothing, and it is told', async () => {
  const execute = vi.fn();
  const write = tool({ name: 'write', description: 'Writes.', execute });
  const session = replays([call('a', 'write'), end()]);
  const { events } = await runForeign(session, {
    tools: [write],
    onEvent: (event, run) =>
      event.type === 'elicitation_request' && run.respond(event.requestId, { action: 'decline' }),
  });
  expect(execute).not.toHaveBeenCalled();
  expect(ofType(events, 'elicitation_request')).toMatchObject([{ kind: 'tool_confirmation' }]);
  expect(session.received[1]).toMatchObject({ result: { isError: true, errorType: 'declined' } });
});

const question = (requestId: string): MockEvent => ({
  type: 'elicitation_request',
  requestId,
  kind: 'clarification',
  message: `which ${requestId}?`,
  requestedSchema: { type: 'object', properties: { one: { type: 'string' } }, required: ['one'] },
});

test('its questions go to our inbox under our ids, the answers back under its own', async () => {
  const session = replays([question('theirs'), says('thanks'), end()]);
  const { events, result } = await runForeign(session, {
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      expect(event.requestId).not.toBe('theirs');
      expect(() => run.respond(event.requestId, { action: 'accept', content: {} })).toThrow(/one/);
      run.respond(event.requestId, { action: 'accept', content: { one: 'b' } });
    },
  });
  expect(ofType(events, 'elicitation_request')).toMatchObject([{ message: 'which theirs?' }]);
  expect(ofType(events, 'elicitation_response')).toHaveLength(1);
  expect(session.received[1]).toMatchObject({
    kind: 'elicitation_response',
    requestId: 'theirs',
    response: { action: 'accept', content: { one: 'b' } },
  });
  expect(result.text).toBe('thanks');
});

test('a question and calls of one turn: everything is answered, whatever comes first', async () => {
  for (const questionFirst of [true, false]) {
    const requests = questionFirst ? [question('q'), call('a')] : [call('a'), question('q')];
    const session = replays([...requests, says('done'), end()]);
    const { events, result } = await runForeign(session, {
      tools: [look()],
      onEvent: (event, run) =>
        event.type === 'elicitation_request' &&
        setImmediate(() => run.respond(event.requestId, { action: 'accept', content: { one: 'x' } })),
    });
    expect(result.text).toBe('done');
    expect(ofType(events, 'tool_response')).toHaveLength(1);
    expect(session.received.map(({ kind }) => kind).sort()).toEqual(['elicitation_response', 'message', 'tool_result']);
  }
});

test('several questions, answered in the reverse of the order asked', async () => {
  const asked: string[] = [];
  const session = replays([question('one'), question('two'), says('done'), end()]);
  const { result } = await runForeign(session, {
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      asked.unshift(event.requestId);
      if (asked.length < 2) return;
      for (const requestId of asked) run.respond(requestId, { action: 'accept', content: { one: requestId } });
    },
  });
  expect(result.text).toBe('done');
  const answers = session.received.slice(1) as unknown as {
    requestId: string;
    response: { content: { one: string } };
  }[];
  expect(answers.map(({ requestId }) => requestId).sort()).toEqual(['one', 'two']);
  expect(answers.find(({ requestId }) => requestId === 'one')?.response.content.one).toBe(asked[1]);
});

test('nobody to ask: it is told with a cancel and goes on', async () => {
  const session = replays([question('q'), says('then not'), end()]);
  const { result } = await runForeign(session, { host: { elicitation: 'deny' } });
  expect(session.received[1]).toMatchObject({ kind: 'elicitation_response', response: { action: 'cancel' } });
  expect(result.text).toBe('then not');
});

test('an id that it uses twice at once is dropped and told; later it may use it again (B033)', async () => {
  const session = mockSession(function* (data, at) {
    if (data.kind === 'message') yield* [call('a'), call('a'), question('q'), question('q')];
    if (at === 2) yield* [call('a')];
    if (at === 3) yield* [says('done'), end()];
  });
  const { events } = await runForeign(session, {
    tools: [look()],
    onEvent: (event, run) =>
      event.type === 'elicitation_request' && run.respond(event.requestId, { action: 'accept', content: { one: 'x' } }),
  });
  expect(ofType(events, 'elicitation_request')).toHaveLength(1);
  const requests = ofType(events, 'tool_request');
  expect(requests).toHaveLength(2);
  expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(2);
  expect(notices(events).filter(({ code }) => code === 'FOREIGN_SESSION')).toHaveLength(2);
});

test('without host_tool_execution it is refused, before anything is made or stored', async () => {
  const host = createHost();
  const session = replays([end()]);
  host.registerExecutor('foreign', () => session);
  expect(() => host.run(foreigner({ capabilities: [] }), 'go')).toThrow(
    expect.objectContaining({ code: 'CANNOT_ENFORCE', message: expect.stringContaining('toolName: "guest"') }),
  );
  await settle();
  expect(await host.list()).toEqual([]);
  expect(session.received).toEqual([]);
  await host.close();
});

const granted = { policy: [{ rules: [{ toolName: 'guest', decision: 'allow' as const, context: { opaque: true } }] }] };

test.each([
  ['by its name', granted, true],
  ['by everything that is allowed', { policy: [{ rules: [{ toolName: '*', decision: 'allow' as const }] }] }, false],
  ['by the mode', { run: 'autonomous' }, false],
  [
    'by a rule that an evaluator overrules',
    { policy: [...granted.policy, { evaluate: () => ({ outcome: 'deny', reason: 'no' }) as const }] },
    false,
  ],
  [
    'by name, an evaluator agreeing',
    { policy: [...granted.policy, { evaluate: () => ({ outcome: 'allow' }) as const }] },
    true,
  ],
])('granted %s', async (_, { run: mode, ...options }: HostOptions & { run?: string }, runs) => {
  const host = createHost(options);
  host.registerExecutor('foreign', () => replays([end()]));
  const start = () => host.run(foreigner({ capabilities: ['streaming'] }), 'go', mode ? { permissionMode: mode } : {});
  if (runs) expect((await start().result).reason).toBe('completed');
  else expect(start).toThrow(expect.objectContaining({ code: 'CANNOT_ENFORCE' }));
  await host.close();
});

test('a granted opaque agent is told of once in a tree, with the hooks that do not reach it', async () => {
  const host = createHost({
    ...granted,
    hooks: [{ point: 'before_tool', run: () => undefined }],
  });
  host.registerExecutor('foreign', () => replays([says('hi'), end()]));
  const team = loop({ name: 'twice', maxIterations: 2, children: [foreigner({ capabilities: [] })] });
  const events = await collect(host.run(team, 'go'));
  expect(notices(events)).toEqual([
    {
      code: 'OPAQUE_AGENT',
      severity: 'warning',
      text: 'guest runs its own tools: policy and approvals, and the hooks at before_tool, do not apply to them',
    },
  ]);
  await host.close();
});

test('a child that is opaque and not granted fails its run, not the host', async () => {
  const host = createHost({ models: { scripted: scriptedModel([]) } });
  host.registerExecutor('foreign', () => replays([end()]));
  const run = host.run(sequential({ name: 'team', children: [foreigner({ capabilities: [] })] }), 'go');
  const events = await collect(run);
  expect(ofType(events, 'error')).toMatchObject([{ code: 'CANNOT_ENFORCE' }]);
  expect((await run.result).reason).toBe('failed');
  await host.close();
});

test('calls that an opaque agent runs itself are shown, marked, and not run here; what it leaves open passes the gate', async () => {
  const execute = vi.fn((_args: unknown) => 'seen');
  const own: MockEvent = { type: 'tool_response', requestId: 'own', name: 'bash', llmContent: text('42 files') };
  const session = mockSession(function* (data) {
    if (data.kind === 'message') yield* [call('own', 'bash', { command: 'ls' }), own, call('ours')];
    else yield* [says('done'), end()];
  });
  const { events, result } = await runForeign(session, { host: granted, capabilities: [], tools: [look(execute)] });
  const requests = ofType(events, 'tool_request');
  expect(requests.map(({ name, _meta }) => [name, _meta?.opaque])).toEqual([
    ['bash', true],
    ['guest.look', undefined],
  ]);
  expect(ofType(events, 'tool_response').map((event) => [event.name, textOf(event), event._meta?.opaque])).toEqual([
    ['bash', '42 files', true],
    ['guest.look', 'seen', undefined],
  ]);
  expect(execute).toHaveBeenCalledTimes(1);
  expect(result.text).toBe('done');
});

test.each<[string, MockScript, string]>([
  ['ends', () => [call('own', 'bash'), says('bye'), end()], 'completed'],
  [
    'throws',
    function* () {
      yield* [call('own', 'bash'), says('bye')];
      throw new Error('lost');
    },
    'failed',
  ],
])(
  'a call that an opaque agent leaves open when it %s is shown once, with an answer that says so',
  async (_, script, reason) => {
    const { events, result } = await runForeign(mockSession(script), { host: granted, capabilities: [] });
    expect(ofType(events, 'tool_request')).toMatchObject([{ name: 'bash', _meta: { opaque: true } }]);
    expect(ofType(events, 'tool_response')).toMatchObject([
      { name: 'bash', isError: true, errorType: 'execution_failed', _meta: { opaque: true } },
    ]);
    expect([result.reason, textIn(events), typesOf(events).at(-1)]).toEqual([reason, 'bye', 'stream_end']);
  },
);

test('a call that an opaque agent runs when it is aborted is shown as cancelled; what it says of it later is not', async () => {
  const gate = deferred();
  const late: MockEvent = { type: 'tool_response', requestId: 'own', name: 'bash', llmContent: text('late') };
  const session: AgentSession = {
    stream: () => ({
      stream: (async function* () {
        yield call('own', 'bash') as never;
        yield says('at work') as never;
        await gate.promise;
        yield late as never;
      })(),
      controller: { abort: () => gate.resolve() },
    }),
    update() {},
    steer() {},
    abort() {},
  };
  const { events, result } = await runForeign(session, {
    host: granted,
    capabilities: [],
    onEvent: (event, run) => {
      if (event.type === 'message' && event.role === 'agent') run.abort('enough');
    },
  });
  expect(result.reason).toBe('aborted');
  expect(ofType(events, 'tool_request').map(({ name }) => name)).toEqual(['bash']);
  expect(ofType(events, 'tool_response')).toMatchObject([{ name: 'bash', isError: true, errorType: 'cancelled' }]);
});

test('one that declares to leave tools to the host and answers its own call is told of; the call passes the gate', async () => {
  const own: MockEvent = { type: 'tool_response', requestId: 'a', name: 'look', llmContent: text('made up') };
  const session = mockSession(function* (data) {
    if (data.kind === 'message') yield* [call('a'), own];
    else yield* [says('done'), end()];
  });
  const { events } = await runForeign(session, { tools: [look()] });
  expect(ofType(events, 'tool_response').map(textOf)).toEqual(['seen']);
  expect(notices(events)).toMatchObject([{ text: expect.stringContaining('answered "a" itself') }]);
});

test('threads below the foreign session do not become part of its own; their calls and usage do', async () => {
  const nested = (event: object) => ({ threadId: 'sub_1', ...event }) as never;
  const session = replays([
    nested({ type: 'agent_started', agentName: 'sub' }),
    nested({ type: 'initialize', sessionId: 's', agent: {}, interfaceVersion: '1.0.0', capabilities: [] }),
    nested(says('inner')),
    nested({ type: 'usage', inputTokens: 5 }),
    nested(call('c')),
    nested(end()),
    says('outer'),
    end(),
  ]);
  const { events, result } = await runForeign(session, { tools: [look()] });
  expect(result).toMatchObject({ text: 'outer', usage: { inputTokens: 5 } });
  expect(ofType(events, 'tool_response')).toHaveLength(1);
  expect(textIn(events)).toBe('outer');
  const wrapped = ofType(events, 'custom').map(({ kind, data }) => [kind, (data as { type: string }).type]);
  expect(wrapped).toEqual([
    ['foreign_thread_event', 'agent_started'],
    ['foreign_thread_event', 'message'],
    ['foreign_thread_event', 'stream_end'],
  ]);
});

test('an abort reaches it, and its end is waited for', async () => {
  const session = replays([says('one'), call('a'), says('never'), end()]);
  const { events, result } = await runForeign(session, {
    tools: [
      tool({ name: 'look', description: 'L.', annotations: { readOnly: true }, execute: () => new Promise(() => {}) }),
    ],
    host: { limits: { abortTimeoutMs: 20 } },
    onEvent: (event, run) => event.type === 'tool_update' && setImmediate(() => run.abort('enough')),
  });
  expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
  expect(result.data).not.toHaveProperty('forced');
  expect(events.at(-1)?.type).toBe('stream_end');
  const streaming = mockSession(async function* () {
    for (;;) {
      yield says('x');
      await settle(1);
    }
  });
  const aborted = await runForeign(streaming, {
    onEvent: (event, run) => event.type === 'message' && event.role === 'agent' && run.abort('stop'),
  });
  expect(aborted.result.reason).toBe('aborted');
  expect(streaming.aborts.length).toBeGreaterThan(0);
});

const raw = (
  stream: () => AsyncGenerator<unknown> | AsyncIterator<unknown>,
  more: Partial<AgentSession> = {},
): AgentSession => ({
  stream: () => ({ stream: stream() as never, controller: { abort() {} } }),
  update() {},
  steer() {},
  abort() {},
  ...more,
});
const iterates = (next: () => Promise<unknown>) => ({
  next: next as never,
  [Symbol.asyncIterator]() {
    return this;
  },
});

test('one that never ends is cut off after the time for an abort, and says so', async () => {
  const clock = virtualClock();
  const { events, result } = await runForeign(
    raw(() => iterates(() => new Promise(() => {}))),
    {
      host: { clock, limits: { abortTimeoutMs: 1_000 } },
      onEvent(event, run) {
        if (event.type !== 'message') return;
        setImmediate(() => {
          run.abort('enough');
          void clock.advance(1_000);
        });
      },
    },
  );
  expect(result).toMatchObject({ reason: 'aborted', data: { forced: true } });
  expect(events.at(-1)?.type).toBe('stream_end');
});

test('one that never waits holds nobody up: an abort still reaches it', async () => {
  let isOver = false;
  let said = 0;
  const flooding = deferred();
  const flood = raw(async function* () {
    for (; !isOver; said++) {
      if (said === 500) flooding.resolve();
      yield { type: 'usage', inputTokens: 0 };
    }
  });
  const { result } = await runForeign(flood, {
    onEvent: (event, run) => {
      // Behind the present round of the event loop: it must come to its next one.
      if (event.type === 'message' && event.role === 'user')
        void flooding.promise.then(() => setImmediate(() => run.abort('enough')));
    },
  });
  isOver = true;
  expect(result.reason).toBe('aborted');
});

test.each([
  [
    'throws at once',
    raw(() => {
      throw new Error('no line');
    }),
    'no line',
  ],
  [
    'throws in the middle',
    raw(async function* () {
      yield says('half');
      throw new Error('cut off');
    }),
    'cut off',
  ],
  [
    'throws a text',
    raw(async function* () {
      yield says('half');
      throw 'cut off';
    }),
    'cut off',
  ],
  [
    'gives no stream',
    { ...raw(async function* () {}), stream: () => undefined as never },
    'stream() gave no { stream, controller }',
  ],
])('one that %s fails its run, never the host', async (_, session, message) => {
  const { events, result } = await runForeign(session);
  expect(result).toMatchObject({ ok: false, reason: 'failed', data: { message } });
  expect(ofType(events, 'error')).toMatchObject([{ message }]);
});

test('nonsense among its events is told, once a turn, with the first of it', async () => {
  const cycle: Record<string, unknown> = { type: 'custom', kind: 'x' };
  cycle.data = cycle;
  const session = raw(async function* () {
    yield* [null, 'text', {}, { type: 7 }, { type: 'message' }, cycle, [says('x')]];
    yield { type: 'message', messageId: 'm', role: 'agent', content: [null] };
    yield { type: 'stream_end', reason: 'completed', data: 'x' };
    yield says('still here');
    yield end();
  });
  const { events, result } = await runForeign(session);
  expect(result.text).toBe('still here');
  expect(notices(events)).toEqual([
    {
      code: 'FOREIGN_SESSION',
      severity: 'warning',
      text: 'guest sent 9 × what is no event; the first: an event is an object',
    },
  ]);
});

test('one that says nothing but nonsense is cut off', async () => {
  const session = raw(async function* () {
    for (;;) yield { nonsense: true };
  });
  const { events, result } = await runForeign(session);
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'FOREIGN_SESSION' } });
  expect(notices(events)).toMatchObject([{ text: expect.stringContaining('100 ×') }]);
});

test('what comes after its stream_end is dropped and told', async () => {
  const session = raw(async function* () {
    yield says('one');
    yield end();
    yield says('two');
    yield end('failed');
  });
  const { events, result } = await runForeign(session);
  expect(result).toMatchObject({ ok: true, text: 'one' });
  expect(notices(events)).toMatchObject([{ text: 'guest went on after its stream_end; that was dropped' }]);
});

test('one whose stream does not return after its stream_end does not hold the run', async () => {
  let at = 0;
  const list = [says('one'), end()];
  const session = raw(() =>
    iterates(() => (at < list.length ? Promise.resolve({ done: false, value: list[at++] }) : new Promise(() => {}))),
  );
  expect((await runForeign(session)).result.text).toBe('one');
});

test('one that returns without an end and without asking anything has ended with what it said', async () => {
  expect(
    (
      await runForeign(
        raw(async function* () {
          yield says('that is all');
        }),
      )
    ).result,
  ).toMatchObject({ ok: true, text: 'that is all' });
});

test('it is closed with its session, once; a close that fails is told and harms nobody', async () => {
  const session = replays([end()]);
  await runForeign(session);
  expect(session.aborts).toEqual(['the host has ended this session']);
  const failing = raw(
    async function* () {
      yield end();
    },
    {
      abort() {
        throw new Error('already gone');
      },
    },
  );
  expect((await runForeign(failing)).result.reason).toBe('completed');
});

test('words for a running agent are handed on to it; so is a change of mode', async () => {
  const session = replays([call('a'), says('done'), end()]);
  await runForeign(session, {
    tools: [
      tool({
        name: 'look',
        description: 'Looks.',
        annotations: { readOnly: true },
        async execute() {
          await settle(2);
          return 'seen';
        },
      }),
    ],
    onEvent(event, run) {
      if (event.type !== 'tool_update') return;
      run.steer({ message: 'faster' });
      run.update({ permissionMode: 'plan' });
    },
  });
  expect(session.steers).toEqual([{ message: text('faster') }]);
  expect(session.updates).toEqual([{ permissionMode: 'plan' }]);
});

test('a session of another host works as an executor, its own approvals in our inbox', async () => {
  const inner = createHost({
    models: { scripted: scriptedModel([{ toolCalls: [{ name: 'save', args: {} }] }, { text: 'saved it' }]) },
  });
  const execute = vi.fn(() => 'saved');
  const save = tool({ name: 'save', description: 'Saves.', execute });
  let session: AgentSession | undefined;
  const { events, result } = await runForeign(
    () => {
      session = inner.session(agent({ name: 'inner', tools: [save] }));
      return session;
    },
    {
      host: granted,
      capabilities: [],
      onEvent: (event, run) =>
        event.type === 'elicitation_request' && run.respond(event.requestId, { action: 'accept' }),
    },
  );
  expect(execute).toHaveBeenCalledTimes(1);
  expect(result.text).toBe('saved it');
  expect(ofType(events, 'tool_request')).toMatchObject([{ name: 'inner.save', _meta: { opaque: true } }]);
  await inner.close();
});

test('a second message goes on with the same session', async () => {
  const session: MockSession = replays([says('one'), end(), says('two'), end()]);
  const host = createHost();
  host.registerExecutor('foreign', () => session);
  const standing = host.session(foreigner());
  const said: string[] = [];
  for (const content of ['first', 'second']) {
    const events = [];
    for await (const event of standing.stream({ kind: 'message', content }).stream) events.push(event);
    said.push(textIn(events));
  }
  expect(said).toEqual(['one', 'two']);
  expect(session.received.map((data) => data.kind === 'message' && data.content)).toEqual([
    text('first'),
    text('second'),
  ]);
  await standing.close();
  await host.close();
});

test('nothing of a foreign session stays', async () => {
  const controller = new AbortController();
  await expectNoLeaks(
    async () => {
      for (let round = 0; round < 3; round++) {
        await runForeign(replays([call('a'), question('q'), end()]), {
          tools: [look()],
          onEvent: (event, run) =>
            event.type === 'elicitation_request' && run.respond(event.requestId, { action: 'cancel' }),
        });
      }
    },
    { signals: [controller.signal] },
  );
});

test.each([
  [
    'yields its end',
    () => ({
      async *turn() {
        yield says('hi');
        yield end();
      },
    }),
  ],
  [
    'returns its end',
    () => ({
      async *turn() {
        yield says('hi');
        return { reason: 'completed' };
      },
    }),
  ],
  [
    'returns without a word about it',
    () => ({
      async *turn() {
        yield says('hi');
      },
    }),
  ],
  [
    'is a promise',
    () => ({
      async turn(_: unknown, context: { publish(e: unknown): unknown }) {
        await context.publish(says('hi'));
        return { reason: 'completed' };
      },
    }),
  ],
  [
    'is no promise even',
    () => ({
      turn(_: unknown, context: { publish(e: unknown): unknown }) {
        void context.publish(says('hi'));
        return { reason: 'completed' };
      },
    }),
  ],
])('an executor whose turn %s', async (_, creator) => {
  const { result } = await runForeign(creator as never);
  expect(result).toMatchObject({ ok: true, text: 'hi' });
});

test.each([
  ['nothing', () => undefined],
  ['an object without a turn', () => ({})],
  ['a text', () => 'executor'],
])('a creator that makes %s is refused', async (_, creator) => {
  const host = createHost();
  host.registerExecutor('foreign', creator as never);
  expect(() => host.run(foreigner(), 'go')).toThrow(expect.objectContaining({ code: 'INVALID_EXECUTOR' }));
  await host.close();
});

test('a session that gives tokens or money back is taken at what is an amount: no budget grows by it', async () => {
  const { result, events } = await runForeign(
    mockSession([
      { type: 'usage', inputTokens: 9, cost: { usd: 2 } },
      { type: 'usage', inputTokens: -5, outputTokens: 1, cost: { usd: -2 } },
      says('hello'),
      end(),
    ]),
  );
  expect(ofType(events, 'usage')[1]).not.toHaveProperty('inputTokens');
  expect(result).toMatchObject({ usage: { inputTokens: 9, outputTokens: 1 }, cost: { usd: 2 } });
});
