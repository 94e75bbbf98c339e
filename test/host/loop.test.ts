import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, hierarchical, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { collect, leaf, ofType, readAll, settle } from '../support/team.js';
import { asker, boom, call, endsIn, gate, hostWith, runTeam, startedIn, textsGiven, until } from '../support/teams.js';

const exit = call('exit_loop', { reason: 'good enough' });
const iterations = (events: readonly AgentEvent[]) => ofType(events, 'loop_iteration').map((event) => event.iteration);

test('its children run in order, exactly maxIterations times, each given what the one before came to', async () => {
  const team = loop({ name: 'l', children: [leaf('a'), leaf('b')], maxIterations: 3 });
  const { events, result, model } = await runTeam(team, {
    a: (_, n) => ({ text: `A${n}` }),
    b: (_, n) => ({ text: `B${n}` }),
  });
  expect(startedIn(events)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  expect([0, 1, 2].map((n) => textsGiven(model, 'a', n))).toEqual([['go'], ['B0'], ['B1']]);
  expect(ofType(events, 'loop_iteration')).toMatchObject([
    { iteration: 1, maxIterations: 3 },
    { iteration: 2, maxIterations: 3 },
    { iteration: 3, maxIterations: 3 },
  ]);
  expect(result).toMatchObject({
    ok: true,
    result: 'B2',
    data: { exit: 'max_iterations', results: { a: 'A2', b: 'B2' } },
  });
});

test('each iteration is told before its first child starts', async () => {
  const team = loop({ name: 'l', children: [leaf('a')], maxIterations: 2 });
  const { events } = await runTeam(team, { a: () => ({ text: 'A' }) });
  const told = events.filter((event) => event.type === 'loop_iteration' || event.type === 'agent_started');
  expect(told.map((event) => event.type)).toEqual([
    'loop_iteration',
    'agent_started',
    'loop_iteration',
    'agent_started',
  ]);
});

test.each([
  ['at once', (isOver: boolean) => isOver],
  ['later', (isOver: boolean) => settle(1).then(() => isOver)],
])('until ends it after an iteration, answered %s', async (_, answer) => {
  const seen: unknown[] = [];
  const team = loop({
    name: 'l',
    state: { score: { initial: 0 } },
    children: [agent({ name: 'a', outputSchema: z.object({ ok: z.boolean() }) })],
    maxIterations: 5,
    until: ({ state, last, iteration }) => {
      seen.push({ state: { ...state }, last, iteration });
      return answer(last.ok);
    },
  });
  const { events, result } = await runTeam(team, { a: (_, n) => ({ text: JSON.stringify({ ok: n === 1 }) }) });
  expect(iterations(events)).toEqual([1, 2]);
  expect(result).toMatchObject({ ok: true, result: { ok: true }, data: { exit: 'until' } });
  expect(seen).toEqual([
    { state: { score: 0 }, last: { ok: false }, iteration: 1 },
    { state: { score: 0 }, last: { ok: true }, iteration: 2 },
  ]);
});

test.each([
  [
    'throws',
    () => {
      throw new Error('no idea');
    },
  ],
  ['rejects', () => Promise.reject(new Error('no idea'))],
])('an until that %s fails the loop, and what there is is kept', async (_, ask) => {
  const team = loop({ name: 'l', children: [leaf('a')], maxIterations: 3, until: ask });
  const { events, result } = await runTeam(team, { a: () => ({ text: 'A' }) });
  expect(iterations(events)).toEqual([1]);
  expect(ofType(events, 'error')).toMatchObject([{ code: 'UNTIL_FAILED', message: 'until: no idea' }]);
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'UNTIL_FAILED', results: { a: 'A' } } });
});

test('a run is aborted while until never answers', async () => {
  const team = loop({
    name: 'l',
    children: [leaf('a')],
    maxIterations: 3,
    until: () => new Promise<boolean>(() => {}),
  });
  const { host } = hostWith({ a: () => ({ text: 'A' }) });
  const run = host.run(team, 'go');
  const events = collect(run);
  await settle();
  run.abort('enough');
  const all = await events;
  expect(endsIn(all)).toEqual(['a_1: completed', '-: aborted']);
  expect(ofType(all, 'stream_end').at(-1)?.data).not.toHaveProperty('forced');
  await host.close();
});

test('an until that fails after the run was aborted harms nobody', async () => {
  let fail: (thrown: Error) => void = () => {};
  const pending = new Promise<boolean>((_, reject) => {
    fail = reject;
  });
  const team = loop({ name: 'l', children: [leaf('a')], maxIterations: 3, until: () => pending });
  const { host } = hostWith({ a: () => ({ text: 'A' }) });
  const run = host.run(team, 'go');
  await settle();
  run.abort('enough');
  expect((await run.result).reason).toBe('aborted');
  fail(new Error('too late'));
  await settle();
  await host.close();
});

test('an until of a run that is over says nothing to the next', async () => {
  const failures: ((thrown: Error) => void)[] = [];
  const team = loop({
    name: 'l',
    children: [leaf('a')],
    maxIterations: 3,
    until: () => new Promise<boolean>((_, reject) => failures.push(reject)),
  });
  const { host } = hostWith({ a: () => ({ text: 'A' }) });
  const session = host.session(team);
  const first = session.stream({ kind: 'message', content: 'one' });
  const firstEvents = collect(first.stream);
  await until(() => failures.length === 1);
  first.controller.abort('enough');
  expect(endsIn(await firstEvents)).toEqual(['a_1: completed', '-: aborted']);
  const second = session.stream({ kind: 'message', content: 'two' });
  const rest = readAll(second.stream);
  await until(() => failures.length === 2);
  failures[0]!(new Error('too late'));
  await settle();
  second.controller.abort('enough, too');
  const events = await rest;
  expect(ofType(events, 'error')).toEqual([]);
  expect(ofType(events, 'stream_end').at(-1)?.data).toMatchObject({ reason: 'enough, too' });
  await host.close();
});

test('exit_loop ends it at once: one iteration, one model call (B038)', async () => {
  const team = loop({ name: 'l', children: [leaf('a'), leaf('b')], maxIterations: 10 });
  const { events, result, model } = await runTeam(team, { a: () => exit });
  expect(iterations(events)).toEqual([1]);
  expect(model.requests).toHaveLength(1);
  expect(endsIn(events)).toEqual(['a_1: completed', '-: completed']);
  expect(result).toMatchObject({ ok: true, data: { exit: 'escalated' } });
  expect(result.data).not.toHaveProperty('escalateReason');
  expect(ofType(events, 'stream_end')[0]).toMatchObject({ data: { escalateReason: 'good enough' } });
});

test('the output of a loop that was left is the last that there is', async () => {
  const team = loop({ name: 'l', children: [leaf('a'), leaf('b')], maxIterations: 10 });
  const { result } = await runTeam(team, { a: [{ text: 'A' }], b: [exit] });
  expect(result).toMatchObject({ result: 'A', data: { exit: 'escalated', results: { a: 'A' } } });
});

test('who ends a loop without a word, in a later round, leaves what was said before as its output', async () => {
  const alone = await runTeam(
    sequential({ name: 's', children: [loop({ name: 'l', children: [leaf('a')], maxIterations: 9 }), leaf('after')] }),
    { a: [{ text: 'A1' }, { text: 'A2' }, exit], after: [{ text: 'X' }] },
  );
  expect(textsGiven(alone.model, 'after')).toEqual(['A2']);
  // Nobody in it has said anything: what went into it goes on.
  const silent = await runTeam(
    sequential({
      name: 's',
      children: [leaf('before'), loop({ name: 'l', children: [leaf('a')], maxIterations: 9 }), leaf('after')],
    }),
    { before: [{ text: 'X' }], a: [exit], after: [{ text: 'Y' }] },
  );
  expect(textsGiven(silent.model, 'after')).toEqual(['X']);
  const two = loop({ name: 'l', children: [leaf('a'), leaf('b')], maxIterations: 9 });
  const first = await runTeam(two, { a: [{ text: 'A1' }, exit], b: [{ text: 'B1' }] });
  expect(first.result).toMatchObject({ result: 'B1', data: { results: { a: 'A1', b: 'B1' }, iterations: 2 } });
  const second = await runTeam(two, { a: [{ text: 'A1' }, { text: 'A2' }], b: [{ text: 'B1' }, exit] });
  expect(second.result).toMatchObject({ result: 'A2', data: { results: { a: 'A2', b: 'B1' }, iterations: 2 } });
});

test('it ends the nearest loop only (B040)', async () => {
  const inner = loop({ name: 'inner', children: [leaf('a')], maxIterations: 9 });
  const team = loop({ name: 'outer', children: [inner], maxIterations: 5 });
  const { events, model, result } = await runTeam(team, { a: (_, n) => (n % 5 === 4 ? exit : { text: `A${n}` }) });
  expect(model.requests).toHaveLength(25);
  const rounds = ofType(events, 'loop_iteration');
  expect(rounds.filter((event) => event.threadId === undefined)).toHaveLength(5);
  expect(rounds.filter((event) => event.threadId !== undefined)).toHaveLength(25);
  expect(result).toMatchObject({ ok: true, data: { exit: 'max_iterations' } });
  const escalations = ofType(events, 'stream_end').filter((event) => event.data?.escalateReason !== undefined);
  expect(escalations.map((event) => event.agentId)).toEqual(['a', 'a', 'a', 'a', 'a']);
});

test('what comes after the loop runs once (B041)', async () => {
  const team = sequential({
    name: 's',
    children: [loop({ name: 'l', children: [leaf('a')], maxIterations: 5 }), leaf('summary')],
  });
  const { model, result } = await runTeam(team, { a: [{ text: 'A' }, exit], summary: [{ text: 'S' }] });
  expect(model.requests.map((request) => request._meta?.agent)).toEqual(['a', 'a', 'summary']);
  expect(result.result).toBe('S');
});

test('an escalation passes through a sequence, and what is left of it does not run', async () => {
  const steps = sequential({ name: 's', children: [leaf('a'), leaf('b')] });
  const team = loop({ name: 'l', children: [steps, leaf('c')], maxIterations: 5 });
  const { events, result } = await runTeam(team, { a: [exit] });
  expect(startedIn(events)).toEqual(['s', 'a']);
  expect(result.data).toMatchObject({ exit: 'escalated' });
});

test('an escalation in one branch stops its siblings before anything more is said (B013)', async () => {
  const slow = gate('slow');
  const branches = parallel({ name: 'p', children: [agent({ name: 'a', tools: [slow.tool] }), leaf('b')] });
  const team = loop({ name: 'l', children: [branches], maxIterations: 5 });
  const { host } = hostWith({ a: [call('slow'), { text: 'A' }], b: [call('exit_loop')] });
  const run = host.run(team, 'go');
  const events = await collect(run);
  const escalated = events.findIndex(
    (event) => event.type === 'stream_end' && event.data?.escalateReason !== undefined,
  );
  expect(events.slice(escalated).filter((event) => event.type === 'message')).toEqual([]);
  expect(endsIn(events)).toEqual(['p_1.b_2: completed', 'p_1.a_1: aborted', 'p_1: completed', '-: completed']);
  const cancelled = ofType(events, 'tool_response').find((event) => event.name.endsWith('slow'));
  expect(cancelled).toMatchObject({ isError: true, errorType: 'cancelled' });
  expect((await run.result).data).toMatchObject({ exit: 'escalated' });
  await host.close();
});

test('a child that its leader called ends the loop, and its siblings with it', async () => {
  const slow = gate('slow');
  const lead = hierarchical({
    name: 'lead',
    agent: leaf('planner'),
    children: [leaf('a'), agent({ name: 'b', tools: [slow.tool] })],
  });
  const team = loop({ name: 'l', children: [lead], maxIterations: 5 });
  const both = { toolCalls: ['b', 'a'].map((name) => ({ name, args: { prompt: 'x' } })) };
  const { host, model } = hostWith({
    planner: [both],
    a: [call('exit_loop', { reason: 'done' })],
    b: [call('slow')],
  });
  const run = host.run(team, 'go');
  const events = await collect(run);
  expect(model.requests.filter((request) => request._meta?.agent === 'planner')).toHaveLength(1);
  expect(endsIn(events).slice(-2)).toEqual(['lead_1: completed', '-: completed']);
  expect(endsIn(events)).toContain('lead_1.b_1: aborted');
  expect((await run.result).data).toMatchObject({ exit: 'escalated' });
  await host.close();
});

test('a member of a transfer ends the loop around it', async () => {
  const desk = transfer({ name: 'desk', members: [leaf('a'), leaf('b')], start: 'a' });
  const team = loop({ name: 'l', children: [desk], maxIterations: 5 });
  const { events, result } = await runTeam(team, { a: [call('transfer_to_agent', { target: 'b' })], b: [exit] });
  expect(iterations(events)).toEqual([1]);
  expect(result.data).toMatchObject({ exit: 'escalated' });
});

test('an executor escalates with its stream_end', async () => {
  const { host } = hostWith({});
  host.registerExecutor('theirs', () => ({
    turn: async () => ({ reason: 'completed', data: { result: 'R', escalateReason: 'theirs' } }),
  }));
  const team = loop({ name: 'l', children: [agent({ name: 'a', executor: 'theirs' }), leaf('b')], maxIterations: 5 });
  const run = host.run(team, 'go');
  expect(startedIn(await collect(run))).toEqual(['a']);
  expect(await run.result).toMatchObject({ ok: true, result: 'R', data: { exit: 'escalated' } });
  await host.close();
});

test('where there is no loop to end, an escalation ends nothing', async () => {
  const { host } = hostWith({ planner: [call('x', { prompt: 'p' }), { text: 'P' }], b: () => ({ text: 'B' }) });
  host.registerExecutor('theirs', () => ({
    turn: async () => ({ reason: 'completed', data: { result: 'R', escalateReason: 'theirs' } }),
  }));
  const theirs = <const Name extends string>(name: Name) => agent({ name, executor: 'theirs' });
  const inOrder = host.run(sequential({ name: 's', children: [theirs('a'), leaf('b')] }), 'go');
  expect(await inOrder.result).toMatchObject({ ok: true, result: 'B' });
  const atOnce = host.run(parallel({ name: 'p', children: [theirs('a'), leaf('b')] }), 'go');
  expect(await atOnce.result).toMatchObject({ ok: true, result: { a: 'R', b: 'B' } });
  const led = host.run(hierarchical({ name: 'l', agent: leaf('planner'), children: [theirs('x')] }), 'go');
  expect(await led.result).toMatchObject({ ok: true, result: 'P' });
  await host.close();
});

test('calls before exit_loop in its turn still run, those after it do not', async () => {
  const ran: string[] = [];
  const write = tool({
    name: 'write',
    description: 'Writes.',
    parameters: z.object({ text: z.string() }),
    async execute({ text }) {
      await settle(1);
      ran.push(text);
      return 'written';
    },
  });
  const team = loop({ name: 'l', children: [agent({ name: 'a', tools: [write] })], maxIterations: 5 });
  const turn = {
    toolCalls: [
      { name: 'write', args: { text: 'before' } },
      { name: 'exit_loop', args: {} },
      { name: 'write', args: { text: 'after' } },
    ],
  };
  const { events, result } = await runTeam(team, { a: [turn] }, { run: { permissionMode: 'autonomous' } });
  expect(ran).toEqual(['before']);
  expect(ofType(events, 'tool_response').map((event) => event.errorType)).toEqual([undefined, undefined, 'cancelled']);
  expect(result.data).toMatchObject({ exit: 'escalated' });
});

test('a question that is open when the loop is ended is withdrawn', async () => {
  const branches = parallel({
    name: 'p',
    children: [agent({ name: 'a', tools: [asker('ask')] }), agent({ name: 'b', tools: [gate('g').tool] })],
  });
  const open = gate('open');
  const team = loop({ name: 'l', children: [branches, leaf('c')], maxIterations: 5 });
  const { host } = hostWith({ a: [call('ask')], b: [call('exit_loop')] });
  const run = host.run(team, 'go');
  const events = await collect(run);
  open.open('');
  for (const request of ofType(events, 'elicitation_request')) {
    const answers = ofType(events, 'elicitation_response').filter((event) => event.requestId === request.requestId);
    expect(answers).toMatchObject([{ action: 'cancel' }]);
  }
  expect((await run.result).data).toMatchObject({ exit: 'escalated' });
  await host.close();
});

test('outside a loop there is no exit_loop', async () => {
  const { events, result } = await runTeam(leaf('a'), { a: [exit, { text: 'A' }] });
  expect(ofType(events, 'tool_response')).toMatchObject([{ isError: true, errorType: 'tool_not_registered' }]);
  expect(result.result).toBe('A');
});

test('a child that fails ends it with what there is', async () => {
  const team = loop({ name: 'l', children: [leaf('a'), leaf('b')], maxIterations: 5 });
  const { events, result } = await runTeam(team, { a: () => ({ text: 'A' }), b: [{ text: 'B' }, boom()] });
  expect(iterations(events)).toEqual([1, 2]);
  expect(result).toMatchObject({ reason: 'failed', data: { message: 'b: boom', results: { a: 'A' } } });
});

test('a loop of a thousand rounds keeps nothing of those before', async () => {
  const team = loop({ name: 'l', children: [leaf('a')], maxIterations: 1000 });
  const { host, model } = hostWith({ a: () => ({ text: 'A' }) });
  const run = host.run(team, 'go');
  expect((await run.result).data).toMatchObject({ exit: 'max_iterations', iterations: 1000 });
  expect(model.requests.at(-1)?.messages).toHaveLength(1);
  expect(run.state().threads).toHaveLength(1);
  await until(() => true);
  await host.close();
});
