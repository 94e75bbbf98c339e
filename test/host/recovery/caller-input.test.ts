import { expect, test } from 'vitest';
import type { AgentEvent, ModelInterface, ModelRequest } from '../../../src/contracts/index.js';
import { agent, createHost, defineHook, memoryStore, sequential, tool } from '../../../src/index.js';
import { scriptedModel, validateLog, virtualClock } from '../../../src/testing/index.js';
import { answersIn, readAnswering, storeWith } from '../../support/broken-log.js';
import { logOf, ofType, settle } from '../../support/team.js';

const id = 's';
const pay = () => tool({ name: 'pay', description: 'Pays.', parameters: { type: 'object' }, execute: () => 'paid' });
const clerk = (name = 'clerk') => agent({ name, tools: [pay()] });
const byCalls = (request: ModelRequest) =>
  answersIn(request).length === 0 ? { toolCalls: [{ id: 'c1', name: 'pay', args: {} }] } : { text: 'done' };
const textsOf = (request: ModelRequest | undefined) =>
  (request?.messages ?? []).flatMap(({ content }) =>
    content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  );
const steered = (events: readonly AgentEvent[]) =>
  ofType(events, 'message').filter(({ _meta }) => _meta?.steered === true);

/** What the log has at the moment at which `act` returns, while the approval of a first run is open. */
async function cutWhileAsking(
  act: (run: ReturnType<ReturnType<typeof createHost>['run']>) => void,
  team = clerk() as Parameters<ReturnType<typeof createHost>['run']>[0],
) {
  const store = memoryStore();
  await using host = createHost({ models: { scripted: scriptedModel(byCalls) }, store, clock: virtualClock() });
  const run = host.run(team, 'go', { sessionId: id });
  let log: AgentEvent[] = [];
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    act(run);
    log = await logOf(store, id);
    break;
  }
  return log;
}

test('words that were said while an approval was open are heard after the process was killed', async () => {
  const log = await cutWhileAsking((run) => run.steer({ message: 'be quick' }));
  const model = scriptedModel(byCalls);
  const store = await storeWith(log, { id, agentName: 'clerk' });
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = await host.resume(id, { agent: clerk() });
  const seen = await readAnswering(run, undefined);
  expect((await run.result).reason).toBe('completed');
  expect(textsOf(model.requests[0])).toContain('be quick');
  expect(steered(seen)).toHaveLength(1);
  const whole = await logOf(store, id);
  expect(steered(whole)).toHaveLength(1);
  expect(validateLog(whole, { finished: true })).toEqual([]);
});

test('words that have been heard are not heard again', async () => {
  const store = memoryStore();
  const model = scriptedModel(byCalls);
  const host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = host.run(clerk(), 'go', { sessionId: id });
  const seen: AgentEvent[] = [];
  for await (const event of run) {
    seen.push(event);
    if (event.type !== 'elicitation_request') continue;
    run.steer({ message: 'be quick' });
    run.respond(event.requestId, { action: 'accept' });
  }
  await host.close();
  const log = await logOf(store, id);
  const heardAt = log.findIndex((event) => steered([event]).length > 0);
  const again = scriptedModel(byCalls);
  const cut = await storeWith(log.slice(0, heardAt + 1), { id, agentName: 'clerk' });
  await using second = createHost({ models: { scripted: again }, store: cut, clock: virtualClock() });
  await readAnswering(await second.resume(id, { agent: clerk() }), undefined);
  expect(steered(await logOf(cut, id))).toHaveLength(1);
  expect(textsOf(again.requests[0]).filter((text) => text === 'be quick')).toHaveLength(1);
});

test('words to a team go to whoever begins next, in another process too', async () => {
  const team = () => sequential({ name: 'team', children: [clerk('one'), clerk('two')] });
  const log = await cutWhileAsking((run) => run.steer({ message: 'mind the date' }), team() as never);
  const model = scriptedModel(byCalls);
  const store = await storeWith(log, { id, agentName: 'team' });
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = await host.resume(id, { agent: team() });
  const seen = await readAnswering(run, undefined);
  expect((await run.result).reason).toBe('completed');
  expect(steered(seen).map(({ threadId }) => threadId)).toEqual(['one_1']);
});

test('words for a session between two messages stand before the next one, in another process too', async () => {
  const store = memoryStore();
  const first = createHost({ models: { scripted: scriptedModel([{ text: 'hello' }]) }, store, clock: virtualClock() });
  const session = first.session(agent({ name: 'clerk' }), { sessionId: id });
  for await (const _ of session.stream({ kind: 'message', content: 'hi' }).stream);
  session.steer({ message: 'in French' });
  const log = await logOf(store, id);
  await first.close();
  const model = scriptedModel([{ text: 'bonjour' }]);
  const next = await storeWith(log, { id, agentName: 'clerk' });
  await using second = createHost({ models: { scripted: model }, store: next, clock: virtualClock() });
  await second.run(agent({ name: 'clerk' }), 'and now?', { sessionId: id }).result;
  expect(textsOf(model.requests[0])).toEqual(['hi', 'hello', 'in French', 'and now?']);
});

test('what a caller has stopped stays stopped after the process was killed', async () => {
  const store = memoryStore();
  // It hears of nothing: the run is still being stopped when the process dies.
  const deaf: ModelInterface = { generate: () => new Promise(() => {}), generateStream: neverAnswers };
  const clock = virtualClock();
  const host = createHost({ models: { scripted: deaf }, store, clock });
  const run = host.run(agent({ name: 'clerk' }), 'go', { sessionId: id });
  await settle();
  run.abort('too late');
  const log = await logOf(store, id);
  expect(log.some(({ type }) => type === 'stream_end')).toBe(false);
  const closing = host.close();
  await clock.advance(10_000);
  await closing;

  const model = scriptedModel([{ text: 'never said' }]);
  const next = await storeWith(log, { id, agentName: 'clerk' });
  await using second = createHost({ models: { scripted: model }, store: next, clock: virtualClock() });
  const result = await (await second.resume(id, { agent: agent({ name: 'clerk' }) })).result;
  expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'too late', by: 'user' } });
  expect(model.requests).toHaveLength(0);
});

async function* neverAnswers(): AsyncGenerator<never> {
  await new Promise(() => {});
}

test('words that a hook may withhold are in no log before it has seen them', async () => {
  const store = memoryStore();
  const hooks = [
    defineHook('on_user_message', ({ content }) =>
      JSON.stringify(content).includes('secret')
        ? { action: 'proceed', modifications: { content: [{ type: 'text', text: '[left out]' }] } }
        : { action: 'proceed' },
    ),
  ];
  await using host = createHost({ models: { scripted: scriptedModel(byCalls) }, store, hooks, clock: virtualClock() });
  const run = host.run(clerk(), 'go', { sessionId: id });
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    run.steer({ message: 'a secret' });
    run.respond(event.requestId, { action: 'accept' });
  }
  const log = await logOf(store, id);
  expect(steered(log).map(({ content }) => content)).toEqual([[{ type: 'text', text: '[left out]' }]]);
  expect(JSON.stringify(log)).not.toContain('a secret');
});

test('words that a hook has passed are in the log at once, as it left them, and are heard so after the process was killed', async () => {
  const store = memoryStore();
  const asked: string[] = [];
  const hooks = [
    defineHook('on_user_message', ({ content }) => {
      const text = JSON.stringify(content);
      if (!text.includes('hello')) asked.push(text);
      return text.includes('secret')
        ? { action: 'proceed', modifications: { content: [{ type: 'text', text: '[left out]' }] } }
        : { action: 'proceed' };
    }),
  ];
  const first = createHost({ models: { scripted: scriptedModel(byCalls) }, store, hooks, clock: virtualClock() });
  const run = first.run(clerk(), 'hello', { sessionId: id });
  let log: AgentEvent[] = [];
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    run.steer({ message: 'a secret' });
    run.steer({ message: 'be quick' });
    await settle();
    log = await logOf(store, id);
    break;
  }
  await first.close();
  expect(steered(log)).toEqual([]);
  expect(JSON.stringify(log)).not.toContain('a secret');
  expect(asked).toHaveLength(2);

  const model = scriptedModel(byCalls);
  const cut = await storeWith(log, { id, agentName: 'clerk' });
  await using second = createHost({ models: { scripted: model }, store: cut, hooks, clock: virtualClock() });
  await readAnswering(await second.resume(id, { agent: clerk() }), undefined);
  expect(textsOf(model.requests[0])).toEqual(expect.arrayContaining(['[left out]', 'be quick']));
  expect(asked).toHaveLength(2);
});

test('words that were said before there was a hook are seen by it in the next process', async () => {
  const log = await cutWhileAsking((run) => run.steer({ message: 'a secret' }));
  const model = scriptedModel(byCalls);
  const store = await storeWith(log, { id, agentName: 'clerk' });
  const hooks = [defineHook('on_user_message', () => ({ action: 'block', reason: 'not this' }))];
  await using host = createHost({ models: { scripted: model }, store, hooks, clock: virtualClock() });
  await readAnswering(await host.resume(id, { agent: clerk() }), undefined);
  expect(textsOf(model.requests[0])).toContain('[a message was withheld by a hook: not this]');
  expect(textsOf(model.requests[0])).not.toContain('a secret');
});
