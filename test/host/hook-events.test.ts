import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { createHost, memoryStore } from '../../src/index.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import { changes, looker, noticing, only, runAll, script } from '../support/hooks.js';
import { collect, logOf, ofType, textIn } from '../support/team.js';

test('a notice fires notification; hooks change or suppress it', async () => {
  const told: unknown[] = [];
  const run = (modifications: object) =>
    runAll(
      {
        hooks: only('notification', (payload) => {
          const { type, message, details } = payload as Record<string, unknown>;
          told.push([type, message, details]);
          return changes(modifications);
        }),
      },
      noticing(),
    );
  const noticesIn = (events: readonly AgentEvent[]) => ofType(events, 'custom').map(({ data }) => data);
  const changed = await run({ message: 'a moment' });
  expect(told).toEqual([['MODEL_RETRY', expect.stringContaining('busy'), { severity: 'info' }]]);
  expect(noticesIn(changed.events)).toEqual([{ code: 'MODEL_RETRY', severity: 'info', text: 'a moment' }]);
  expect(noticesIn((await run({ suppress: true })).events)).toEqual([]);
});

test('a notification hook that fails is told, once, and the notice is shown', async () => {
  const { events } = await runAll(
    {
      hooks: only('notification', () => {
        throw new Error('boom');
      }),
    },
    noticing(),
  );
  expect(ofType(events, 'custom').map(({ data }) => (data as { code: string }).code)).toEqual([
    'HOOK_FAILED',
    'MODEL_RETRY',
  ]);
});

test.each([
  ['at once', (said: unknown) => said],
  ['later', async (said: unknown) => said],
])(
  'on_event hooks that answer %s change what is shown and logged, in order, never where it stands',
  async (_, answer) => {
    const model = scriptedModel([{ toolCalls: [{ name: 'look', args: {} }] }, { text: ['sec', 'ret'] }]);
    const types: string[] = [];
    const { events, result } = await runAll({
      models: { scripted: model },
      hooks: only('on_event', (payload) => {
        const { event } = payload as { event: AgentEvent };
        types.push(event.type);
        if (event.type !== 'message' || event.role !== 'agent') return answer(undefined);
        const change = { id: 'x', seq: 1, threadId: 'y', type: 'custom', content: [{ type: 'text', text: '*' }] };
        return answer(changes({ event: change }));
      }),
    });
    expect(types).toEqual(events.map(({ type }) => type));
    expect(textIn(events)).toBe('**');
    expect(events.map(({ seq }) => seq)).toEqual([...events.map(({ seq }) => seq)].sort((a, b) => a - b));
    expect(events.at(-1)?.type).toBe('stream_end');
    expect(result.reason).toBe('completed');
  },
);

test('what on_event made of an answer is what the model is reminded of', async () => {
  const model = scriptedModel([{ text: 'secret', toolCalls: [{ name: 'look', args: {} }] }, { text: 'ok' }]);
  await runAll({
    models: { scripted: model },
    hooks: only('on_event', async (payload) => {
      const { event } = payload as { event: AgentEvent };
      return event.type === 'message' && event.role === 'agent'
        ? changes({ event: { content: [{ type: 'text', text: '***' }] } })
        : undefined;
    }),
  });
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('***');
  expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('secret');
});

test('an on_event hook that always fails is told once, behind the event', async () => {
  const { events } = await runAll({
    models: { scripted: script() },
    hooks: only('on_event', () => {
      throw new Error('boom');
    }),
  });
  expect(ofType(events, 'custom').map(({ data }) => data)).toMatchObject([
    { code: 'HOOK_FAILED', text: 'on_event: the hook failed: boom' },
  ]);
  expect(events[0]?.type).toBe('initialize');
});

test('an update while a hook still looks at the end of a run is not told behind it', async () => {
  const model = scriptedModel([{ text: 'ok' }]);
  const held: (() => void)[] = [];
  const store = memoryStore();
  const host = createHost({
    models: { scripted: model },
    store,
    hooks: only('on_event', async (payload) => {
      if ((payload as { event: AgentEvent }).event.type !== 'stream_end') return undefined;
      await new Promise<void>((resolve) => held.push(resolve));
      return undefined;
    }),
  });
  const run = host.run(looker, 'go');
  const reading = collect(run);
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
  run.update({ permissionMode: 'plan' });
  held[0]?.();
  await reading;
  await host.close();
  const events = await logOf(store, run.sessionId);
  expect(events.at(-1)?.type).toBe('stream_end');
  expect(events.filter(({ type }) => type === 'session_update')).toEqual([]);
  expect(validateLog(events, { finished: true })).toEqual([]);
});
