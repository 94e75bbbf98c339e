import { describe, expect, test } from 'vitest';
import { createSseParser, type SseEvent } from '../../../src/models/wire/sse.js';
import { fc } from '../../support/fast-check.js';

const bytesOf = (text: string) => new TextEncoder().encode(text);

function parse(pieces: readonly Uint8Array[]): SseEvent[] {
  const parser = createSseParser();
  const events = pieces.flatMap((piece) => parser.push(piece));
  const last = parser.end();
  return last === undefined ? events : [...events, last];
}

const dataOf = (text: string) => parse([bytesOf(text)]).map((event) => event.data);

describe('events', () => {
  test('comments, ids and keep-alives give no event (B080)', () => {
    expect(dataOf('id: 7\ndata: 1\n\n: ping\n\ndata: 2\n\n')).toEqual(['1', '2']);
    expect(dataOf(':\n\n\n\nretry: 10\n\n:ok\n')).toEqual([]);
  });

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('%s ends a line', (_, end) => {
    expect(dataOf(`data: 1${end}${end}: c${end}data: 2${end}data: 3${end}${end}`)).toEqual(['1', '2\n3']);
  });

  test('one space after the colon is not data, a second one is', () => {
    expect(dataOf('data:1\n\ndata:  2\n\ndata\n\n')).toEqual(['1', ' 2', '']);
  });

  test('the name of an event belongs to that event only', () => {
    expect(parse([bytesOf('event: error\ndata: 1\n\ndata: 2\n\n')])).toEqual([
      { data: '1', event: 'error' },
      { data: '2' },
    ]);
  });

  test('data that the end left without its empty line is given at the end', () => {
    expect(dataOf('data: 1\n\ndata: 2')).toEqual(['1', '2']);
    expect(dataOf('data: 1\r\n\r\ndata: 2\r\n')).toEqual(['1', '2']);
  });

  test('a byte order mark at the start is not data', () => {
    expect(dataOf('\uFEFFdata: 1\n\n')).toEqual(['1']);
  });
});

describe('bare JSON', () => {
  test('is one event: a body that is no stream, spread over lines or not', () => {
    expect(dataOf('{"a":1}')).toEqual(['{"a":1}']);
    expect(dataOf('\n\n  {\n  "a": 1\n}\n')).toEqual(['  {\n  "a": 1\n}']);
    expect(dataOf('[{"a":1}\n,\r\n{"b":2}]')).toEqual(['[{"a":1}\n,\n{"b":2}]']);
  });

  test('in the middle of a stream is an event between the others', () => {
    expect(dataOf('data: 1\n\n{"error":\n{"code":503}}\n\ndata: 2\n\n')).toEqual([
      '1',
      '{"error":\n{"code":503}}',
      '2',
    ]);
  });

  test('that is never whole is given as it came', () => {
    expect(dataOf('{"a":\n\ndata: 1\n\n')).toEqual(['{"a":\n\ndata: 1\n\n']);
  });

  test('inside an event is no event of its own', () => {
    expect(dataOf('data: 1\n{"a":1}\ndata: 2\n\n')).toEqual(['1\n2']);
  });
});

describe('cuts', () => {
  const stream = bytesOf('data: {"t":"añ漢🙂"}\r\n\r\n: ping\r\n\r\nevent: e\rdata: 🙂\r\rdata: a\ndata: é\n\n');
  const whole = parse([stream]);

  test('every cut in two gives the same events (B085)', () => {
    for (let at = 0; at <= stream.length; at++) {
      expect(parse([stream.subarray(0, at), stream.subarray(at)]), `cut at ${at}`).toEqual(whole);
    }
  });

  test('one byte at a time gives the same events (B085)', () => {
    expect(parse([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
    expect(JSON.stringify(whole)).not.toContain('\uFFFD');
  });

  test('any text in any pieces comes out as it went in', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ' '));
    const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 5 }), cuts, fc.constantFrom('\n', '\r\n', '\r'), (lines, at, end) => {
        const bytes = bytesOf(lines.map((text) => `data: ${text}${end}${end}`).join(''));
        const edges = [0, ...at.map((each) => Math.min(each, bytes.length)).sort((a, b) => a - b), bytes.length];
        const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
        expect(parse(pieces).map((event) => event.data)).toEqual(lines);
      }),
      { numRuns: 300 },
    );
  });

  test('a long line fed byte by byte takes linear time', () => {
    const parser = createSseParser();
    const letter = bytesOf('x');
    parser.push(bytesOf('data: '));
    for (let count = 0; count < 300_000; count++) parser.push(letter);
    expect(parser.push(bytesOf('\n\n'))[0]?.data).toHaveLength(300_000);
  });
});
