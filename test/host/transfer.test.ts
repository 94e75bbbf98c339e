import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent, Executor, ModelMessage } from '../../src/contracts/index.js';
import { agent, parallel, sequential, tool, transfer } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { collect, leaf, ofType, settle } from '../support/team.js';
import {
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

const handTo = (target: string, reason?: string) =>
  call('transfer_to_agent', reason === undefined ? { target } : { target, reason });
const desk = (options: object = {}) =>
  transfer({ name: 'desk', members: [leaf('a'), leaf('b'), leaf('c')], start: 'a', ...options });
const responseIn = (events: readonly AgentEvent[]) => ofType(events, 'tool_response')[0];
const textOfResponse = (events: readonly AgentEvent[]) => JSON.stringify(responseIn(events)?.llmContent);

describe('a handover', () => {
  test('is told, ends the one that hands over, and starts its target with the conversation', async () => {
    const { events, result, model } = await runTeam(desk(), {
      a: [{ text: 'Let me see.', ...handTo('b', 'it is about money') }],
      b: [{ text: 'B' }],
    });
    const told = events.filter((event) => ['agent_transfer', 'stream_end', 'agent_started'].includes(event.type));
    expect(told.map((event) => [event.type, event.threadId])).toEqual([
      ['agent_started', 'a_1'],
      ['agent_transfer', undefined],
      ['stream_end', 'a_1'],
      ['agent_started', 'b_2'],
      ['stream_end', 'b_2'],
      ['stream_end', undefined],
    ]);
    expect(ofType(events, 'agent_transfer')).toMatchObject([
      { from: 'a', to: 'b', reason: 'it is about money', agentId: 'desk', source: 'host' },
    ]);
    expect(ofType(events, 'stream_end')[0]).toMatchObject({
      reason: 'completed',
      data: { handoffTarget: 'b', result: 'Let me see.' },
    });
    expect(textsGiven(model, 'b')).toEqual([
      'go',
      'Let me see.<function_call>',
      '<function_response>',
      'a handed the conversation over to you: it is about money.',
    ]);
    expect(result).toMatchObject({ ok: true, result: 'B' });
  });

  test('leaves every call with its response (B046)', async () => {
    const look = tool({
      name: 'look',
      description: 'Looks.',
      parameters: z.object({}),
      annotations: { readOnly: true },
      execute: () => 'seen',
    });
    const team = transfer({ name: 't', members: [agent({ name: 'a', tools: [look] }), leaf('b')], start: 'a' });
    const { model } = await runTeam(team, {
      a: [call('look'), { toolCalls: [...call('look').toolCalls, ...handTo('b').toolCalls] }],
      b: [{ text: 'B' }],
    });
    const messages = model.requests.at(-1)!.messages;
    expect(findBrokenPairs(messages)).toEqual([]);
    expect(messages.flatMap((one) => one.content).filter((part) => part.type === 'function_response')).toHaveLength(3);
  });

  test('goes back and forth, each member with all that was said', async () => {
    const { model, result } = await runTeam(desk(), {
      a: [handTo('b'), { text: 'A again' }],
      b: [{ text: 'I am b.', ...handTo('a') }],
    });
    expect(textsGiven(model, 'a', 1)).toEqual([
      'go',
      '<function_call>',
      '<function_response>',
      'a handed the conversation over to you.',
      'I am b.<function_call>',
      '<function_response>',
      'b handed the conversation over to you.',
    ]);
    expect(result.result).toBe('A again');
  });

  test.each([' B\n', '"b"', '`b`', "'B'"])('takes %j for the one that is meant (B055)', async (target) => {
    const { events } = await runTeam(desk(), { a: [handTo(target)], b: [{ text: 'B' }] });
    expect(ofType(events, 'agent_transfer')).toMatchObject([{ to: 'b' }]);
  });

  test.each(['nobody', 'user', 'a', '', 'desk'])(
    'to %j is an error that lists who is permitted, and the member goes on',
    async (target) => {
      const { events, result } = await runTeam(desk(), { a: [handTo(target), { text: 'A' }] });
      expect(responseIn(events)).toMatchObject({ isError: true });
      expect(textOfResponse(events)).toContain('permitted: b, c');
      expect(startedIn(events)).toEqual(['a']);
      expect(result).toMatchObject({ ok: true, result: 'A' });
    },
  );

  test('to one that its targets do not name is refused', async () => {
    const team = desk({ targets: { a: ['b'], b: ['c'] } });
    const { events, result } = await runTeam(team, {
      a: [handTo('c'), handTo('b')],
      b: [handTo('c')],
      c: [{ text: 'C' }],
    });
    expect(textOfResponse(events)).toContain('permitted: b');
    expect(result.result).toBe('C');
    const tools = ofType(events, 'initialize').map((event) => event.tools?.map((one) => one.parametersSchema));
    expect(tools).toMatchObject([
      undefined,
      [{ properties: { target: { enum: ['b'] } } }],
      [{ properties: { target: { enum: ['c'] } } }],
      undefined,
    ]);
  });

  test('is given once: a second call in the same turn gets an error (B056)', async () => {
    const both = { toolCalls: [...handTo('b').toolCalls, ...handTo('c').toolCalls] };
    const { events } = await runTeam(desk(), { a: [both], b: [{ text: 'B' }] });
    expect(startedIn(events)).toEqual(['a', 'b']);
    expect(ofType(events, 'tool_response').map((event) => event.isError === true)).toEqual([false, true]);
    expect(ofType(events, 'agent_transfer')).toHaveLength(1);
  });

  test('to a member that cannot be made is an error, and the one that is active goes on (B048)', async () => {
    const { host, model } = hostWith({ a: [handTo('b'), { text: 'A' }] });
    host.registerExecutor('broken', () => {
      throw new Error('no backend');
    });
    const team = transfer({ name: 't', members: [leaf('a'), agent({ name: 'b', executor: 'broken' })], start: 'a' });
    const session = host.session(team);
    const events = await collect(session.stream({ kind: 'message', content: 'go' }).stream);
    expect(responseIn(events)).toMatchObject({ isError: true, errorType: 'execution_failed' });
    expect(textOfResponse(events)).toContain('no backend');
    expect(startedIn(events)).toEqual(['a']);
    expect(ofType(events, 'agent_transfer')).toEqual([]);
    expect(model.requests).toHaveLength(2);
    await host.close();
  });

  test('makes its target’s executor once, and lets go of it at the end', async () => {
    const made: string[] = [];
    const { host } = hostWith({ a: [handTo('b')] });
    host.registerExecutor('theirs', (descriptor): Executor => {
      made.push(descriptor.name);
      return {
        turn: async () => ({ reason: 'completed', data: { result: 'T' } }),
        close: () => void made.push('closed'),
      };
    });
    const team = transfer({ name: 't', members: [leaf('a'), agent({ name: 'b', executor: 'theirs' })], start: 'a' });
    expect(await host.run(team, 'go').result).toMatchObject({ ok: true, result: 'T' });
    await host.close();
    expect(made).toEqual(['b', 'closed']);
  });

  test('that an abort comes before leaves nothing open', async () => {
    const made: string[] = [];
    const slow = gate('slow');
    const { host } = hostWith({ a: [{ toolCalls: [...handTo('b').toolCalls, ...call('slow').toolCalls] }] });
    host.registerExecutor('theirs', (descriptor): Executor => {
      made.push(descriptor.name);
      return { turn: async () => ({ reason: 'completed' }), close: () => void made.push('closed') };
    });
    const team = transfer({
      name: 't',
      members: [agent({ name: 'a', tools: [slow.tool] }), agent({ name: 'b', executor: 'theirs' })],
      start: 'a',
    });
    const run = host.run(team, 'go');
    const events = collect(run);
    await Promise.all([slow.running, until(() => made.length > 0)]);
    run.abort('enough');
    expect(endsIn(await events)).toEqual(['a_1: aborted', '-: aborted']);
    expect(made).toEqual(['b', 'closed']);
    await host.close();
  });

  test('stops at maxTransfers, and the member answers itself', async () => {
    const team = transfer({ name: 't', members: [leaf('a'), leaf('b')], start: 'a', maxTransfers: 3 });
    const { events, result } = await runTeam(team, {
      a: () => handTo('b'),
      b: (_: never, n: number) => (n < 2 ? handTo('a') : { text: 'I stay' }),
    });
    expect(startedIn(events)).toEqual(['a', 'b', 'a', 'b']);
    const refused = ofType(events, 'tool_response').filter((event) => event.isError);
    expect(refused).toMatchObject([{ errorType: 'TRANSFER_LIMIT' }]);
    expect(JSON.stringify(refused)).toContain('TRANSFER_LIMIT');
    expect(result).toMatchObject({ ok: true, result: 'I stay' });
  });

  test('passes policy: what a rule denies goes over to nobody', async () => {
    const { events, result } = await runTeam(
      desk(),
      { a: [handTo('b'), { text: 'A' }] },
      {
        host: { policy: [{ rules: [{ toolName: 'transfer_to_agent', decision: 'deny', denyMessage: 'not today' }] }] },
      },
    );
    expect(responseIn(events)).toMatchObject({ isError: true, errorType: 'policy_denied' });
    expect(result.result).toBe('A');
  });
});

describe('what a member’s executor asks for', () => {
  const theirs = (data: object): Executor => ({
    turn: async () => ({ reason: 'completed', data: { result: 'T', ...data } }),
  });
  const runWith = async (data: object, options: object = {}) => {
    const { host } = hostWith({ b: [{ text: 'B' }] });
    host.registerExecutor('theirs', () => theirs(data));
    const team = transfer({
      name: 't',
      members: [agent({ name: 'a', executor: 'theirs' }), leaf('b'), leaf('c')],
      start: 'a',
      ...options,
    });
    const run = host.run(team, 'go');
    const events = await collect(run);
    const result = await run.result;
    await host.close();
    return { events, result };
  };

  test('is a handover like any other', async () => {
    const { events, result } = await runWith({ handoffTarget: 'b', handoffReason: 'why' });
    expect(ofType(events, 'agent_transfer')).toMatchObject([{ from: 'a', to: 'b', reason: 'why' }]);
    expect(result.result).toBe('B');
  });

  test('is held to the targets and to maxTransfers', async () => {
    for (const [data, options, code] of [
      [{ handoffTarget: 'nobody' }, {}, 'TRANSFER_REFUSED'],
      [{ handoffTarget: 'c' }, { targets: { a: ['b'] } }, 'TRANSFER_REFUSED'],
      [{ handoffTarget: 'b' }, { maxTransfers: 0 }, 'TRANSFER_LIMIT'],
    ] as const) {
      const { events, result } = await runWith(data, options);
      expect(startedIn(events)).toEqual(['a']);
      const notices = ofType(events, 'custom').filter((event) => event.kind === 'notice');
      expect(notices).toMatchObject([{ data: { code } }]);
      expect(result).toMatchObject({ ok: true, result: 'T' });
    }
  });
});

describe('a later message', () => {
  test('goes to the member last active, with the conversation so far', async () => {
    const { host, model } = hostWith({ a: [handTo('b')], b: [{ text: 'B1' }, { text: 'B2' }] });
    const session = host.session(desk());
    await collect(session.stream({ kind: 'message', content: 'one' }).stream);
    const threads: (string | undefined)[] = [];
    for await (const event of session.stream({ kind: 'message', content: 'two' }).stream) {
      if (event.type === 'agent_started') threads.push(event.threadId);
      expect(event.type).not.toBe('agent_transfer');
    }
    expect(threads).toEqual(['b_3']);
    expect(textsGiven(model, 'b', 1)).toEqual([
      'one',
      '<function_call>',
      '<function_response>',
      'a handed the conversation over to you.',
      'B1',
      'two',
    ]);
    await host.close();
  });

  test('goes to the same member after a handover that was refused (B053)', async () => {
    const { host, model } = hostWith({ a: [handTo('user'), { text: 'A1' }, { text: 'A2' }] });
    const session = host.session(desk());
    await collect(session.stream({ kind: 'message', content: 'one' }).stream);
    for await (const _ of session.stream({ kind: 'message', content: 'two' }).stream);
    expect(textsGiven(model, 'a', 2).at(-1)).toBe('two');
    await host.close();
  });

  test('begins with a new count of transfers', async () => {
    const { host } = hostWith({
      a: () => handTo('b'),
      b: (_: never, n: number) => (n % 2 === 0 ? { text: 'B' } : handTo('a')),
    });
    const team = transfer({ name: 't', members: [leaf('a'), leaf('b')], start: 'a', maxTransfers: 1 });
    const session = host.session(team);
    await collect(session.stream({ kind: 'message', content: 'one' }).stream);
    const reasons: string[] = [];
    const { stream } = session.stream({ kind: 'message', content: 'two' });
    for await (const event of stream) if (event.type === 'agent_transfer') reasons.push(event.to);
    expect(reasons).toEqual(['a']);
    await host.close();
  });
});

describe('words for a running transfer', () => {
  test('reach the member that goes on, once (B050)', async () => {
    for (let round = 0; round < 100; round++) {
      const slow = gate('slow');
      const { host, model } = hostWith({
        a: [handTo('b'), { text: 'A' }],
        b: [{ toolCalls: [...call('slow').toolCalls, ...handTo('a').toolCalls] }],
      });
      const team = transfer({
        name: 't',
        members: [leaf('a'), agent({ name: 'b', tools: [slow.tool] })],
        start: 'a',
      });
      const run = host.run(team, 'go');
      const events = collect(run);
      await slow.running;
      for (let turn = round % 5; turn > 0; turn--) await Promise.resolve();
      run.steer({ message: 'and hurry' });
      slow.open('');
      await events;
      const given = textsGiven(model, 'a', 1).filter((text) => text.includes('and hurry'));
      expect(given).toHaveLength(1);
      await host.close();
    }
  });
});

describe('the context contract', () => {
  const script = {
    a: [{ text: 'first', ...handTo('b', 'why') }],
    b: [{ text: 'second', ...handTo('c') }],
    c: [{ text: 'C' }],
  };
  const given = async (context: NonNullable<Parameters<typeof transfer>[0]['context']>) => {
    const { model, events } = await runTeam(desk({ context }), script);
    return { texts: textsGiven(model, 'c'), events, model };
  };

  test('"none" gives the message alone', async () => {
    const { texts } = await given('none');
    expect(texts).toEqual(['go']);
  });

  test('{ last } gives the last messages, whole and paired', async () => {
    const { texts, model } = await given({ last: 3 });
    expect(texts).toEqual([
      'a handed the conversation over to you: why.',
      'second<function_call>',
      '<function_response>',
      'b handed the conversation over to you.',
    ]);
    expect(findBrokenPairs(model.requests.at(-1)!.messages)).toEqual([]);
    const one = await given({ last: 1 });
    expect(one.texts).toEqual(['go']);
  });

  test('a filter gives what it lets through, and it is made whole', async () => {
    const { texts } = await given((messages: readonly ModelMessage[]) =>
      messages.filter((one) => one.role === 'model'),
    );
    expect(texts).toEqual(['first', 'second', 'b handed the conversation over to you.']);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['gives no messages', () => 'text' as never],
  ])('a filter that %s starts nobody', async (_, context) => {
    const { events, result } = await runTeam(desk({ context }), { a: [handTo('b')] });
    expect(startedIn(events)).toEqual(['a']);
    expect(result).toMatchObject({ reason: 'failed' });
    expect(Object.keys(result.data.failures as object)).toEqual(['b']);
  });

  test('"summary" gives what the member that hands over makes of it: one more call, counted and paid', async () => {
    const { events, result, model } = await runTeam(desk({ context: 'summary' }), {
      a: [
        { text: 'It is 42.', ...handTo('b', 'why') },
        { text: 'They want 42.', usage: { inputTokens: 7, outputTokens: 3 } },
      ],
      b: [{ text: 'B', usage: { inputTokens: 1, outputTokens: 1 } }],
    });
    const [, summary, next] = model.requests;
    expect(summary?._meta).toMatchObject({ agent: 'a', purpose: 'summary', threadId: 'a_1' });
    expect(summary?.tools).toBeUndefined();
    expect(JSON.stringify(summary?.messages)).toContain('It is 42.');
    expect(findBrokenPairs(summary!.messages)).toEqual([]);
    expect(next?.messages.map((message) => message.content)).toMatchObject([
      [{ text: 'Summary of the conversation so far:\nThey want 42.' }],
      [{ text: 'a handed the conversation over to you: why.' }],
    ]);
    expect(ofType(events, 'usage').map((event) => event.threadId)).toEqual(['a_1', 'b_2']);
    expect(result.usage).toEqual({ inputTokens: 8, outputTokens: 4 });
  });

  test.each([
    ['fails', [handTo('b'), boom()], {}],
    ['is empty', [handTo('b'), { text: ' ' }], {}],
    ['is beyond the limit on model calls', [handTo('b')], { constraints: { maxLlmCalls: 1 } }],
  ])('where a summary %s everything goes over, with a notice', async (_, a, options) => {
    const team = transfer({
      name: 't',
      context: 'summary',
      members: [agent({ name: 'a', ...options }), leaf('b')],
      start: 'a',
    });
    const { events, model } = await runTeam(team, { a, b: [{ text: 'B' }] });
    expect(textsGiven(model, 'b').slice(0, 2)).toEqual(['go', '<function_call>']);
    expect(ofType(events, 'custom').filter((event) => event.kind === 'notice')).toMatchObject([
      { data: { code: 'SUMMARY_FAILED' } },
    ]);
  });

  test('an abort during the summary ends the run', async () => {
    const { host, model } = hostWith({ a: [handTo('b'), { text: 'never', delayMs: 60_000 }] });
    const run = host.run(desk({ context: 'summary' }), 'go');
    const events = collect(run);
    await until(() => model.requests.length === 2);
    run.abort('enough');
    expect(endsIn(await events)).toEqual(['a_1: aborted', '-: aborted']);
    await host.close();
  });

  test('holds for a handover only: the member that stays keeps what it had', async () => {
    const { host, model } = hostWith({ a: [handTo('b')], b: [{ text: 'B1' }, { text: 'B2' }] });
    const session = host.session(desk({ context: 'none' }));
    await collect(session.stream({ kind: 'message', content: 'one' }).stream);
    for await (const _ of session.stream({ kind: 'message', content: 'two' }).stream);
    expect(textsGiven(model, 'b', 1)).toEqual(['one', 'B1', 'two']);
    await host.close();
  });

  test('is kept in the log, without the conversation itself', async () => {
    const { host } = hostWith(script);
    const run = host.run(desk({ context: { last: 2 } }), 'go');
    await run.result;
    const log = await collect(host.attach(run.sessionId));
    const contexts = ofType(log, 'custom').filter((event) => event.kind === 'context');
    expect(contexts.map((event) => [event.threadId, (event.data as { contract: unknown }).contract])).toEqual([
      ['b_2', { last: 2 }],
      ['c_3', { last: 2 }],
    ]);
    for (const event of contexts) {
      const { upTo } = event.data as { upTo: number };
      const started = log.find((one) => one.type === 'agent_started' && one.threadId === event.threadId);
      expect(upTo).toBeGreaterThanOrEqual(started!.seq);
      expect(upTo).toBeLessThan(event.seq);
    }
    expect(JSON.stringify(contexts)).not.toContain('first');
    await host.close();
  });
});

describe('preview', () => {
  const script = {
    a: [{ text: 'first', ...handTo('b', 'why') }],
    b: [{ text: 'second', ...handTo('c', 'more') }],
    c: [{ text: 'C' }],
  };
  const requestOfC = async (team: ReturnType<typeof desk>) => {
    const { model } = await runTeam(team, script);
    return model.requests.at(-1)!.messages;
  };

  test.each([
    ['full', undefined],
    ['last', { last: 3 }],
    ['a filter', (messages: readonly ModelMessage[]) => messages.filter((one) => one.role === 'model')],
  ])('shows exactly what the next member sees: %s', async (_, context) => {
    // With the whole conversation, what a member sees is the conversation, and the note.
    const conversation = (await requestOfC(desk())).slice(0, -1);
    const team = desk({ ...(context && { context }) });
    const ids = (messages: readonly ModelMessage[]) => JSON.stringify(messages).replaceAll(/"id":"[^"]*"/g, '"id":""');
    const shown = team.preview('c', conversation, { from: 'b', reason: 'more' });
    expect(ids(shown)).toBe(ids(await requestOfC(team)));
  });

  test('asks no model and changes nothing', () => {
    const conversation: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
    expect(desk({ context: 'none' }).preview('b', conversation, { from: 'a' })).toEqual([]);
    const summary = desk({ context: 'summary' }).preview('b', conversation, { summary: 'They said hi.' });
    expect(summary).toMatchObject([{ content: [{ text: 'Summary of the conversation so far:\nThey said hi.' }] }]);
    expect(conversation).toHaveLength(1);
  });

  test('knows its members', () => {
    expect(() => desk().preview('bb' as 'b', [])).toThrow('"bb" is no member of "desk"');
  });
});

describe('members of every kind', () => {
  test('a composition that takes over is given the conversation, and what it came to is part of it', async () => {
    const steps = sequential({ name: 'steps', children: [leaf('x'), leaf('y')] });
    const { host, model } = hostWith({
      a: [{ text: 'first', ...handTo('steps', 'why') }],
      x: () => ({ text: 'X' }),
      y: () => ({ text: 'Y' }),
    });
    const session = host.session(transfer({ name: 't', members: [leaf('a'), steps], start: 'a' }));
    await collect(session.stream({ kind: 'message', content: 'one' }).stream);
    expect(textsGiven(model, 'x')).toEqual([
      'one',
      'first<function_call>',
      '<function_response>',
      'a handed the conversation over to you: why.',
    ]);
    for await (const _ of session.stream({ kind: 'message', content: 'two' }).stream);
    expect(textsGiven(model, 'x', 1).slice(-3)).toEqual(['a handed the conversation over to you: why.', 'Y', 'two']);
    await host.close();
  });

  test('a member has its own tools: those of another are not there, and the nearest is named (B051)', async () => {
    const lookup = (name: string) =>
      tool({ name, description: name, parameters: z.object({}), annotations: { readOnly: true }, execute: () => name });
    const team = transfer({
      name: 't',
      members: [
        agent({ name: 'a', tools: [lookup('find_order')] }),
        agent({ name: 'b', tools: [lookup('find_orders')] }),
      ],
      start: 'a',
    });
    const { events } = await runTeam(team, {
      a: [call('find_order'), handTo('b')],
      b: [call('find_order'), { text: 'B' }],
    });
    const last = ofType(events, 'tool_response').at(-1);
    expect(last).toMatchObject({ isError: true, errorType: 'tool_not_registered' });
    expect(JSON.stringify(last?.llmContent)).toContain('did you mean find_orders');
  });

  test('a member that fails ends it, with what the others came to', async () => {
    const { result } = await runTeam(desk(), { a: [{ text: 'A', ...handTo('b') }], b: [boom()] });
    expect(result).toMatchObject({ reason: 'failed', data: { message: 'b: boom', results: { a: 'A' } } });
  });

  test('a transfer is a child like any other', async () => {
    const team = parallel({ name: 'p', children: [desk(), leaf('d')] });
    const { result, events } = await runTeam(team, { a: [handTo('b')], b: [{ text: 'B' }], d: [{ text: 'D' }] });
    expect(result.result).toEqual({ desk: 'B', d: 'D' });
    expect(ofType(events, 'agent_transfer')[0]?.threadId).toBe('desk_1');
  });

  test('two that only case or separators tell apart are refused (B055)', () => {
    expect(() => transfer({ name: 't', members: [leaf('help-desk'), leaf('Help_Desk')], start: 'help-desk' })).toThrow(
      'is taken by',
    );
  });
});

test('what mapInput gives a member that takes over stands behind the conversation', async () => {
  const team = desk({ mapInput: (child: string) => (child === 'b' ? 'for b' : undefined) });
  const { model } = await runTeam(team, { a: [{ text: 'A', ...handTo('b') }], b: [{ text: 'B' }] });
  expect(textsGiven(model, 'b')).toEqual(['go', 'A<function_call>', '<function_response>', 'for b']);
});

test('mapInput sees every activation', async () => {
  const seen: unknown[] = [];
  const team = desk({
    mapInput: (child: string, { results }: { results: object }) => {
      seen.push([child, { ...results }]);
      return child === 'b' ? 'for b' : undefined;
    },
    context: 'none',
  });
  const { model } = await runTeam(team, { a: [{ text: 'A', ...handTo('b') }], b: [{ text: 'B' }] });
  await settle(1);
  expect(seen).toEqual([
    ['a', {}],
    ['b', { a: 'A' }],
  ]);
  expect(lastTextGiven(model, 'b')).toBe('for b');
});
