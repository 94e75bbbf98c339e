import { expect, test } from 'vitest';
import type { AgentEvent, AgentEventDraft } from '../../src/contracts/index.js';
import { noteInHistory } from '../../src/host/session-tree.js';
import { createEventMerge, type Origin } from '../../src/kernel/event-merge.js';
import { createHistory, findBrokenPairs } from '../../src/kernel/history.js';
import { createStamp } from '../../src/kernel/stamp.js';
import { virtualClock } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { createOrigin } from './origin.js';

const part = (text: string) => ({ type: 'text' as const, text });
const said = (text: string) => ({ llmContent: [part(text)] });
const called = (requestId: string, messageId = 'm', index = 0) => ({
  requestId,
  name: 't',
  args: {},
  messageId,
  index,
});

test('calls stay in their message where they were, and their answers stand behind it in call order', () => {
  const history = createHistory();
  history.user([part('go')]);
  history.model('m', [part('before'), part('after')]);
  history.call({ ...called('b', 'm', 2), thoughtSignature: 'sig' });
  history.call(called('a', 'm', 1));
  history.response('b', { ...said('B'), isError: true });
  expect(history.messages()).toHaveLength(1);
  expect(history.openCalls).toBe(1);
  history.response('a', said('A'));
  expect(history.messages()).toEqual([
    { role: 'user', content: [part('go')] },
    {
      role: 'model',
      content: [
        part('before'),
        { type: 'function_call', name: 't', args: {}, id: 'a' },
        { type: 'function_call', name: 't', args: {}, id: 'b', thoughtSignature: 'sig' },
        part('after'),
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'function_response', name: 't', id: 'b', response: { error: 'B' } },
        { type: 'function_response', name: 't', id: 'a', response: { output: 'A' } },
      ],
    },
  ]);
});

test('words that come while calls are open stand behind the answers', () => {
  const history = createHistory();
  history.user([part('go')]);
  history.call(called('a'));
  history.user([part('and hurry')]);
  expect(history.messages().map((one) => one.role)).toEqual(['user']);
  history.response('a', said('A'));
  expect(history.messages().map((one) => one.role)).toEqual(['user', 'model', 'user', 'user']);
  expect(findBrokenPairs(history.messages())).toEqual([]);
});

test('a snapshot does not change with what comes later, and what came before another thread is in front', () => {
  const history = createHistory();
  history.user([part('go')]);
  const before = history.messages();
  history.user([part('more')]);
  expect(before).toHaveLength(1);
  history.preload([{ role: 'model', content: [part('earlier')] }]);
  expect(history.messages().map((one) => one.role)).toEqual(['model', 'user', 'user']);
  expect(history.length).toBe(3);
});

test('an answer to nothing is not kept, nor an empty message of the model', () => {
  const history = createHistory();
  history.user([part('go')]);
  history.response('x', said('X'));
  history.model('m', []);
  history.user([part('more')]);
  expect(history.messages().map((one) => one.role)).toEqual(['user', 'user']);
});

test('parts that are no text are given as they are', () => {
  const history = createHistory();
  history.call(called('a'));
  const media = { type: 'media' as const, mimeType: 'image/png', uri: 'file:///x' };
  history.response('a', { llmContent: [part('see'), media] });
  expect(history.messages().at(-1)?.content).toMatchObject([{ response: { output: [part('see'), media] } }]);
});

test('what is broken is found, in words', () => {
  const call = { type: 'function_call' as const, name: 't', args: {}, id: 'a' };
  const response = { type: 'function_response' as const, name: 't', id: 'a', response: {} };
  expect(findBrokenPairs([{ role: 'model', content: [call] }])).toEqual([
    'message 0 calls [a] but is followed by responses to []',
  ]);
  expect(findBrokenPairs([{ role: 'user', content: [response] }])).toEqual([
    'message 0 answers [a] but follows calls of []',
  ]);
  expect(
    findBrokenPairs([
      { role: 'model', content: [call] },
      { role: 'user', content: [response] },
    ]),
  ).toEqual([]);
});

/** One turn: what is said, in pieces, the calls after it, and in which order they are answered; words come at any moment. */
const turn = fc.record({
  pieces: fc.array(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 4 }),
  calls: fc.nat(4),
  answers: fc.infiniteStream(fc.nat(100)),
  steers: fc.array(fc.nat(12), { maxLength: 3 }),
  titles: fc.array(fc.nat(12), { maxLength: 2 }),
  isInterrupted: fc.boolean(),
});

test('whatever comes between calls and answers, pairs hold at every moment, and the log gives the same history', () => {
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), (turns) => {
      const live = createHistory();
      const log: AgentEvent[] = [];
      const merge = createEventMerge<Origin>({
        stamp: createStamp(virtualClock(), 't-'),
        log: {
          append(event) {
            log.push(event);
            noteInHistory(live, event, 'a');
          },
        },
      });
      const origin = createOrigin(undefined, 'a');
      let ids = 0;
      const publish = (draft: AgentEventDraft) => {
        merge.publish(origin, draft);
        expect(findBrokenPairs(live.messages())).toEqual([]);
      };
      const user = (text: string) => {
        publish({ type: 'message', messageId: `u${++ids}`, role: 'user', content: [part(text)] });
        merge.completeMessage(origin);
      };
      user('go');
      for (const { pieces, calls, answers, steers, titles, isInterrupted } of turns) {
        let moment = 0;
        // Between the pieces of a message only updates come; words wait for its end.
        const tell = () => {
          if (titles.includes(moment)) publish({ type: 'session_update', title: String(moment) });
          moment++;
        };
        const speak = () => {
          if (steers.includes(moment)) user(`steer ${moment}`);
          tell();
        };
        const messageId = `m${++ids}`;
        for (const piece of pieces) {
          publish({ type: 'message', messageId, role: 'agent', content: [part(piece)] });
          tell();
        }
        if (isInterrupted) {
          merge.completeMessage(origin, true);
          speak();
          continue;
        }
        const open = Array.from({ length: calls }, (_, at) => ({
          requestId: `c${++ids}`,
          index: Math.min(pieces.length, 1) + at,
        }));
        for (const { requestId, index } of open) {
          publish({ type: 'tool_request', requestId, name: 'a.t', args: { index }, messageId, index });
          speak();
        }
        while (open.length > 0) {
          const [answered] = open.splice((answers.next().value as number) % open.length, 1);
          publish({ type: 'tool_response', requestId: answered!.requestId, name: 'a.t', ...said(answered!.requestId) });
          speak();
        }
      }
      publish({ type: 'stream_end', reason: 'completed' });
      const rebuilt = createHistory();
      for (const event of [...log].sort((a, b) => a.seq - b.seq)) noteInHistory(rebuilt, event, 'a');
      expect(rebuilt.messages()).toEqual(live.messages());
      expect(live.openCalls).toBe(0);
      const names = live
        .messages()
        .flatMap((one) => one.content.flatMap((p) => (p.type === 'function_call' ? [p.name] : [])));
      expect(names.every((name) => name === 't')).toBe(true);
    }),
    { numRuns: 300 },
  );
});
