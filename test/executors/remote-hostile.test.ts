import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, type HostOptions, parallel, type Run } from '../../src/index.js';
import { scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, leaf, ofType, textIn } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

// Loaded late otherwise, which takes time of its own.
beforeAll(() => Promise.all([import('@a2a-js/sdk'), import('@a2a-js/sdk/client')]));

type Handle = (request: IncomingMessage & { text: string; url: string }, response: ServerResponse) => void;

/** A peer that does whatever it likes with every request. */
async function peer(handle: Handle) {
  const server = createServer(async (request, response) => {
    response.on('error', () => {});
    let text = '';
    for await (const chunk of request) text += chunk;
    handle(Object.assign(request, { text }) as never, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const json = (response: ServerResponse, body: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

const cardAt = (url: string, more: object = {}) => ({
  name: 'peer',
  description: 'p',
  version: '1',
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
  ...more,
});

/** Gives its card, and then answers each call with `results`, in turn. */
const says =
  (...streams: object[][]): Handle =>
  (request, response) => {
    if (request.method === 'GET') return json(response, cardAt(`http://${request.headers.host}/`));
    const { id, method } = JSON.parse(request.text) as { id: number; method: string };
    if (method === 'CancelTask') return json(response, { jsonrpc: '2.0', id, result: {} });
    const events = streams.length > 1 ? streams.shift() : streams[0];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const result of events ?? []) response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    response.end();
  };

const ids = { taskId: 't1', contextId: 'c1' };
const task = (more: object = {}) => ({
  task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' }, ...more },
});
const status = (state: string, parts?: object[], messageId = 'm') => ({
  statusUpdate: {
    ...ids,
    status: { state: `TASK_STATE_${state}`, ...(parts && { message: { messageId, role: 'ROLE_AGENT', parts } }) },
  },
});
const artifact = (artifactId: string, parts: object[], append = false) => ({
  artifactUpdate: { ...ids, artifact: { artifactId, parts }, append },
});
const done = status('COMPLETED');

const policy = [{ rules: [{ toolName: 'far', decision: 'allow' as const, context: { opaque: true } }] }];

/** The remote agent beside one that is near: what becomes of each. */
async function ask(
  cardUrl: string,
  options: {
    see?: (event: AgentEvent, run: Run) => void;
    host?: HostOptions;
    backend?: object;
    constraints?: object;
  } = {},
) {
  await using host = createHost({
    policy,
    models: { scripted: scriptedModel({ byAgent: { near: [{ text: 'N' }] } }) },
    ...options.host,
  });
  const far = agent({
    name: 'far',
    executor: 'remote',
    backend: { cardUrl, pollMs: 0, ...options.backend },
    ...(options.constraints && { constraints: options.constraints }),
  });
  const run = host.run(parallel({ name: 'p', children: [far, leaf('near')] }), 'go') as Run;
  const watched = (async function* () {
    for await (const event of run) {
      options.see?.(event, run);
      yield event;
    }
  })();
  const events = await collect(watched);
  const ends = ofType(events, 'stream_end');
  expect(ends.find(({ agentId }) => agentId === 'near')?.reason).toBe('completed');
  const end = ends.find(({ agentId }) => agentId === 'far');
  const ofFar = events.filter(({ agentId }) => agentId === 'far');
  return { events: ofFar, end, text: textIn(ofFar) };
}

const FAR = 'http://far.test/';

/** A peer of which every byte is given by hand: it says `parts`, and then nothing more until it is left. */
const givenBy =
  (parts: { card?: string; answer?: string; type?: string }, hold: (say: (text: string) => void) => void = () => {}) =>
  (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const isCard = String(input).endsWith('agent-card.json');
    const text = isCard ? parts.card : parts.answer;
    const { signal } = init;
    if (text === undefined) {
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    }
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        if (isCard && text === CARD) return controller.close();
        hold((more) => controller.enqueue(new TextEncoder().encode(more)));
      },
    });
    const type = isCard ? 'application/json' : (parts.type ?? 'text/event-stream');
    return Promise.resolve(new Response(body, { headers: { 'content-type': type } }));
  };
const CARD = JSON.stringify(cardAt(FAR));
const WORKING = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: task() })}\n\n`;

test.each([
  ['its card', {}],
  ['the rest of its card', { card: '{' }],
  ['an answer', { card: CARD }],
  ['the rest of a stream', { card: CARD, answer: 'data: {"jsonrpc":"2.0"' }],
  ['the rest of an answer', { card: CARD, answer: '{', type: 'application/json' }],
])('a peer that never says %s is not waited for for ever', async (_, parts) => {
  const clock = virtualClock();
  const asked = ask(FAR, { host: { clock }, backend: { fetch: givenBy(parts), timeoutMs: 20_000 } });
  await clock.advance(19_999);
  let isOver = false;
  void asked.then(() => {
    isOver = true;
  });
  await clock.advance(0);
  expect(isOver).toBe(false);
  await clock.advance(1);
  const { end } = await asked;
  expect(end).toMatchObject({ reason: 'failed', data: { code: 'DEADLINE_EXCEEDED' } });
  expect(end?.data?.message).toContain('silent for 20000 ms');
  expect(clock.pending).toBe(0);
});

test('an abort waits for no card, and leaves nothing behind', async () => {
  const clock = virtualClock();
  const { end } = await ask(FAR, {
    host: { clock },
    backend: { fetch: givenBy({}) },
    see: (event, run) => {
      if (event.type === 'custom') setImmediate(() => run.abort('enough', { threadId: 'far_1' }));
    },
  });
  expect(end).toMatchObject({ reason: 'aborted' });
  expect(end?.data?.forced).toBeUndefined();
  expect(clock.pending).toBe(0);
});

test('a stream that drips without ever ending a line is silence; one that says it is alive is not', async () => {
  const clock = virtualClock();
  let say: (text: string) => void = () => {};
  const peerOf = givenBy({ card: CARD, answer: WORKING }, (given) => {
    say = given;
  });
  // Taken up once more, it is silent again.
  const fetches = (input: string | URL | Request, init: RequestInit = {}) =>
    String(init.body).includes('SubscribeToTask') || String(init.body).includes('GetTask')
      ? Promise.reject(new Error('gone'))
      : peerOf(input, init);
  const asked = ask(FAR, { host: { clock }, backend: { fetch: fetches, timeoutMs: 1_000 } });
  let isOver = false;
  void asked.then(() => {
    isOver = true;
  });
  await clock.advance(0);
  for (let at = 0; at < 20; at++) {
    say(': alive\n');
    await clock.advance(900);
  }
  expect(isOver).toBe(false);
  say(': alive\n');
  await clock.advance(0);
  for (let at = 0; at < 9; at++) {
    say('x');
    await clock.advance(100);
  }
  expect(isOver).toBe(false);
  say('x');
  await clock.advance(100);
  expect((await asked).end).toMatchObject({ reason: 'failed', data: { code: 'DEADLINE_EXCEEDED' } });
});

test('a card beyond all bounds, and a bomb of one, are no cards', async () => {
  const big = await peer((request, response) =>
    json(response, cardAt(`http://${request.headers.host}/`, { description: 'x'.repeat(2_000_000) })),
  );
  expect((await ask(big)).end?.data?.message).toContain('more than');
  const bomb = await peer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(gzipSync(Buffer.alloc(50_000_000, 0x20)));
  });
  expect((await ask(bomb)).end?.data?.message).toContain('more than');
});

test.each([
  [
    'a version of the future',
    { supportedInterfaces: [{ url: '', protocolBinding: 'JSONRPC', protocolVersion: '9.9' }] },
  ],
  ['a binding of its own', { supportedInterfaces: [{ url: '', protocolBinding: 'PIGEON', protocolVersion: '1.0' }] }],
  ['no address', { supportedInterfaces: [{ protocolBinding: 'JSONRPC' }] }],
  ['a page as its address', { supportedInterfaces: [{ url: 'javascript:alert(1)', protocolBinding: 'JSONRPC' }] }],
  [
    'ten thousand addresses elsewhere',
    {
      supportedInterfaces: Array.from({ length: 10_000 }, (_, at) => ({
        url: `http://h${at}.example/`,
        protocolBinding: 'JSONRPC',
        protocolVersion: '1.0',
      })),
    },
  ],
])('a card with %s ends in words, of some length', async (_, more) => {
  const url = await peer((request, response) => {
    if (request.method !== 'GET')
      return json(response, { jsonrpc: '2.0', id: 1, error: { code: -32009, message: 'not that version' } });
    const own = `http://${request.headers.host}/`;
    const supportedInterfaces = (more.supportedInterfaces as { url?: string }[]).map((one) =>
      one.url === '' ? { ...one, url: own } : one,
    );
    json(response, cardAt(own, { supportedInterfaces }));
  });
  const { end } = await ask(url);
  expect(end?.reason).toBe('failed');
  expect(String(end?.data?.message).length).toBeLessThan(2_100);
});

test('a card behind a redirect, to itself or elsewhere, is not followed', async () => {
  const url = await peer((_request, response) => void response.writeHead(302, { location: '/again' }).end());
  expect((await ask(url)).end).toMatchObject({
    reason: 'failed',
    data: { message: expect.stringContaining('redirect') },
  });
});

test('what comes after the end counts for nothing', async () => {
  const url = await peer(
    says([
      task(),
      artifact('a', [{ text: 'kept' }]),
      done,
      status('FAILED', [{ text: 'late' }]),
      artifact('b', [{ text: 'late' }]),
    ]),
  );
  const { end, text } = await ask(url);
  expect([end?.reason, text]).toEqual(['completed', 'kept']);
});

test('chunks out of order, twice, under other tasks’ names and without an end: said as they came, the others not', async () => {
  const other = {
    artifactUpdate: { taskId: 'other', contextId: 'c1', artifact: { artifactId: 'a', parts: [{ text: 'foreign' }] } },
  };
  const url = await peer(
    says([
      artifact('a', [{ text: 'one ' }], true),
      task(),
      other,
      artifact('a', [{ text: 'two' }], true),
      { task: { id: 'other', contextId: 'cX', status: { state: 'TASK_STATE_COMPLETED' } } },
      task({ artifacts: [{ artifactId: 'a', parts: [{ text: 'one two' }] }] }),
      artifact('a', [{ text: 'one two' }]),
      done,
    ]),
  );
  const { end, text } = await ask(url);
  expect([end?.reason, text]).toEqual(['completed', 'one two']);
});

test('parts of unknown kinds, of odd types and of depth: what can be shown is, and nothing breaks', async () => {
  const deep = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) as unknown;
  const polluting = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as unknown;
  const parts = [
    { text: 'fine' },
    { hologram: 3 },
    { text: 5 },
    null,
    'bare',
    { data: deep },
    { data: polluting },
    { raw: 'not base64 ?' },
    { url: 'javascript:alert(1)', mediaType: '"><script>' },
  ];
  const url = await peer(says([task(), artifact('a', parts as object[]), done]));
  const { end, text } = await ask(url);
  expect(['completed', 'failed']).toContain(end?.reason);
  if (end?.reason === 'completed') expect(text).toContain('fine');
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test('a result of such depth is one that can be kept, or a failure', async () => {
  const url = await peer((request, response) => {
    if (request.method === 'GET') return json(response, cardAt(`http://${request.headers.host}/`));
    const { id } = JSON.parse(request.text) as { id: number };
    const result = `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"data":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}]}}}`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const one of [JSON.stringify(task()), result, JSON.stringify(done)])
      response.write(`data: {"jsonrpc":"2.0","id":${id},"result":${one}}\n\n`);
    response.end();
  });
  const { end } = await ask(url);
  expect(['completed', 'failed']).toContain(end?.reason);
});

test('questions without end are answered as often as the limit on turns lets them be', async () => {
  let asked = 0;
  const url = await peer((request, response) => {
    if (request.method === 'GET') return json(response, cardAt(`http://${request.headers.host}/`));
    const { id, method } = JSON.parse(request.text) as { id: number; method: string };
    if (method === 'CancelTask') return json(response, { jsonrpc: '2.0', id, result: task().task });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const question = status('INPUT_REQUIRED', [{ text: 'And now?'.repeat(100_000) }], `q${++asked}`);
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: question })}\n\n`);
  });
  const { end, events } = await ask(url, {
    constraints: { maxTurns: 4 },
    see: (event, run) => {
      if (event.type === 'elicitation_request')
        run.respond(event.requestId, { action: 'accept', content: { answer: 'go on' } });
    },
  });
  expect(end?.reason).toBe('max_turns');
  expect(asked).toBe(4);
  for (const { message } of ofType(events, 'elicitation_request')) expect(message.length).toBeLessThanOrEqual(20_000);
});

test('ids, questions and failures without measure are cut; schemas of the peer are shown, and hold nobody to them', async () => {
  const long = 'x'.repeat(1_000_000);
  const schema = { type: 'object', properties: { a: { $ref: '#/nowhere', pattern: '(a+)+$' } }, required: ['nothing'] };
  const failing = await peer(says([task(), status('FAILED', [{ text: long }])]));
  expect(String((await ask(failing)).end?.data?.message).length).toBeLessThanOrEqual(2_000);
  const html = await peer((request, response) => {
    if (request.method === 'GET') return json(response, cardAt(`http://${request.headers.host}/`));
    json(response, long, 500);
  });
  expect(String((await ask(html)).end?.data?.message).length).toBeLessThanOrEqual(2_000);
  const named = {
    statusUpdate: {
      taskId: long,
      contextId: long,
      status: {
        state: 'TASK_STATE_AUTH_REQUIRED',
        message: {
          messageId: 'm',
          role: 'ROLE_AGENT',
          parts: [{ text: 'Log in.' }, { data: { requestedSchema: schema } }],
        },
      },
    },
  };
  const asking = await peer(
    says([named], [{ statusUpdate: { taskId: long, contextId: long, status: { state: 'TASK_STATE_COMPLETED' } } }]),
  );
  const { end, events } = await ask(asking, {
    see: (event, run) => {
      if (event.type === 'elicitation_request')
        run.respond(event.requestId, { action: 'accept', content: { credential: 'pass' } });
    },
  });
  expect(end?.reason).toBe('completed');
  const [question] = ofType(events, 'elicitation_request');
  expect(JSON.stringify({ ...question, context: undefined, _meta: undefined }).length).toBeLessThan(2_000);
});

test('answers of the wrong kind in the place of a stream are failures', async () => {
  for (const [type, body] of [
    ['text/plain', 'hello'],
    ['application/octet-stream', '\u0000\u0001'],
    ['application/json', '[]'],
    ['application/json', 'null'],
    ['application/json', '{"jsonrpc":"2.0","id":1}'],
    ['text/event-stream', 'data: null\n\n'],
    ['text/event-stream', 'data: {"jsonrpc":"2.0","id":"other","result":{}}\n\n'],
    ['text/event-stream', ': only comments\n\n'],
  ] as const) {
    const url = await peer((request, response) => {
      if (request.method === 'GET') return json(response, cardAt(`http://${request.headers.host}/`));
      response.writeHead(200, { 'content-type': type });
      response.end(body);
    });
    expect((await ask(url)).end?.reason, `${type} ${body}`).toBe('failed');
  }
});
