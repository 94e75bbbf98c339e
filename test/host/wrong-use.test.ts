import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, memoryStore, TroupeError, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, consumerTool, leaf, logOf, ofType, readAll, refusalOf } from '../support/team.js';
import { asker, call, gate, hostWith, until } from '../support/teams.js';

const typed = (code: string) => expect.objectContaining({ constructor: TroupeError, code });

const cycle = () => {
  const loop: Record<string, unknown> = { prompt: 'x' };
  loop.self = loop;
  return loop;
};
const unreadable = () => ({
  get prompt(): string {
    throw new Error('boom');
  },
});
const notices = (events: readonly AgentEvent[]) =>
  ofType(events, 'custom').flatMap(({ kind, data }) => (kind === 'notice' ? [(data as { code: string }).code] : []));

test('what is no data for a stream is refused with a typed error, and the session is as it was', async () => {
  const store = memoryStore();
  const { host } = hostWith(
    { a: [{ toolCalls: [...call('ask').toolCalls, ...call('mine').toolCalls] }, { text: 'A' }] },
    { store },
  );
  const session = host.session(agent({ name: 'a', tools: [asker('ask')] }), {
    tools: [consumerTool('mine')],
    permissionMode: 'autonomous',
  });
  for (const data of [null, undefined, 'go', 7, { kind: 'message' }, { kind: 'message', content: null }] as never[])
    expect(await refusalOf(session.stream(data).stream)).toBe('INVALID_INPUT');
  const paused = await readAll(session.stream({ kind: 'message', content: 'go' }).stream);
  const { requestId } = ofType(paused, 'tool_request').find((event) => event.name === 'mine')!;
  const [state, log] = [session.state(), await logOf(store, session.sessionId)];
  for (const [data, code] of [
    [null, 'INVALID_INPUT'],
    [{ kind: 'something' }, 'INVALID_ANSWER'],
    [{ kind: 'tool_results', results: [null] }, 'UNKNOWN_REQUEST'],
    [{ kind: 'tool_result', requestId }, 'INVALID_ANSWER'],
    [{ kind: 'tool_result', requestId, result: 'text' }, 'INVALID_ANSWER'],
    [{ kind: 'tool_result', requestId, result: { llmContent: [null] } }, 'INVALID_ANSWER'],
    [{ kind: 'tool_result', requestId, result: { llmContent: ['text'] } }, 'INVALID_ANSWER'],
  ] as [never, string][]) {
    expect(await refusalOf(session.stream(data).stream)).toBe(code);
    expect(session.state()).toEqual(state);
  }
  expect(await logOf(store, session.sessionId)).toEqual(log);
  await host.close();
});

test('words that are none, and changes that are none, are refused at the call and harm no run', async () => {
  const work = gate('work');
  const { host } = hostWith({ a: [call('work'), { text: 'A' }] });
  const run = host.run(agent({ name: 'a', tools: [work.tool] }), 'go');
  const session = host.session(leaf('a'));
  const reading = collect(run);
  await work.running;
  const noWords = [
    ...[null, undefined, 'hurry', [], {}, { msg: 'hurry' }, { message: 'hurry', threadId: 'a' }, { data: {} }],
    ...[
      7,
      null,
      [],
      [null],
      [{}],
      [{ type: '' }],
      [{ type: 'text', text: 7 }],
      [{ type: 'hologram', at: new Date() }],
    ].map((message) => ({ message })),
    ...[{ action: 7 }, { action: '' }, { message: 'hurry', data: 7 }],
  ];
  const noChanges = [
    ...[null, 'x', [], {}, { foo: 1 }, { title: 'x', permisionMode: 'plan' }, { title: undefined }, { title: 7 }],
    ...[{ model: 7 }, { model: null }, { permissionMode: 7 }, { tools: 'x' }, { tools: [null] }, { tools: {} }],
    ...[{ config: 7 }, { config: [] }, { config: { at: new Date() } }],
  ];
  for (const target of [run, session]) {
    for (const words of noWords as never[]) expect(() => target.steer(words)).toThrow(typed('INVALID_INPUT'));
    for (const change of noChanges as never[])
      expect(() => target.update(change)).toThrow(expect.objectContaining({ constructor: TroupeError }));
    expect(() => target.update({ permisionMode: 'plan' } as never)).toThrow(/did you mean "permissionMode"/);
    expect(() => target.steer({})).toThrow(/one of message and action/);
  }
  run.update({ config: { anything: [{ goes: null }] } });
  run.steer({ action: 'dance', data: { anything: 'goes' } });
  work.open('');
  const events = await reading;
  expect(notices(events)).toEqual(['UNKNOWN_STEER_ACTION']);
  expect(await run.result).toMatchObject({ ok: true, text: 'A' });
  await host.close();
});

test('an input that is neither a text, nor parts, nor a prompt is refused, and no session is made', async () => {
  const store = memoryStore();
  const { host, model } = hostWith({ a: [] }, { store });
  for (const [input, words] of [
    [{}, '/prompt must be string'],
    [{ prompt: 5 }, '/prompt must be string'],
    [[], 'at least one'],
    [[{ type: 'text' }], '/0 is no content part: text: text is missing'],
    [[{ type: 'text', text: 7 }], 'text must be of type string'],
    [[{ type: 'media', data: 'AAAA' }], 'mimeType is missing'],
    [[{ type: 'media', mimeType: 'image/png' }], 'data or uri is missing'],
    [[{ type: 'media', mimeType: 'image/png', uri: 7 }], 'uri must be of type string'],
    [[{ type: 'reference', text: 'x', uri: 7 }], 'uri must be of type string'],
    [[{ type: 'text', text: 'x', _meta: 7 }], '_meta must be of type object'],
    [[{ type: '' }], 'type must not be empty'],
    [[{ type: 'text', text: 'x' }, undefined], '[1] is undefined'],
    [[{ type: 'text', text: 'x', more: 1n }], '[0].more is a bigint'],
    [[{ type: 'function_call', name: 'x', args: {}, id: 'c1' }], 'history'],
    [[{ type: 'function_response', name: 'x', response: {}, id: 'c1' }], 'history'],
    [{ prompt: 'x', at: new Date() }, '.at is an instance of Date'],
    [cycle(), '.self is a cycle'],
    [unreadable(), 'cannot be read: boom'],
    [[null], 'a content part is an object'],
  ] as [never, string][]) {
    const refusal = typed('INVALID_INPUT');
    const told = { message: expect.stringContaining(words) };
    const refused = expect.objectContaining({ ...told, code: 'INVALID_INPUT' });
    expect(() => host.run(leaf('a'), input)).toThrow(refused);
    expect(() => host.run(leaf('a'), input)).toThrow(refusal);
    expect(await refusalOf(host.session(leaf('a')).stream({ kind: 'message', content: input }).stream)).toBe(
      'INVALID_INPUT',
    );
  }
  expect(model.requests).toEqual([]);
  expect(await store.list()).toEqual([]);
  await host.close();
});

test('a result from outside that is none is refused, by whatever way it comes, and its call stays open', async () => {
  const script = { a: [call('mine'), { text: 'A' }] };
  const noResults: [result: object | null, words: string][] = [
    [{ llmContent: null }, 'needs llmContent'],
    [{ llmContent: [{ type: 'media', mimeType: 'x', data: 7 }] }, 'data must be of type string'],
    [{ llmContent: [], displayContent: [null] }, 'displayContent must be a list of content parts'],
    [{ llmContent: [], tailCalls: [null] }, 'tailCalls must be a list of calls'],
    [{ llmContent: [], tailCalls: [{ args: {} }] }, 'tailCalls must be'],
    [{ llmContent: [], isError: 'yes' }, 'isError must be true or false'],
    [{ llmContent: [], errorType: 7 }, 'errorType must be a text'],
    [{ llmContent: [], outputFile: 7 }, 'outputFile must be a text'],
    [{ llmContent: [], contentLength: '7' }, 'contentLength must be a number'],
    [{ llmContent: [], data: new Map() }, '.data is an instance of Map'],
  ];
  const refusal = (words: string) =>
    expect.objectContaining({
      constructor: TroupeError,
      code: 'INVALID_ANSWER',
      message: expect.stringContaining(words),
    });
  const { host } = hostWith(script);
  const session = host.session(agent({ name: 'a' }), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  const paused = await readAll(session.stream({ kind: 'message', content: 'go' }).stream);
  const { requestId } = ofType(paused, 'tool_request')[0]!;
  for (const [result, words] of noResults)
    await expect(session.stream({ kind: 'tool_result', requestId, result } as never).stream.next()).rejects.toEqual(
      refusal(words),
    );
  expect(session.state()).toMatchObject({ type: 'awaiting_tool' });

  const { host: other } = hostWith(script);
  const run = other.run(agent({ name: 'a' }), 'go', { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  const reading = collect(run);
  await until(() => run.state().pending.length > 0);
  for (const [result, words] of [...noResults, [new Map(), 'is an instance of Map'] as const])
    expect(() => run.respond(requestId, { result } as never)).toThrow(refusal(words));
  run.respond(requestId, { result: { found: 3 } });
  const [response] = ofType(await reading, 'tool_response');
  expect(response).toMatchObject({ data: { found: 3 } });
  await Promise.all([host.close(), other.close()]);
});

test('an answer whose content is no object is refused, and the question stays open', async () => {
  const { host } = hostWith({ a: [call('ask'), { text: 'A' }] });
  const run = host.run(agent({ name: 'a', tools: [asker('ask')] }), 'go');
  const reading = collect(run);
  await until(() => run.state().pending.length > 0);
  const { requestId } = run.state().pending[0]!;
  for (const answer of [
    ...[null, 'accept', [], {}, { action: 7 }, { action: '' }],
    ...[7, 'x', null, [null]].map((content) => ({ action: 'accept', content })),
    { action: 'accept', _meta: 7 },
  ] as never[])
    expect(() => run.respond(requestId, answer)).toThrow(typed('INVALID_ANSWER'));
  run.respond(requestId, { action: 'accept', content: { fine: true } });
  expect(ofType(await reading, 'tool_response')).toMatchObject([{ llmContent: [{ text: '{"fine":true}' }] }]);
  await host.close();
});

test('a part of a kind that nobody here knows is content', async () => {
  const { host } = hostWith({ a: [{ text: 'A' }] });
  const part = { type: 'hologram', voxels: [1] } as never;
  expect(await host.run(leaf('a'), [part]).result).toMatchObject({ ok: true, text: 'A' });
  await host.close();
});

test('an instruction function that gives no text ends the run, saying so', async () => {
  const { host, model } = hostWith({ a: [] });
  for (const given of [undefined, null, 7, { text: 'x' }, Promise.resolve(7)]) {
    const run = host.run(agent({ name: 'a', instruction: () => given as never }), 'go');
    expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'INSTRUCTION_FAILED' } });
  }
  expect(model.requests).toEqual([]);
  await host.close();
});

test('a name that is no key of an object is no name', () => {
  expect(() => agent({ name: '__proto__' })).toThrow(typed('INVALID_DEFINITION'));
  expect(() => agent({ name: 'a', tools: [asker('__proto__')] })).toThrow(TroupeError);
});

test('every fault of a host’s options is told at once, whatever its kind', () => {
  const options = { polcy: [], store: {}, hooks: [{}], elicitation: 'never', limits: { concurrency: 0 } };
  expect(() => createHost(options as never)).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      problems: ['createHost', 'createHost.store', 'hooks', 'elicitation', 'limits.concurrency'].map((path) =>
        expect.objectContaining({ path }),
      ),
    }),
  );
});

test('an answer meant for the question of another session finds none here', async () => {
  const asks = tool({
    name: 'asks',
    description: 'asks',
    annotations: { readOnly: true },
    execute: (_, { elicit }) => elicit({ message: '?' }),
  });
  const one = agent({ name: 'one', tools: [asks], model: 'scripted' });
  const model = scriptedModel(() => ({ toolCalls: [{ name: 'asks', args: {} }] }));
  await using host = createHost({ models: { scripted: model } });
  const question = async (session: ReturnType<typeof host.session>) => {
    for await (const event of session.stream({ kind: 'message', content: 'go' }).stream)
      if (event.type === 'elicitation_request') return event.requestId;
    throw new Error('nothing was asked');
  };
  const [here, there] = [host.session(one), host.session(one)];
  const [mine, theirs] = [await question(here), await question(there)];
  expect(mine).not.toBe(theirs);
});

test('a kind of data that a stream does not take is refused by its name', async () => {
  await using host = createHost({ models: { scripted: scriptedModel(() => ({ text: 'x' })) } });
  const session = host.session(agent({ name: 'one', model: 'scripted' }));
  await session.stream({ kind: 'message', content: 'go' }).stream.next();
  await expect(session.stream({ kind: 'telegram' } as never).stream.next()).rejects.toMatchObject({
    code: 'INVALID_ANSWER',
    message: expect.stringContaining('"telegram"'),
  });
});

test('an option that a call does not read is refused with those that it does, and nothing is done', async () => {
  const { host } = hostWith({ a: [{ text: 'A' }] });
  const { sessionId } = await host.run(leaf('a'), 'go').result;
  const wrong = { too: 1 } as never;
  const refusal = { code: 'INVALID_OPTION', message: expect.stringContaining('no option "too"') };
  await expect(host.fork(sessionId, wrong)).rejects.toMatchObject(refusal);
  await expect(host.rewind(sessionId, wrong)).rejects.toMatchObject(refusal);
  await expect(host.inspectServer(wrong)).rejects.toMatchObject(refusal);
  expect(() => host.attach(sessionId, wrong)).toThrow(expect.objectContaining(refusal));
  expect(await host.list()).toHaveLength(1);
  expect(() => host.close(wrong)).toThrow(expect.objectContaining(refusal));
  await host.close();
});

test('a tool that is known by its descriptor alone is plain JSON: it stands in events', async () => {
  await using host = createHost({ models: { scripted: scriptedModel(() => ({ text: 'x' })) } });
  for (const more of [
    { parametersSchema: { type: 'object', check: () => true } },
    { annotations: { at: new Date() } },
  ]) {
    const tools = [{ ...consumerTool('mine'), ...more }] as never;
    expect(() => host.run(leaf('a'), 'go', { tools })).toThrow(/tools\.mine.*plain JSON/);
  }
});
