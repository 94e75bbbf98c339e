import { expect, test } from 'vitest';
import type { ContentPart, ModelMessage } from '../../src/contracts/index.js';
import { compacted, cutHistory } from '../../src/kernel/compaction.js';
import { createHistory, findBrokenPairs } from '../../src/kernel/history.js';
import { estimateMessage } from '../../src/kernel/tokens.js';
import { fc } from '../support/fast-check.js';

/** Exchanges of parallel calls between words of the user. */
function historyOf(rounds: readonly number[]): ModelMessage[] {
  const history = createHistory();
  rounds.forEach((calls, round) => {
    if (calls === 0) {
      history.user([{ type: 'text', text: `question ${round}` }]);
      history.model(`m${round}`, [{ type: 'text', text: `answer ${round} ${'x'.repeat(round * 7)}` }]);
      return;
    }
    for (let index = 0; index < calls; index++) {
      const requestId = `c${round}.${index}`;
      history.call({
        requestId,
        name: 'f',
        args: { round },
        messageId: `m${round}`,
        index,
        thoughtSignature: `s${index}`,
      });
    }
    for (let index = calls - 1; index >= 0; index--)
      history.response(`c${round}.${index}`, { llmContent: [{ type: 'text', text: `r${round}.${index}` }] });
  });
  return history.messages();
}

const isAnswer = ({ content }: ModelMessage) => content.some((part) => part.type === 'function_response');
const asked = (messages: readonly ModelMessage[]) => messages.findLast((one) => one.role === 'user' && !isAnswer(one));

function holds(messages: ModelMessage[], keepTokens: number, runFrom: number) {
  const tokens = messages.map(estimateMessage);
  const cut = cutHistory(messages, tokens, { keepTokens, start: 0, runFrom });
  if (cut === undefined) return;
  const out = compacted(messages, { ...cut, summary: 'in short' });
  expect(findBrokenPairs(out)).toEqual([]);
  expect(out[0]?.role).toBe('user');
  expect(out.at(-1)).toBe(messages.at(-1));
  const request = asked(messages)?.content[0] as ContentPart;
  expect(out.flatMap(({ content }) => content)).toContain(request);
  // What stays stands as it stood, signatures included.
  expect(out.slice(1)).toEqual(messages.slice(cut.upTo));
}

test('a history of 40 messages with parallel calls can be cut for any budget: pairs hold, the request stays (B163)', () => {
  const messages = historyOf([0, 3, 1, 2, 0, 2, 2, 1, 0, 3, 1, 0, 2, 2, 1, 3, 1, 2, 1, 1]);
  expect(messages).toHaveLength(40);
  const total = messages.reduce((sum, message) => sum + estimateMessage(message), 0);
  for (let keepTokens = 0; keepTokens <= total; keepTokens++) {
    for (const runFrom of [0, 8, 22]) holds(messages, keepTokens, runFrom);
  }
});

test('whatever the history, a cut leaves pairs whole and the request in it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 15 }),
      fc.nat(400),
      fc.nat(20),
      (rounds, keepTokens, at) => {
        const messages = historyOf([0, ...rounds]);
        holds(messages, keepTokens, Math.min(at, messages.length - 1));
      },
    ),
    { seed: 163, numRuns: 500 },
  );
});

test('only what goes out is cut: nothing before the start of what a model sees counts or stays', () => {
  const messages = historyOf([0, 0, 0, 2, 2]);
  const tokens = messages.map(estimateMessage);
  const cut = cutHistory(messages, tokens, { keepTokens: 0, start: 4, runFrom: 4 });
  expect(cut?.kept.every((index) => index >= 4)).toBe(true);
  expect(cut?.upTo).toBeGreaterThan(4);
});
