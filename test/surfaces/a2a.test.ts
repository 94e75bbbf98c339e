import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  type HostOptions,
  memoryStore,
  parallel,
  type Run,
  sequential,
  tool,
} from '../../src/index.js';
import { type A2aServerOptions, serveA2a } from '../../src/surfaces/a2a.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, leaf, ofType, textIn } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(
  team: AgentDefinition,
  byAgent: Record<string, unknown>,
  options: { host?: HostOptions; server?: A2aServerOptions } = {},
) {
  const model = scriptedModel({ byAgent } as never);
  const host = createHost({ models: { scripted: model }, ...options.host });
  const server = await serveA2a(host, team, options.server);
  closing.push(
    () => host.close(),
    () => server.close(),
  );
  return { server, model };
}

const granted = (name: string) => ({
  policy: [{ rules: [{ toolName: name, decision: 'allow' as const, context: { opaque: true } }] }],
});

function callerOf(cardUrl: string, backend: object = {}) {
  const host = createHost(granted('far'));
  closing.push(() => host.close());
  const far = agent({ name: 'far', executor: 'remote', backend: { cardUrl, ...backend } });
  return { host, far };
}

async function ask(
  cardUrl: string,
  input = 'go',
  see: (event: AgentEvent, run: Run) => void = () => {},
  backend: object = {},
) {
  const { host, far } = callerOf(cardUrl, backend);
  const run = host.run(far, input) as Run;
  const watched = (async function* () {
    for await (const event of run) {
      see(event, run);
      yield event;
    }
  })();
  const events = await collect(watched);
  return { events, result: await run.result };
}

test('a team answers a remote caller: its words stream as increments of one message, and are the result', async () => {
  const { server, model } = await serve(leaf('near'), { near: [{ text: ['Hel', 'lo'] }] });
  const { events, result } = await ask(server.cardUrl, 'Good day');
  expect(result).toMatchObject({ ok: true, text: 'Hello' });
  const said = ofType(events, 'message').filter(({ role }) => role === 'agent');
  expect(new Set(said.map(({ messageId }) => messageId)).size).toBe(1);
  expect(textIn(events)).toBe('Hello');
  expect(JSON.stringify(model.requests[0]?.messages)).toContain('Good day');
});

test('the same without streaming, by either side: one decision, and both finish (B180)', async () => {
  const { server } = await serve(leaf('near'), { near: [{ text: 'one' }, { text: 'two' }] });
  expect((await ask(server.cardUrl, 'go', undefined, { streaming: false, pollMs: 0 })).result).toMatchObject({
    ok: true,
    text: 'one',
  });
  const card = (await (await fetch(server.cardUrl)).json()) as { capabilities: { streaming: boolean } };
  const fetchCard: typeof fetch = async (input, init) => {
    if (!String(input).endsWith('agent-card.json')) return fetch(input, init);
    return Response.json({ ...card, capabilities: { ...card.capabilities, streaming: false } });
  };
  expect((await ask(server.cardUrl, 'go', undefined, { fetch: fetchCard, pollMs: 0 })).result).toMatchObject({
    ok: true,
    text: 'two',
  });
});

test('what a composition comes to is the answer; what its members say is not told', async () => {
  const team = sequential({
    name: 's',
    children: [parallel({ name: 'p', children: [leaf('a'), leaf('b')] }), leaf('c')],
  });
  const { server } = await serve(team, { a: [{ text: 'A' }], b: [{ text: 'B' }], c: [{ text: 'C' }] });
  const { events, result } = await ask(server.cardUrl);
  expect(result.text).toBe('C');
  expect(textIn(events)).toBe('C');
});

test('structured output comes back as data', async () => {
  const own = agent({ name: 'near', outputSchema: z.object({ facts: z.array(z.string()) }) });
  const { server } = await serve(own, { near: [{ text: '{"facts":["x"]}' }] });
  expect((await ask(server.cardUrl)).result.result).toEqual({ facts: ['x'] });
});

test('structured input goes as data', async () => {
  const own = agent({ name: 'near', inputSchema: z.object({ city: z.string() }) });
  const { server, model } = await serve(own, { near: [{ text: 'ok' }] });
  const host = createHost(granted('far'));
  closing.push(() => host.close());
  const far = agent({
    name: 'far',
    executor: 'remote',
    inputSchema: z.object({ city: z.string() }),
    backend: { cardUrl: server.cardUrl },
  });
  expect(await host.run(far, { city: 'Oslo' }).result).toMatchObject({ ok: true });
  expect(JSON.stringify(model.requests[0]?.messages)).toContain('Oslo');
});

test('a question inside becomes one outside: asked, answered, gone on, in one conversation', async () => {
  const asked: string[] = [];
  const wonder = tool({
    name: 'wonder',
    description: 'w',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    async execute(_args, { elicit }) {
      const first = await elicit({
        message: 'Which city?',
        kind: 'clarification',
        requestedSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      });
      asked.push(String(first.content?.city));
      return `city ${first.content?.city}`;
    },
  });
  const { server } = await serve(agent({ name: 'near', tools: [wonder] }), {
    near: [{ toolCalls: [{ name: 'wonder', args: {} }] }, { text: 'done' }, { text: 'again' }],
  });
  const { host, far } = callerOf(server.cardUrl);
  const session = host.session(far);
  const first: AgentEvent[] = [];
  for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) first.push(event);
  const [question] = ofType(first, 'elicitation_request');
  expect(question).toMatchObject({ kind: 'clarification', message: 'Which city?' });
  const rest: AgentEvent[] = [];
  const answer = { action: 'accept', content: { answer: 'Oslo' } };
  for await (const event of session.stream({
    kind: 'elicitation_response',
    requestId: question!.requestId,
    response: answer,
  }).stream)
    rest.push(event);
  expect(asked).toEqual(['Oslo']);
  expect(ofType(rest, 'stream_end')[0]).toMatchObject({ reason: 'completed', data: { result: 'done' } });
  const more: AgentEvent[] = [];
  for await (const event of session.stream({ kind: 'message', content: 'more' }).stream) more.push(event);
  expect(textIn(more)).toContain('again');
  await session.close();
});

test('an approval that the far side asks for is granted or not by the near side (depth and all)', async () => {
  for (const [action, ran] of [
    ['accept', 1],
    ['decline', 0],
  ] as const) {
    let runs = 0;
    const danger = tool({
      name: 'danger',
      description: 'd',
      parameters: { type: 'object' },
      execute: () => `ran ${++runs}`,
    });
    const team = sequential({
      name: 's',
      children: [parallel({ name: 'p', children: [agent({ name: 'near', tools: [danger] })] })],
    });
    const { server } = await serve(team, { near: [{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'done' }] });
    const { result } = await ask(server.cardUrl, 'go', (event, run) => {
      if (event.type !== 'elicitation_request') return;
      if (action === 'accept') run.respond(event.requestId, { action, content: { answer: 'yes' } });
      else run.respond(event.requestId, { action });
    });
    expect(runs).toBe(ran);
    expect(result.reason).toBe(action === 'accept' ? 'completed' : 'failed');
  }
});

test('an abort here cancels there', async () => {
  let seen: unknown;
  const stuck = tool({
    name: 'stuck',
    description: 's',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_args, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          seen = signal.reason;
          reject(signal.reason);
        }),
      ),
  });
  const own = agent({ name: 'near', tools: [stuck] });
  const { server } = await serve(own, { near: [{ text: 'wait', toolCalls: [{ name: 'stuck', args: {} }] }] });
  const { result } = await ask(server.cardUrl, 'go', (event, run) => {
    if (event.type === 'message' && event.role === 'agent') run.abort('enough');
  });
  expect(result.reason).toBe('aborted');
  expect(String(seen)).toContain('canceled by the caller');
});

test('a run that fails there fails here, and says why; a limit too', async () => {
  const { server } = await serve(leaf('near'), {
    near: [{ error: { code: 'INVALID_ARGUMENT', message: 'no such model' } }],
  });
  expect((await ask(server.cardUrl)).result).toMatchObject({
    reason: 'failed',
    data: { code: 'REMOTE_FAILED', message: expect.stringContaining('no such model') },
  });
});

test('without the token nothing but the card is to be had; with it, all is', async () => {
  const { server } = await serve(leaf('near'), { near: [{ text: 'in' }] }, { server: { token: 'right' } });
  expect((await ask(server.cardUrl)).result).toMatchObject({ reason: 'failed' });
  expect((await ask(server.cardUrl, 'go', undefined, { auth: 'wrong' })).result).toMatchObject({ reason: 'failed' });
  expect((await ask(server.cardUrl, 'go', undefined, { auth: async () => 'right' })).result).toMatchObject({
    text: 'in',
  });
  const bare = await fetch(server.url, { method: 'POST', body: '{}' });
  expect([bare.status, await bare.text()]).toEqual([403, '']);
});

test('no caller sees the tasks or contexts of another', async () => {
  const { server, model } = await serve(
    leaf('near'),
    { near: [{ text: '1' }, { text: '2' }, { text: '3' }] },
    { server: { token: { ann: 'token-ann', bob: 'token-bob' } } },
  );
  const rpc = async (token: string, method: string, params: object) => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as {
      result?: { task?: { id: string; contextId: string }; tasks?: unknown[] };
      error?: { message: string };
    };
  };
  const say = (text: string, contextId = '') => ({
    message: { messageId: text, role: 'ROLE_USER', parts: [{ text }], contextId },
  });
  const first = await rpc('token-ann', 'SendMessage', say('secret of ann', 'shared'));
  const { id } = first.result!.task!;
  expect((await rpc('token-bob', 'GetTask', { id })).error).toBeDefined();
  expect((await rpc('token-ann', 'GetTask', { id })).error).toBeUndefined();
  await rpc('token-bob', 'SendMessage', say('hello', 'shared'));
  expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('secret of ann');
  expect((await rpc('token-bob', 'ListTasks', {})).result?.tasks).toHaveLength(1);
  await rpc('token-ann', 'SendMessage', say('go on', 'shared'));
  expect(JSON.stringify(model.requests[2]?.messages)).toContain('secret of ann');
});

test('an address that others can reach needs a token; foreign hosts and pages, and bodies too large or deep are refused', async () => {
  const host = createHost();
  closing.push(() => host.close());
  await expect(serveA2a(host, leaf('near'), { hostname: '0.0.0.0' })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  const { server } = await serve(
    leaf('near'),
    { near: [] },
    { server: { maxBodyBytes: 2000, maxRequestsPerMinute: 6 } },
  );
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(server.url, { method: 'POST', body, headers });
  expect((await post('{}', { origin: 'https://evil.example' })).status).toBe(403);
  expect((await post('x'.repeat(3000))).status).toBe(413);
  expect(await (await post(`${'['.repeat(500)}${']'.repeat(500)}`)).json()).toMatchObject({ error: { code: -32700 } });
  const { request } = await import('node:http');
  const status = await new Promise((resolve) => {
    const { hostname, port } = new URL(server.url);
    request({ hostname, port, path: '/', method: 'POST', headers: { host: 'evil.example' } }, (answer) =>
      resolve(answer.statusCode),
    ).end();
  });
  expect(status).toBe(403);
  const statuses: number[] = [];
  for (let at = 0; at < 8; at++) statuses.push((await post('{}')).status);
  expect(statuses).toContain(429);
});

test('the card says what the descriptor says, for peers of both versions', async () => {
  const own = agent({ name: 'near', description: 'Near.', inputSchema: z.object({ city: z.string() }) });
  const { server } = await serve(own, { near: [] }, { server: { token: 't' } });
  const card = (await (await fetch(server.cardUrl)).json()) as Record<string, unknown>;
  expect(card).toMatchObject({
    name: 'near',
    description: 'Near.',
    protocolVersion: '0.3.0',
    url: server.url,
    supportedInterfaces: [{ protocolVersion: '1.0' }, { protocolVersion: '0.3' }],
    skills: [{ id: 'near' }],
  });
  expect(JSON.stringify(card)).toContain('"city"');
});

test('a picture that its session has kept goes out whole, and is kept again where it arrives', async () => {
  const data = Buffer.alloc(70_000, 7).toString('base64');
  const drawing = {
    generate: () => Promise.resolve({ content: [], finishReason: 'stop' }),
    async *generateStream() {
      yield { content: [{ type: 'media' as const, mimeType: 'image/png', data }], finishReason: 'stop' };
    },
  };
  const { server } = await serve(leaf('near'), {}, { host: { models: { scripted: drawing } } });
  const store = memoryStore();
  const host = createHost({ ...granted('far'), store });
  closing.push(() => host.close());
  const far = agent({ name: 'far', executor: 'remote', backend: { cardUrl: server.cardUrl } });
  const run = host.run(far, 'draw') as Run;
  const events = await collect(run);
  expect(await run.result).toMatchObject({ ok: true });
  const media = ofType(events, 'message').flatMap(({ content }) => content.filter(({ type }) => type === 'media'));
  expect(media).toEqual([{ type: 'media', mimeType: 'image/png', uri: expect.stringContaining(run.sessionId) }]);
  const [kept] = (await store.artifacts?.list(run.sessionId)) ?? [];
  const found = await store.artifacts?.load(run.sessionId, kept?.name ?? '');
  expect(Buffer.from(found?.data ?? []).toString('base64')).toBe(data);
});
