import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, memoryStore, sequential, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';

const remember = tool({
  name: 'remember',
  description: 'Writes a state key.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  execute: (args, { state }) => {
    const { key, value } = args as { key: string; value: number };
    state.set(key, value);
    return 'kept';
  },
});

const team = sequential({
  name: 'team',
  state: { 'app:n': { initial: 0 }, 'temp:n': { initial: 0 }, n: { initial: 0 } },
  children: [
    agent({ name: 'worker', description: 'Works.', tools: [remember], instruction: 'app {state.app:n} own {state.n}' }),
  ],
});

const write = (key: string, value: number) => ({ toolCalls: [{ name: 'remember', args: { key, value } }] });

test('a key of the application is seen by the next session, a key of the session is not (B023)', async () => {
  const model = scriptedModel([write('app:n', 2), write('n', 7), { text: 'done' }, { text: 'seen' }]);
  const host = createHost({ models: { scripted: model } });
  await host.run(team, 'one', { sessionId: 's1' }).result;
  await host.run(team, 'two', { sessionId: 's2' }).result;
  expect(model.requests[3]?.systemInstruction).toBe('app 2 own 0');
  await host.close();
});

test('temporary keys are told live and kept in no log', async () => {
  const store = memoryStore();
  const model = scriptedModel([write('temp:n', 5), { text: 'done' }]);
  const host = createHost({ models: { scripted: model }, store });
  const deltas: unknown[] = [];
  const run = host.run(team, 'one', { sessionId: 's' });
  for await (const event of run) if (event.type === 'session_update') deltas.push(event.stateDelta);
  expect(deltas).toContainEqual({ 'temp:n': 5 });
  const logged: AgentEvent[] = [];
  for await (const event of (await store.load('s')).events) logged.push(event);
  const updates = logged.filter(({ type }) => type === 'session_update');
  expect(JSON.stringify(updates)).not.toContain('temp:n');
  await host.close();
});
