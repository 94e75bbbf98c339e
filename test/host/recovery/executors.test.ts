import { expect, test } from 'vitest';
import type { AgentSession, Executor, SessionStreamData } from '../../../src/contracts/index.js';
import { agent, createHost, memoryStore, tool } from '../../../src/index.js';
import { mockSession, scriptedModel, validateLog, virtualClock } from '../../../src/testing/index.js';
import { storeWith } from '../../support/broken-log.js';
import { logOf, ofType, readAll } from '../../support/team.js';
import { until } from '../../support/teams.js';

const id = 's';
const models = { scripted: scriptedModel([]) };

const tools = (ran: string[], readOnly: boolean) => [
  tool({
    name: 'do',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly },
    execute: (_, { requestId }) => {
      ran.push(requestId);
      return 'done';
    },
  }),
];

/** Asks for one call, then a person, then ends; all that it knows it is given each time. */
function stateless(given: SessionStreamData[][]): Executor {
  return {
    async *turn(inbox, context) {
      given.push([...inbox]);
      const texts = JSON.stringify(context.messages());
      if (!texts.includes('function_response')) {
        yield {
          type: 'tool_request',
          requestId: 'r',
          name: 'do',
          args: {},
          messageId: context.newMessageId(),
          index: 0,
        };
      } else if (inbox.some(({ kind }) => kind === 'elicitation_response')) {
        yield { type: 'stream_end', reason: 'completed', data: { result: JSON.stringify(inbox) } };
      } else {
        yield { type: 'elicitation_request', requestId: 'mine', kind: 'clarification', message: 'sure?' };
      }
    },
  };
}

const driven = (ran: string[], readOnly = false) =>
  agent({
    name: 'a',
    description: 'a',
    executor: 'mine',
    tools: tools(ran, readOnly),
    capabilities: ['host_tool_execution'],
  });

test('an executor of one’s own goes on: with its results, and with the answer to what it had asked', async () => {
  const store = memoryStore();
  const ran: string[] = [];
  const host = createHost({ models, store, clock: virtualClock() });
  host.registerExecutor('mine', () => stateless([]));
  const run = host.run(driven(ran), 'go', { sessionId: id, permissionMode: 'autonomous' });
  void readAll(run);
  await until(() => run.state().pending.length === 1);
  const [asked] = run.state().pending;
  const log = await logOf(store, id);
  await host.close();
  const response = log.findIndex((event) => event.type === 'tool_response') + 1;
  for (const part of [log.slice(0, response), log]) {
    const again = await storeWith(part, { id, agentName: 'a' });
    const given: SessionStreamData[][] = [];
    await using other = createHost({ models, store: again, clock: virtualClock() });
    other.registerExecutor('mine', () => stateless(given));
    const resumed = await other.resume(id, { agent: driven([]) });
    if (part === log) expect(resumed.state().pending).toEqual([asked]);
    for await (const event of resumed) {
      if (event.type === 'elicitation_request') resumed.respond(event.requestId, { action: 'accept' });
    }
    const { result } = await resumed.result;
    expect(JSON.parse(result as string)).toMatchObject([
      { kind: 'elicitation_response', requestId: 'mine', response: { action: 'accept' } },
    ]);
    if (part !== log) expect(given[0]).toMatchObject([{ kind: 'tool_result', requestId: 'r' }]);
    expect(validateLog(await logOf(again, id), { finished: true })).toEqual([]);
  }
  expect(ran).toHaveLength(1);
});

/** A session of somebody else's: it calls one tool, and knows only what it was told itself. */
const session = (heard: string[]): AgentSession => {
  const inner = mockSession([
    { type: 'tool_request', requestId: 'r', name: 'do', args: {}, messageId: 'm1', index: 0 },
    { type: 'message', messageId: 'm2', role: 'agent', content: [{ type: 'text', text: 'ok' }] },
    { type: 'stream_end', reason: 'completed' },
  ]);
  return {
    stream(data, options) {
      heard.push(data.kind);
      return inner.stream(data, options);
    },
    update: (config) => inner.update(config),
    steer: (data) => inner.steer(data),
    abort: (reason) => inner.abort(reason),
  };
};

test.each([
  [true, 'begins anew'],
  [false, 'fails where something was done'],
])('a session that keeps its conversation itself (read-only: %s) %s', async (readOnly) => {
  const store = memoryStore();
  const ran: string[] = [];
  const host = createHost({ models, store, clock: virtualClock() });
  host.registerExecutor('mine', () => session([]));
  expect(
    await host.run(driven(ran, readOnly), 'go', { sessionId: id, permissionMode: 'autonomous' }).result,
  ).toMatchObject({ ok: true, text: 'ok' });
  const log = await logOf(store, id);
  await host.close();
  const part = log.slice(0, log.findIndex((event) => event.type === 'tool_response') + 1);
  const again = await storeWith(part, { id, agentName: 'a' });
  const heard: string[] = [];
  await using other = createHost({ models, store: again, clock: virtualClock() });
  other.registerExecutor('mine', () => session(heard));
  const resumed = await other.resume(id, { agent: driven(ran, readOnly) });
  const result = await resumed.result;
  if (readOnly) {
    expect(result).toMatchObject({ ok: true, text: 'ok' });
    expect(heard[0]).toBe('message');
  } else {
    expect(result).toMatchObject({ ok: false, data: { code: 'CANNOT_RESUME' } });
    expect(heard).toEqual([]);
    expect(ran).toHaveLength(1);
  }
  const whole = await logOf(again, id);
  expect(validateLog(whole, { finished: true })).toEqual([]);
  expect(ofType(whole, 'tool_request')).toHaveLength(readOnly ? 2 : 1);
});

test('an approval that was open for an executor that keeps its conversation is withdrawn; what it asks for anew runs once', async () => {
  const asking = (): Executor => ({
    keepsContext: true,
    async *turn(inbox, context) {
      if (inbox[0]?.kind !== 'message') return yield { type: 'stream_end', reason: 'completed' };
      const messageId = context.newMessageId();
      yield { type: 'tool_request', requestId: `r-${messageId}`, name: 'do', args: {}, messageId, index: 0 };
    },
  });
  const one = (ran: string[]) => agent({ name: 'a', executor: 'asking', tools: tools(ran, false) });
  const first = memoryStore();
  const before: string[] = [];
  await using killed = createHost({ models, store: first });
  killed.registerExecutor('asking', asking);
  const going = killed.run(one(before), 'go', { sessionId: id });
  for await (const event of going) {
    if (event.type !== 'elicitation_request') continue;
    const store = await storeWith(await logOf(first, id), { id, agentName: 'a' });
    const ran: string[] = [];
    await using host = createHost({ models, store });
    host.registerExecutor('asking', asking);
    const run = await host.resume(id, { agent: one(ran) });
    for await (const asked of run) {
      if (asked.type === 'elicitation_request') run.respond(asked.requestId, { action: 'accept' });
    }
    expect(await run.result).toMatchObject({ ok: true });
    const log = await logOf(store, id);
    expect(validateLog(log, { finished: true })).toEqual([]);
    expect(ran).toHaveLength(1);
    expect(ofType(log, 'tool_response').map(({ errorType }) => errorType)).toEqual(['cancelled', undefined]);
    expect(ofType(log, 'elicitation_response').map(({ action }) => action)).toEqual(['cancel', 'accept']);
    going.abort();
  }
  expect(before).toEqual([]);
});
