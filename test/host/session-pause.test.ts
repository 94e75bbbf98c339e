import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, memoryStore, parallel, tool } from '../../src/index.js';
import { type ScriptEntry, scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import {
  collect,
  consumerTool,
  leaf,
  loggedTypes,
  logOf,
  ofType,
  readAll,
  refusalOf,
  settle,
  textResult,
  typesOf,
} from '../support/team.js';
import { asker } from '../support/teams.js';

const calls = (...list: [id: string, name: string][]): ScriptEntry => ({
  toolCalls: list.map(([id, name]) => ({ id, name, args: {} })),
});

const message = (content = 'go') => ({ kind: 'message' as const, content });
const result = (requestId: string, text: string) => ({
  kind: 'tool_result' as const,
  requestId,
  result: textResult(text),
});
const accept = (requestId: string, content?: Record<string, unknown>) => ({
  kind: 'elicitation_response' as const,
  requestId,
  response: { action: 'accept', ...(content && { content }) },
});

/** What a model was told by the tools of its last turn, in order. */
const toldBy = (messages: readonly { content: readonly { type: string }[] }[]) =>
  messages.at(-1)?.content.map((part) => part as { id?: string; response?: { output?: unknown } });

test('a stream returns without an end once only the consumer can go on, and the next one finishes', async () => {
  const model = scriptedModel([calls(['x', 'mine']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  const paused = await readAll(session.stream(message()).stream);
  expect(loggedTypes(paused)).toEqual(['initialize', 'message', 'tool_request']);
  const rest = await readAll(session.stream(result('x', 'X')).stream);
  expect(loggedTypes(rest)).toEqual(['tool_response', 'message', 'stream_end']);
  expect(validateLog([...paused, ...rest], { finished: true })).toEqual([]);
});

test('one of several results yields its response, and the session still waits for the others', async () => {
  const model = scriptedModel([calls(['x', 'mine'], ['y', 'mine'], ['z', 'mine']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  const all = await readAll(session.stream(message()).stream);
  expect(session.state()).toMatchObject({
    type: 'awaiting_tool',
    pending: [{ requestId: 'x' }, { requestId: 'y' }, { requestId: 'z' }],
  });
  const second = await readAll(session.stream(result('z', 'Z')).stream);
  expect(loggedTypes(second)).toEqual(['tool_response']);
  expect(session.state()).toMatchObject({ pending: [{ requestId: 'x' }, { requestId: 'y' }] });
  const third = await readAll(session.stream(result('x', 'X')).stream);
  expect(loggedTypes(third)).toEqual(['tool_response']);
  expect(model.requests).toHaveLength(1);
  const last = await readAll(session.stream(result('y', 'Y')).stream);
  expect(loggedTypes(last)).toEqual(['tool_response', 'message', 'stream_end']);
  expect(validateLog([...all, ...second, ...third, ...last], { finished: true })).toEqual([]);
});

test('results reach the model in the order of the calls, not of the answers', async () => {
  const model = scriptedModel([calls(['x', 'mine'], ['y', 'mine'], ['z', 'mine']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  await readAll(session.stream(message()).stream);
  const rest = await readAll(
    session.stream({
      kind: 'tool_results',
      results: ['z', 'x', 'y'].map((requestId) => ({ requestId, result: textResult(requestId.toUpperCase()) })),
    }).stream,
  );
  expect(loggedTypes(rest)).toEqual(['tool_response', 'tool_response', 'tool_response', 'message', 'stream_end']);
  expect(toldBy(model.requests[1]!.messages)?.map(({ id, response }) => [id, response?.output])).toEqual([
    ['x', 'X'],
    ['y', 'Y'],
    ['z', 'Z'],
  ]);
});

test('an answer while a stream is open is delivered at once, and shows on the open stream', async () => {
  const model = scriptedModel([calls(['x', 'ask'], ['y', 'mine']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [asker('ask')] }), {
    tools: [consumerTool('mine')],
    permissionMode: 'autonomous',
  });
  const { stream } = session.stream(message());
  const events: AgentEvent[] = [];
  const sideEvents: AgentEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.type !== 'elicitation_request') continue;
    // The stream has not returned yet: what these cause belongs to it.
    sideEvents.push(...(await readAll(session.stream(accept(event.requestId)).stream)));
    sideEvents.push(...(await readAll(session.stream(result('y', 'Y')).stream)));
  }
  expect(sideEvents).toEqual([]);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  expect(validateLog(events, { finished: true })).toEqual([]);
});

test('an empty stream that carried an answer ends nothing when it is left', async () => {
  const model = scriptedModel([calls(['x', 'ask']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [asker('ask')] }));
  const events: AgentEvent[] = [];
  for await (const event of session.stream(message()).stream) {
    events.push(event);
    if (event.type !== 'elicitation_request') continue;
    const side = session.stream(accept(event.requestId));
    await side.stream.return();
  }
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
});

test('what was never asked, is answered already, or is asked twice at once is refused, and nothing changes', async () => {
  const store = memoryStore();
  const model = scriptedModel([calls(['x', 'mine'], ['y', 'mine']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  expect(await refusalOf(session.stream(result('x', 'early')).stream)).toBe('UNKNOWN_REQUEST');
  await readAll(session.stream(message()).stream);
  await readAll(session.stream(result('y', 'Y')).stream);
  const before = await logOf(store, session.sessionId);
  const twice = { kind: 'tool_results' as const, results: [result('x', '1'), result('x', '2')] };
  const mixed = { kind: 'tool_results' as const, results: [result('x', '1'), result('nope', '2')] };
  for (const data of [result('nope', '?'), result('y', 'again'), twice, mixed, accept('x'), accept('nope')]) {
    expect(await refusalOf(session.stream(data).stream)).toBe('UNKNOWN_REQUEST');
  }
  const bad = { kind: 'tool_result', requestId: 'x', result: { text: 'no parts' } } as never;
  expect(await refusalOf(session.stream(bad).stream)).toBe('INVALID_ANSWER');
  const lost = { ...result('x', 'X'), result: { llmContent: [], data: { at: new Date(0) } } };
  expect(await refusalOf(session.stream(lost).stream)).toBe('INVALID_ANSWER');
  expect(await refusalOf(session.stream({ kind: 'tool_results', results: [] }).stream)).toBe('INVALID_ANSWER');
  expect(await logOf(store, session.sessionId)).toEqual(before);
  expect(session.state()).toMatchObject({ type: 'awaiting_tool', pending: [{ requestId: 'x' }] });
  const rest = await readAll(session.stream(result('x', 'X')).stream);
  expect(loggedTypes(rest)).toEqual(['tool_response', 'message', 'stream_end']);
});

test('B006: an answer without a request id leaves both questions open and runs nothing', async () => {
  const store = memoryStore();
  const model = scriptedModel([calls(['x', 'ask'], ['y', 'ask']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(agent({ name: 'a', tools: [asker('ask')] }));
  await readAll(session.stream(message()).stream);
  const before = await logOf(store, session.sessionId);
  const without = { kind: 'elicitation_response', response: { action: 'accept' } } as never;
  expect(await refusalOf(session.stream(without).stream)).toBe('UNKNOWN_REQUEST');
  expect(session.state()).toMatchObject({ type: 'awaiting_elicitation', pending: [{}, {}] });
  expect(await logOf(store, session.sessionId)).toEqual(before);
});

const withSchema = (requestedSchema: object) =>
  tool({
    name: 'ask',
    description: 'Asks.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: async (_, { elicit }) => JSON.stringify(await elicit({ message: 'Which?', requestedSchema } as never)),
  });

test('B175: a bad answer is refused with the schema errors, the question stays open, and a good one is taken', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' }, color: { enum: ['red', 'blue'] } },
    required: ['n'],
  };
  const store = memoryStore();
  const model = scriptedModel([calls(['x', 'ask']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(agent({ name: 'a', tools: [withSchema(schema)] }));
  const paused = await readAll(session.stream(message()).stream);
  const { requestId } = ofType(paused, 'elicitation_request')[0]!;
  const before = await logOf(store, session.sessionId);
  for (const content of [{ n: 'one' }, {}, { n: 1, color: 'green' }]) {
    await expect(session.stream(accept(requestId, content)).stream.next()).rejects.toMatchObject({
      code: 'INVALID_ANSWER',
      message: expect.stringContaining('stays open'),
    });
  }
  expect(await logOf(store, session.sessionId)).toEqual(before);
  expect(session.state()).toMatchObject({ type: 'awaiting_elicitation' });
  const rest = await readAll(session.stream(accept(requestId, { n: 1, color: 'red' })).stream);
  expect(rest.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  expect(ofType(rest, 'tool_response')[0]?.llmContent).toEqual([
    { type: 'text', text: JSON.stringify({ action: 'accept', content: { n: 1, color: 'red' } }) },
  ]);
});

test('B176: an empty object, or nothing, fits a schema that asks for nothing', async () => {
  for (const content of [{}, undefined]) {
    const model = scriptedModel([calls(['x', 'ask']), { text: 'done' }]);
    await using host = createHost({ models: { scripted: model } });
    const session = host.session(agent({ name: 'a', tools: [withSchema({ type: 'object', properties: {} })] }));
    const paused = await readAll(session.stream(message()).stream);
    const { requestId } = ofType(paused, 'elicitation_request')[0]!;
    const rest = await readAll(session.stream(accept(requestId, content)).stream);
    expect(rest.at(-1)).toMatchObject({ reason: 'completed' });
  }
});

test('a decline is no acceptance: its content is not held to the schema', async () => {
  const model = scriptedModel([calls(['x', 'ask']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [withSchema({ type: 'object', required: ['n'] })] }));
  const paused = await readAll(session.stream(message()).stream);
  const { requestId } = ofType(paused, 'elicitation_request')[0]!;
  const decline = { kind: 'elicitation_response' as const, requestId, response: { action: 'decline' } };
  const rest = await readAll(session.stream(decline).stream);
  expect(loggedTypes(rest)).toEqual(['elicitation_response', 'tool_response', 'message', 'stream_end']);
});

test('a message while calls are open is refused and names them; a steer then stands after their answers', async () => {
  const model = scriptedModel([calls(['x', 'mine']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  await readAll(session.stream(message()).stream);
  await expect(session.stream(message('more')).stream.next()).rejects.toMatchObject({
    code: 'SESSION_BUSY',
    message: expect.stringContaining('x (mine)'),
  });
  session.steer({ message: 'and be brief' });
  const rest = await readAll(session.stream(result('x', 'X')).stream);
  expect(loggedTypes(rest)).toEqual(['tool_response', 'message', 'message', 'stream_end']);
  expect(ofType(rest, 'message')[0]).toMatchObject({ role: 'user', _meta: { steered: true } });
  expect(model.requests[1]!.messages.map((one) => one.role)).toEqual(['user', 'model', 'user', 'user']);
});

test('with host execution off the consumer answers every call that the gate lets through, and no other', async () => {
  let runs = 0;
  const own = tool({
    name: 'own',
    description: 'Never run here.',
    parameters: { type: 'object' },
    execute: () => {
      runs++;
      return 'ran';
    },
  });
  const model = scriptedModel([calls(['x', 'own'], ['y', 'unknown'], ['z', 'own']), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [own] }), { permissionMode: 'autonomous' });
  const paused = await readAll(session.stream(message(), { hostToolExecution: false }).stream);
  expect(ofType(paused, 'tool_response')).toMatchObject([{ requestId: 'y', errorType: 'tool_not_registered' }]);
  expect(session.state()).toMatchObject({
    type: 'awaiting_tool',
    pending: [
      { requestId: 'x', name: 'a.own' },
      { requestId: 'z', name: 'a.own' },
    ],
  });
  await readAll(session.stream(result('z', 'Z')).stream);
  const rest = await readAll(session.stream(result('x', 'X')).stream);
  expect(rest.at(-1)).toMatchObject({ reason: 'completed' });
  expect(runs).toBe(0);
});

test('a composed stream pauses only when every live thread waits for outside input', async () => {
  const team = parallel({
    name: 'p',
    children: [agent({ name: 'a', tools: [asker('ask')] }), agent({ name: 'b', tools: [asker('ask')] })],
  });
  const clock = virtualClock();
  const model = scriptedModel(
    {
      byAgent: {
        a: [calls(['qa', 'ask']), { text: 'A' }],
        b: [{ text: 'thinking', delayMs: 1_000, ...calls(['qb', 'ask']) }, { text: 'B' }],
      },
    },
    { clock },
  );
  await using host = createHost({ models: { scripted: model }, clock });
  const session = host.session(team);
  let isPaused = false;
  const first = readAll(session.stream(message()).stream).finally(() => {
    isPaused = true;
  });
  await settle(20);
  expect(isPaused).toBe(false);
  await clock.advance(1_000);
  const paused = await first;
  const questions = ofType(paused, 'elicitation_request');
  expect(questions.map((one) => one.threadId)).toEqual(['a_1', 'b_2']);
  expect(session.state()).toMatchObject({
    type: 'awaiting_elicitation',
    pending: [{ agentId: 'a' }, { agentId: 'b' }],
  });
  // In any order, each routed to the thread that asked.
  const second = await readAll(session.stream(accept(questions[1]!.requestId)).stream);
  expect(ofType(second, 'stream_end').map((one) => one.threadId)).toEqual(['b_2']);
  const third = await readAll(session.stream(accept(questions[0]!.requestId)).stream);
  expect(third.at(-1)).toMatchObject({ reason: 'completed', data: { result: { a: 'A', b: 'B' } } });
  expect(validateLog([...paused, ...second, ...third], { finished: true })).toEqual([]);
});

test('a question of a child of a leader pauses the leader', async () => {
  const lead = hierarchical({
    name: 'lead',
    agent: leaf('boss'),
    children: [agent({ name: 'a', tools: [asker('ask')] })],
  });
  const model = scriptedModel({
    byAgent: {
      boss: [{ toolCalls: [{ name: 'a', args: { prompt: 'x' } }] }, { text: 'done' }],
      a: [calls(['q', 'ask']), { text: 'A' }],
    },
  });
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(lead);
  const paused = await readAll(session.stream(message()).stream);
  const [question] = ofType(paused, 'elicitation_request');
  expect(question).toMatchObject({ threadId: 'a_1', agentId: 'a' });
  const rest = await readAll(session.stream(accept(question!.requestId)).stream);
  expect(rest.at(-1)).toMatchObject({ reason: 'completed', data: { result: 'done' } });
  expect(validateLog([...paused, ...rest], { finished: true })).toEqual([]);
});

test('every stream has an id of its own; the run has one for all of them', async () => {
  const model = scriptedModel([calls(['x', 'mine']), { text: 'done' }, { text: 'again' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  const one = await readAll(session.stream(message()).stream);
  const two = await readAll(session.stream(result('x', 'X')).stream);
  const three = await readAll(session.stream(message('again')).stream);
  const idsOf = (events: AgentEvent[], key: 'streamId' | 'runId') => [
    ...new Set(events.filter((event) => event.type !== 'initialize').map((event) => event[key])),
  ];
  const streams = [one, two, three].map((events) => idsOf(events, 'streamId'));
  expect(streams.map((ids) => ids.length)).toEqual([1, 1, 1]);
  expect(new Set(streams.flat()).size).toBe(3);
  expect(idsOf(two, 'runId')).toEqual(idsOf(one, 'runId'));
  expect(idsOf(three, 'runId')).not.toEqual(idsOf(one, 'runId'));
  const [user] = ofType(one, 'message');
  expect(idsOf(one, 'runId')).toEqual([user!.messageId]);
});

test('options count on the first stream only, and later ones are refused and point to update', async () => {
  const model = scriptedModel(() => ({ text: 'hello' }));
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  await collect(session.stream(message()).stream);
  await expect(session.stream(message(), { permissionMode: 'plan' }).stream.next()).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('update'),
  });
  const { signal } = new AbortController();
  const events = await readAll(session.stream(message(), { signal }).stream);
  expect(typesOf(events)).toEqual(['message', 'message', 'stream_end']);
});

test('a first message that is refused takes none of its options with it', async () => {
  const model = scriptedModel(() => ({ text: 'hello' }));
  await using host = createHost({ models: { scripted: model } });
  const picky = agent({ name: 'a', inputSchema: { type: 'object', properties: { n: { type: 'number' } } } });
  const session = host.session(picky);
  const bad = { kind: 'message' as const, content: '', input: { n: 'one' } };
  expect(await refusalOf(session.stream(bad, { tools: [consumerTool('mine')] }).stream)).toBe('INVALID_INPUT');
  expect(await refusalOf(session.stream(message(), { model: 'nowhere/x' }).stream)).toBe('UNKNOWN_MODEL');
  const good = { kind: 'message' as const, content: '', input: { n: 1 } };
  const events = await collect(session.stream(good, { tools: [consumerTool('mine')] }).stream);
  expect(ofType(events, 'initialize')[0]?.tools?.map((one) => one.name)).toEqual(['mine']);
});
