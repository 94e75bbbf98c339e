import { expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/contracts/index.js';
import { agent, createHost, memoryStore, type Run, sequential, tool } from '../../../src/index.js';
import { scriptedModel, virtualClock } from '../../../src/testing/index.js';
import { answersIn, readAnswering, storeWith } from '../../support/broken-log.js';
import { leaf, logOf, ofType } from '../../support/team.js';

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const usage = { inputTokens: 1, outputTokens: 1 };

test('what the router said holds for its run, also when another process goes on with it', async () => {
  const big = () =>
    scriptedModel((request) =>
      answersIn(request).length === 0 ? { toolCalls: [{ name: 'look', args: {} }], usage } : { text: 'done', usage },
    );
  const asked: string[] = [];
  const hostOn = (store: ReturnType<typeof memoryStore>, name: string, answer: string) =>
    createHost({
      store,
      clock: virtualClock(),
      models: { own: scriptedModel(() => ({ text: 'from own', usage })), big: big() },
      router: () => {
        asked.push(name);
        return answer;
      },
    });
  const team = () => agent({ name: 'a', model: 'own', tools: [look] });
  const store = memoryStore();
  await using first = hostOn(store, 'first', 'big');
  await readAnswering(first.run(team(), 'go', { sessionId: 's' }), undefined);
  const log = await logOf(store, 's');
  const decided = log.findIndex((event) => event.type === 'custom' && event.kind === 'decision') + 1;
  expect(decided).toBeGreaterThan(0);
  for (let cut = decided; cut < log.length; cut++) {
    asked.length = 0;
    const part = await storeWith(log.slice(0, cut), { id: 's', agentName: 'a' });
    await using second = hostOn(part as ReturnType<typeof memoryStore>, 'second', 'own');
    const run = await second.resume('s', { agent: team() });
    const seen = await readAnswering(run, undefined);
    expect((await run.result).text).toBe('done');
    expect(asked).toEqual([]);
    expect(new Set(ofType(seen, 'usage').map((event) => event.model))).toEqual(
      new Set(ofType(seen, 'usage').length > 0 ? ['big'] : []),
    );
  }
});

test('what a session has spent, in money and in tokens, counts when it is gone on with', async () => {
  const paid = { inputTokens: 40, outputTokens: 60 };
  const prices = { m: { input: 0, output: 1_000_000 } };
  const team = () => sequential({ name: 's', children: [leaf('a'), leaf('b')] });
  for (const [limits, limit, used] of [
    [{ maxBudgetUsd: 65 }, 'maxBudgetUsd', 60],
    [{ maxTokens: 110 }, 'maxTokens', 100],
  ] as const) {
    const store = memoryStore();
    const model = scriptedModel(() => ({ text: 'said', usage: paid }));
    await using first = createHost({ store, models: { m: model }, prices });
    // What is bounded is the session: who goes on with it need not say so again.
    await first.run(team(), 'go', { sessionId: 's', ...limits }).result;
    const log = await logOf(store, 's');
    // Broken off behind the first answer.
    const cut = log.findIndex((event) => event.type === 'agent_started' && event.agentName === 'b');
    const part = await storeWith(log.slice(0, cut), { id: 's', agentName: 's' });
    await using second = createHost({ store: part, models: { m: scriptedModel([]) }, prices });
    const run = await second.resume('s', { agent: team() });
    await readAnswering(run, undefined);
    expect(await run.result).toMatchObject({ reason: 'max_budget', data: { limit, used } });
  }
});

test('whether another model may stand in is asked once, however its process ended meanwhile', async () => {
  const down = () => scriptedModel(() => ({ error: { code: 'UNAVAILABLE', message: 'down', retryAfterMs: 0 } }));
  const hostOn = (store: ReturnType<typeof memoryStore>) =>
    createHost({
      store,
      clock: virtualClock(),
      models: { own: down(), other: scriptedModel(() => ({ text: 'from other' })) },
      fallbacks: { models: ['other'], consent: 'ask' },
    });
  const team = () => agent({ name: 'a', model: 'own' });
  const store = memoryStore();
  await using first = hostOn(store);
  const accept = (run: Run, event: AgentEvent) => {
    if (event.type === 'elicitation_request') run.respond(event.requestId, { action: 'accept' });
  };
  await readAnswering(first.run(team(), 'go', { sessionId: 's' }), accept);
  const log = await logOf(store, 's');
  const asked = log.findIndex(({ type }) => type === 'elicitation_request') + 1;
  const answered = log.findIndex(({ type }) => type === 'elicitation_response') + 1;
  expect(asked).toBeGreaterThan(0);
  for (const cut of [asked, answered]) {
    const part = (await storeWith(log.slice(0, cut), { id: 's', agentName: 'a' })) as ReturnType<typeof memoryStore>;
    await using second = hostOn(part);
    const run = await second.resume('s', { agent: team() });
    await readAnswering(run, accept);
    expect((await run.result).text).toBe('from other');
    expect(ofType(await logOf(part, 's'), 'elicitation_request')).toHaveLength(1);
  }
});
