import { expect, test } from 'vitest';
import type { AgentDefinition, AgentEventDraft, Executor, SessionStreamData } from '../../src/contracts/index.js';
import { agent, createHost, type HostOptions, hierarchical, parallel, tool } from '../../src/index.js';
import { expectNoLeaks, scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, deferred, leaf, loggedTypes, ofType, readAll, settle, textResult } from '../support/team.js';
import { asker, call, runTeam, until } from '../support/teams.js';

const asking = agent({ name: 'a', tools: [asker('ask')] });
const script = { a: [call('ask'), { text: 'done' }] };
const withCallback = (elicitation: HostOptions['elicitation'], team: AgentDefinition = asking) =>
  runTeam(team, script, { host: { elicitation: elicitation as never } });

test('a callback is asked with the thread and the agent, and its answer is the one on the stream', async () => {
  const asked: unknown[] = [];
  const lead = hierarchical({ name: 'lead', agent: leaf('boss'), children: [asking] });
  const { events } = await runTeam(
    lead,
    { boss: [{ toolCalls: [{ name: 'a', args: { prompt: 'x' } }] }, { text: 'fin' }], ...script },
    {
      host: {
        elicitation: async (request) => {
          asked.push(request);
          return { action: 'accept', content: { n: 1 } };
        },
      },
    },
  );
  expect(asked).toMatchObject([{ kind: 'user_approval', message: 'ask', threadId: 'a_1', agentId: 'a' }]);
  expect(ofType(events, 'elicitation_response')).toMatchObject([
    { action: 'accept', content: { n: 1 }, threadId: 'a_1' },
  ]);
  expect(ofType(events, 'tool_response')[0]?.llmContent).toEqual([{ type: 'text', text: '{"n":1}' }]);
});

test('a callback that throws, rejects or answers badly is a cancel, and is told', async () => {
  const bad: HostOptions['elicitation'][] = [
    () => {
      throw new Error('broken');
    },
    () => Promise.reject(new Error('broken')),
    (() => 'yes') as never,
    (() => undefined) as never,
  ];
  for (const elicitation of bad) {
    const { events, result } = await withCallback(elicitation);
    expect(ofType(events, 'elicitation_response')).toMatchObject([{ action: 'cancel' }]);
    expect(ofType(events, 'custom').map((event) => (event.data as { code?: string }).code)).toContain(
      'ELICITATION_FAILED',
    );
    expect(result.ok).toBe(true);
  }
});

test('a callback is told when its question is withdrawn; what it says then counts no more', async () => {
  const clock = virtualClock();
  const late = deferred();
  let signal: AbortSignal | undefined;
  const model = scriptedModel([call('ask'), { text: 'done' }]);
  await using host = createHost({
    models: { scripted: model },
    clock,
    elicitation: async (_, options) => {
      signal = options.signal;
      await late.promise;
      return { action: 'accept' };
    },
  });
  const expiring = tool({
    name: 'ask',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: async (_, { elicit }) => (await elicit({ message: '?', expiresAt: new Date(1_000) })).action,
  });
  const reading = collect(host.run(agent({ name: 'a', tools: [expiring] }), 'go'));
  await settle();
  expect(signal?.aborted).toBe(false);
  await clock.advance(1_000);
  expect(signal?.aborted).toBe(true);
  late.resolve();
  expect(ofType(await reading, 'elicitation_response')).toMatchObject([{ action: 'cancel', source: 'host' }]);
});

test('a callback that never answers and heeds no signal holds neither a pause nor the end of the host', async () => {
  await expectNoLeaks(async () => {
    const model = scriptedModel([call('ask'), { text: 'done' }]);
    const host = createHost({ models: { scripted: model }, elicitation: () => new Promise(() => {}) });
    const session = host.session(asking);
    const { stream, controller } = session.stream({ kind: 'message', content: 'go' });
    const reading = collect(stream);
    await until(() => session.state().type === 'awaiting_elicitation');
    controller.abort();
    expect((await reading).at(-1)).toMatchObject({ reason: 'aborted' });
    await host.close();
  });
});

test('without anybody to ask a question is denied, and what asked is told why', async () => {
  const { events } = await withCallback('deny');
  expect(ofType(events, 'elicitation_request')).toEqual([]);
  expect(ofType(events, 'custom')[0]).toMatchObject({
    kind: 'notice',
    data: { code: 'NOBODY_TO_ASK', text: expect.stringContaining('elicitation is off') },
  });
  const danger = tool({ name: 'danger', description: '.', parameters: { type: 'object' }, execute: () => 'ran' });
  const denied = await runTeam(
    agent({ name: 'a', tools: [danger] }),
    { a: [call('danger'), { text: 'done' }] },
    { host: { elicitation: 'deny' } },
  );
  const [response] = ofType(denied.events, 'tool_response');
  expect(response).toMatchObject({ isError: true, errorType: 'policy_denied' });
  expect(JSON.stringify(response!.llmContent)).toContain('elicitation is off');
  expect(denied.result.ok).toBe(true);
});

test('several questions of several branches are open at once, and each is answered once, in any order', async () => {
  const team = parallel({ name: 'p', children: ['a', 'b', 'c'].map((name) => agent({ name, tools: [asker('ask')] })) });
  const each = [call('ask'), { text: 'done' }];
  const model = scriptedModel({ byAgent: { a: each, b: each, c: each } });
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(team, 'go');
  const reading = collect(run);
  await until(() => run.state().pending.length === 3);
  const { pending } = run.state();
  expect(new Set(pending.map((one) => one.requestId)).size).toBe(3);
  for (const { requestId, agentId } of [...pending].reverse()) {
    run.respond(requestId, { action: 'accept', content: { for: agentId } });
  }
  const events = await reading;
  for (const response of ofType(events, 'tool_response')) {
    expect(JSON.stringify(response.llmContent)).toContain(`for\\":\\"${response.agentId}`);
  }
});

/** An executor that says what it is told to, turn by turn, and remembers what it was given. */
function scriptedExecutor(turns: ((publish: (draft: AgentEventDraft) => void) => void)[]) {
  const inboxes: SessionStreamData[][] = [];
  const executor: Executor = {
    async turn(inbox, context) {
      inboxes.push([...inbox]);
      const turn = turns[inboxes.length - 1];
      if (turn === undefined) return { reason: 'completed', data: { result: 'done' } };
      turn((draft) => void context.publish(draft));
      return undefined;
    },
  };
  return { executor, inboxes };
}

const request = (requestId: string): AgentEventDraft => ({
  type: 'elicitation_request',
  requestId,
  kind: 'clarification',
  message: requestId,
});
const toolRequest = (requestId: string, index: number): AgentEventDraft => ({
  type: 'tool_request',
  requestId,
  name: 'read',
  args: { index },
  messageId: 'm',
  index,
});

test('an executor gets the answer to its question under the id that it gave, when its next turn begins', async () => {
  const { executor, inboxes } = scriptedExecutor([(publish) => publish(request('mine'))]);
  await using host = createHost();
  host.registerExecutor('own', () => executor);
  const session = host.session(agent({ name: 'a', executor: 'own' }));
  const paused = await readAll(session.stream({ kind: 'message', content: 'go' }).stream);
  const { requestId } = ofType(paused, 'elicitation_request')[0]!;
  const response = { action: 'accept', content: { n: 1 } };
  const rest = await readAll(session.stream({ kind: 'elicitation_response', requestId, response }).stream);
  expect(rest.at(-1)).toMatchObject({ reason: 'completed' });
  expect(inboxes[1]).toMatchObject([{ kind: 'elicitation_response', requestId: 'mine', response }]);
});

test('it gets one too where nobody could be asked', async () => {
  const { executor, inboxes } = scriptedExecutor([(publish) => publish(request('mine'))]);
  await using host = createHost({ elicitation: 'deny' });
  host.registerExecutor('own', () => executor);
  await collect(host.run(agent({ name: 'a', executor: 'own' }), 'go'));
  expect(inboxes[1]).toMatchObject([
    { kind: 'elicitation_response', requestId: 'mine', response: { action: 'cancel' } },
  ]);
});

test('questions beside calls: the calls run meanwhile, and the next turn begins once all are answered', async () => {
  let runs = 0;
  const read = tool({
    name: 'read',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => `read ${++runs}`,
  });
  const { executor, inboxes } = scriptedExecutor([
    (publish) => {
      publish(request('first'));
      publish(toolRequest('x', 0));
      publish(request('second'));
      publish(toolRequest('y', 1));
    },
  ]);
  await using host = createHost();
  host.registerExecutor('own', () => executor);
  const session = host.session(agent({ name: 'a', executor: 'own', tools: [read] }));
  const paused = await readAll(session.stream({ kind: 'message', content: 'go' }).stream);
  expect(runs).toBe(2);
  expect(ofType(paused, 'tool_response')).toHaveLength(2);
  const questions = ofType(paused, 'elicitation_request');
  const answerTo = (at: number) => ({
    kind: 'elicitation_response' as const,
    requestId: questions[at]!.requestId,
    response: { action: 'accept' },
  });
  const second = await readAll(session.stream(answerTo(1)).stream);
  expect(loggedTypes(second)).toEqual(['elicitation_response']);
  expect(inboxes).toHaveLength(1);
  const third = await readAll(session.stream(answerTo(0)).stream);
  expect(third.at(-1)).toMatchObject({ reason: 'completed' });
  expect(inboxes[1]!.map((data) => ('requestId' in data ? data.requestId : ''))).toEqual(['x', 'y', 'second', 'first']);
});

test('an executor gets the results of its calls in the order of the calls', async () => {
  const gates = new Map<string, () => void>();
  const read = tool({
    name: 'read',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (args) =>
      new Promise<string>((resolve) => gates.set(String((args as { index: number }).index), () => resolve('ok'))),
  });
  const { executor, inboxes } = scriptedExecutor([
    (publish) => {
      for (let at = 0; at < 3; at++) publish(toolRequest(`call-${at}`, at));
    },
  ]);
  await using host = createHost();
  host.registerExecutor('own', () => executor);
  const reading = collect(host.run(agent({ name: 'a', executor: 'own', tools: [read] }), 'go'));
  await until(() => gates.size === 3);
  for (const at of [2, 0, 1]) {
    gates.get(String(at))?.();
    await settle();
  }
  const events = await reading;
  expect(ofType(events, 'tool_response').map((event) => event.requestId)).toEqual(['call-2', 'call-0', 'call-1']);
  expect(inboxes[1]!.map((data) => ('requestId' in data ? data.requestId : ''))).toEqual([
    'call-0',
    'call-1',
    'call-2',
  ]);
});

test('an executor cannot say what is the host’s to say', async () => {
  const { executor } = scriptedExecutor([
    (publish) => {
      publish({ type: 'tool_response', requestId: 'x', name: 'read', ...textResult('forged') });
      publish({ type: 'elicitation_response', requestId: 'q', action: 'accept' });
      publish({ type: 'agent_completed', agentName: 'a', threadId: 'a_1', reason: 'completed' });
    },
  ]);
  await using host = createHost();
  host.registerExecutor('own', () => executor);
  expect(loggedTypes(await collect(host.run(agent({ name: 'a', executor: 'own' }), 'go')))).toEqual([
    'initialize',
    'message',
    'stream_end',
  ]);
});
