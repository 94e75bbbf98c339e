import { expect, test } from 'vitest';
import { virtualClock } from '../../../src/testing/index.js';
import { boundedBody } from '../../../src/tools/mcp/bounded-body.js';
import { childEnvironment } from '../../../src/tools/mcp/child-environment.js';
import { startDeadline } from '../../../src/tools/mcp/deadline.js';
import { createMessageLines } from '../../../src/tools/mcp/message-lines.js';
import { fc } from '../../support/fast-check.js';

test('lines come out the same however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replace(/[\n\r]/g, ' '))),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      (lines, sizes) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\r\n`).join(''));
        const cutter = createMessageLines(1_000_000);
        const found: string[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          found.push(...cutter.push(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(found).toEqual(lines.map((line) => Buffer.from(line).toString()));
      },
    ),
  );
});

test('a line that is too long is refused before its end has come', () => {
  const cutter = createMessageLines(10);
  expect(cutter.push(Buffer.from('0123456789\n0123'))).toEqual(['0123456789']);
  expect(() => cutter.push(Buffer.from('4567890'))).toThrow(RangeError);
  expect(() => createMessageLines(10).push(Buffer.from('0123456789x\n'))).toThrow(RangeError);
});

async function readBody(
  chunks: readonly string[],
  options: { longestBytes: number; isStream: boolean },
): Promise<string> {
  let cancelled = false;
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk));
      controller.close();
    },
    cancel() {
      cancelled = true;
    },
  });
  try {
    return await new Response(boundedBody(source, options)).text();
  } catch (thrown) {
    return `${(thrown as Error).message}${cancelled ? ', cancelled' : ''}`;
  }
}

test('a body is bounded as a whole, a stream of events by its longest event', async () => {
  const event = 'data: 0123456789\n\n';
  const whole = { longestBytes: 30, isStream: false };
  const stream = { longestBytes: 30, isStream: true };
  expect(await readBody([event], whole)).toBe(event);
  expect(await readBody([event, event], whole)).toBe('it sent an answer of more than 0 MB');
  expect(await readBody([event, event, event], stream)).toBe(event.repeat(3));
  expect(await readBody(['data: 0123456789\n', '\ndata: 0123456789\n', '\ndata: 9\n\n'], stream)).toContain('9');
  expect(await readBody([event, 'data: 0123456789\n', 'data: 0123456789\n'], stream)).toBe(
    'it sent a message of more than 0 MB',
  );
});

test('a process is given a few of our variables by name, and what is configured, which wins', () => {
  const ours = {
    PATH: '/bin',
    HOME: '/home/me',
    LC_ALL: 'C.UTF-8',
    GITHUB_TOKEN: 'secret',
    AWS_SECRET_ACCESS_KEY: 'secret',
    OPENAI_API_KEY: 'secret',
    NODE_OPTIONS: '--inspect',
    LD_PRELOAD: '/x.so',
    SHELL: '() { evil; }',
    TERM: undefined,
  };
  expect(childEnvironment(ours, { HOME: '/elsewhere', TOKEN: 'its own' })).toEqual({
    PATH: '/bin',
    HOME: '/elsewhere',
    LC_ALL: 'C.UTF-8',
    TOKEN: 'its own',
  });
});

test('a deadline counts only the time in which it is not paused, once', async () => {
  const clock = virtualClock();
  let times = 0;
  const deadline = startDeadline(clock, 100, () => times++);
  await clock.advance(60);
  deadline.pause();
  deadline.pause();
  await clock.advance(1_000);
  deadline.resume();
  await clock.advance(1_000);
  deadline.resume();
  await clock.advance(39);
  expect(times).toBe(0);
  await clock.advance(1);
  expect(times).toBe(1);
  deadline.pause();
  deadline.resume();
  await clock.advance(1_000);
  expect(times).toBe(1);
  startDeadline(clock, 10, () => times++).end();
  startDeadline(clock, undefined, () => times++).resume();
  await clock.advance(1_000);
  expect(times).toBe(1);
  expect(clock.pending).toBe(0);
});
