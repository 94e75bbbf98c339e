import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, tool } from '../../src/index.js';
import { callPiece, chatFrame, geminiFrame, retriesIn, runAt } from '../support/providers.js';
import { type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { ofType, textIn } from '../support/team.js';

let server: ScriptedServer;
beforeAll(async () => {
  server = await scriptedServer();
});
afterAll(() => server.close());

const answer = (...frames: (object | string)[]) => server.answer({ chunks: [sse(...frames)] });
const errorsIn = (events: readonly AgentEvent[]) => ofType(events, 'error').map(({ code, message }) => [code, message]);

/** A tool that takes anything, and what it was given. */
function spy(name = 'f', output: unknown = 'done') {
  const given: unknown[] = [];
  const made = tool({
    name,
    description: 'Takes anything.',
    parameters: { type: 'object' },
    execute(args) {
      given.push(args);
      return output as string;
    },
  });
  return { tool: made, given };
}

const providers = [
  {
    model: 'gemini/test',
    text: (text: string, isLast = false) => geminiFrame([{ text }], isLast ? 'STOP' : undefined),
    error: (code: number) => ({ error: { code, message: `upstream ${code}` }, candidates: [] }),
  },
  {
    model: 'openai/test',
    text: (text: string, isLast = false) => chatFrame({ content: text }, isLast ? 'stop' : null),
    error: (code: number) => ({ error: { code, message: `upstream ${code}` }, choices: [] }),
  },
];

describe.each(providers)('$model', ({ model, text, error }) => {
  test('an error of 400 inside the stream fails the run with its code and words, and is not tried again (B081)', async () => {
    for (const frames of [[error(400)], [text('half'), error(400)]]) {
      answer(...frames);
      const { events, result, requests } = await runAt(server, agent({ name: 'a', model }));
      expect(errorsIn(events)).toEqual([['INVALID_ARGUMENT', 'upstream 400']]);
      expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'failed' });
      expect(result.data).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'upstream 400' });
      expect(requests).toHaveLength(1);
    }
  });

  test('an error of 502 inside the stream is tried again only before the first text (B081)', async () => {
    answer(error(502));
    answer(text('fine', true));
    const early = await runAt(server, agent({ name: 'a', model }));
    expect(early.result).toMatchObject({ ok: true, text: 'fine' });
    expect(early.requests).toHaveLength(2);
    expect(retriesIn(early.events)).toBe(1);
    answer(text('half'), error(502));
    const late = await runAt(server, agent({ name: 'a', model }));
    expect(late.requests).toHaveLength(1);
    expect(textIn(late.events)).toBe('half');
    expect(errorsIn(late.events)).toEqual([['UNAVAILABLE', 'upstream 502']]);
    expect(late.result.reason).toBe('failed');
  });

  test('a frame that is not JSON is an error of the run, and the next run is fine (B088)', async () => {
    answer(text('before'), '{bad', text('after', true));
    const broken = await runAt(server, agent({ name: 'a', model }));
    expect(textIn(broken.events)).toBe('before');
    expect(broken.events.slice(-2).map((event) => event.type)).toEqual(['error', 'stream_end']);
    expect(broken.result.reason).toBe('failed');
    answer(text('fine', true));
    expect((await runAt(server, agent({ name: 'a', model }))).result.text).toBe('fine');
  });

  test('a frame that is not JSON before any text is tried again, three times in all (B088)', async () => {
    for (let call = 0; call < 3; call++) answer('{bad', text('after', true));
    const { events, result, requests } = await runAt(server, agent({ name: 'a', model }));
    expect(requests).toHaveLength(3);
    expect(errorsIn(events)).toHaveLength(1);
    expect(result.reason).toBe('failed');
  });
});

describe('chat completions', () => {
  const model = 'openai/test';

  test.each([
    ['an empty choice', {}],
    ['finish reason error', { choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }] }],
    ['finish reason error and no delta', { choices: [{ index: 0, finish_reason: 'error' }] }],
  ])('half a call before an error with %s never runs (B081)', async (_, rest) => {
    for (const code of [400, 502]) {
      const f = spy();
      const broken = [
        callPiece(0, 'c', 'f', '{"path":"a"}'),
        callPiece(1, 'd', 'f', '{"pa'),
        { choices: [], ...rest, error: { code, message: `upstream ${code}` } },
      ];
      answer(...broken);
      if (code === 502) answer(chatFrame({ content: 'fine' }, 'stop'));
      const { events, result, requests } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
      expect(f.given).toEqual([]);
      expect(ofType(events, 'tool_request')).toEqual([]);
      expect(requests).toHaveLength(code === 502 ? 2 : 1);
      expect(result.ok).toBe(code === 502);
      if (code === 400) expect(errorsIn(events)).toEqual([['INVALID_ARGUMENT', 'upstream 400']]);
    }
  });

  test('a call in pieces by id, its name coming last, is one call (B091)', async () => {
    const f = spy();
    answer(
      callPiece(undefined, 'c1', undefined, '{"a"'),
      callPiece(undefined, 'c1', undefined, ':1}'),
      callPiece(undefined, 'c1', 'f'),
      chatFrame({}, 'tool_calls'),
    );
    answer(chatFrame({ content: 'ok' }, 'stop'));
    const { events } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    expect(f.given).toEqual([{ a: 1 }]);
    expect(ofType(events, 'tool_request')).toHaveLength(1);
  });

  test('pieces at index 1 alone are one request with a name and an id (B093)', async () => {
    const f = spy();
    answer(callPiece(1, 'c', 'f', '{"a"'), callPiece(1, undefined, undefined, ':1}'), chatFrame({}, 'tool_calls'));
    answer(chatFrame({ content: 'ok' }, 'stop'));
    const { events } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    expect(ofType(events, 'tool_request')).toMatchObject([{ requestId: 'c', name: 'a.f', args: { a: 1 } }]);
    expect(f.given).toEqual([{ a: 1 }]);
  });

  test.each([[''], ['  '], [undefined]])('arguments %j run the tool with none (B095)', async (args) => {
    const f = spy();
    answer(callPiece(0, 'c', 'f', args), chatFrame({}, 'tool_calls'));
    answer(chatFrame({ content: 'ok' }, 'stop'));
    await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    expect(f.given).toEqual([{}]);
  });

  test.each(['tool_calls', 'stop', 'length'])(
    'arguments that break off before %s do not run; the model is told, and never that they were {} (B096)',
    async (finish) => {
      const f = spy();
      answer(callPiece(0, 'c', 'f', '{"path":"a'), chatFrame({}, finish));
      answer(chatFrame({ content: 'ok' }, 'stop'));
      const { events, requests, result } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
      expect(f.given).toEqual([]);
      expect(ofType(events, 'tool_response')).toMatchObject([{ isError: true, errorType: 'invalid_tool_params' }]);
      const sent = requests[1]!.body.messages as { role: string; content?: string; tool_calls?: object[] }[];
      expect(sent.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'c' });
      expect(sent.at(-1)!.content).toContain('{\\"path\\":\\"a');
      expect(JSON.stringify(sent.at(-2)?.tool_calls)).not.toContain('"arguments":"{}"');
      expect(result.ok).toBe(true);
    },
  );

  test('a stream that breaks off within the arguments of a call runs nothing (B096)', async () => {
    const f = spy();
    for (let call = 0; call < 3; call++)
      server.answer({ chunks: [sse(callPiece(0, 'c', 'f', '{"path":"a"'))], ending: 'cut' });
    const { events, result, requests } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    expect(f.given).toEqual([]);
    expect(requests).toHaveLength(3);
    expect(ofType(events, 'tool_request')).toEqual([]);
    expect(result.reason).toBe('failed');
  });

  test('ids that a provider uses again are ours once, and each call goes back with its own result (B098)', async () => {
    const [f, g] = [spy('f', 'from f'), spy('g', 'from g')];
    answer(callPiece(0, 'call_0', 'f', '{"n":1}'), chatFrame({}, 'tool_calls'));
    answer(callPiece(0, 'call_0', 'g', '{"n":2}'), chatFrame({}, 'tool_calls'));
    answer(callPiece(0, 'call_0', 'f', '{"n":3}'), callPiece(1, 'call_0', 'g', '{"n":4}'), chatFrame({}, 'tool_calls'));
    answer(chatFrame({ content: 'ok' }, 'stop'));
    const { events, requests } = await runAt(server, agent({ name: 'a', model, tools: [f.tool, g.tool] }));
    expect(f.given).toEqual([{ n: 1 }, { n: 3 }]);
    expect(g.given).toEqual([{ n: 2 }, { n: 4 }]);
    const ids = ofType(events, 'tool_request').map((event) => event.requestId);
    expect(new Set(ids).size).toBe(4);
    const sent = requests.at(-1)!.body.messages as {
      tool_calls?: { id: string; function: { name: string } }[];
      tool_call_id?: string;
      content: unknown;
    }[];
    const calls = sent.flatMap((message) => message.tool_calls ?? []);
    expect(new Set(calls.map((one) => one.id)).size).toBe(4);
    for (const { id, function: called } of calls)
      expect(sent.filter((message) => message.tool_call_id === id).map((message) => message.content)).toEqual([
        `from ${called.name}`,
      ]);
  });
});

describe('Gemini', () => {
  const model = 'gemini/test';
  const contentsOf = (request: { body: Record<string, unknown> }) =>
    request.body.contents as { role: string; parts: Record<string, object>[] }[];

  test('three chunks that all say STOP are one message with all three texts, and one end (B090)', async () => {
    answer(...['a', 'b', 'c'].map((text) => geminiFrame([{ text }], 'STOP')));
    const { events, result, requests } = await runAt(server, agent({ name: 'a', model }));
    expect(result.text).toBe('abc');
    const said = ofType(events, 'message').filter((event) => event.role === 'agent');
    expect(new Set(said.map((event) => event.messageId)).size).toBe(1);
    expect(ofType(events, 'stream_end')).toHaveLength(1);
    expect(requests).toHaveLength(1);
  });

  test('calls that come after a chunk that says STOP still run (B090)', async () => {
    const f = spy();
    answer(
      geminiFrame([{ text: 'a' }], 'STOP'),
      geminiFrame([{ functionCall: { name: 'f', args: { n: 1 } } }], 'STOP'),
    );
    answer(geminiFrame([{ text: 'done' }], 'STOP'));
    const { result } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    expect(f.given).toEqual([{ n: 1 }]);
    expect(result.text).toBe('done');
  });

  test('parallel calls without ids get two of ours, and are answered in call order (B100)', async () => {
    const f = spy();
    answer(
      geminiFrame(
        [{ functionCall: { name: 'f', args: { n: 1 } } }, { functionCall: { name: 'f', args: { n: 2 } } }],
        'STOP',
      ),
    );
    answer(geminiFrame([{ functionCall: { name: 'f', args: { n: 3 } } }], 'STOP'));
    answer(geminiFrame([{ text: 'ok' }], 'STOP'));
    const { events, requests } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    const ids = ofType(events, 'tool_request').map((event) => event.requestId);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => id !== '')).toBe(true);
    const sent = contentsOf(requests.at(-1)!);
    expect(sent.map((content) => content.role)).toEqual(['user', 'model', 'user', 'model', 'user']);
    expect(sent[1]!.parts.map((part) => (part.functionCall as { args: object }).args)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(sent[2]!.parts.map((part) => Object.keys(part))).toEqual([['functionResponse'], ['functionResponse']]);
    const idsSent = (at: number, key: string) =>
      sent[at]!.parts.map((part) => (part[key] as { id?: string } | undefined)?.id);
    expect(idsSent(2, 'functionResponse')).toEqual(idsSent(1, 'functionCall'));
  });

  test('three parallel calls in several chunks go back as one content with the signature where it was (B101)', async () => {
    const f = spy();
    const signature = 'EpkB+/a-_=='.repeat(20);
    answer(
      geminiFrame([{ text: 'hm', thought: true }]),
      geminiFrame([{ functionCall: { name: 'f', args: { n: 1 } }, thoughtSignature: signature }]),
      geminiFrame([{ functionCall: { name: 'f', args: { n: 2 } } }]),
      geminiFrame([{ functionCall: { name: 'f', args: { n: 3 } } }], 'STOP'),
    );
    answer(geminiFrame([{ text: 'ok' }], 'STOP'));
    const { requests } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    const [, said, answered, ...more] = contentsOf(requests.at(-1)!);
    expect(more).toEqual([]);
    const calls = said!.parts.filter((part) => part.functionCall !== undefined);
    expect(calls.map((part) => part.thoughtSignature)).toEqual([signature, undefined, undefined]);
    expect(calls.map((part) => (part.functionCall as { args: object }).args)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(answered).toMatchObject({ role: 'user' });
    expect(answered!.parts.map((part) => Object.keys(part))).toEqual(Array(3).fill(['functionResponse']));
  });

  test('a signature cut in two by the socket reaches the next request whole (B086)', async () => {
    const f = spy();
    const signature = 'EpwBCpkB0e2Kb/+='.repeat(40);
    const whole = sse(geminiFrame([{ functionCall: { name: 'f' }, thoughtSignature: signature }], 'STOP'));
    const at = whole.indexOf(signature) + 300;
    server.answer({ chunks: [whole.slice(0, at), whole.slice(at)] });
    answer(geminiFrame([{ text: 'ok' }], 'STOP'));
    const { events, requests } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    expect(ofType(events, 'tool_request')).toMatchObject([{ thoughtSignature: signature }]);
    expect(contentsOf(requests.at(-1)!)[1]!.parts[0]).toMatchObject({ thoughtSignature: signature });
  });

  test.each([
    ['a malformed call', { candidates: [{ content: {}, finishReason: 'MALFORMED_FUNCTION_CALL' }] }],
    ['no candidates', { candidates: [] }],
    ['STOP with no parts', { candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] }],
  ])('%s is asked for twice, then it is an error, and nothing empty is in the history (B103)', async (_, frame) => {
    answer(frame);
    answer(frame);
    const failed = await runAt(server, agent({ name: 'a', model }));
    expect(failed.requests).toHaveLength(2);
    expect(errorsIn(failed.events)).toEqual([['MALFORMED_RESPONSE', expect.any(String)]]);
    expect(ofType(failed.events, 'message').filter((event) => event.role === 'agent')).toEqual([]);
    expect(failed.result.reason).toBe('failed');
    answer(frame);
    answer(geminiFrame([{ text: 'fine' }], 'STOP'));
    const better = await runAt(server, agent({ name: 'a', model }));
    expect(better.result).toMatchObject({ ok: true, text: 'fine' });
    expect(contentsOf(better.requests[1]!)).toEqual(contentsOf(better.requests[0]!));
  });

  test('a result that is a bare $ref reaches the model as text, and stays in the log as it was (B113)', async () => {
    const f = spy('f', { $ref: '#/x' });
    answer(geminiFrame([{ functionCall: { name: 'f' } }], 'STOP'));
    answer(geminiFrame([{ text: 'ok' }], 'STOP'));
    const { events, requests } = await runAt(server, agent({ name: 'a', model, tools: [f.tool] }));
    expect(ofType(events, 'tool_response')).toMatchObject([{ data: { $ref: '#/x' } }]);
    const [, , answered] = contentsOf(requests.at(-1)!);
    const { response } = answered!.parts[0]!.functionResponse as { response: Record<string, unknown> };
    expect(response).not.toHaveProperty('$ref');
    expect(JSON.stringify(response)).toContain('#/x');
  });
});

describe('usage', () => {
  const counts = [
    [10, 5],
    [10, 9],
    [10, 12],
  ] as const;

  test.each([
    [
      'gemini/test',
      counts.map(([promptTokenCount, candidatesTokenCount], at) =>
        geminiFrame([{ text: 'x' }], at === 2 ? 'STOP' : undefined, {
          usageMetadata: { promptTokenCount, candidatesTokenCount },
        }),
      ),
    ],
    [
      'openai/test',
      counts.map(([prompt_tokens, completion_tokens], at) =>
        chatFrame({ content: 'x' }, at === 2 ? 'stop' : null, { usage: { prompt_tokens, completion_tokens } }),
      ),
    ],
  ])('%s: usage in every chunk is counted once, from the last (B105)', async (model, frames) => {
    answer(...frames);
    const { events, result } = await runAt(server, agent({ name: 'a', model }));
    expect(ofType(events, 'usage')).toHaveLength(1);
    expect(result.usage).toEqual({ inputTokens: 10, outputTokens: 12 });
  });

  test.each([
    ['gemini/test', geminiFrame([{ text: 'x' }], 'STOP')],
    ['openai/test', chatFrame({ content: 'x' }, 'stop')],
  ])('%s: usage that nobody gave is absent, not 0 (B106)', async (model, frame) => {
    answer(frame);
    const { events, result } = await runAt(server, agent({ name: 'a', model }));
    expect(ofType(events, 'usage')).toEqual([]);
    expect(result.usage).toEqual({});
    expect(result).not.toHaveProperty('cost');
  });

  test('a wait of 0 seconds is no wait, and the try counts (B108)', async () => {
    const busy = {
      status: 429,
      headers: { 'content-type': 'application/json' },
      chunks: [
        JSON.stringify({
          error: {
            code: 429,
            status: 'RESOURCE_EXHAUSTED',
            message: 'slow',
            details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0s' }],
          },
        }),
      ],
    };
    server.answer(busy, busy, busy);
    const { events, result, requests } = await runAt(server, agent({ name: 'a', model: 'gemini/test' }), {
      standsStill: true,
    });
    expect(requests).toHaveLength(3);
    expect(retriesIn(events)).toBe(2);
    expect(result.data).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  });
});
