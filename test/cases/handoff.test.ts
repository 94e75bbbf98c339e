import { describe, expect, test } from 'vitest';
import { agent, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { expectNoLeaks, validateLog } from '../../src/testing/index.js';
import { stores } from '../support/stores.js';
import { collect, consumerTool, leaf, ofType, readAll, settle, textResult } from '../support/team.js';
import { asker, call, endsIn, gate, hostWith, runTeam, startedIn, textsGiven } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });
const handTo = (target: string) => call('transfer_to_agent', { target });
const both = (...calls: { toolCalls: { name: string; args: object }[] }[]) => ({
  toolCalls: calls.flatMap((one) => one.toolCalls),
});
const noBackend = () => {
  throw new Error('no backend');
};

describe.each(stores)('%s', (_, makeStore) => {
  test.each(['full', 'none', 'summary', { last: 1 }, { last: 2 }, { last: 3 }] as const)(
    'handed over with context %j beside questions and calls of the consumer, every call has its response (B046)',
    async (context) => {
      const asks = (name: string) => agent({ name, tools: [asker('ask'), 'mine'] });
      const team = transfer({ name: 't', context, members: [asks('a'), asks('b')] as never, start: 'a' as never });
      const summary = context === 'summary' ? [{ text: 'They want something.' }] : [];
      const { host, model } = hostWith(
        {
          a: [both(call('mine'), call('ask'), handTo('b'), call('ask')), ...summary, { text: 'A' }],
          b: [both(call('ask'), handTo('a'), call('mine')), ...summary],
        },
        { store: makeStore() },
      );
      const run = host.run(team, 'go', { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
      let hasEnded = false;
      const reading = collect(run).finally(() => {
        hasEnded = true;
      });
      while (!hasEnded) {
        const [open] = run.state().pending;
        if (open?.kind === 'tool') run.respond(open.requestId, { result: textResult('M') });
        else if (open !== undefined) run.respond(open.requestId, { action: 'accept', content: {} });
        await settle(1);
      }
      const events = await reading;
      expect(validateLog(events, { finished: true })).toEqual([]);
      expect(startedIn(events)).toEqual(['a', 'b', 'a']);
      expect(ofType(events, 'tool_response').filter((event) => event.isError)).toEqual([]);
      for (const request of model.requests) expect(findBrokenPairs(request.messages)).toEqual([]);
      expect(await run.result).toMatchObject({ ok: true, text: 'A' });
      await host.close();
    },
  );

  test('to one that cannot be made is an error; who was active stays so, for the next message too (B048)', async () => {
    const { host } = hostWith({ a: [handTo('b'), { text: 'A1' }, { text: 'A2' }] }, { store: makeStore() });
    host.registerExecutor('broken', noBackend);
    const members = [leaf('a'), agent({ name: 'b', executor: 'broken' })] as const;
    const session = host.session(transfer({ name: 't', members, start: 'a' }));
    const first = await readAll(session.stream(message()).stream);
    expect(ofType(first, 'tool_response')).toMatchObject([{ isError: true, errorType: 'execution_failed' }]);
    const second = await readAll(session.stream(message('more')).stream);
    expect([...startedIn(first), ...startedIn(second)]).toEqual(['a', 'a']);
    expect(endsIn(second)).toEqual(['a_2: completed', '-: completed']);
    expect(validateLog([...first, ...second], { finished: true })).toEqual([]);
    await host.close();
  });

  test('words given at any moment of a handover back are told once (B050)', async () => {
    for (let round = 0; round < 30; round++) {
      const slow = gate('slow');
      const { host, model } = hostWith(
        {
          a: [handTo('b'), { text: 'A' }, { text: 'A2' }],
          b: [both(call('slow'), handTo('a'))],
          z: () => ({ text: 'Z' }),
        },
        { store: makeStore() },
      );
      const desk = transfer({ name: 't', members: [leaf('a'), agent({ name: 'b', tools: [slow.tool] })], start: 'a' });
      const run = host.run(sequential({ name: 's', children: [desk, leaf('z')] }), 'go');
      const reading = collect(run);
      await slow.running;
      slow.open('');
      if (round < 24) for (let turn = round; turn > 0; turn--) await Promise.resolve();
      else await settle(round - 24);
      let isTaken = true;
      try {
        run.steer({ message: 'and hurry' });
      } catch {
        isTaken = false;
      }
      const events = await reading;
      // Whoever goes on takes them; where nobody does, that is told.
      const shown = events.filter(
        (event) =>
          event._meta?.steered === true ||
          (event.type === 'custom' && (event.data as { code?: string }).code === 'THREAD_ENDED'),
      );
      expect(shown).toHaveLength(isTaken ? 1 : 0);
      for (const request of model.requests)
        expect(JSON.stringify(request.messages).split('and hurry').length).toBeLessThanOrEqual(2);
      await host.close();
    }
  });

  test('to the user is refused; another host that takes the session up goes on with who was active (B053)', async () => {
    const store = makeStore();
    const desk = () => transfer({ name: 't', members: [leaf('a'), leaf('b')], start: 'a' });
    const before = hostWith({ a: [handTo('b')], b: [handTo('user'), { text: 'Over to you.' }] }, { store });
    const first = before.host.run(desk(), 'one');
    const events = await collect(first);
    expect(ofType(events, 'tool_response').map((event) => event.isError === true)).toEqual([false, true]);
    await before.host.close();
    const after = hostWith({ b: [{ text: 'B again' }] }, { store });
    const second = after.host.run(desk(), 'two', { sessionId: first.sessionId });
    expect(startedIn(await readAll(second))).toEqual(['b']);
    expect((await second.result).text).toBe('B again');
    expect(textsGiven(after.model, 'b').at(-1)).toBe('two');
    expect(findBrokenPairs(after.model.requests[0]!.messages)).toEqual([]);
    await after.host.close();
  });
});

test('a creator that answers with a promise makes no executor, and what it rejects with is nobody’s (B048)', async () => {
  await expectNoLeaks(async () => {
    const { host } = hostWith({ a: [handTo('b'), { text: 'A' }], d: [{ text: 'D' }] });
    host.registerExecutor('late', (async () => noBackend()) as never);
    const members = [leaf('a'), agent({ name: 'b', executor: 'late' })] as const;
    const run = host.run(
      parallel({ name: 'p', children: [transfer({ name: 't', members, start: 'a' }), leaf('d')] }),
      'go',
    );
    const events = await collect(run);
    expect(ofType(events, 'tool_response')).toMatchObject([{ isError: true }]);
    expect(await run.result).toMatchObject({ ok: true, result: { t: 'A', d: 'D' } });
    await host.close();
  });
});

test('a tool of the member before is not there: it is not run, and the nearest of one’s own is named (B051)', async () => {
  const ran: string[] = [];
  const lookup = (name: string) =>
    tool({
      name,
      description: name,
      parameters: { type: 'object' },
      annotations: { readOnly: true },
      execute: () => void ran.push(name),
    });
  const desk = transfer({
    name: 't',
    members: [
      agent({ name: 'a', tools: [lookup('find_order')] }),
      agent({ name: 'b', tools: [lookup('find_orders')] }),
    ],
    start: 'a',
  });
  for (const name of ['find_order', 'a.find_order']) {
    ran.length = 0;
    const { events } = await runTeam(desk, { a: [handTo('b')], b: [call(name), { text: 'B' }] });
    const last = ofType(events, 'tool_response').at(-1);
    expect(last).toMatchObject({ isError: true, errorType: 'tool_not_registered' });
    expect(JSON.stringify(last?.llmContent)).toContain('find_orders');
    expect(ran).toEqual([]);
  }
});

test('a target is found however it is spelt, also where its name has hyphens (B055)', async () => {
  for (const target of [' Re-searcher\n', '"re-searcher"', 'RE_SEARCHER', '`Re-Searcher`']) {
    const desk = transfer({ name: 't', members: [leaf('a'), leaf('re-searcher')], start: 'a' });
    const { events } = await runTeam(desk, { a: [handTo(target)], 're-searcher': [{ text: 'R' }] });
    expect(startedIn(events)).toEqual(['a', 're-searcher']);
  }
});

test('of two handovers in one turn the first that is permitted is taken, and every call is answered (B056)', async () => {
  const desk = transfer({ name: 't', members: [leaf('a'), leaf('b'), leaf('c')], start: 'a' });
  for (const [calls, taken, isError] of [
    [[handTo('b'), handTo('c')], 'b', [false, true]],
    [[handTo('b'), handTo('b')], 'b', [false, true]],
    [[handTo('nobody'), handTo('c'), handTo('b')], 'c', [true, false, true]],
  ] as const) {
    const { events } = await runTeam(loop({ name: 'l', children: [desk], maxIterations: 1 }), {
      a: [both(...calls)],
      b: [{ text: 'B' }],
      c: [{ text: 'C' }],
    });
    expect(startedIn(events)).toEqual(['t', 'a', taken]);
    expect(ofType(events, 'tool_response').map((event) => event.isError === true)).toEqual(isError);
    expect(ofType(events, 'agent_transfer')).toHaveLength(1);
  }
});
