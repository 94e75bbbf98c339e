import { describe, expect, test } from 'vitest';
import {
  ALTERNATION_LIMIT,
  createLoopDetector,
  type LoopDetector,
  SAME_CALL_LIMIT,
  SENTENCE_LIMIT,
} from '../../src/kernel/loop-detection.js';
import { fc } from '../support/fast-check.js';

/** One verdict per letter: `a` is a call `read(a)`. */
const calls = (letters: string, detector: LoopDetector = createLoopDetector()) =>
  [...letters].map((letter) => detector.toolCall('read', { path: letter }));
const oks = (count: number) => new Array<string>(count).fill('ok');

describe('repeated calls', () => {
  test('B043: the same call five times warns, the sixth stops', () => {
    expect(SAME_CALL_LIMIT).toBe(5);
    expect(calls('aaaaaa')).toEqual([...oks(4), 'warn', 'stop']);
  });

  test('B043: two calls in turn warn at the sixth, and stop at the seventh', () => {
    expect(ALTERNATION_LIMIT).toBe(6);
    expect(calls('abababa')).toEqual([...oks(5), 'warn', 'stop']);
    expect(calls('xaababab')).toEqual([...oks(7), 'warn']);
  });

  test('another call in between starts the count again', () => {
    expect(calls('aaaabaaaabaaaa')).toEqual(oks(14));
    expect(calls('ababcababcabab')).toEqual(oks(14));
    expect(calls('aabbaabbaabb')).toEqual(oks(12));
    expect(calls('abcabcabcabcabc')).toEqual(oks(15));
  });

  test('the arguments count, the order of their keys does not', () => {
    const detector = createLoopDetector();
    const verdicts = [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
      { a: 1, b: [2] },
      { b: [2], a: 1 },
      { a: 1, b: [2] },
    ].map((args) => detector.toolCall('t', args));
    expect(verdicts).toEqual([...oks(4), 'warn']);
    const others = createLoopDetector();
    expect([1, 2, 3, 4, 5, 6].map((page) => others.toolCall('t', { page }))).toEqual(oks(6));
    const names = createLoopDetector();
    expect(['t', 'u', 'v', 'w', 'x', 'y'].map((name) => names.toolCall(name, {}))).toEqual(oks(6));
  });

  test('long arguments that differ anywhere are told apart', () => {
    const detector = createLoopDetector();
    const long = 'x'.repeat(100_000);
    expect([0, 1, 2, 3, 4, 5].map((at) => detector.toolCall('t', `${long}${at}${long}`))).toEqual(oks(6));
    expect(new Array(6).fill(0).map(() => detector.toolCall('t', long))).toEqual([...oks(4), 'warn', 'stop']);
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 70, maxLength: 90 }), { minLength: 7, maxLength: 7 }), (texts) => {
        fc.pre(new Set(texts).size === 7);
        const fresh = createLoopDetector();
        expect(texts.map((text) => fresh.toolCall('t', { text }))).toEqual(oks(7));
      }),
    );
  });

  test('a model that was warned once is stopped at its next loop', () => {
    expect(calls('aaaaabcdefbbbbb')).toEqual([...oks(4), 'warn', ...oks(9), 'stop']);
  });

  test('polling tools are exempt, and end no row of other calls', () => {
    const detector = createLoopDetector({ exempt: (name) => name === 'poll' });
    expect(new Array(20).fill(0).map(() => detector.toolCall('poll', {}))).toEqual(oks(20));
    const verdicts = [1, 2, 3, 4, 5].map(() => {
      detector.toolCall('poll', {});
      return detector.toolCall('read', {});
    });
    expect(verdicts).toEqual([...oks(4), 'warn']);
  });

  test('in the turn of the warning the model has not been told yet, so only a later turn stops', () => {
    const detector = createLoopDetector();
    const turn = (number: number, count: number) =>
      new Array(count).fill(0).map(() => detector.toolCall('read', {}, number));
    expect(turn(1, 8)).toEqual([...oks(4), 'warn', ...oks(3)]);
    expect(turn(2, 1)).toEqual(['stop']);
  });

  test('arguments that are no JSON are counted too', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const detector = createLoopDetector();
    expect(new Array(5).fill(0).map(() => detector.toolCall('t', cycle))).toEqual([...oks(4), 'warn']);
    const absent = createLoopDetector();
    expect(new Array(5).fill(0).map(() => absent.toolCall('t', undefined))).toEqual([...oks(4), 'warn']);
  });
});

describe('repeated sentences', () => {
  const sentence = 'Let me check that file once more to be sure.';
  const texts = (messages: string[], detector = createLoopDetector()) =>
    messages.map((message) => detector.text(message));

  test('the same long sentence five times warns, once more stops', () => {
    expect(SENTENCE_LIMIT).toBe(5);
    expect(texts(new Array(6).fill(sentence))).toEqual([...oks(4), 'warn', 'stop']);
  });

  test('within one message it warns once, however often', () => {
    const detector = createLoopDetector();
    expect(detector.text(`${sentence}  \n`.repeat(50))).toBe('warn');
    expect(detector.text('Something else altogether, said at some length here.')).toBe('ok');
    expect(detector.text(sentence)).toBe('stop');
  });

  test('a paragraph that repeats is found by its sentences', () => {
    const paragraph = `${sentence} The second sentence is as long as the first one! Would a third one not be found as well?\n`;
    expect(texts(new Array(5).fill(paragraph))).toEqual([...oks(4), 'warn']);
  });

  test('white space does not make another sentence', () => {
    expect(
      texts([sentence, ` ${sentence.replace(/ /g, '  ')}`, sentence.replace(/ /g, '\t'), sentence, sentence]),
    ).toEqual([...oks(4), 'warn']);
  });

  test('short sentences, code and table rows may repeat', () => {
    const message = [
      'Done. Next. Done. Next.',
      '```ts',
      "throw new Error('this line is long enough to be counted');",
      '```',
      '| a row of a table that is long enough | to be counted |',
      '~~~',
      'a block that is never closed, and long enough to be counted',
    ].join('\n');
    expect(texts(new Array(20).fill(message))).toEqual(oks(20));
  });

  test('occurrences far apart are no loop', () => {
    const others = (round: number) =>
      Array.from({ length: 9 }, (_, at) => `Sentence ${at} of round ${round} says something of its own.`).join(' ');
    expect(texts(Array.from({ length: 20 }, (_, round) => `${sentence} ${others(round)}`))).toEqual(oks(20));
  });

  test('the same words beside calls that differ are no loop, beside the same calls they are', () => {
    const working = createLoopDetector();
    const verdicts = Array.from({ length: 20 }, (_, page) => {
      const said = working.text(sentence);
      return [said, working.toolCall('read', { page })];
    });
    expect(verdicts.flat()).toEqual(oks(40));
    const stuck = createLoopDetector({ exempt: () => true });
    expect(Array.from({ length: 5 }, (_, page) => [stuck.text(sentence), stuck.toolCall('poll', { page })][0])).toEqual(
      [...oks(4), 'warn'],
    );
  });

  test('sentences of languages without spaces are split too', () => {
    const long = '这个文件里有一个很长的句子需要再检查一遍以便确认没有任何遗漏的地方并且所有的测试都可以顺利地通过。';
    expect(createLoopDetector().text(long.repeat(5))).toBe('warn');
  });
});

describe('memory', () => {
  test('a reset forgets the counts and the warning', () => {
    const detector = createLoopDetector();
    calls('aaaaa', detector);
    detector.reset();
    expect(calls('aaaaa', detector)).toEqual([...oks(4), 'warn']);
  });

  test('a detector restored from JSON goes on at any point as the first one would', () => {
    const step = fc.oneof(
      fc
        .constantFrom('a', 'b', 'c')
        .map((path) => (detector: LoopDetector, turn: number) => detector.toolCall('read', { path }, turn)),
      fc
        .constantFrom('x', 'y')
        .map(
          (name) => (detector: LoopDetector, turn: number) =>
            detector.text(`${name} ${'long words '.repeat(5)}.`, turn),
        ),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat(), (steps, cut) => {
        const whole = createLoopDetector();
        const expected = steps.map((run, turn) => run(whole, turn));
        const first = createLoopDetector();
        const at = cut % (steps.length + 1);
        const verdicts = steps.slice(0, at).map((run, turn) => run(first, turn));
        const second = createLoopDetector();
        second.restore(JSON.parse(JSON.stringify(first.snapshot())));
        verdicts.push(...steps.slice(at).map((run, turn) => run(second, at + turn)));
        expect(verdicts).toEqual(expected);
      }),
    );
  });

  test('a snapshot is a copy, and what is no snapshot counts as none', () => {
    const detector = createLoopDetector();
    calls('aaaa', detector);
    const snapshot = detector.snapshot();
    snapshot.streak = 0;
    expect(calls('a', detector)).toEqual(['warn']);
    for (const broken of [undefined, null, 1, {}, { streak: '5' }, { ...snapshot, sentences: [1] }]) {
      detector.restore(broken);
      expect(calls('aaaa', detector)).toEqual(oks(4));
    }
  });

  test('what is remembered stays small, however long the run', () => {
    const detector = createLoopDetector();
    for (let round = 0; round < 2_000; round++) {
      detector.toolCall('write', { path: `f${round % 3}`, text: 'x'.repeat(round) });
      detector.text(`Sentence ${round} is one of very many that are long enough. `.repeat(2));
    }
    expect(JSON.stringify(detector.snapshot()).length).toBeLessThan(2_000);
  });
});
