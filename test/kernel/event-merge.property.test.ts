import { expect, test } from 'vitest';
import type { AgentEvent, AgentEventDraft, ContentPart } from '../../src/contracts/index.js';
import { appendPart } from '../../src/kernel/content.js';
import { createEventMerge, type Origin } from '../../src/kernel/event-merge.js';
import { createStamp } from '../../src/kernel/stamp.js';
import { virtualClock } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { createOrigin } from './origin.js';

/** What one thread says, step by step; `pause`: it lets others go first. */
type Step =
  | { kind: 'note' }
  | { kind: 'say'; message: number; parts: ContentPart[]; inPieces: boolean }
  | { kind: 'end' }
  | { kind: 'pause' };

const saidText = fc.string({ maxLength: 3 });
const said: fc.Arbitrary<ContentPart> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('text' as const), text: saidText }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('thought' as const), thought: saidText }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('text' as const), text: saidText, _meta: fc.constant({ index: 3 }) }),
  },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ kind: 'note' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('say' as const),
      message: fc.nat(1),
      parts: fc.oneof(
        { weight: 4, arbitrary: fc.tuple(said) },
        { weight: 1, arbitrary: fc.array(said, { maxLength: 3 }) },
      ),
      inPieces: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'end' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'pause' }) },
);
const threads = fc.array(fc.array(step, { maxLength: 40 }), { minLength: 1, maxLength: 5 });
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

function draftOf(at: Step, thread: number, index: number): AgentEventDraft | undefined {
  if (at.kind === 'say') {
    return {
      type: 'message',
      messageId: `${thread}-${at.message}`,
      role: 'agent',
      content: at.parts,
    };
  }
  if (at.kind === 'end') return { type: 'error', code: 'X', message: String(index), fatal: false };
  return at.kind === 'note' ? { type: 'custom', kind: 'note', data: index } : undefined;
}

const sameEvent = ({ id, timestamp, seq, agentId, threadId, runId, streamId, ...draft }: AgentEvent): object => draft;

test('whoever says what when, and however slowly it is read: order holds, nothing is lost or doubled, room is kept', async () => {
  await fc.assert(
    fc.asyncProperty(
      threads,
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.nat(4), { minLength: 1, maxLength: 20 }),
      async (scripts, highWater, totalHighWater, pace) => {
        const log: AgentEvent[] = [];
        const merge = createEventMerge<Origin>({
          stamp: createStamp(virtualClock(), 't-'),
          log: { append: (event) => void log.push(event) },
          highWater,
          totalHighWater,
        });
        merge.hold();
        const { reader } = merge.consume() as NonNullable<ReturnType<typeof merge.consume>>;
        const observer = merge.observe(() => {});
        const early: AgentEvent[] = [];
        const reading = (async () => {
          const awake = merge.observe(() => {});
          for (let step = await awake.next(); !step.done; step = await awake.next()) early.push(step.value);
        })();
        const published: AgentEventDraft[][] = scripts.map(() => []);
        let taken = 0;
        let always = 0;
        let mostWaiting = 0;
        const waiting = () => published.reduce((sum, list) => sum + list.length, 0) - taken - always;
        const say = async (script: Step[], thread: number) => {
          const origin = createOrigin(`a_${thread + 1}`, 'a');
          for (const [index, at] of script.entries()) {
            const draft = draftOf(at, thread, index);
            if (draft === undefined) {
              await tick();
              continue;
            }
            (published[thread] as AgentEventDraft[]).push(draft);
            if (at.kind === 'end') always++;
            const full =
              at.kind === 'say' && at.inPieces && draft.type === 'message'
                ? merge.publishMessage(origin, draft.messageId, draft.role, draft.content)
                : merge.publish(origin, draft);
            mostWaiting = Math.max(mostWaiting, waiting());
            if (full !== undefined) await full;
          }
          merge.completeMessage(origin);
        };
        const all = Promise.all(scripts.map(say)).then(() => {
          reader.finish();
          merge.end();
        });
        const read: AgentEvent[] = [];
        for (let at = 0; ; at++) {
          for (let wait = pace[at % pace.length] as number; wait > 0; wait--) await tick();
          const next = await reader.next();
          if (next.done) break;
          read.push(next.value);
          taken++;
          if (next.value.type === 'error') always--;
        }
        await all;
        const seqs = read.map((event) => event.seq);
        expect(seqs).toEqual(seqs.map((_, at) => at + 1));
        scripts.forEach((_, thread) => {
          const own = read.filter((event) => event.threadId === `a_${thread + 1}`).map(sameEvent);
          expect(own).toEqual(published[thread]);
        });
        // Each thread may be one beyond the room of all; one more is on its way to the reader.
        const room = Math.min(scripts.length * highWater, totalHighWater + scripts.length);
        expect(mostWaiting).toBeLessThanOrEqual(room + 1);
        const observed: AgentEvent[] = [];
        for (let next = await observer.next(); !next.done; next = await observer.next()) observed.push(next.value);
        expect(observed).toEqual(read);
        await reading;
        expect(early).toEqual(read);
        expectLogOf(log, read);
      },
    ),
    { numRuns: 150 },
  );
});

/** The log is what was read, each message folded into one event at the place of its last piece. */
function expectLogOf(log: readonly AgentEvent[], read: readonly AgentEvent[]): void {
  const sorted = [...log].sort((a, b) => a.seq - b.seq);
  expect(new Set(sorted.map((event) => event.seq)).size).toBe(sorted.length);
  const others = (events: readonly AgentEvent[]) => events.filter((event) => event.type !== 'message');
  expect(others(sorted)).toEqual(others(read));
  for (const event of sorted) {
    if (event.type !== 'message') continue;
    const firstSeq = (event._meta?.firstSeq as number | undefined) ?? event.seq;
    const pieces = read.filter(
      (one) =>
        one.type === 'message' &&
        one.threadId === event.threadId &&
        one.messageId === event.messageId &&
        one.seq >= firstSeq &&
        one.seq <= event.seq,
    );
    const folded: ContentPart[] = [];
    for (const piece of pieces)
      if (piece.type === 'message') for (const part of piece.content) appendPart(folded, part);
    // What comes in one piece stands as it came.
    expect(event.content).toEqual(pieces.length === 1 && pieces[0]?.type === 'message' ? pieces[0].content : folded);
  }
  const inPieces = read.filter((event) => event.type === 'message').length;
  const inLog = sorted.reduce((sum, event) => {
    if (event.type !== 'message') return sum;
    const firstSeq = (event._meta?.firstSeq as number | undefined) ?? event.seq;
    return (
      sum +
      read.filter(
        (one) =>
          one.type === 'message' && one.threadId === event.threadId && one.seq >= firstSeq && one.seq <= event.seq,
      ).length
    );
  }, 0);
  expect(inLog).toBe(inPieces);
}
