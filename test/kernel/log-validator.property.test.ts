import { describe, expect, test } from 'vitest';
import { validateLog } from '../../src/kernel/log-validator.js';
import { createUsageTally, type UsageTally } from '../../src/kernel/usage.js';
import { seededRandom } from '../../src/testing/seeded.js';
import { fc } from '../support/fast-check.js';
import { type LogEvent, logBuilder, toStoredLog } from './log-validator.builder.js';

/** A run of a random tree whose threads take turns at random: messages, calls, questions, usage, children. */
function randomRun(seed: number): LogEvent[] {
  const random = seededRandom(seed);
  const upTo = (most: number) => Math.floor(random() * (most + 1));
  const { events, root, begin, start, complete } = logBuilder();
  const live: { steps: Generator<void, void>; done: boolean }[] = [];
  let count = 0;

  function* work(
    on: typeof root,
    threadId: string | undefined,
    depth: number,
    tally: UsageTally,
  ): Generator<void, void> {
    const children: { threadId: string; job: (typeof live)[number]; tally: UsageTally }[] = [];
    const open: (() => void)[] = [];
    for (let turn = upTo(3); turn >= 0; turn--) {
      const messageId = `m${count++}`;
      for (let piece = upTo(2); piece >= 0; piece--) {
        on.message(messageId, 'agent', `piece ${piece}`);
        yield;
      }
      for (let index = upTo(2); index > 0; index--) {
        const requestId = `r${count++}`;
        on.call(requestId, 'tool', messageId, index);
        open.push(() => on.result(requestId, 'tool'));
        yield;
        on.progress(requestId);
      }
      if (random() < 0.3) {
        const requestId = `q${count++}`;
        on.question(requestId);
        open.push(() => on.reply(requestId));
      }
      if (random() < 0.7) {
        const usage = {
          ...(random() < 0.8 ? { inputTokens: upTo(100) } : {}),
          ...(random() < 0.5 ? { outputTokens: upTo(100) } : {}),
          ...(random() < 0.5 ? { cost: { usd: upTo(1_000) / 1_000 } } : {}),
        };
        on.usage(usage);
        tally.add(usage);
      }
      for (let spawn = depth > 0 ? upTo(2) : 0; spawn > 0; spawn--) {
        const ordinal = children.length + 1;
        const childId = `${threadId === undefined ? '' : `${threadId}.`}agent${upTo(1)}_${ordinal}`;
        const childTally = createUsageTally();
        const job = { steps: work(start(childId), childId, depth - 1, childTally), done: false };
        children.push({ threadId: childId, job, tally: childTally });
        live.push(job);
        yield;
      }
      while (open.length > 0) {
        open.splice(upTo(open.length - 1), 1)[0]?.();
        yield;
      }
    }
    while (children.some(({ job }) => !job.done)) yield;
    for (const child of children) tally.addTally(child.tally);
    const cost = tally.cost();
    on.end('completed', { usage: tally.totals(), ...(cost === undefined ? {} : { cost }) });
    if (threadId === undefined) return;
    yield;
    complete(threadId);
  }

  begin('team');
  root.message('u1', 'user', 'Go');
  live.push({ steps: work(root, undefined, 2, createUsageTally()), done: false });
  while (live.length > 0) {
    const at = upTo(live.length - 1);
    const job = live[at]!;
    job.done = job.steps.next().done === true;
    if (job.done) live.splice(at, 1);
  }
  return events;
}

const renumbered = (events: LogEvent[]) =>
  events.map((event, index) => ({ ...event, id: `n${index}`, seq: index, timestamp: '2026-01-01T00:00:00.000Z' }));
const LOAD_BEARING = new Set([
  'initialize',
  'agent_started',
  'agent_completed',
  'stream_end',
  'tool_request',
  'tool_response',
  'elicitation_request',
  'elicitation_response',
]);

describe('the log validator', () => {
  test('any interleaving of the threads of a tree is valid, live and stored, and so is every prefix', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const live = randomRun(seed);
        for (const events of [live, toStoredLog(live)]) {
          expect(validateLog(events, { finished: true })).toEqual([]);
          const step = Math.ceil(events.length / 20);
          for (let length = 0; length < events.length; length += step)
            expect(validateLog(events.slice(0, length))).toEqual([]);
        }
      }),
    );
  });

  test('leaving out any bracket, request or answer is found, and so is saying it twice', () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(), (seed, pick) => {
        const events = randomRun(seed);
        const places = events.flatMap(({ type }, index) => (LOAD_BEARING.has(type) ? [index] : []));
        const at = places[pick % places.length]!;
        expect(validateLog(renumbered(events.toSpliced(at, 1)), { finished: true })).not.toEqual([]);
        expect(validateLog(renumbered(events.toSpliced(at, 0, events[at]!)), { finished: true })).not.toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test('garbage is told of and never thrown', () => {
    fc.assert(
      fc.property(
        fc.array(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true })),
        (events) => {
          expect(Array.isArray(validateLog(events, { finished: true }))).toBe(true);
        },
      ),
    );
    const wild = fc.record(
      {
        type: fc.constantFrom(...LOAD_BEARING, 'message', 'usage', 'tool_update', 'x'),
        threadId: fc.oneof(fc.constantFrom('a_1', 'a_1.b_1', '', '..', 'a'), fc.anything()),
        requestId: fc.oneof(fc.constantFrom('r', '__proto__'), fc.anything()),
        agentName: fc.anything(),
        messageId: fc.anything(),
        data: fc.anything(),
        _meta: fc.anything(),
      },
      { requiredKeys: ['type'] },
    );
    fc.assert(
      fc.property(fc.array(wild), (events) => {
        expect(validateLog(events).length).toBeGreaterThanOrEqual(events.length);
      }),
    );
  });

  test('an event that cannot be read, and a log that breaks off, are told of', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const hostile = {
      get id(): string {
        throw new Error('no id for you');
      },
    };
    expect(validateLog([proxy, hostile, null, 7, []])).toEqual([
      expect.stringContaining('event at index 0: cannot be read'),
      'event at index 1: cannot be read (no id for you)',
      'event at index 2: null is no event',
      'event at index 3: 7 is no event',
      'event at index 4: an object is no event',
    ]);
    function* broken() {
      yield 1;
      throw new Error('disk gone');
    }
    expect(validateLog(broken())).toEqual([
      'event at index 0: 1 is no event',
      'the log cannot be read beyond index 1 (disk gone)',
    ]);
    expect(validateLog(undefined as never)).toHaveLength(1);
  });
});
