import { expect, test, vi } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, memoryStore, pending, type TroupeError, tool } from '../../src/index.js';
import { scriptedModel, virtualClock } from '../../src/testing/index.js';
import { answersIn, storeWith } from '../support/broken-log.js';
import { collect, deferred, logOf, ofType, settle, textResult } from '../support/team.js';
import { calls, runDesk, textOf, told } from './tool-desk.js';

const order = (execute: () => unknown = () => pending({ ticket: 'T-1' }), more: object = {}) =>
  tool({ name: 'order', description: 'Orders.', annotations: { readOnly: true }, execute, ...more });
const script = [calls('order')];

test.each([
  ['at once', () => pending({ ticket: 'T-1' })],
  ['by a promise', async () => pending({ ticket: 'T-1' })],
  [
    'behind its progress',
    async function* () {
      yield 0.5;
      return pending({ ticket: 'T-1' });
    },
  ],
])('a call whose tool returns pending(ticket) %s stays open until it is answered, once', async (_, execute) => {
  const states: unknown[] = [];
  const refusals: unknown[] = [];
  const { events, responses, model } = await runDesk({
    own: [order(execute)],
    script,
    onEvent(event, run) {
      if (event.type !== 'custom' || event.kind !== 'tool_pending') return;
      states.push(event.data);
      setImmediate(() => {
        states.push(run.state().root.type, run.state().pending);
        run.respond('k1', { result: { shipped: true } });
        try {
          run.respond('k1', { result: 'again' });
        } catch (thrown) {
          refusals.push((thrown as TroupeError).code);
        }
      });
    },
  });
  expect(states).toEqual([
    { requestId: 'k1', ticket: { ticket: 'T-1' } },
    'awaiting_tool',
    [{ requestId: 'k1', kind: 'tool', name: 'desk.order', agentId: 'desk' }],
  ]);
  expect(refusals).toEqual(['UNKNOWN_REQUEST']);
  expect(responses).toMatchObject([{ requestId: 'k1', data: { shipped: true } }]);
  expect(told(model)).toMatchObject([{ name: 'order', response: { output: '{"shipped":true}' } }]);
  expect(ofType(events, 'stream_end')).toHaveLength(1);
});

test('no time limit counts while it is open, and its place among the requests in flight is free', async () => {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const model = scriptedModel([calls('order'), { text: 'done' }, { text: 'other' }], { clock });
  await using host = createHost({
    models: { scripted: model },
    clock,
    limits: { concurrency: 1, toolTimeoutMs: 1_000 },
  });
  const run = host.run(agent({ name: 'desk', tools: [order()] }), 'go');
  const open = deferred();
  const reading = collect(
    (async function* () {
      for await (const event of run) {
        if (event.type === 'custom' && event.kind === 'tool_pending') open.resolve();
        yield event;
      }
    })(),
  );
  await open.promise;
  await settle();
  await clock.advance(3_600_000);
  expect(run.state().root.type).toBe('awaiting_tool');
  expect((await host.run(agent({ name: 'other' }), 'go').result).ok).toBe(true);
  run.respond('k1', { result: 'late' });
  const events = await reading;
  expect(ofType(events, 'tool_response').map(textOf)).toEqual(['late']);
});

test('an abort answers it as cancelled, and late answers find nothing', async () => {
  const run: { late?: unknown } = {};
  const { responses, result } = await runDesk({
    own: [order()],
    script,
    onEvent(event, live) {
      if (event.type !== 'custom' || event.kind !== 'tool_pending') return;
      live.abort('enough');
      try {
        live.respond('k1', { result: 'x' });
      } catch (thrown) {
        run.late = (thrown as TroupeError).code;
      }
    },
  });
  expect(result.reason).toBe('aborted');
  expect(responses).toMatchObject([{ errorType: 'cancelled' }]);
  expect(run.late).toBe('UNKNOWN_REQUEST');
});

test('a bare session pauses on it, and goes on with a tool_result', async () => {
  const model = scriptedModel([calls('order'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'desk', tools: [order()] }));
  const before: string[] = [];
  for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) before.push(event.type);
  expect(before).not.toContain('stream_end');
  expect(session.state()).toMatchObject({ type: 'awaiting_tool', pending: [{ requestId: 'k1' }] });
  const after: string[] = [];
  const answer = { kind: 'tool_result', requestId: 'k1', result: textResult('shipped') } as const;
  for await (const event of session.stream(answer).stream) after.push(event.type);
  expect(after).toContain('tool_response');
  expect(after.at(-1)).toBe('stream_end');
});

test('below a leader it is answered by its id, at the root', async () => {
  const execute = vi.fn(() => pending());
  const model = scriptedModel({
    byAgent: {
      chief: [calls(['worker', { prompt: 'order' }]), { text: 'done' }],
      worker: [{ toolCalls: [{ id: 'w1', name: 'order', args: {} }] }, { text: 'ordered' }],
    },
  });
  await using host = createHost({ models: { scripted: model } });
  const team = hierarchical({
    name: 'lead',
    agent: agent({ name: 'chief' }),
    children: [agent({ name: 'worker', tools: [order(execute)] })],
  });
  const run = host.run(team, 'go');
  for await (const event of run) {
    if (event.type === 'custom' && event.kind === 'tool_pending')
      setImmediate(() => run.respond('w1', { result: 'ok' }));
  }
  expect(await run.result).toMatchObject({ ok: true, text: 'done' });
  expect(execute).toHaveBeenCalledTimes(1);
});

test('a result that only looks pending is a result, and a ticket that is no JSON is refused', async () => {
  const { responses } = await runDesk({ own: [order(() => ({ kind: 'pending', ticket: 'x' }))], script });
  expect(responses).toMatchObject([{ data: { kind: 'pending', ticket: 'x' } }]);
  expect(() => pending({ at: new Date() })).toThrow(/the ticket is no JSON/);
});

test('a tool shows what a call would change before somebody is asked', async () => {
  const preview = vi.fn(() => ({ diff: '-a\n+b\n' }));
  const write = tool({
    name: 'write',
    description: 'Writes.',
    annotations: { category: 'edit' },
    preview,
    execute: () => 'written',
  });
  const { questions } = await runDesk({ own: [write], script: [calls('write')], answer: { action: 'accept' } });
  expect(questions).toMatchObject([{ context: { kind: 'edit', diff: '-a\n+b\n' } }]);
  expect(() => tool({ name: 'x', description: '', preview: 'no' as never, execute: () => 1 })).toThrow(/preview/);
});

test('it survives the end of the process: taken up again it waits for its answer, and its tool runs no second time', async () => {
  const execute = vi.fn(() => pending('T-1'));
  const desk = agent({ name: 'desk', tools: [tool({ name: 'order', description: 'Orders.', execute })] });
  const store = memoryStore();
  const script = () =>
    scriptedModel((request) => (answersIn(request).length === 0 ? calls('order') : { text: 'done' }));
  const first = createHost({ models: { scripted: script() }, store });
  const run = first.run(desk, 'go', { permissionMode: 'autonomous' });
  const log: AgentEvent[] = [];
  for await (const event of run) {
    if (event.type !== 'custom' || event.kind !== 'tool_pending') continue;
    log.push(...(await logOf(store, run.sessionId)));
    break;
  }
  await first.close();
  const again = await storeWith(log, { id: run.sessionId, agentName: 'desk' });
  await using second = createHost({ models: { scripted: script() }, store: again });
  const resumed = await second.resume(run.sessionId, { agent: desk });
  const shown: string[] = [];
  for await (const event of resumed) {
    shown.push(event.type);
    if (event.type === 'tool_request') setImmediate(() => resumed.respond('k1', { result: 'shipped' }));
    if (event.type === 'tool_response') expect(textOf(event)).toBe('shipped');
  }
  expect(shown.slice(0, 2)).toEqual(['initialize', 'tool_request']);
  expect(await resumed.result).toMatchObject({ ok: true, text: 'done' });
  expect(execute).toHaveBeenCalledTimes(1);
});
