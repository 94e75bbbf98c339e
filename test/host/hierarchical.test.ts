import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, hierarchical, parallel, sequential, tool } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { collect, leaf, ofType } from '../support/team.js';
import {
  asker,
  boom,
  call,
  endsIn,
  gate,
  hostWith,
  lastTextGiven,
  runTeam,
  startedIn,
  textsGiven,
  until,
} from '../support/teams.js';

const ask = (name: string, prompt = 'x') => call(name, { prompt });
const both = (...names: string[]) => ({ toolCalls: names.map((name) => ({ name, args: { prompt: `for ${name}` } })) });
const lead = (children: Parameters<typeof hierarchical>[0]['children'], options: object = {}) =>
  hierarchical({ name: 'lead', agent: leaf('planner'), children, ...options } as never);
const responses = (events: readonly AgentEvent[]) => ofType(events, 'tool_response');
const textOf = (event: { llmContent: unknown } | undefined) => JSON.stringify(event?.llmContent);

test('the leader sees each child as a tool, and is given only its final result', async () => {
  const facts = agent({
    name: 'facts',
    description: 'Finds facts.',
    inputSchema: z.object({ topic: z.string() }),
    outputSchema: z.object({ n: z.number() }),
  });
  const { events, result, model } = await runTeam(lead([leaf('a'), facts]), {
    planner: [{ toolCalls: [...ask('a').toolCalls, ...call('facts', { topic: 'bees' }).toolCalls] }, { text: 'P' }],
    a: [{ text: ['th', 'inking '], toolCalls: [{ name: 'nothing', args: {} }] }, { text: 'A' }],
    facts: [{ text: '{"n":1}' }],
  });
  expect(model.requests[0]?.tools).toMatchObject([
    { name: 'a', description: 'a', parametersSchema: { properties: { prompt: { type: 'string' } } } },
    { name: 'facts', description: 'Finds facts.', parametersSchema: { properties: { topic: { type: 'string' } } } },
  ]);
  expect(lastTextGiven(model, 'facts')).toBe('{"topic":"bees"}');
  const ofLeader = responses(events).filter((event) => event.threadId === undefined);
  expect(ofLeader.find((event) => event.name === 'a')).toMatchObject({ llmContent: [{ type: 'text', text: 'A' }] });
  expect(ofLeader.find((event) => event.name === 'facts')).toMatchObject({
    llmContent: [{ type: 'text', text: '{"n":1}' }],
    data: { n: 1 },
  });
  expect(result).toMatchObject({ ok: true, result: 'P' });
});

test('a child’s messages show as progress of its call, and stand whole on its own thread', async () => {
  const { events } = await runTeam(lead([leaf('a')]), {
    planner: [ask('a'), { text: 'P' }],
    a: [{ text: ['one ', 'two'] }],
  });
  const request = ofType(events, 'tool_request')[0]!;
  const updates = ofType(events, 'tool_update').filter((event) => event.content !== undefined);
  expect(updates).toMatchObject([
    { requestId: request.requestId, content: [{ text: 'one ' }] },
    { requestId: request.requestId, content: [{ text: 'two' }] },
  ]);
  expect(updates.every((event) => event.threadId === undefined)).toBe(true);
  const own = ofType(events, 'message').filter((event) => event.threadId === 'a_1' && event.role === 'agent');
  expect(own.map((event) => event.content)).toMatchObject([[{ text: 'one ' }], [{ text: 'two' }]]);
});

test('what is said anywhere below a composition that is called shows as progress of the call', async () => {
  const inner = sequential({
    name: 'inner',
    children: [leaf('a'), hierarchical({ name: 'mid', agent: leaf('middle'), children: [leaf('b')] })],
  });
  const { events } = await runTeam(lead([inner]), {
    planner: [ask('inner'), { text: 'P' }],
    a: [{ text: 'A' }],
    middle: [ask('b'), { text: 'M' }],
    b: [{ text: 'B' }],
  });
  const shown = ofType(events, 'tool_update').filter((event) => event.content !== undefined);
  expect(
    shown.map((event) => [
      event.threadId ?? '-',
      event.content?.map((part) => part.type === 'text' && part.text).join(''),
    ]),
  ).toEqual([
    ['-', 'A'],
    ['inner_1.mid_2', 'B'],
    ['-', 'M'],
  ]);
});

test('progress of a child’s tools shows as progress of its call, too', async () => {
  const work = tool({
    name: 'work',
    description: 'Works.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute(_, { progress }) {
      progress(0.5);
      progress('halfway');
      return 'done';
    },
  });
  const { events } = await runTeam(lead([agent({ name: 'a', tools: [work] })]), {
    planner: [ask('a'), { text: 'P' }],
    a: [call('work'), { text: 'A' }],
  });
  const atLeader = ofType(events, 'tool_update').filter(
    (event) => event.threadId === undefined && event.status === undefined,
  );
  expect(atLeader).toMatchObject([
    { data: { threadId: 'a_1', tool: 'a.work', progress: 0.5 } },
    { content: [{ text: 'halfway' }], data: { threadId: 'a_1', tool: 'a.work' } },
    { content: [{ text: 'A' }] },
  ]);
  expect(atLeader[0]).not.toHaveProperty('progress');
});

test('several children of one turn run side by side', async () => {
  const gates = ['ga', 'gb'].map(gate);
  const team = lead([agent({ name: 'a', tools: [gates[0]!.tool] }), agent({ name: 'b', tools: [gates[1]!.tool] })]);
  const { host, model } = hostWith({
    planner: [both('a', 'b'), { text: 'P' }],
    a: [call('ga'), { text: 'A' }],
    b: [call('gb'), { text: 'B' }],
  });
  const run = host.run(team, 'go');
  const events = collect(run);
  await Promise.all(gates.map((one) => one.running));
  gates[1]!.open('');
  gates[0]!.open('');
  await events;
  const answers = model.requests.at(-1)?.messages.at(-1)?.content;
  expect(answers).toMatchObject([
    { name: 'a', response: { output: 'A' } },
    { name: 'b', response: { output: 'B' } },
  ]);
  expect(findBrokenPairs(model.requests.at(-1)!.messages)).toEqual([]);
  await host.close();
});

test('no more of them live at once than its concurrency allows', async () => {
  let live = 0;
  let most = 0;
  const { host } = hostWith({
    planner: [both('a', 'b', 'c', 'd'), { text: 'P' }],
    a: [{ text: 'A' }],
    b: [{ text: 'B' }],
    c: [{ text: 'C' }],
    d: [{ text: 'D' }],
  });
  const run = host.run(lead([leaf('a'), leaf('b'), leaf('c'), leaf('d')], { concurrency: 2 }), 'go');
  const events = await collect(run);
  for (const event of events) {
    if (event.type === 'agent_started') most = Math.max(most, ++live);
    if (event.type === 'agent_completed') live--;
  }
  expect(most).toBe(2);
  expect((await run.result).ok).toBe(true);
  await host.close();
});

test('a child of a leader that waits for an answer takes no place', async () => {
  const team = lead([agent({ name: 'a', tools: [asker('ask')] }), leaf('b')], { concurrency: 1 });
  const { host } = hostWith({
    planner: [both('a', 'b'), { text: 'P' }],
    a: [call('ask'), { text: 'A' }],
    b: [{ text: 'B' }],
  });
  const run = host.run(team, 'go');
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of run) events.push(event);
  })();
  await until(() => endsIn(events).includes('b_2: completed'));
  run.respond(run.state().pending[0]!.requestId, { action: 'accept' });
  await reading;
  expect(endsIn(events)).toEqual(['b_2: completed', 'a_1: completed', '-: completed']);
  await host.close();
});

test('the same child is called twice, at once and again (B070)', async () => {
  const { events } = await runTeam(lead([leaf('x')]), {
    planner: [both('x', 'x'), ask('x'), { text: 'P' }],
    x: (_: never, n: number) => ({ text: `X${n}` }),
  });
  expect(ofType(events, 'agent_started').map((event) => event.threadId)).toEqual(['x_1', 'x_2', 'x_3']);
  expect(responses(events)).toHaveLength(3);
});

test('a child that fails is an error of its call, with what it had', async () => {
  const limited = agent({ name: 'b', constraints: { maxTurns: 1 } });
  const { events, result } = await runTeam(lead([leaf('a'), limited]), {
    planner: [both('a', 'b'), { text: 'P' }],
    a: [boom()],
    b: [{ text: 'so far', toolCalls: [{ name: 'nothing', args: {} }] }],
  });
  const [a, b] = ['a', 'b'].map((name) => responses(events).find((event) => event.name === name));
  expect(a).toMatchObject({ isError: true, errorType: 'execution_failed' });
  expect(textOf(a)).toContain('a ended with failed: boom');
  expect(textOf(b)).toContain('its result so far: so far');
  expect(result).toMatchObject({ ok: true, result: 'P' });
});

test('a child that cannot be made is an error of its call (B075)', async () => {
  const { host } = hostWith({ planner: [ask('a'), { text: 'P' }] });
  host.registerExecutor('broken', () => {
    throw new Error('no backend');
  });
  const run = host.run(lead([agent({ name: 'a', executor: 'broken' })]), 'go');
  const events = await collect(run);
  expect(textOf(responses(events)[0])).toContain('no backend');
  expect(run.state().threads).toHaveLength(1);
  expect((await run.result).ok).toBe(true);
  await host.close();
});

test('arguments that do not fit a child start nobody', async () => {
  const picky = agent({ name: 'a', inputSchema: z.object({ topic: z.string() }) });
  const { events } = await runTeam(lead([picky]), { planner: [call('a', { topic: 1 }), { text: 'P' }] });
  expect(responses(events)[0]).toMatchObject({ isError: true, errorType: 'invalid_tool_params' });
  expect(startedIn(events)).toEqual([]);
});

test('one call is cancelled and the others go on', async () => {
  const gates = ['ga', 'gb'].map(gate);
  const team = lead([
    agent({ name: 'a', tools: [gates[0]!.tool] }),
    agent({ name: 'b', tools: [gates[1]!.tool] }),
    leaf('c'),
  ]);
  const { host } = hostWith({
    planner: [both('a', 'b', 'c'), { text: 'P' }],
    a: [call('ga'), { text: 'A' }],
    b: [call('gb'), { text: 'B' }],
    c: [{ text: 'C' }],
  });
  const run = host.run(team, 'go');
  const events = collect(run);
  await Promise.all(gates.map((one) => one.running));
  run.abort('not that', { threadId: 'b_2' });
  gates[0]!.open('');
  const all = await events;
  expect(responses(all).filter((event) => event.threadId === undefined && event.isError)).toMatchObject([
    { name: 'b', errorType: 'cancelled' },
  ]);
  expect(gates[1]!.isAborted()).toBe(true);
  expect(endsIn(all).at(-1)).toBe('-: completed');
  await host.close();
});

test('one call is cancelled by its requestId', async () => {
  const gates = ['ga', 'gb'].map(gate);
  const team = lead([agent({ name: 'a', tools: [gates[0]!.tool] }), agent({ name: 'b', tools: [gates[1]!.tool] })], {
    concurrency: 1,
  });
  const { host } = hostWith({ planner: [both('a', 'b'), { text: 'P' }], a: [call('ga'), { text: 'A' }] });
  const run = host.run(team, 'go');
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of run) events.push(event);
  })();
  await gates[0]!.running;
  // The second one waits for its place: it never starts.
  const [, second] = ofType(events, 'tool_request');
  run.abort('not that', { requestId: second!.requestId });
  gates[0]!.open('');
  await reading;
  expect(startedIn(events)).toEqual(['a']);
  expect(responses(events).find((event) => event.requestId === second!.requestId)).toMatchObject({
    isError: true,
    errorType: 'cancelled',
  });
  expect(endsIn(events).at(-1)).toBe('-: completed');
  await host.close();
});

test('an abort of the leader aborts what it called, children first', async () => {
  const slow = gate('slow');
  const { host, model } = hostWith({ planner: [ask('a')], a: [call('slow')] });
  const run = host.run(lead([agent({ name: 'a', tools: [slow.tool] })]), 'go');
  const events = collect(run);
  await slow.running;
  run.abort('enough');
  const all = await events;
  expect(endsIn(all)).toEqual(['a_1: aborted', '-: aborted']);
  expect(responses(all).map((event) => [event.threadId ?? '-', event.errorType])).toEqual([
    ['a_1', 'cancelled'],
    ['-', 'cancelled'],
  ]);
  expect(ofType(all, 'stream_end')[0]?.data).toMatchObject({ reason: 'enough', by: 'user' });
  expect(model.requests).toHaveLength(2);
  await host.close();
});

test('the leader keeps its conversation from message to message, its children begin anew', async () => {
  const { host, model } = hostWith({
    planner: [ask('a', 'first'), { text: 'P1' }, ask('a', 'second'), { text: 'P2' }],
    a: () => ({ text: 'A' }),
  });
  const session = host.session(lead([leaf('a')]));
  await collect(session.stream({ kind: 'message', content: 'one' }).stream);
  const threads: (string | undefined)[] = [];
  for await (const event of session.stream({ kind: 'message', content: 'two' }).stream) {
    if (event.type === 'agent_started') threads.push(event.threadId);
  }
  expect(threads).toEqual(['a_2']);
  expect(textsGiven(model, 'planner', 2)).toEqual(['one', '<function_call>', '<function_response>', 'P1', 'two']);
  expect(textsGiven(model, 'a', 1)).toEqual(['second']);
  await host.close();
});

test('the leader runs on the composition’s own thread, under its own name', async () => {
  const { events } = await runTeam(parallel({ name: 'p', children: [lead([leaf('a')])] }), {
    planner: [ask('a'), { text: 'P' }],
    a: [{ text: 'A' }],
  });
  expect(ofType(events, 'agent_started').map((event) => [event.agentName, event.threadId])).toEqual([
    ['lead', 'lead_1'],
    ['a', 'lead_1.a_1'],
  ]);
  const said = ofType(events, 'message').filter((event) => event.role === 'agent' && event.threadId === 'lead_1');
  expect(said.map((event) => event.agentId)).toEqual(['planner']);
});

test('a limit of the whole counts the calls of leader and children', async () => {
  const { result, events } = await runTeam(lead([leaf('a')], { constraints: { maxLlmCalls: 2 } }), {
    planner: [ask('a'), { text: 'P' }],
    a: [{ text: 'A' }],
  });
  expect(result).toMatchObject({ reason: 'max_turns', data: { limit: 'maxLlmCalls', used: 2 } });
  expect(endsIn(events)).toEqual(['a_1: completed', '-: max_turns']);
});

test('a child in which a limit of the whole is reached is aborted, not completed', async () => {
  const { events, result } = await runTeam(lead([leaf('a')], { constraints: { maxLlmCalls: 2 } }), {
    planner: [ask('a')],
    a: [call('nothing'), { text: 'A' }],
  });
  expect(endsIn(events)).toEqual(['a_1: aborted', '-: max_turns']);
  expect(result.reason).toBe('max_turns');
});

test('mapInput reshapes what a call gives its child', async () => {
  const team = lead([leaf('a')], { mapInput: (child: string, { input }: { input: unknown }) => `${child}: ${input}` });
  const { model } = await runTeam(team, { planner: [ask('a', 'look'), { text: 'P' }], a: [{ text: 'A' }] });
  expect(lastTextGiven(model, 'planner')).toBe('go');
  expect(lastTextGiven(model, 'a')).toBe('a: look');
});

test('words for the leader are for it, not for its children', async () => {
  const slow = gate('slow');
  const { host, model } = hostWith({ planner: [ask('a'), { text: 'P' }], a: [call('slow'), { text: 'A' }] });
  const run = host.run(lead([agent({ name: 'a', tools: [slow.tool] })]), 'go');
  const events = collect(run);
  await slow.running;
  run.steer({ message: 'hurry' });
  slow.open('');
  await events;
  expect(textsGiven(model, 'planner', 1).at(-1)).toBe('hurry');
  expect(JSON.stringify(model.requests.filter((request) => request._meta?.agent === 'a'))).not.toContain('hurry');
  await host.close();
});

test('children are counted in the order of their calls, whatever their inputs are checked by', async () => {
  const checked = agent({ name: 'checked', inputSchema: z.object({ q: z.string().default('?') }) });
  const slow = agent({
    name: 'slow',
    inputSchema: z.object({ q: z.string().refine(async () => true) }),
  });
  const team = hierarchical({ name: 'lead', agent: leaf('boss'), children: [slow, checked, leaf('plain')] });
  const calls = [
    { name: 'slow', args: { q: 'x' } },
    { name: 'checked', args: {} },
    { name: 'plain', args: { prompt: 'x' } },
  ];
  const { events, model } = await runTeam(team, {
    boss: [{ toolCalls: calls }, { text: 'done' }],
    slow: [{ text: '1' }],
    checked: [{ text: '2' }],
    plain: [{ text: '3' }],
  });
  const started = ofType(events, 'agent_started').map(({ threadId }) => threadId);
  expect([...started].sort()).toEqual(['checked_2', 'plain_3', 'slow_1']);
  expect(started.indexOf('checked_2')).toBeLessThan(started.indexOf('plain_3'));
  expect(textsGiven(model, 'checked')).toEqual(['{"q":"?"}']);
});
