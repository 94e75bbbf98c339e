import { expect, test } from 'vitest';
import { clipText, imageSource, jsonText, LONG_JSON, oneLine, SHORT_JSON } from '../../../src/studio/web/clipped.js';
import { costText, durationText, standingOf } from '../../../src/studio/web/figures.js';
import { formatRoute, parseRoute } from '../../../src/studio/web/route.js';

test('a megabyte is cut, no character in two, and what is left out is counted', () => {
  const text = `${'x'.repeat(9)}😀${'y'.repeat(1_000_000)}`;
  expect(clipText(text, 10)).toEqual({ shown: 'x'.repeat(9), rest: 1_000_002 });
  expect(clipText(text, 11).shown).toBe(`${'x'.repeat(9)}😀`);
});

test('control characters, bidi marks and broken UTF-16 are named', () => {
  expect(oneLine('a\u202eb\ud800c\u001b[2J\nd')).toBe('a<U+202E>b<U+D800>c<U+001B>[2J d');
});

test('deep and wide JSON is written as far as is reasonable, and says when something is left out', () => {
  let deep: unknown = 'bottom';
  for (let at = 0; at < 5_000; at++) deep = { in: deep };
  expect(jsonText(deep, SHORT_JSON)).toMatchObject({ isWhole: false });
  expect(jsonText(deep, LONG_JSON)).toMatchObject({ isWhole: false });
  const wide = jsonText(
    Array.from({ length: 5_000 }, (_, at) => at),
    SHORT_JSON,
  );
  expect(wide.isWhole).toBe(false);
  expect(wide.text.split('\n').length).toBeLessThan(210);
  const value = { a: [1, 'two', null, true], b: {}, c: [] };
  const whole = jsonText(value, SHORT_JSON);
  expect(whole.isWhole).toBe(true);
  expect(JSON.parse(whole.text)).toEqual(value);
});

test('only plain pictures are shown as pictures', () => {
  expect(imageSource('image/png', 'iVBORw0KGgo=')).toBe('data:image/png;base64,iVBORw0KGgo=');
  expect(imageSource('image/svg+xml', 'PHN2Zz4=')).toBeUndefined();
  expect(imageSource('text/html', 'PHN2Zz4=')).toBeUndefined();
  expect(imageSource('image/png', 'javascript:alert(1)')).toBeUndefined();
  expect(imageSource('image/png', undefined)).toBeUndefined();
});

test('times and costs read as people say them', () => {
  expect([5, 4_230, 184_000, 7_500_000].map(durationText)).toEqual(['5 ms', '4.2 s', '3 m 04 s', '2 h 05 m']);
  const cost = (usd: number | undefined, costIncomplete = false) =>
    costText({ inputTokens: 1, outputTokens: 1, usd, costIncomplete });
  expect([cost(undefined), cost(0.0123), cost(12.345), cost(0.5, true)]).toEqual([
    '–',
    '$0.0123',
    '$12.35',
    '≥ $0.5000',
  ]);
  expect(standingOf('ended', 'completed').tone).toBe('ok');
  expect(standingOf('awaiting_elicitation', undefined).tone).toBe('wait');
});

test('a place of the page survives its address, whatever it is called', () => {
  const route = {
    host: '1',
    session: 'a/b?c#d',
    thread: 'a_1.b_2',
    seq: 7,
    view: 'timeline',
    other: { host: '2', session: 'x/y' },
  } as const;
  expect(parseRoute(formatRoute(route))).toEqual(route);
  expect(parseRoute('#/1/%zz?seq=-3&view=nonsense')).toMatchObject({
    session: '%zz',
    seq: undefined,
    view: 'transcript',
  });
  expect(parseRoute('')).toMatchObject({ host: undefined, session: undefined, thread: '' });
});
