import { expect, test } from 'vitest';
import type { AgentEvent, ModelInterface } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, memoryStore, parallel, tool } from '../../src/index.js';
import { expectNoLeaks, scriptedModel, validateLog } from '../../src/testing/index.js';
import {
  collect,
  consumerTool,
  leaf,
  loggedTypes,
  logOf,
  ofType,
  readAll,
  settle,
  textIn,
  typesOf,
} from '../support/team.js';
import { asker, call, runTeam, until } from '../support/teams.js';

/** Says as many pieces as it is asked for, and counts them as it goes. */
function flood(count: number) {
  const counter = { said: 0 };
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      for (let at = 0; at < count; at++) {
        counter.said++;
        yield { content: [{ type: 'text', text: 'x' }] };
      }
      yield { content: [], finishReason: 'stop' };
    },
  };
  return { model, counter };
}

test('a run gives its events, then its result: text, data, usage, cost and what its end says', async () => {
  const { events, result } = await runTeam(leaf('a'), {
    a: [{ text: ['Hel', 'lo'], usage: { inputTokens: 10, outputTokens: 2, cost: { usd: 0.5 } } }],
  });
  expect(typesOf(events)).toEqual(['initialize', 'message', 'message', 'message', 'usage', 'stream_end']);
  expect(result).toEqual({
    ok: true,
    reason: 'completed',
    text: 'Hello',
    result: 'Hello',
    usage: { inputTokens: 10, outputTokens: 2 },
    cost: { usd: 0.5 },
    data: {
      result: 'Hello',
      usage: { inputTokens: 10, outputTokens: 2 },
      cost: { usd: 0.5 },
      numTurns: 1,
    },
    sessionId: events[0]!.type === 'initialize' ? events[0]!.sessionId : '',
  });
});

test('data is the result as it is, and JSON text as text; what no call gave is absent, never 0', async () => {
  const { result } = await runTeam(agent({ name: 'a', outputSchema: { type: 'object' } }), {
    a: [{ text: '{"n":1}' }],
  });
  expect(result).toMatchObject({ ok: true, result: { n: 1 }, text: '{"n":1}', usage: {} });
  expect(result.cost).toBeUndefined();
});

test('its result comes without anybody reading, and its log is whole', async () => {
  const store = memoryStore();
  const { model } = flood(5_000);
  await using host = createHost({ models: { flood: model }, store });
  const run = host.run(leaf('a'), 'go');
  expect((await run.result).text).toHaveLength(5_000);
  expect(typesOf(await logOf(store, run.sessionId))).toEqual(['initialize', 'message', 'message', 'stream_end']);
});

test('a run that is read late begins with what is logged, then goes on live', async () => {
  for (const count of [10, 5_000]) {
    const { model } = flood(count);
    await using host = createHost({ models: { flood: model } });
    const run = host.run(leaf('a'), 'go');
    await run.result;
    const events = await collect(run);
    expect(typesOf(events).at(-1)).toBe('stream_end');
    expect(textIn(events)).toHaveLength(count);
  }
});

test('a reader that comes in the middle of a long message misses nothing of it, however late it reads on', async () => {
  const pieces = 3_000;
  const said: string[] = [];
  let pause: () => void = () => {};
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      for (let at = 0; at < pieces; at++) {
        const text = `${at},`;
        said.push(text);
        yield { content: [{ type: 'text', text }] };
        if (at === 2_000) await new Promise<void>((resolve) => (pause = resolve));
      }
      yield { content: [], finishReason: 'stop' };
    },
  };
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(leaf('a'), 'go');
  await settle();
  const iterator = run[Symbol.asyncIterator]();
  pause();
  // What is published between making the iterator and reading from it comes live.
  await settle();
  const events: AgentEvent[] = [];
  for (let step = await iterator.next(); !step.done; step = await iterator.next()) events.push(step.value);
  expect(validateLog(events, { finished: true })).toEqual([]);
  expect(textIn(events)).toBe(said.join(''));
});

test('a run has one iterator', async () => {
  const { model } = flood(3);
  await using host = createHost({ models: { flood: model } });
  const run = host.run(leaf('a'), 'go');
  await collect(run);
  expect(() => run[Symbol.asyncIterator]()).toThrow('one iterator');
});

test('leaving the iterator aborts the run', async () => {
  const { model } = flood(1_000_000);
  await using host = createHost({ models: { flood: model } });
  const run = host.run(leaf('a'), 'go');
  for await (const event of run) if (textIn([event]) === 'x') break;
  expect(await run.result).toMatchObject({
    ok: false,
    reason: 'aborted',
    data: { reason: 'the consumer left', by: 'user' },
  });
});

test('the iterator does not pause: it waits for the answer and ends after the end', async () => {
  const model = scriptedModel([
    {
      toolCalls: [
        { id: 'x', name: 'mine', args: {} },
        { id: 'y', name: 'ask', args: {} },
      ],
    },
    { text: 'done' },
  ]);
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(agent({ name: 'a', tools: [asker('ask')] }), 'go', {
    tools: [consumerTool('mine')],
    permissionMode: 'autonomous',
  });
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (event.type === 'elicitation_request')
      void settle(20).then(() => run.respond(event.requestId, { action: 'accept' }));
    if (event.type === 'tool_request' && event.requestId === 'x')
      void settle(40).then(() => run.respond('x', { result: { n: 1 } }));
  }
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  expect(ofType(events, 'tool_response').find((event) => event.requestId === 'x')).toMatchObject({ data: { n: 1 } });
});

test('an answer to nothing, a bad answer, and one after the end throw, and change nothing', async () => {
  const model = scriptedModel([call('ask'), { text: 'done' }]);
  const ask = tool({
    name: 'ask',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: async (_, { elicit }) =>
      JSON.stringify(await elicit({ message: '?', requestedSchema: { type: 'object', required: ['n'] } })),
  });
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(agent({ name: 'a', tools: [ask] }), 'go');
  const reading = collect(run);
  await until(() => run.state().pending.length === 1);
  const { requestId } = run.state().pending[0]!;
  expect(() => run.respond('nope', { action: 'accept' })).toThrow(expect.objectContaining({ code: 'UNKNOWN_REQUEST' }));
  expect(() => run.respond(requestId, { action: 'accept', content: {} })).toThrow(
    expect.objectContaining({ code: 'INVALID_ANSWER' }),
  );
  expect(() => run.respond(requestId, { result: 'x' })).toThrow(expect.objectContaining({ code: 'INVALID_ANSWER' }));
  expect(run.state().pending).toHaveLength(1);
  run.respond(requestId, { action: 'accept', content: { n: 1 } });
  expect(() => run.respond(requestId, { action: 'accept', content: { n: 1 } })).toThrow('no open request');
  const events = await reading;
  expect(ofType(events, 'elicitation_response')).toHaveLength(1);
  expect(() => run.respond(requestId, { action: 'accept' })).toThrow(
    expect.objectContaining({ code: 'UNKNOWN_REQUEST' }),
  );
  expect(() => run.steer({ message: 'x' })).toThrow(expect.objectContaining({ code: 'SESSION_ENDED' }));
  expect(() => run.update({ title: 'x' })).toThrow(expect.objectContaining({ code: 'SESSION_ENDED' }));
});

test('a slow consumer suspends the producer: no more is buffered than there is room for', async () => {
  const { model, counter } = flood(10_000);
  await using host = createHost({ models: { flood: model } });
  const run = host.run(leaf('a'), 'go');
  const iterator = run[Symbol.asyncIterator]();
  let taken = 0;
  let most = 0;
  for (let step = await iterator.next(); !step.done; step = await iterator.next()) {
    if (textIn([step.value]) !== 'x') continue;
    taken++;
    if (taken % 500 !== 0) continue;
    await settle(3);
    most = Math.max(most, counter.said - taken);
  }
  expect(taken).toBe(10_000);
  expect(most).toBeGreaterThan(100);
  expect(most).toBeLessThanOrEqual(257);
});

test('a thread that floods does not starve another', async () => {
  const big = flood(20_000);
  const small = scriptedModel([{ text: ['a', 'b', 'c'] }]);
  await using host = createHost({ models: { big: big.model, small } });
  const team = parallel({
    name: 'p',
    children: [agent({ name: 'loud', model: 'big' }), agent({ name: 'quiet', model: 'small' })],
  });
  let seen = 0;
  let atEnd = 0;
  for await (const event of host.run(team, 'go')) {
    seen++;
    if (event.type === 'agent_completed' && event.agentName === 'quiet') atEnd = seen;
  }
  expect(seen).toBeGreaterThan(20_000);
  // The quiet one is through after at most a few rounds of the other's room.
  expect(atEnd).toBeLessThan(3_000);
});

test('what the merged stream has of a thread is what that thread said, in its order', async () => {
  const team = parallel({ name: 'p', children: Array.from({ length: 8 }, (_, at) => leaf(`a${at}`)) });
  const script = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`a${at}`, [{ text: [...`text of ${at}`] }]]));
  const { events } = await runTeam(team, script);
  for (let at = 0; at < 8; at++) {
    const own = events.filter((event) => event.threadId === `a${at}_${at + 1}`);
    expect(loggedTypes(own)).toEqual([
      'agent_started',
      'initialize',
      'message',
      ...Array.from(`text of ${at}`, () => 'message'),
      'stream_end',
      'agent_completed',
    ]);
    expect(textIn(own)).toBe(`text of ${at}`);
    expect(own.every((event) => event.agentId === `a${at}`)).toBe(true);
  }
  const seqs = events.map((event) => event.seq);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  expect(new Set(seqs).size).toBe(seqs.length);
  expect(ofType(events, 'agent_started').map((event) => event.threadId)).toEqual(
    Array.from({ length: 8 }, (_, at) => `a${at}_${at + 1}`),
  );
});

test('what is wrong with a run is thrown before anything runs, or rejects its result and its iterator alike', async () => {
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model } });
  expect(() => host.run(agent({ name: 'a', model: 'nowhere/x' }), 'go')).toThrow(
    expect.objectContaining({ code: 'UNKNOWN_MODEL' }),
  );
  for (const sessionId of ['../x', 'a/b', 'C:\\x', 'CON', 'a.', '.', '', 'x'.repeat(200), 'a\0b']) {
    expect(() => host.run(leaf('a'), 'go', { sessionId })).toThrow(
      expect.objectContaining({ code: 'INVALID_SESSION_ID' }),
    );
  }
  const broken = createHost({
    models: { scripted: model },
    store: { ...memoryStore(), create: () => Promise.reject(new Error('disk full')) },
  });
  const run = broken.run(leaf('a'), 'go');
  await expect(run.result).rejects.toThrow('disk full');
  await expect(readAll(run)).rejects.toThrow('disk full');
  run.abort();
  expect(() => run.respond('x', { action: 'accept' })).toThrow('not under way');
  await broken.close();
  expect(model.requests).toHaveLength(0);
});

test('two hosts in one process do not see each other', async () => {
  const [one, two] = [1, 2].map((n) =>
    createHost({ models: { scripted: scriptedModel(() => ({ text: `host ${n}` })) } }),
  );
  const sessionId = 'same-id';
  const runs = [one!, two!].map((host) => host.run(leaf('a'), 'go', { sessionId }));
  const [first, second] = await Promise.all(runs.map(collect));
  expect([textIn(first!), textIn(second!)]).toEqual(['host 1', 'host 2']);
  expect([first![0]!.seq, second![0]!.seq]).toEqual([1, 1]);
  expect(new Set([...first!, ...second!].map((event) => event.id)).size).toBe(first!.length + second!.length);
  expect(textIn(await readAll(one!.attach(sessionId)))).toBe('host 1');
  await one!.close();
  // The other goes on.
  expect(await two!.run(leaf('b'), 'go').result).toMatchObject({ text: 'host 2' });
  await expect(two!.attach('of-one')[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  });
  await two!.close();
});

test('runs that are read, awaited, left or never looked at leave nothing behind', async () => {
  await expectNoLeaks(async () => {
    const model = scriptedModel(() => ({ text: ['a', 'b', 'c'] }));
    const host = createHost({ models: { scripted: model } });
    const team = parallel({ name: 'p', children: [leaf('a'), leaf('b')] });
    await collect(host.run(team, 'go'));
    await host.run(team, 'go').result;
    for await (const _ of host.run(team, 'go')) break;
    host.run(team, 'go');
    await host.close();
  });
});

test('an ephemeral run writes nothing', async () => {
  const store = memoryStore();
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(leaf('a'), 'go', { ephemeral: true });
  expect(textIn(await collect(run))).toBe('ok');
  expect(await store.list()).toEqual([]);
});

test('progress of a tool, and of a child to its leader, waits for a slow consumer or is left out; it never piles up', async () => {
  let yielded = 0;
  const streams = tool({
    name: 'streams',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    async *execute() {
      for (; yielded < 5_000; yielded++) yield { progress: yielded / 5_000 };
      return 'done';
    },
  });
  const floods = tool({
    name: 'floods',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute(_, { progress }) {
      for (let at = 0; at < 5_000; at++) progress(at / 5_000);
      return 'done';
    },
  });
  const { model, counter } = flood(5_000);
  const script = scriptedModel([
    call('streams'),
    call('floods'),
    { toolCalls: [{ name: 'child', args: { prompt: 'x' } }] },
    { text: 'fin' },
  ]);
  await using host = createHost({ models: { script, flood: model } });
  const lead = hierarchical({
    name: 'lead',
    agent: agent({ name: 'boss', model: 'script', tools: [streams, floods] }),
    children: [agent({ name: 'child', model: 'flood' })],
  });
  const iterator = host.run(lead, 'go')[Symbol.asyncIterator]();
  const names = new Map<string, string>();
  const shown = { streams: 0, floods: 0 };
  let most = 0;
  let said = 0;
  for (let step = await iterator.next(); !step.done; step = await iterator.next()) {
    const { value: event } = step;
    if (event.type === 'tool_request') names.set(event.requestId, event.name);
    if (event.type === 'tool_update' && event.progress !== undefined) {
      if (names.get(event.requestId) === 'boss.streams') {
        shown.streams++;
        most = Math.max(most, yielded - Math.round(event.progress * 5_000));
      } else shown.floods++;
    }
    if (textIn([event]) === 'x') said++;
    most = Math.max(most, counter.said - said);
    if (event.seq % 400 === 0) await settle(3);
  }
  expect(said).toBe(5_000);
  expect(shown.streams).toBe(5_000);
  expect(shown.floods).toBeLessThan(1_000);
  expect(most).toBeLessThanOrEqual(300);
});
