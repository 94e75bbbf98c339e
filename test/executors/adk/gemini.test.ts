import { FunctionTool, Gemini, LlmAgent, type LlmAgentConfig } from '@google/adk';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent } from '../../../src/contracts/index.js';
import { agent, createHost } from '../../../src/index.js';
import { eventsOf } from '../../../src/testing/event-checks.js';
import { validateLog, virtualClock } from '../../../src/testing/index.js';
import { collect } from './collect.js';
import { type GeminiAnswer, type GeminiServer, geminiServer } from './gemini-server.js';

const servers: GeminiServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** ADK's own Gemini, over HTTP. */
class LocalGemini extends Gemini {
  constructor(private readonly url: string) {
    super({ model: 'gemini-2.5-flash', apiKey: 'key' });
  }
  protected override getHttpOptions() {
    return { ...super.getHttpOptions(), baseUrl: this.url };
  }
}

async function legacy(answers: readonly GeminiAnswer[], more: Partial<LlmAgentConfig> = {}) {
  const server = await geminiServer(answers);
  servers.push(server);
  const llm = new LlmAgent({ name: 'helper', model: new LocalGemini(server.url), ...more });
  return { server, subject: agent({ name: 'legacy', executor: 'adk', backend: { agent: llm } }) };
}

const piece = (parts: object[], more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, ...more }],
});
const usage = (prompt: number, out: number) => ({
  usageMetadata: { promptTokenCount: prompt, candidatesTokenCount: out },
});
const ALLOW = { tier: 'user' as const, rules: [{ toolName: '*', decision: 'allow' as const, priority: 1 }] };
const look = new FunctionTool({
  name: 'look',
  description: 'Looks.',
  parameters: z.object({ n: z.number() }),
  execute: ({ n }) => `saw ${n}`,
});

test('pieces, a thought, text and parallel calls without ids in one stream; signatures go back verbatim (B100, B101, B105)', async () => {
  const { server, subject } = await legacy(
    [
      [
        { ...piece([{ text: 'let me see', thought: true }]), ...usage(10, 5) },
        { ...piece([{ text: 'I ' }]), ...usage(10, 7) },
        { ...piece([{ text: 'look' }]), ...usage(10, 9) },
        {
          ...piece(
            [
              { functionCall: { name: 'look', args: { n: 1 } }, thoughtSignature: 'c2ln/+8=' },
              { functionCall: { name: 'look', args: { n: 1 } } },
              { functionCall: { name: 'look', args: { n: 3 } } },
            ],
            { finishReason: 'STOP' },
          ),
          ...usage(10, 12),
        },
      ],
      [{ ...piece([{ text: 'seen', thoughtSignature: 'dGV4dA==' }], { finishReason: 'STOP' }), ...usage(30, 1) }],
      [piece([{ text: 'bye' }], { finishReason: 'STOP' })],
    ],
    { tools: [look], instruction: 'Be brief.' },
  );
  await using host = createHost({ policy: [ALLOW] });
  const session = host.session(subject);
  const events: AgentEvent[] = [];
  for (const content of ['look thrice', 'bye'])
    for await (const event of session.stream({ kind: 'message', content }).stream) events.push(event);
  expect(validateLog(events)).toEqual([]);

  const requests = eventsOf(events, 'tool_request');
  expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(3);
  const [first] = eventsOf(events, 'message').filter(({ role }) => role === 'agent');
  const texts = eventsOf(events, 'message')
    .filter(({ messageId }) => messageId === first?.messageId)
    .flatMap(({ content }) => content);
  expect(texts).toEqual([
    { type: 'thought', thought: 'let me see' },
    { type: 'text', text: 'I ' },
    { type: 'text', text: 'look' },
  ]);
  expect(eventsOf(events, 'usage')[0]?.model).toBe('gemini/gemini-2.5-flash');
  expect(eventsOf(events, 'usage').map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens])).toEqual([
    [10, 12],
    [30, 1],
  ]);

  const [, asked, answered] = server.requests[1]?.body.contents ?? [];
  const calls = asked?.parts.filter((part) => part.functionCall) ?? [];
  expect(calls.map(({ thoughtSignature }) => thoughtSignature)).toEqual(['c2ln/+8=', undefined, undefined]);
  expect(answered?.parts.map((part) => (part.functionResponse as { response: object }).response)).toEqual(
    ['saw 1', 'saw 1', 'saw 3'].map((output) => ({ output })),
  );
  expect(server.requests[1]?.body.contents.length).toBe(3);
  // What the host says of its tools reaches the wire as JSON Schema or Gemini's own; the instruction stays the agent's.
  expect(JSON.stringify(server.requests[0]?.body.tools)).toContain('"look"');
  expect(JSON.stringify(server.requests[0]?.body.systemInstruction)).toContain('Be brief.');
  // A signature of a text part too.
  expect(JSON.stringify(server.requests[2]?.body.contents)).toContain('dGV4dA==');
  await session.close();
});

test('429 with a time to wait is waited for; 400 ends the run with its code', async () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3s' }];
  const clock = virtualClock();
  const { subject } = await legacy([
    { status: 429, error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED', details } },
    [piece([{ text: 'there' }], { finishReason: 'STOP' })],
    { status: 400, error: { code: 400, message: 'no such field', status: 'INVALID_ARGUMENT' } },
  ]);
  await using host = createHost({ clock });
  const run = host.run(subject, 'go');
  const events = await collect(run, (event) => {
    if (event.type === 'custom' && event.kind === 'notice') void clock.advance(3_000);
  });
  expect((await run.result).text).toBe('there');
  expect(JSON.stringify(eventsOf(events, 'custom')[0]?.data)).toContain('again in 3000 ms');
  expect((await host.run(subject, 'go').result).data).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: 'no such field',
  });
});

test('a blocked prompt and a withheld answer are refusals', async () => {
  const { subject } = await legacy([
    // Streaming, ADK says nothing of it: it is asked for as a whole.
    [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }],
    [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }],
    [piece([{ text: 'wel' }]), { candidates: [{ finishReason: 'SAFETY' }] }],
  ]);
  const clock = virtualClock();
  await using host = createHost({ clock });
  for (let at = 0; at < 2; at++) {
    const run = host.run(subject, 'go');
    await collect(run, (event) => {
      if (event.type === 'custom' && event.kind === 'notice') void clock.advance(500);
    });
    expect((await run.result).reason).toBe('refusal');
  }
});

test('an abort closes the connection', async () => {
  const { subject, server } = await legacy(['hang']);
  await using host = createHost({});
  const run = host.run(subject, 'go');
  const asked = (async () => {
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    run.abort('enough');
  })();
  const events = await collect(run);
  await asked;
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
});
