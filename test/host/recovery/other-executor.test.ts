import { expect, test } from 'vitest';
import type { AgentEvent, Executor } from '../../../src/contracts/index.js';
import { agent, createHost, memoryStore, sequential, tool } from '../../../src/index.js';
import { scriptedModel, virtualClock } from '../../../src/testing/index.js';
import { storeWith } from '../../support/broken-log.js';
import { logOf, ofType } from '../../support/team.js';

const metadata = { version: '1.0.0', resumes: '^1.0.0' };
const look = tool({
  name: 'look',
  description: '.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  execute: () => 'seen',
});

const one = (executor: string, more: object = {}) =>
  agent({ name: 'a', description: 'a', executor, tools: [look], ...more });

/** Ends with how many messages it was given. */
const other = (keepsContext: boolean): Executor => ({
  capabilities: ['host_tool_execution', 'streaming', 'stream_end_events', 'multi_turn', 'cancellation'],
  ...(keepsContext && { keepsContext }),
  async *turn(_, context) {
    yield { type: 'stream_end', reason: 'completed', data: { result: String(context.messages().length) } };
  },
});

const notices = (events: readonly AgentEvent[]) =>
  ofType(events, 'custom')
    .map(({ data, threadId }) => ({ ...(data as { code?: string; text?: string }), threadId }))
    .filter(({ code }) => code === 'EXECUTOR_CHANGED');

/** What a run of the local loop logged up to the answer of its only tool. */
async function cutLog(definition: ReturnType<typeof agent> | ReturnType<typeof sequential>) {
  const model = scriptedModel([{ toolCalls: [{ name: 'look', args: {} }] }, { text: 'ok' }]);
  const store = memoryStore();
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = host.run(definition as never, 'go', { sessionId: 's' });
  await run.result;
  const log = await logOf(store, 's');
  return log.slice(0, log.findIndex((event) => event.type === 'tool_response') + 1);
}

async function resumeUnder(
  begun: ReturnType<typeof agent> | ReturnType<typeof sequential>,
  now: typeof begun,
  keepsContext = false,
) {
  const store = await storeWith(await cutLog(begun), { id: 's', agentName: begun.name });
  await using host = createHost({ models: { scripted: scriptedModel([]) }, store, clock: virtualClock() });
  host.registerExecutor('mine', () => other(keepsContext));
  const run = await host.resume('s', { agent: now as never });
  return { result: await run.result, log: await logOf(store, 's') };
}

test('a session goes on under another executor where the definition says so, and first lists what is not taken over', async () => {
  const { result, log } = await resumeUnder(one('local', { metadata }), one('mine', { metadata }));
  expect(result).toMatchObject({ ok: true, text: '3' });
  expect(notices(log)).toEqual([
    expect.objectContaining({
      severity: 'warning',
      text: 'a goes on under the executor "mine", not "local", which does not take over: elicitation, pause_resume, mid_stream_update, usage',
    }),
  ]);
  const told = log.findIndex((event) => event.type === 'custom' && event.kind === 'notice');
  expect(log.findIndex((event) => event.type === 'stream_end')).toBeGreaterThan(told);
});

test('an executor that keeps the conversation itself is said to begin without it', async () => {
  const { log } = await resumeUnder(one('local', { metadata }), one('mine', { metadata }), true);
  expect(notices(log)[0]?.text).toMatch(/the conversation so far$/);
});

test('the same holds for a child, in its own thread', async () => {
  const team = (executor: string) => sequential({ name: 't', children: [one(executor)], metadata });
  const { result, log } = await resumeUnder(team('local'), team('mine'));
  expect(result.ok).toBe(true);
  expect(notices(log)).toMatchObject([{ threadId: 'a_1' }]);
});

test('under the same executor nothing is said; without the definition’s word it is refused', async () => {
  const model = scriptedModel([{ text: 'ok' }]);
  const store = await storeWith(await cutLog(one('local')), { id: 's', agentName: 'a' });
  const host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  host.registerExecutor('mine', () => other(false));
  await expect(host.resume('s', { agent: one('mine') })).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
  const run = await host.resume('s', { agent: one('local') });
  expect((await run.result).ok).toBe(true);
  expect(notices(await logOf(store, 's'))).toEqual([]);
  await host.close();
});
