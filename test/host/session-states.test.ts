import { expect, test } from 'vitest';
import { z } from 'zod';
import { agent, createHost, tool } from '../../src/index.js';
import { scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import { collect, consumerTool, deferred, leaf, ofType, readAll, settle, typesOf } from '../support/team.js';

test('a session is idle, runs, and is idle again', async () => {
  const gate = deferred();
  const model = scriptedModel(async () => {
    await gate.promise;
    return { text: 'hello' };
  });
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  expect(session.state()).toEqual({ type: 'idle' });
  const { stream } = session.stream({ kind: 'message', content: 'hi' });
  expect(session.state()).toEqual({ type: 'running', turnCount: 1 });
  gate.resolve();
  await collect(stream);
  expect(session.state()).toEqual({ type: 'idle' });
});

test('a call of the consumer is awaited by name, and a question before any call', async () => {
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    parameters: z.object({}),
    annotations: { readOnly: true },
    execute: async (_, { elicit }) => (await elicit({ message: 'Which?' })).action,
  });
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
  const session = host.session(agent({ name: 'a', tools: [ask] }), { permissionMode: 'autonomous' });
  const first = session.stream({ kind: 'message', content: 'go' }, { tools: [consumerTool('mine')] });
  const paused = await readAll(first.stream);
  expect(typesOf(paused)).not.toContain('stream_end');
  const [question] = ofType(paused, 'elicitation_request');
  expect(session.state()).toEqual({
    type: 'awaiting_elicitation',
    pending: [
      { requestId: question!.requestId, kind: 'elicitation', name: 'user_approval', agentId: 'a' },
      { requestId: 'x', kind: 'tool', name: 'mine', agentId: 'a' },
    ],
  });

  const second = session.stream({
    kind: 'elicitation_response',
    requestId: question!.requestId,
    response: { action: 'accept' },
  });
  const answered = await readAll(second.stream);
  expect(typesOf(answered).filter((type) => type !== 'tool_update')).toEqual(['elicitation_response', 'tool_response']);
  expect(session.state()).toEqual({
    type: 'awaiting_tool',
    pending: [{ requestId: 'x', kind: 'tool', name: 'mine', agentId: 'a' }],
  });

  const third = session.stream({
    kind: 'tool_result',
    requestId: 'x',
    result: { llmContent: [{ type: 'text', text: 'X' }] },
  });
  const last = await readAll(third.stream);
  expect(session.state()).toEqual({ type: 'idle' });
  expect(validateLog([...paused, ...answered, ...last], { finished: true })).toEqual([]);
});

test('a session that is closed has completed, whatever its last run came to', async () => {
  const model = scriptedModel([{ error: { code: 'INVALID_ARGUMENT', message: 'no' } }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const events = await collect(session.stream({ kind: 'message', content: 'hi' }).stream);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'failed' });
  expect(session.state()).toEqual({ type: 'idle' });
  await session.close();
  expect(session.state()).toEqual({ type: 'completed', reason: 'completed' });
  await session.close();
});

test('a session that is aborted says so, and one that was never used too', async () => {
  const model = scriptedModel(() => ({ text: 'hello' }));
  await using host = createHost({ models: { scripted: model } });
  const used = host.session(leaf('a'));
  await collect(used.stream({ kind: 'message', content: 'hi' }).stream);
  used.abort('enough');
  expect(used.state()).toEqual({ type: 'aborted', reason: 'aborted' });
  const unused = host.session(leaf('a'));
  unused.abort();
  expect(unused.state()).toEqual({ type: 'aborted', reason: 'aborted' });
  await unused.close();
});

test('a spent budget ends the session', async () => {
  const model = scriptedModel(() => ({ text: 'hello', usage: { inputTokens: 1, cost: { usd: 0.6 } } }));
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { maxBudgetUsd: 1 });
  const say = () => session.stream({ kind: 'message', content: 'hi' }).stream;
  await collect(say());
  await readAll(say());
  const events = await readAll(say());
  expect(events.at(-1)).toMatchObject({
    type: 'stream_end',
    reason: 'max_budget',
    data: { limit: 'maxBudgetUsd', used: 1.2 },
  });
  expect(model.requests).toHaveLength(2);
  expect(session.state()).toEqual({ type: 'completed', reason: 'max_budget' });
});

test('a session that is being stopped tells the state that it left', async () => {
  const clock = virtualClock();
  const model = scriptedModel(() => new Promise(() => {}));
  await using host = createHost({ models: { scripted: model }, clock });
  const session = host.session(leaf('a'));
  const { stream, controller } = session.stream({ kind: 'message', content: 'hi' });
  await settle();
  controller.abort();
  expect(session.state()).toEqual({ type: 'running', turnCount: 1 });
  const reading = readAll(stream);
  await clock.advance(5_000);
  expect((await reading).at(-1)).toMatchObject({ reason: 'aborted', data: { forced: true } });
});

test('a run tells where every thread of it stands, and what the whole tree waits for', async () => {
  const model = scriptedModel([{ toolCalls: [{ id: 'x', name: 'mine', args: {} }] }, { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(leaf('a'), 'go', { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  const reading = collect(run);
  await settle();
  expect(run.state()).toEqual({
    root: { type: 'awaiting_tool', pending: [{ requestId: 'x', kind: 'tool', name: 'mine', agentId: 'a' }] },
    pending: [{ requestId: 'x', kind: 'tool', name: 'mine', agentId: 'a' }],
    threads: [
      {
        agentName: 'a',
        executor: 'local',
        state: { type: 'awaiting_tool', pending: [{ requestId: 'x', kind: 'tool', name: 'mine', agentId: 'a' }] },
      },
    ],
  });
  run.respond('x', { result: 'fine' });
  await reading;
  expect(run.state().root).toEqual({ type: 'completed', reason: 'completed' });
});
