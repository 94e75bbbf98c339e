import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, hierarchical, loop, transfer } from '../../src/index.js';
import { slowStore } from '../support/slow-store.js';
import { collect, leaf, ofType } from '../support/team.js';
import { call, endsIn, hostWith, runTeam, startedIn, until } from '../support/teams.js';

/** One turn that makes these calls. */
const turn = (...calls: { toolCalls: { name: string; args: object }[] }[]) => ({
  toolCalls: calls.flatMap((one) => one.toolCalls),
});
const done = call('complete_task', { score: 1 });
const exit = call('exit_loop', { reason: 'good enough' });
const toB = call('transfer_to_agent', { target: 'b' });
const rated = agent({ name: 'a', outputSchema: z.object({ score: z.number() }) });
const errors = (events: readonly AgentEvent[]) =>
  ofType(events, 'tool_response').map((event) => [event.name, event.isError === true]);

test('a task that is completed in the turn that ends the loop is the result, and the loop ends (B038)', async () => {
  for (const store of [undefined, slowStore()]) {
    const team = loop({ name: 'l', children: [rated, leaf('b')], maxIterations: 10 });
    const options = store === undefined ? {} : { host: { store } };
    const { events, result, model } = await runTeam(team, { a: () => turn(done, exit) }, options);
    expect(model.requests).toHaveLength(1);
    expect(startedIn(events)).toEqual(['a']);
    expect(result).toMatchObject({ ok: true, result: { score: 1 }, data: { exit: 'escalated', iterations: 1 } });
  }
});

test('a leader that completes its task while a child of it ends the loop: the loop ends', async () => {
  const lead = hierarchical({
    name: 'lead',
    agent: agent({ name: 'boss', outputSchema: z.object({ score: z.number() }) }),
    children: [leaf('x')],
  });
  const team = loop({ name: 'l', children: [lead], maxIterations: 10 });
  const { model, result } = await runTeam(team, {
    boss: () => turn(done, call('x', { prompt: 'p' })),
    x: () => exit,
  });
  expect(model.requests).toHaveLength(2);
  expect(result).toMatchObject({ ok: true, data: { exit: 'escalated', iterations: 1 } });
});

test('of a handover and another end in one turn the first is taken, and the other gets an error (B056)', async () => {
  const team = loop({
    name: 'l',
    children: [transfer({ name: 't', members: [rated, leaf('b')], start: 'a' })],
    maxIterations: 1,
  });
  const b = { b: [{ text: 'B' }] };
  const handed = await runTeam(team, { a: [turn(toB, exit)], ...b });
  expect(errors(handed.events)).toEqual([
    ['transfer_to_agent', false],
    ['exit_loop', true],
  ]);
  expect(startedIn(handed.events)).toEqual(['t', 'a', 'b']);
  expect(handed.result.data).toMatchObject({ exit: 'max_iterations', result: 'B' });

  const left = await runTeam(team, { a: [turn(exit, toB)], ...b });
  expect(startedIn(left.events)).toEqual(['t', 'a']);
  expect(left.result.data).toMatchObject({ exit: 'escalated' });

  for (const calls of [turn(toB, done), turn(done, toB)]) {
    const both = await runTeam(team, { a: [calls], ...b });
    expect(
      errors(both.events)
        .map(([, isError]) => isError)
        .sort(),
    ).toEqual([false, true]);
    const isHandedOver = errors(both.events).some(([name, isError]) => name === 'transfer_to_agent' && !isError);
    expect(startedIn(both.events)).toEqual(isHandedOver ? ['t', 'a', 'b'] : ['t', 'a']);
    expect(both.result.result).toEqual(isHandedOver ? 'B' : { score: 1 });
  }
});

test('a handover that is cancelled while its summary is made was none: the next one is taken', async () => {
  const { host, model } = hostWith({
    a: [toB, { text: 'never', delayMs: 60_000 }, toB, { text: 'They want 42.' }],
    b: [{ text: 'B' }],
  });
  const run = host.run(transfer({ name: 't', members: [leaf('a'), leaf('b')], start: 'a', context: 'summary' }), 'go');
  const reading = collect(run);
  await until(() => model.requests.length === 2);
  run.abort('not yet', { requestId: 'c1' });
  const events = await reading;
  expect(ofType(events, 'tool_response').map((event) => event.errorType)).toEqual(['cancelled', undefined]);
  expect(endsIn(events)).toEqual(['a_1: completed', 'b_2: completed', '-: completed']);
  await host.close();
});
