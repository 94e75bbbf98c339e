import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, hierarchical, parallel, sequential, tool } from '../../src/index.js';
import { validateLog, virtualClock } from '../../src/testing/index.js';
import { slowStore } from '../support/slow-store.js';
import { stores } from '../support/stores.js';
import { collect, leaf, logOf, ofType, readAll, refusalOf, settle } from '../support/team.js';
import { asker, call, endsIn, gate, hostWith, startedIn } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });
const answerTo = (requestId: string, content: object = {}) => ({
  kind: 'elicitation_response' as const,
  requestId,
  response: { action: 'accept', content: { ...content } },
});
const asks = <const Name extends string>(name: Name) => agent({ name, tools: [asker('ask')] });
const both = (...calls: { toolCalls: { name: string; args: object }[] }[]) => ({
  toolCalls: calls.flatMap((one) => one.toolCalls),
});
describe.each(stores)('%s', (_, makeStore) => {
  test('one of two branches is answered: nothing behind them starts until the other is, too (B001)', async () => {
    const branches = parallel({ name: 'p', children: [asks('a'), asks('b')] });
    const { host } = hostWith(
      { a: [call('ask'), { text: 'A' }], b: [call('ask'), { text: 'B' }], c: [{ text: 'C' }] },
      { store: makeStore() },
    );
    const session = host.session(sequential({ name: 's', children: [branches, leaf('c')] }));
    const first = await readAll(session.stream(message()).stream);
    const [a, b] = ofType(first, 'elicitation_request').map((event) => event.requestId);
    const second = await readAll(session.stream(answerTo(a!)).stream);
    expect(startedIn(second)).toEqual([]);
    expect(ofType(second, 'stream_end').filter((event) => event.threadId === undefined)).toEqual([]);
    expect(session.state()).toMatchObject({ type: 'awaiting_elicitation', pending: [{ requestId: b }] });
    const third = await readAll(session.stream(answerTo(b!)).stream);
    expect(endsIn(third).filter((end) => end.startsWith('-'))).toEqual(['-: completed']);
    expect(startedIn(third)).toEqual(['c']);
    expect(validateLog([...first, ...second, ...third], { finished: true })).toEqual([]);
    await host.close();
  });

  test('an answer that names no open question leaves both of a child open and the log as it was (B006)', async () => {
    const store = makeStore();
    let ran = 0;
    const ask = tool({
      name: 'ask',
      description: 'Asks.',
      parameters: { type: 'object' },
      annotations: { readOnly: true },
      async execute(_args, { elicit }) {
        await elicit({ message: 'sure?' });
        ran++;
      },
    });
    const lead = hierarchical({ name: 'l', agent: leaf('boss'), children: [agent({ name: 'a', tools: [ask] })] });
    const { host } = hostWith(
      { boss: [call('a', { prompt: 'x' }), { text: 'X' }], a: [both(call('ask'), call('ask')), { text: 'A' }] },
      { store },
    );
    const session = host.session(sequential({ name: 's', children: [lead] }));
    const paused = await readAll(session.stream(message()).stream);
    const [open] = ofType(paused, 'elicitation_request');
    const [toolRequest] = ofType(paused, 'tool_request');
    await settle();
    const [state, log] = [session.state(), await logOf(store, session.sessionId)];
    for (const requestId of [undefined, null, '', 'nobody', toolRequest!.requestId, [open!.requestId]] as never[]) {
      expect(await refusalOf(session.stream(answerTo(requestId)).stream)).toBe('UNKNOWN_REQUEST');
      expect(session.state()).toEqual(state);
    }
    await settle();
    expect(await logOf(store, session.sessionId)).toEqual(log);
    expect(ran).toBe(0);
    await host.close();
  });

  test('one question here, two there, answered in turn: three are asked, none again after its answer (B008)', async () => {
    const { host } = hostWith(
      { a: [call('ask'), { text: 'A' }], b: [call('ask'), call('ask', { again: true }), { text: 'B' }] },
      { store: makeStore() },
    );
    const session = host.session(parallel({ name: 'p', children: [asks('a'), asks('b')] }));
    const events = await readAll(session.stream(message()).stream);
    const questionsOf = (threadId: string) =>
      ofType(events, 'elicitation_request').filter((event) => event.threadId === threadId);
    for (const [threadId, at] of [
      ['a_1', 0],
      ['b_2', 0],
      ['b_2', 1],
    ] as const) {
      const { requestId } = questionsOf(threadId)[at]!;
      events.push(...(await readAll(session.stream(answerTo(requestId)).stream)));
    }
    const asked = ofType(events, 'elicitation_request').map((event) => event.requestId);
    expect(asked).toHaveLength(3);
    expect(new Set(asked).size).toBe(3);
    for (const requestId of asked) {
      const at = events.findIndex((event) => event.type === 'elicitation_response' && event.requestId === requestId);
      expect(
        JSON.stringify(events.slice(at + 1).filter((event) => event.type === 'elicitation_request')),
      ).not.toContain(`"${requestId}"`);
    }
    expect(validateLog(events, { finished: true })).toEqual([]);
    await host.close();
  });

  test('one of three calls of a child is cancelled: the child goes on at once, and no timer is left (B015)', async () => {
    const clock = virtualClock();
    const names = ['one', 'two', 'three'];
    const gates = names.map((name) => gate(name));
    const { host } = hostWith(
      { a: [both(...names.map((name) => call(name))), { text: 'A' }] },
      { clock, store: makeStore() },
    );
    const child = agent({ name: 'a', tools: gates.map((one) => one.tool) });
    const run = host.run(parallel({ name: 'p', children: [child] }), 'go');
    const reading = collect(run);
    await Promise.all(gates.map((one) => one.running));
    run.abort('not that one', { requestId: 'c2' });
    gates[0]!.open('1');
    gates[2]!.open('3');
    const responses = ofType(await reading, 'tool_response').map((event) => [event.name, event.errorType]);
    expect(responses.toSorted()).toEqual([
      ['a.one', undefined],
      ['a.three', undefined],
      ['a.two', 'cancelled'],
    ]);
    expect(clock.pending).toBe(0);
    await host.close();
  });
});

const whatIsSaid = (events: readonly AgentEvent[]) =>
  ofType(events, 'message').map(({ seq, threadId, content }) => [seq, threadId, content]);

test('what an observer takes of one type is what the log has of it, at every depth and from any position (B016)', async () => {
  const deep = parallel({
    name: 'p',
    children: [
      sequential({ name: 's', children: [parallel({ name: 'q', children: [leaf('a'), leaf('b')] })] }),
      leaf('c'),
    ],
  });
  const { host } = hostWith(Object.fromEntries(['a', 'b', 'c'].map((name) => [name, [{ text: [name, '!'] }]])), {
    store: slowStore(),
  });
  const run = host.run(deep, 'go');
  await run.result;
  const log = await collect(host.attach(run.sessionId));
  const messages = log.filter((event) => event.type === 'message');
  expect(new Set(messages.map((event) => event.threadId))).toEqual(
    new Set([undefined, 's_1', 's_1.q_1', 's_1.q_1.a_1', 's_1.q_1.b_2', 'c_2']),
  );
  for (const { seq } of log) {
    const rest = await readAll(host.attach(run.sessionId, { after: seq }));
    expect(whatIsSaid(rest)).toEqual(whatIsSaid(messages.filter((event) => event.seq > seq)));
  }
  await host.close();
});
