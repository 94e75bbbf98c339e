import { expect, test } from 'vitest';
import type { AgentEvent, ModelRequest } from '../../../src/contracts/index.js';
import { agent, createHost, memoryStore, parallel, sequential, tool } from '../../../src/index.js';
import { expectNoLeaks, scriptedModel, validateLog, virtualClock } from '../../../src/testing/index.js';
import { answersIn, recordRun, storeWith } from '../../support/broken-log.js';
import { deferred, leaf, logOf, ofType, readAll, settle } from '../../support/team.js';
import { until } from '../../support/teams.js';

const id = 's';
const danger = tool({ name: 'danger', description: '.', parameters: { type: 'object' }, execute: () => 'done' });
const team = () =>
  sequential({
    name: 'team',
    children: [parallel({ name: 'p', children: [agent({ name: 'a', tools: [danger] }), leaf('b')] }), leaf('c')],
  });
const byAgent = {
  a: (request: ModelRequest) =>
    answersIn(request).length === 0 ? { toolCalls: [{ id: 'c1', name: 'danger', args: {} }] } : { text: 'A' },
  b: () => ({ text: 'B' }),
  c: () => ({ text: 'C' }),
};

test('it can be aborted at any point, before anything goes on: all of it ends, and nothing is left', async () => {
  const { log } = await recordRun({ team, byAgent });
  // Behind the end of the last child there is nothing left to abort.
  for (let cut = 2; cut < log.length - 1; cut++) {
    const store = await storeWith(log.slice(0, cut), { id, agentName: 'team' });
    const model = scriptedModel({ byAgent } as never);
    const seen: AgentEvent[] = [];
    await expectNoLeaks(async () => {
      await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
      const run = await host.resume(id, { agent: team() });
      run.abort('enough');
      seen.push(...(await readAll(run)));
      expect(await run.result).toMatchObject({ ok: false, reason: 'aborted', data: { reason: 'enough', by: 'user' } });
    });
    expect(model.requests, `behind ${cut}`).toEqual([]);
    expect(validateLog(await logOf(store, id), { finished: true }), `behind ${cut}`).toEqual([]);
    expect(ofType(seen, 'stream_end').at(-1)).toMatchObject({ reason: 'aborted' });
  }
});

test('a run that was being aborted when its process ended ends aborted, and its calls stay cancelled', async () => {
  const store = memoryStore();
  const held = deferred<string>();
  const started = deferred();
  const stubborn = tool({
    name: 'danger',
    description: '.',
    parameters: { type: 'object' },
    execute() {
      started.resolve();
      return held.promise;
    },
  });
  const one = createHost({ models: { scripted: scriptedModel({ byAgent } as never) }, store, clock: virtualClock() });
  const stopped = agent({ name: 'a', tools: [stubborn] });
  const run = one.run(stopped, 'go', { sessionId: id, permissionMode: 'autonomous' });
  await started.promise;
  run.abort('enough');
  await run.result;
  const log = await logOf(store, id);
  held.resolve('late');
  await one.close();
  const part = log.slice(0, log.findIndex((event) => event.type === 'tool_response') + 1);
  const again = await storeWith(part, { id, agentName: 'a' });
  const model = scriptedModel({ byAgent } as never);
  await using two = createHost({ models: { scripted: model }, store: again, clock: virtualClock() });
  const resumed = await two.resume(id, { agent: stopped });
  expect(await resumed.result).toMatchObject({ reason: 'aborted', data: { reason: 'enough', by: 'user' } });
  expect(model.requests).toEqual([]);
  expect(validateLog(await logOf(again, id), { finished: true })).toEqual([]);
});

test('it is steered and updated like any other run', async () => {
  const { log } = await recordRun({ team, byAgent });
  const asked = log.findIndex((event) => event.type === 'elicitation_request');
  const store = await storeWith(log.slice(0, asked + 1), { id, agentName: 'team' });
  const model = scriptedModel({ byAgent } as never);
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = await host.resume(id, { agent: team() });
  run.steer({ message: 'be quick' }, { threadId: 'p_1.a_1' });
  run.update({ title: 'Taken up' });
  const seen = readAll(run);
  run.respond(run.state().pending[0]?.requestId as string, { action: 'accept' });
  expect(await run.result).toMatchObject({ ok: true, text: 'C' });
  const steered = ofType(await seen, 'message').filter((event) => event._meta?.steered === true);
  expect(steered).toMatchObject([{ threadId: 'p_1.a_1', content: [{ text: 'be quick' }] }]);
  expect(ofType(await seen, 'session_update')).toMatchObject([{ title: 'Taken up' }]);
  expect(JSON.stringify(model.requests.filter(({ _meta }) => _meta?.agent === 'a').at(-1)?.messages)).toContain(
    'be quick',
  );
});

test('time that was used counts on', async () => {
  const clock = virtualClock();
  const store = memoryStore();
  const slow = scriptedModel(
    (request) => ({
      ...(answersIn(request).length === 0 ? { toolCalls: [{ id: 'c1', name: 'danger', args: {} }] } : { text: 'late' }),
      delayMs: 40_000,
    }),
    { clock } as never,
  );
  const timed = agent({ name: 'a', tools: [danger], constraints: { maxTimeMinutes: 1 } });
  const one = createHost({ models: { scripted: slow }, store, clock });
  const run = one.run(timed, 'go', { sessionId: id });
  void readAll(run);
  await settle();
  await clock.advance(40_000);
  await until(() => run.state().pending.length === 1);
  await clock.advance(10 * 60_000);
  const log = await logOf(store, id);
  await one.close();
  const later = virtualClock();
  const again = await storeWith(log, { id, agentName: 'a' });
  const slowAgain = scriptedModel(() => ({ text: 'late', delayMs: 40_000 }), { clock: later } as never);
  await using two = createHost({ models: { scripted: slowAgain }, store: again, clock: later });
  const resumed = await two.resume(id, { agent: timed });
  void readAll(resumed);
  resumed.respond(resumed.state().pending[0]?.requestId as string, { action: 'accept' });
  await settle();
  await later.advance(19_999);
  expect(resumed.state().root.type).toBe('running');
  await later.advance(1);
  expect(await resumed.result).toMatchObject({ reason: 'max_time' });
});
