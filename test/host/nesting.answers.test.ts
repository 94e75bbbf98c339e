import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { agent, hierarchical, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { seededRandom, shuffled, validateLog } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { collect, leaf, ofType, readAll, settle } from '../support/team.js';
import { call, endsIn, gate, hostWith, type Lines, startedIn, until } from '../support/teams.js';

/** Asks a person as often as it is told to, one after another, and says what it was answered. */
const ask = tool({
  name: 'ask',
  description: 'Asks a person.',
  parameters: z.object({ who: z.string(), times: z.number() }),
  annotations: { readOnly: true },
  async execute({ who, times }, { elicit }) {
    const said: unknown[] = [];
    for (let round = 1; round <= times; round++) {
      const { content } = await elicit({
        message: `${who} ${round}`,
        requestedSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
      });
      said.push(content?.to);
    }
    return said.join(',');
  },
});
const asks = <const Name extends string>(name: Name) => agent({ name, tools: [ask] });
const askTimes = (who: string, times: number) => call('ask', { who, times });
const lines = (who: string, times: number) => [askTimes(who, times), { text: who }];

test('one branch that is answered does not let the other’s parent go on (B001)', async () => {
  const team = sequential({
    name: 's',
    children: [parallel({ name: 'p', children: [asks('a'), asks('b')] }), leaf('c')],
  });
  const { host } = hostWith({ a: lines('a', 1), b: lines('b', 1), c: [{ text: 'C' }] });
  const run = host.run(team, 'go');
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of run) events.push(event);
  })();
  await until(() => run.state().pending.length === 2);
  const [a, b] = run.state().pending;
  run.respond(a!.requestId, { action: 'accept', content: { to: 'a' } });
  await until(() => run.state().threads.length === 3);
  expect(run.state().pending).toEqual([b]);
  expect(startedIn(events)).not.toContain('c');
  expect(endsIn(events)).toEqual(['p_1.a_1: completed']);
  run.respond(b!.requestId, { action: 'accept', content: { to: 'b' } });
  await reading;
  expect(endsIn(events).filter((end) => end.startsWith('-'))).toEqual(['-: completed']);
  expect(validateLog(events, { finished: true })).toEqual([]);
  await host.close();
});

test('while one branch works, the other’s questions go on undisturbed (B003)', async () => {
  const slow = gate('slow');
  const rounds = loop({ name: 'rounds', children: [asks('b')], maxIterations: 3 });
  const team = parallel({ name: 'p', children: [agent({ name: 'a', tools: [slow.tool] }), rounds] });
  const { host } = hostWith({
    a: [call('slow'), { text: 'A' }],
    b: (_: never, n: number) => (n % 2 === 0 ? askTimes('b', 1) : { text: 'B' }),
  });
  const run = host.run(team, 'go');
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of run) events.push(event);
  })();
  await until(() => run.state().pending.length === 1);
  run.respond(run.state().pending[0]!.requestId, { action: 'accept', content: { to: 'b' } });
  await slow.running;
  await until(() => run.state().pending.length === 1);
  slow.open('');
  await until(() => endsIn(events).includes('a_1: completed'));
  for (let round = 0; round < 2; round++) {
    await until(() => run.state().pending.length === 1);
    run.respond(run.state().pending[0]!.requestId, { action: 'accept', content: { to: 'b' } });
  }
  await reading;
  const ofB = events.filter((event) => event.threadId?.startsWith('rounds_2.'));
  expect(ofType(ofB, 'elicitation_request')).toHaveLength(3);
  expect(ofType(ofB, 'elicitation_response')).toHaveLength(3);
  await host.close();
});

test('questions of two tools of one turn are told apart, answered in reverse (B005)', async () => {
  const { host } = hostWith({
    a: [{ toolCalls: ['x', 'y'].flatMap((who) => askTimes(who, 1).toolCalls) }, { text: 'A' }],
  });
  const run = host.run(asks('a'), 'go');
  const events = collect(run);
  await until(() => run.state().pending.length === 2);
  const [x, y] = run.state().pending.map((one) => one.requestId);
  expect(x).not.toBe(y);
  run.respond(y!, { action: 'accept', content: { to: 'for y' } });
  run.respond(x!, { action: 'accept', content: { to: 'for x' } });
  const all = await events;
  const requests = ofType(all, 'tool_request');
  for (const [at, to] of ['for x', 'for y'].entries()) {
    const response = ofType(all, 'tool_response').find((event) => event.requestId === requests[at]!.requestId);
    expect(response?.llmContent).toEqual([{ type: 'text', text: to }]);
  }
  await host.close();
});

test('each question is asked once, whoever is answered first (B008)', async () => {
  const team = parallel({ name: 'p', children: [asks('a'), asks('b')] });
  const { host } = hostWith({
    a: lines('a', 1),
    b: [{ toolCalls: [...askTimes('b1', 1).toolCalls, ...askTimes('b2', 1).toolCalls] }, { text: 'B' }],
  });
  const run = host.run(team, 'go');
  const events = collect(run);
  await until(() => run.state().pending.length === 3);
  for (const { requestId } of run.state().pending) run.respond(requestId, { action: 'accept', content: { to: 'x' } });
  const all = await events;
  const asked = ofType(all, 'elicitation_request').map((event) => event.requestId);
  expect(new Set(asked).size).toBe(3);
  expect(asked).toHaveLength(3);
  await host.close();
});

test('a stranger’s requestId changes nothing, at any depth (B006)', async () => {
  const team = sequential({ name: 's', children: [parallel({ name: 'p', children: [asks('a'), asks('b')] })] });
  const { host } = hostWith({ a: lines('a', 1), b: lines('b', 1) });
  const run = host.run(team, 'go');
  const events = collect(run);
  await until(() => run.state().pending.length === 2);
  const before = run.state().pending;
  for (const requestId of ['', 'nobody', before[0]!.requestId.toUpperCase()]) {
    expect(() => run.respond(requestId, { action: 'accept', content: { to: 'x' } })).toThrow(
      expect.objectContaining({ code: 'UNKNOWN_REQUEST' }),
    );
  }
  expect(() => run.respond(before[0]!.requestId, { action: 'accept', content: { to: 1 } })).toThrow(
    expect.objectContaining({ code: 'INVALID_ANSWER' }),
  );
  expect(run.state().pending).toEqual(before);
  for (const { requestId } of before) run.respond(requestId, { action: 'accept', content: { to: 'x' } });
  await events;
  expect(() => run.respond(before[0]!.requestId, { action: 'accept', content: { to: 'x' } })).toThrow();
  await host.close();
});

/** Every pattern, with somebody who asks at each depth. */
function deepTeam(): { team: AgentDefinition; script: Lines; questions: number } {
  const lead = hierarchical({ name: 'lead', agent: asks('planner'), children: [asks('a'), asks('b')] });
  const desk = transfer({ name: 'desk', members: [asks('c'), asks('d')], start: 'c' });
  const rounds = loop({ name: 'rounds', children: [asks('e')], maxIterations: 2 });
  const team = parallel({
    name: 'p',
    children: [sequential({ name: 's', children: [lead, desk] }), rounds, asks('f')],
  });
  const both = { toolCalls: ['a', 'b'].map((name) => ({ name, args: { prompt: 'x' } })) };
  const script: Lines = {
    planner: [askTimes('planner', 1), both, { text: 'P' }],
    a: lines('a', 2),
    b: lines('b', 1),
    c: [askTimes('c', 1), call('transfer_to_agent', { target: 'd' })],
    d: lines('d', 1),
    e: [askTimes('e', 1), { text: 'E1' }, askTimes('e', 1), { text: 'E2' }],
    f: [{ toolCalls: [...askTimes('f', 1).toolCalls, ...askTimes('f', 2).toolCalls] }, { text: 'F' }],
  };
  return { team, script, questions: 1 + 2 + 1 + 1 + 1 + 2 + 3 };
}

function checkAnswers(events: readonly AgentEvent[], questions: number): void {
  expect(validateLog(events, { finished: true })).toEqual([]);
  expect(ofType(events, 'elicitation_request')).toHaveLength(questions);
  const requests = ofType(events, 'elicitation_request');
  for (const response of ofType(events, 'elicitation_response')) {
    const request = requests.find((one) => one.requestId === response.requestId);
    expect(response.threadId).toBe(request?.threadId);
    expect(response.content).toEqual({ to: response.requestId });
  }
  // Each tool was given the answers to its own questions, in the order it asked.
  for (const response of ofType(events, 'tool_response').filter((event) => event.name.endsWith('.ask'))) {
    const own = requests.filter((one) => one.context?.toolRequestId === response.requestId);
    const text = own.map((one) => one.requestId).join(',');
    expect(response.llmContent).toEqual([{ type: 'text', text }]);
  }
  expect(endsIn(events).at(-1)).toBe('-: completed');
}

test('answers reach whoever asked, at any depth and in any order, while the stream is open', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const { team, script, questions } = deepTeam();
      const random = seededRandom(seed);
      const { host } = hostWith(script);
      const run = host.run(team, 'go');
      let hasEnded = false;
      const reading = collect(run).finally(() => {
        hasEnded = true;
      });
      while (!hasEnded) {
        await until(() => hasEnded || run.state().pending.length > 0);
        await settle(Math.floor(random() * 3));
        const [chosen] = shuffled(run.state().pending, random);
        if (chosen !== undefined)
          run.respond(chosen.requestId, { action: 'accept', content: { to: chosen.requestId } });
      }
      checkAnswers(await reading, questions);
      await host.close();
    }),
    { numRuns: 40 },
  );
});

test('a composed stream pauses when every live thread waits; answers in any order and number let it go on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const { team, script, questions } = deepTeam();
      const random = seededRandom(seed);
      const { host } = hostWith(script);
      const session = host.session(team);
      const events: AgentEvent[] = [];
      const open = new Set<string>();
      const take = async (stream: AsyncIterable<AgentEvent>) => {
        for (const event of await readAll(stream)) {
          events.push(event);
          if (event.type === 'elicitation_request') open.add(event.requestId);
        }
      };
      await take(session.stream({ kind: 'message', content: 'go' }).stream);
      while (open.size > 0) {
        expect(session.state()).toMatchObject({ type: 'awaiting_elicitation' });
        expect(pendingIds(session.state())).toEqual([...open].toSorted());
        const [requestId] = shuffled(open, random);
        open.delete(requestId!);
        const response = { action: 'accept', content: { to: requestId } };
        await take(session.stream({ kind: 'elicitation_response', requestId: requestId!, response }).stream);
      }
      checkAnswers(events, questions);
      await host.close();
    }),
    { numRuns: 40 },
  );
});

const pendingIds = (state: object) =>
  ((state as { pending?: { requestId: string }[] }).pending ?? []).map((one) => one.requestId).toSorted();

test('a stream does not pause while one branch still works', async () => {
  const slow = gate('slow');
  const team = parallel({ name: 'p', children: [asks('a'), agent({ name: 'b', tools: [slow.tool] })] });
  const { host } = hostWith({ a: lines('a', 1), b: [call('slow'), { text: 'B' }] });
  const session = host.session(team);
  let hasPaused = false;
  const seen: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) seen.push(event);
    hasPaused = true;
  })();
  await Promise.all([slow.running, until(() => ofType(seen, 'elicitation_request').length === 1)]);
  await settle(20);
  expect(hasPaused).toBe(false);
  slow.open('');
  await reading;
  expect(endsIn(seen)).toEqual(['b_2: completed']);
  expect(session.state()).toMatchObject({ type: 'awaiting_elicitation' });
  await host.close();
});

test('what waits deep below takes no place at any level above', async () => {
  const deep = sequential({
    name: 'x',
    children: [
      parallel({ name: 'y', concurrency: 1, children: [sequential({ name: 'z', children: [asks('a')] }), asks('b')] }),
    ],
  });
  const team = parallel({ name: 'p', concurrency: 1, children: [deep, asks('c'), leaf('d')] });
  const { host } = hostWith({ a: lines('a', 2), b: lines('b', 1), c: lines('c', 1), d: [{ text: 'D' }] });
  const run = host.run(team, 'go');
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of run) events.push(event);
  })();
  // Each waits, so that the next one has room: in y, then in p.
  await until(() => endsIn(events).includes('d_3: completed'));
  expect(startedIn(events)).toEqual(['x', 'y', 'z', 'a', 'b', 'c', 'd']);
  while (run.state().pending.length > 0) {
    const [first] = run.state().pending;
    run.respond(first!.requestId, { action: 'accept', content: { to: first!.requestId } });
    await settle(5);
  }
  await reading;
  expect(validateLog(events, { finished: true })).toEqual([]);
  expect((await run.result).ok).toBe(true);
  await host.close();
});

test('several answers given to one open stream of a composed session are taken at once', async () => {
  const { team, script, questions } = deepTeam();
  const { host } = hostWith(script);
  const session = host.session(team);
  const events: AgentEvent[] = [];
  let open: string[] = [];
  const read = async (stream: AsyncIterable<AgentEvent>) => {
    for await (const event of stream) {
      events.push(event);
      if (event.type === 'elicitation_request') open.push(event.requestId);
    }
  };
  await read(session.stream({ kind: 'message', content: 'go' }).stream);
  while (open.length > 0) {
    const [first, ...others] = open;
    open = [];
    const answer = (requestId: string) =>
      ({
        kind: 'elicitation_response',
        requestId,
        response: { action: 'accept', content: { to: requestId } },
      }) as const;
    const reading = read(session.stream(answer(first!)).stream);
    for (const requestId of others) expect(await readAll(session.stream(answer(requestId)).stream)).toEqual([]);
    await reading;
  }
  checkAnswers(events, questions);
  await host.close();
});

test('what an observer takes of one type is all that the log has of it, over every thread (B016)', async () => {
  const deep = sequential({
    name: 's',
    children: [parallel({ name: 'p', children: [leaf('a'), leaf('b')] }), leaf('c')],
  });
  const { host } = hostWith({ a: [{ text: ['A', '1'] }], b: [{ text: 'B' }], c: [{ text: 'C' }] });
  const run = host.run(deep, 'go');
  const live = collect(host.attach(run.sessionId));
  const iterated = await collect(run);
  const observed = (await live).filter((event) => event.type === 'message');
  const log = (await collect(host.attach(run.sessionId))).filter((event) => event.type === 'message');
  expect([...new Set(log.map((event) => event.threadId))]).toEqual([undefined, 'p_1', 'p_1.a_1', 'p_1.b_2', 'c_2']);
  const textBy = (events: readonly AgentEvent[]) => {
    const texts = new Map<string, string>();
    for (const event of ofType(events, 'message')) {
      const text = event.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      const replaces = event._meta?.replace === true ? '' : (texts.get(event.messageId) ?? '');
      texts.set(event.messageId, replaces + text);
    }
    return texts;
  };
  expect(textBy(observed)).toEqual(textBy(log));
  expect(textBy(iterated)).toEqual(textBy(log));
  await host.close();
});
