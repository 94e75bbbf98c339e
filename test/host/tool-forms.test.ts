import { expect, test } from 'vitest';
import { tool } from '../../src/index.js';
import { virtualClock } from '../../src/testing/index.js';
import { deferred, ofType } from '../support/team.js';
import { calls, runDesk, textOf, told } from './tool-desk.js';

const makes = (execute: (args: unknown, context: never) => unknown) =>
  tool({ name: 'make', description: 'Makes.', annotations: { readOnly: true }, execute: execute as never });
const script = [calls('make')];

class Odd {
  constructor(readonly n: number) {}
}

test.each([
  ['a text', () => 'hi', { llmContent: [{ type: 'text', text: 'hi' }] }],
  ['a promise', async () => 'hi', { llmContent: [{ type: 'text', text: 'hi' }] }],
  ['nothing', () => undefined, { llmContent: [{ type: 'text', text: '' }] }],
  ['null', () => null, { llmContent: [{ type: 'text', text: '' }] }],
  ['a number', () => 7, { llmContent: [{ type: 'text', text: '7' }], data: 7 }],
  ['false', () => false, { llmContent: [{ type: 'text', text: 'false' }], data: false }],
  ['an object', () => ({ a: [1] }), { llmContent: [{ type: 'text', text: '{"a":[1]}' }], data: { a: [1] } }],
  ['an empty list', () => [], { llmContent: [{ type: 'text', text: '[]' }], data: [] }],
  ['an instance', () => new Odd(1), { llmContent: [{ type: 'text', text: '{"n":1}' }], data: { n: 1 } }],
  ['an object that says it is of a type', () => ({ type: 'user' }), { data: { type: 'user' } }],
  ['a part', () => ({ type: 'text', text: 'p' }), { llmContent: [{ type: 'text', text: 'p' }] }],
  [
    'parts',
    () => [
      { type: 'text', text: 'p' },
      { type: 'media', mimeType: 'image/png', data: 'AA==' },
    ],
    {
      llmContent: [
        { type: 'text', text: 'p' },
        { type: 'media', mimeType: 'image/png', data: 'AA==' },
      ],
    },
  ],
  [
    'a whole result, with parts of a kind that nobody knows yet',
    () => ({
      llmContent: [{ type: 'hologram', beams: 3 }],
      displayContent: [{ type: 'text', text: 'shown' }],
      data: { n: 1 },
      outputFile: 'out.txt',
      contentLength: 9,
    }),
    {
      llmContent: [{ type: 'hologram', beams: 3 }],
      displayContent: [{ type: 'text', text: 'shown' }],
      data: { n: 1 },
      outputFile: 'out.txt',
      contentLength: 9,
    },
  ],
])('a tool may return %s', async (_, execute, expected) => {
  const { responses, result } = await runDesk({ own: [makes(execute)], script });
  expect(responses).toMatchObject([expected]);
  expect(responses[0]).not.toHaveProperty('isError');
  expect(result.reason).toBe('completed');
});

test('a result of its own may be an error, of a type that nobody knows yet', async () => {
  const { responses, model } = await runDesk({
    own: [makes(() => ({ llmContent: [{ type: 'text', text: 'no match' }], isError: true, errorType: 'no_match' }))],
    script,
  });
  expect(responses).toMatchObject([{ isError: true, errorType: 'no_match' }]);
  expect(told(model)).toMatchObject([{ response: { error: 'no match' } }]);
});

test('of a result only what a result has is published: no forged event fields', async () => {
  const { responses } = await runDesk({
    own: [
      makes(() => ({
        llmContent: [],
        requestId: 'k9',
        name: 'other',
        threadId: 'x_1',
        type: 'stream_end',
        seq: 0,
        tailCalls: [],
      })),
    ],
    script,
  });
  expect(responses).toMatchObject([{ type: 'tool_response', requestId: 'k1', name: 'desk.make' }]);
  expect(responses[0]).not.toHaveProperty('threadId');
  expect(responses[0]).not.toHaveProperty('tailCalls');
});

test.each([
  [
    'a cycle',
    () => {
      const o: Record<string, unknown> = {};
      o.o = o;
      return o;
    },
    /no JSON/,
  ],
  ['a bigint', () => 1n, /no JSON/],
  ['a function', () => () => 1, /a function, which is no JSON/],
  [
    'a whole result with a function in it',
    () => ({ llmContent: [], data: { run: () => 1 } }),
    /data\.run is a function/,
  ],
  ['a symbol', () => Symbol('x'), /no JSON/],
])('what is no JSON (%s) is an error result', async (_, execute, text) => {
  const { responses } = await runDesk({ own: [makes(execute)], script });
  expect(responses).toMatchObject([{ isError: true, errorType: 'execution_failed' }]);
  expect(textOf(responses[0])).toMatch(text);
});

class QuotaError extends Error {
  override name = 'QuotaError';
}

test.each([
  ['an error', new Error('boom'), 'boom'],
  ['an error of a type', new TypeError('x is not a function'), 'TypeError: x is not a function'],
  ['an error of an own type', new QuotaError('used up'), 'QuotaError: used up'],
  ['an error without words', new RangeError(), 'RangeError'],
  ['a text', 'plain', 'plain'],
  ['an object with a message', { message: 'said so', code: 7 }, 'said so'],
  ['nothing', undefined, 'undefined'],
])('%s that is thrown becomes an error result with type and message, never a stack', async (_, thrown, text) => {
  for (const execute of [
    () => {
      throw thrown;
    },
    () => Promise.reject(thrown),
    async function* () {
      yield 'working';
      throw thrown;
    },
  ]) {
    const { responses, result, events } = await runDesk({ own: [makes(execute)], script });
    expect(responses).toMatchObject([{ isError: true, errorType: 'execution_failed' }]);
    expect(textOf(responses[0])).toBe(text);
    expect(result.reason).toBe('completed');
    expect(JSON.stringify(events)).not.toContain('tool-forms.test');
  }
});

test.each(['ENOSPC', 'EDQUOT'])('a full disk (%s) ends the run, and says so', async (code) => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code });
  const { responses, result, model, events } = await runDesk({ own: [makes(() => Promise.reject(full))], script });
  expect(responses).toMatchObject([{ errorType: 'no_space_left' }]);
  expect(result).toMatchObject({ ok: false, reason: 'failed', data: { code: 'NO_SPACE_LEFT' } });
  expect(model.requests).toHaveLength(1);
  expect(ofType(events, 'error')).toMatchObject([{ code: 'NO_SPACE_LEFT' }]);
});

test('a generator shows its progress and returns its result; of what it yields only progress is shown', async () => {
  const { events, responses, model } = await runDesk({
    own: [
      makes(async function* () {
        yield 'half way';
        yield 0.5;
        yield { content: [{ type: 'text', text: 'more' }], progress: 7, data: { step: 2 } };
        yield { type: 'stream_end', requestId: 'k9', threadId: 'x_1', progress: 0.9 };
        for (const odd of [null, undefined, true, Number.NaN, [], {}]) yield odd;
        return 'made';
      }),
    ],
    script,
  });
  const shown = ofType(events, 'tool_update').filter(({ status }) => status === undefined);
  expect(shown.map(({ requestId, content, progress, data }) => [requestId, content, progress, data])).toEqual([
    ['k1', [{ type: 'text', text: 'half way' }], undefined, undefined],
    ['k1', undefined, 0.5, undefined],
    ['k1', [{ type: 'text', text: 'more' }], 1, { step: 2 }],
    ['k1', undefined, 0.9, undefined],
  ]);
  expect(shown.some((event) => event.threadId !== undefined)).toBe(false);
  expect(textOf(responses[0])).toBe('made');
  expect(JSON.stringify(model.requests)).not.toContain('half way');
});

test('progress and log may be said through the context, also by a plain function', async () => {
  const { events } = await runDesk({
    own: [
      tool({
        name: 'make',
        description: 'Makes.',
        annotations: { readOnly: true },
        execute(_, { progress, log, ...context }) {
          return context === undefined ? progress : log;
        },
      }),
      tool({
        name: 'tell',
        description: 'Tells.',
        annotations: { readOnly: true },
        async execute(_, context) {
          context.progress(0.25);
          context.log('a line');
          return [context.sessionId, context.requestId, context.agentId, context.threadId].join('|');
        },
      }),
    ],
    script: [calls('tell')],
    run: { sessionId: 's-1' },
  });
  expect(ofType(events, 'tool_update').map(({ progress }) => progress)).toContain(0.25);
  expect(ofType(events, 'custom')).toMatchObject([{ kind: 'log', data: { requestId: 'k1', text: 'a line' } }]);
  expect(textOf(ofType(events, 'tool_response')[0])).toBe('s-1|k1|desk|');
});

const hang = (timeoutMs: number | undefined, onSignal: (signal: AbortSignal) => void = () => {}, until = deferred()) =>
  tool({
    name: 'make',
    description: 'Hangs.',
    annotations: { readOnly: true },
    ...(timeoutMs !== undefined && { timeoutMs }),
    async execute(_, { signal }) {
      onSignal(signal);
      await until.promise;
      return 'late';
    },
  });

test.each([
  ["the tool's own", 500, {}, 500],
  ["the host's", undefined, { toolTimeoutMs: 2_000 }, 2_000],
  ['two minutes', undefined, {}, 120_000],
])('a tool that never settles is cut off by its timeout: %s', async (_, own, limits, ms) => {
  const clock = virtualClock();
  const until = deferred();
  let signal: AbortSignal | undefined;
  const { responses, model } = await runDesk({
    own: [
      hang(
        own,
        (given) => {
          signal = given;
        },
        until,
      ),
    ],
    host: { clock, limits },
    script,
    async onEvent(event) {
      if (event.type === 'tool_response') until.resolve();
      if (event.type !== 'tool_update' || event.status !== 'executing') return;
      await clock.advance(ms - 1);
      expect(signal?.aborted).toBe(false);
      await clock.advance(1);
    },
  });
  expect(responses).toMatchObject([{ isError: true, errorType: 'tool_timeout' }]);
  expect(textOf(responses[0])).toBe(`desk.make did not end within ${ms} ms`);
  expect(signal?.reason).toMatchObject({ name: 'TimeoutError' });
  expect(told(model)).toHaveLength(1);
  expect(clock.pending).toBe(0);
});

test('a signal that is first read after the timeout has fired already', async () => {
  const clock = virtualClock();
  const timedOut = deferred();
  const late = deferred<boolean>();
  await runDesk({
    own: [
      tool({
        name: 'make',
        description: 'Late.',
        annotations: { readOnly: true },
        timeoutMs: 10,
        async execute(_, context) {
          await timedOut.promise;
          late.resolve(context.signal.aborted);
        },
      }),
    ],
    host: { clock },
    script,
    onEvent(event) {
      if (event.type === 'tool_update') void clock.advance(10);
      if (event.type === 'tool_response') timedOut.resolve();
    },
  });
  expect(await late.promise).toBe(true);
});

test('a generator that is cut off is closed at its next step, and shows nothing any more', async () => {
  const clock = virtualClock();
  const step = deferred();
  const closed = deferred();
  const { events, responses } = await runDesk({
    own: [
      tool({
        name: 'make',
        description: 'Slow.',
        annotations: { readOnly: true },
        timeoutMs: 10,
        async *execute() {
          try {
            yield 'first';
            await step.promise;
            yield 'late';
          } finally {
            closed.resolve();
          }
        },
      }),
    ],
    host: { clock },
    script,
    onEvent(event) {
      if (event.type === 'tool_update' && event.content !== undefined) void clock.advance(10);
      if (event.type === 'tool_response') step.resolve();
    },
  });
  await closed.promise;
  expect(responses).toMatchObject([{ errorType: 'tool_timeout' }]);
  expect(JSON.stringify(events)).not.toContain('late');
});

test("a person's time is not the tool's: its clock stands still while a question is open", async () => {
  const clock = virtualClock();
  const { responses } = await runDesk({
    own: [
      tool({
        name: 'make',
        description: 'Asks.',
        annotations: { readOnly: true },
        timeoutMs: 1_000,
        async execute(_, { elicit }) {
          await new Promise<void>((resolve) => clock.schedule(resolve, 600));
          const { action } = await elicit({ message: 'go on?' });
          await new Promise<void>((resolve) => clock.schedule(resolve, 600));
          return action;
        },
      }),
    ],
    host: { clock },
    script,
    async onEvent(event, run) {
      if (event.type === 'tool_update') await clock.advance(600);
      if (event.type !== 'elicitation_request') return;
      await clock.advance(3_600_000);
      run.respond(event.requestId, { action: 'accept' });
      await clock.advance(399);
      expect(run.state().root.type).toBe('awaiting_tool');
      await clock.advance(1);
      // What was left behind ends before the host does.
      await clock.advance(600);
    },
  });
  // 600 before the question and 400 after it.
  expect(responses).toMatchObject([{ errorType: 'tool_timeout' }]);
});

test('a question is withdrawn when the tool that asked it is cut off', async () => {
  const clock = virtualClock();
  const { events } = await runDesk({
    own: [
      tool({
        name: 'make',
        description: 'Asks and works on.',
        annotations: { readOnly: true },
        async execute(_, { elicit, signal }) {
          const answer = await elicit({ message: 'go on?' });
          return `${answer.action} ${signal.aborted}`;
        },
      }),
    ],
    host: { clock },
    script,
    onEvent: (event, run) => event.type === 'elicitation_request' && run.abort('never mind', { requestId: 'k1' }),
  });
  expect(ofType(events, 'elicitation_response')).toMatchObject([{ action: 'cancel', source: 'host' }]);
  expect(ofType(events, 'tool_response')).toMatchObject([{ errorType: 'cancelled' }]);
});

test('parts that lack what they need are data, not parts', async () => {
  for (const output of [[{ type: 'text' }], { llmContent: [{ type: 'text' }] }]) {
    const { responses } = await runDesk({ own: [makes(() => output)], script });
    expect(textOf(responses[0])).toBe(JSON.stringify(output));
    expect(responses[0]).toMatchObject({ data: output });
  }
});

test('progress that is no JSON, or no part, is not shown', async () => {
  const shows = makes((_, { progress }: never) => {
    const show = progress as (update: unknown) => void;
    for (const update of [{ data: 10n }, { content: [{ type: 'text' }] }, { content: 5 }, { progress: Number.NaN }])
      show(update);
    show({ data: { seen: 1 } });
  });
  const { events } = await runDesk({ own: [shows], script });
  const shown = ofType(events, 'tool_update').filter(({ status }) => status === undefined);
  expect(shown.map(({ data, content }) => ({ data, content }))).toEqual([{ data: { seen: 1 } }]);
});

test.each([
  [{ llmContent: [], displayContent: [null] }, 'displayContent must be a list of content parts'],
  [{ llmContent: [], tailCalls: [null] }, 'tailCalls must be a list of calls, { name, args }'],
  [{ llmContent: [], isError: 'no' }, 'isError must be true or false'],
  [{ llmContent: [{ type: 'text', text: 'x' }], errorType: 7 }, 'errorType must be a text'],
])('a result whose fields are none of a result’s is an error that says which (%#)', async (result, words) => {
  const { responses, result: end } = await runDesk({ own: [makes(() => result)], script });
  expect(responses).toMatchObject([{ isError: true, errorType: 'execution_failed' }]);
  expect(textOf(responses[0])).toContain(words);
  expect(end.ok).toBe(true);
});
