import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { agent, hierarchical, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { stores } from '../support/stores.js';
import { leaf, ofType, readAll } from '../support/team.js';
import { asker, call, endsIn, hostWith, runTeam } from '../support/teams.js';

const read = (annotations = {}) =>
  tool({
    name: 'read',
    description: 'Reads.',
    parameters: { type: 'object' },
    annotations: { readOnly: true, ...annotations },
    execute: () => 'same',
  });
const asked = ({ requests }: { requests: readonly { _meta?: { agent?: string } }[] }, agentName: string) =>
  requests.filter((request) => request._meta?.agent === agentName).length;

describe('loops', () => {
  test('an escalation ends the nearest of three, each time anew (B040)', async () => {
    const innermost = loop({ name: 'l3', children: [leaf('a')], maxIterations: 9 });
    const inner = loop({ name: 'l2', children: [innermost, leaf('b')], maxIterations: 3 });
    const { model, result, events } = await runTeam(loop({ name: 'l1', children: [inner], maxIterations: 2 }), {
      a: (_, n) => (n % 2 === 1 ? call('exit_loop', { reason: 'enough' }) : { text: 'x' }),
      b: () => ({ text: 'B' }),
    });
    expect([asked(model, 'a'), asked(model, 'b')]).toEqual([12, 6]);
    expect(result).toMatchObject({ ok: true, data: { exit: 'max_iterations', iterations: 2 } });
    // What escalated is still to be read in the log.
    const escalations = ofType(events, 'stream_end').filter((event) => event.data?.escalateReason === 'enough');
    expect(escalations.map((event) => event.agentId)).toEqual(Array(6).fill('a'));
  });

  test('an escalation passes a parallel and a sequence, and what stands behind its loop runs once (B041)', async () => {
    const inner = loop({
      name: 'inner',
      children: [sequential({ name: 's', children: [parallel({ name: 'p', children: [leaf('a')] }), leaf('never')] })],
      maxIterations: 9,
    });
    const { model, result } = await runTeam(sequential({ name: 'root', children: [inner, leaf('summary')] }), {
      a: () => call('exit_loop'),
      summary: [{ text: 'S' }],
    });
    expect(model.requests.map((request) => request._meta?.agent)).toEqual(['a', 'summary']);
    expect(result.text).toBe('S');
  });

  test('who calls the same again and again is stopped in whatever it stands, also a leader (B043)', async () => {
    const repeats = (count: number) =>
      runTeam(
        sequential({ name: 's', children: [agent({ name: 'a', tools: [read()], constraints: { maxTurns: 60 } })] }),
        { a: (_, n) => call('read', { path: String(n % count) }) },
      );
    for (const [count, calls] of [
      [1, 6],
      [2, 7],
    ] as const) {
      const { model, result } = await repeats(count);
      expect(model.requests).toHaveLength(calls);
      expect(result.data).toMatchObject({ code: 'LOOP_DETECTED' });
    }
    const lead = hierarchical({ name: 'lead', agent: leaf('boss'), children: [leaf('x')] });
    const led = await runTeam(lead, { boss: () => call('x', { prompt: 'same' }), x: () => ({ text: 'X' }) });
    expect(asked(led.model, 'boss')).toBe(6);
    expect(led.result.data).toMatchObject({ code: 'LOOP_DETECTED' });
  });

  test.each<[string, (a: AgentDefinition) => AgentDefinition, string]>([
    ['a sequence', (a) => sequential({ name: 's', children: [a] }), '-: failed'],
    ['a parallel', (a) => parallel({ name: 's', children: [a] }), '-: failed'],
    ['a loop', (a) => loop({ name: 's', children: [a], maxIterations: 3 }), '-: failed'],
    ['a transfer', (a) => transfer({ name: 's', members: [a] as never, start: 'a' as never }), '-: failed'],
    ['nothing', (a) => a, '-: max_turns'],
  ])('two turns are two model calls in %s, and one end (B045)', async (_, around, end) => {
    const limited = agent({ name: 'a', tools: [read({ polling: true })], constraints: { maxTurns: 2 } });
    const { model, events } = await runTeam(around(limited), { a: () => call('read') });
    expect(model.requests).toHaveLength(2);
    expect(ofType(events, 'stream_end').filter((event) => event.reason === 'max_turns')).toHaveLength(1);
    expect(endsIn(events).at(-1)).toBe(end);
  });
});

const set = tool({
  name: 'set',
  description: 'Writes state.',
  parameters: z.object({ key: z.string(), value: z.unknown() }),
  annotations: { readOnly: true },
  execute({ key, value }, { state }) {
    state.set(key, value);
    return 'ok';
  },
});
const writes = <const Name extends string>(name: Name) => agent({ name, tools: [set] });
const setTo = (value: unknown, key = 'k') => call('set', { key, value });
const conflicts = (events: readonly AgentEvent[]) =>
  ofType(events, 'error').map(({ code, threadId, details }) => [code, threadId ?? '-', details?.conflicts]);

describe.each(stores)('state, %s', (_, makeStore) => {
  test.each<[string, AgentDefinition, string, string[]]>([
    ['two branches', parallel({ name: 'p', state: { k: {} }, children: [writes('a'), writes('b')] }), '-', ['a', 'b']],
    [
      'two branches in a sequence',
      sequential({
        name: 's',
        state: { k: {} },
        children: [parallel({ name: 'p', children: [writes('a'), writes('b')] }), leaf('z')],
      }),
      'p_1',
      ['a', 'b'],
    ],
    [
      'two branches in a loop',
      loop({
        name: 'l',
        state: { k: {} },
        children: [parallel({ name: 'p', children: [writes('a'), writes('b')] })],
        maxIterations: 3,
      }),
      'p_1',
      ['a', 'b'],
    ],
    [
      'branches of branches',
      parallel({
        name: 'p',
        state: { k: {} },
        children: [
          sequential({ name: 's', children: [writes('a')] }),
          sequential({ name: 't', children: [writes('b')] }),
        ],
      }),
      '-',
      ['s', 't'],
    ],
    [
      'two outputs of one key',
      parallel({ name: 'p', children: [agent({ name: 'a', outputKey: 'k' }), agent({ name: 'b', outputKey: 'k' })] }),
      '-',
      ['a', 'b'],
    ],
  ])(
    '%s that write one key differently fail the run, named, their results kept (B020)',
    async (__, team, at, branches) => {
      const isOutput = team.children?.some((child) => child.outputKey !== undefined) === true;
      const script = (value: number, text: string) => (isOutput ? [{ text }] : [setTo(value), { text }]);
      const { events, result } = await runTeam(
        team,
        { a: script(1, 'A'), b: script(2, 'B') },
        { host: { store: makeStore() } },
      );
      expect(conflicts(events)).toEqual([['STATE_CONFLICT', at, [{ key: 'k', branches }]]]);
      expect(result).toMatchObject({ reason: 'failed', data: { code: 'STATE_CONFLICT' } });
      expect(Object.values(result.data.result as object)).toEqual(['A', 'B']);
    },
  );

  test.each(['__proto__', 'constructor', 'prototype', 'toString'])(
    'a value with keys named %s pollutes nothing, wherever it goes (B018)',
    async (key) => {
      const evil = JSON.parse(`{"${key}":{"polluted":1},"in":[{"${key}":{"polluted":1}}],"ok":1}`) as object;
      const echo = tool({
        name: 'echo',
        description: 'Says it again.',
        parameters: { type: 'object' },
        annotations: { readOnly: true },
        execute: (args) => args as object,
      });
      const child = agent({ name: 'a', tools: [set, echo, asker('ask')] });
      const { host } = hostWith(
        { a: [setTo(evil), { toolCalls: [{ name: 'echo', args: evil }] }, call('ask'), { text: 'A' }] },
        { store: makeStore() },
      );
      const session = host.session(sequential({ name: 's', state: { k: {} }, children: [child] }));
      const paused = await readAll(session.stream({ kind: 'message', content: 'go' }).stream);
      const { requestId } = ofType(paused, 'elicitation_request')[0]!;
      const response = { action: 'accept', content: evil as Record<string, unknown> };
      await readAll(session.stream({ kind: 'elicitation_response', requestId, response }).stream);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      expect([Object.prototype.toString, Object.prototype.constructor]).toEqual([expect.any(Function), Object]);
      const kept = ofType(paused, 'session_update')[0]!.stateDelta as { k: { ok: number } };
      expect(kept.k.ok).toBe(1);
      expect(Object.getPrototypeOf(kept.k)).toBe(Object.prototype);
      await host.close();
    },
  );

  test('a session that stands sees what another wrote to a key of the application, and keeps its own (B023)', async () => {
    const seen: unknown[] = [];
    const exchange = tool({
      name: 'exchange',
      description: 'Reads, then writes.',
      parameters: { type: 'object' },
      annotations: { readOnly: true },
      execute(args, { state }) {
        const { n } = args as { n: number };
        seen.push([state.get('app:n'), state.get('n')]);
        state.set('app:n', n);
        state.set('n', n);
      },
    });
    const team = sequential({
      name: 's',
      state: { 'app:n': { initial: 0 }, n: { initial: 0 } },
      children: [agent({ name: 'a', tools: [exchange] })],
    });
    const { host } = hostWith(
      { a: (__, at) => (at % 2 === 0 ? call('exchange', { n: at / 2 + 1 }) : { text: 'A' }) },
      { store: makeStore() },
    );
    const [first, second] = [host.session(team), host.session(team)];
    for (const session of [first, second, first])
      await readAll(session.stream({ kind: 'message', content: 'go' }).stream);
    expect(seen).toEqual([
      [0, 0],
      [1, 0],
      [2, 1],
    ]);
    await host.close();
  });

  test('a child is called while it runs and after it: each is a thread of its own, over all messages (B070)', async () => {
    const lead = hierarchical({ name: 'h', agent: leaf('boss'), children: [leaf('x')] });
    const x = (prompt: string) => ({ name: 'x', args: { prompt } });
    const { host } = hostWith(
      {
        boss: [
          { toolCalls: [x('1'), x('2')] },
          { toolCalls: [x('3')] },
          { text: 'B' },
          { toolCalls: [x('4')] },
          { text: 'B' },
        ],
        x: () => ({ text: 'X' }),
      },
      { store: makeStore() },
    );
    const session = host.session(lead);
    const events: AgentEvent[] = [];
    for (const content of ['one', 'two'])
      events.push(...(await readAll(session.stream({ kind: 'message', content }).stream)));
    expect(ofType(events, 'agent_started').map((event) => event.threadId)).toEqual(['x_1', 'x_2', 'x_3', 'x_4']);
    await host.close();
  });

  test('a child that cannot be made is an error of its call, nowhere to be found, and takes no words (B075)', async () => {
    const { host } = hostWith(
      {
        boss: [
          call('bad', { prompt: 'x' }),
          { toolCalls: ['bad', 'good'].map((name) => ({ name, args: { prompt: 'y' } })) },
          { text: 'B' },
        ],
        good: [{ text: 'G' }],
      },
      { store: makeStore() },
    );
    host.registerExecutor('broken', () => {
      throw new Error('no backend');
    });
    const bad = agent({ name: 'bad', executor: 'broken' });
    const run = host.run(hierarchical({ name: 'h', agent: leaf('boss'), children: [bad, leaf('good')] }), 'go');
    const events: AgentEvent[] = [];
    let late = 0;
    for await (const event of run) {
      events.push(event);
      if (event.type !== 'agent_completed' || event.agentName !== 'bad') continue;
      expect(run.state().threads.map((thread) => thread.threadId)).not.toContain(event.threadId);
      try {
        run.steer({ message: 'hello' }, { threadId: event.threadId });
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: expect.stringMatching(/^(UNKNOWN_THREAD|SESSION_ENDED)$/) });
      }
      late++;
    }
    expect(late).toBe(2);
    expect(JSON.stringify(ofType(events, 'message'))).not.toContain('hello');
    const answers = ofType(events, 'tool_response').map((event) => [event.name, event.isError === true]);
    expect(answers).toEqual([
      ['bad', true],
      ['bad', true],
      ['good', false],
    ]);
    expect(await run.result).toMatchObject({ ok: true, text: 'B' });
    await host.close();
  });
});
