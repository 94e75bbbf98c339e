import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { agent, createHost, parallel, type Run, type TroupeError } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, leaf, ofType, readAll, textIn } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Rpc = { id: number; method: string; params: Record<string, unknown> };
type Step = (rpc: Rpc, response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

/** A peer that answers each request with the next of its steps, raw. */
async function peer(steps: Step[], card: (url: string) => object = cardAt) {
  const seen: { method: string; params: Record<string, unknown>; headers: IncomingMessage['headers'] }[] = [];
  let url = '';
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(card(url)));
    }
    let text = '';
    for await (const chunk of request) text += chunk;
    const rpc = JSON.parse(text) as Rpc;
    seen.push({ method: rpc.method, params: rpc.params, headers: request.headers });
    const step = rpc.method === 'CancelTask' ? undefined : steps.shift();
    if (step === undefined) {
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(
        JSON.stringify({ jsonrpc: '2.0', id: rpc.id, error: { code: -32001, message: 'no more steps' } }),
      );
    }
    await step(rpc, response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return { url, seen };
}

const cardAt = (url: string, more: object = {}) => ({
  name: 'peer',
  description: 'p',
  version: '1',
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  ...more,
});

const ids = { taskId: 't1', contextId: 'c1' };
const say = (messageId: string, text: string) => ({ messageId, role: 'ROLE_AGENT', parts: [{ text }], ...ids });
const task = (state: string, more: object = {}) => ({
  task: { id: 't1', contextId: 'c1', status: { state }, ...more },
});
const status = (state: string, message?: object) => ({
  statusUpdate: { ...ids, status: { state, ...(message && { message }) } },
});
const artifact = (artifactId: string, text: string, append = false) => ({
  artifactUpdate: { ...ids, artifact: { artifactId, parts: [{ text }] }, append },
});

/** Streams events, then ends the stream, or breaks the connection. */
const stream =
  (events: object[], how: 'end' | 'cut' | 'open' = 'end'): Step =>
  async ({ id }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const result of events) response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    if (how === 'end') response.end();
    if (how === 'cut') setImmediate(() => response.destroy());
  };
const answer =
  (body: (rpc: Rpc) => unknown, statusCode = 200): Step =>
  (rpc, response) => {
    response.writeHead(statusCode, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body(rpc)));
  };
const raw =
  (text: string, type = 'text/event-stream'): Step =>
  (_rpc, response) => {
    response.writeHead(200, { 'content-type': type });
    response.end(text);
  };

const policy = [{ rules: [{ toolName: 'far', decision: 'allow' as const, context: { opaque: true } }] }];

async function run(url: string, options: { see?: (event: never, run: Run) => void; backend?: object } = {}) {
  await using host = createHost({ policy });
  const far = agent({ name: 'far', executor: 'remote', backend: { cardUrl: url, pollMs: 0, ...options.backend } });
  const going = host.run(far, 'go') as Run;
  const watched = (async function* () {
    for await (const event of going) {
      options.see?.(event as never, going);
      yield event;
    }
  })();
  const events = await collect(watched);
  return { events, result: await going.result };
}

const done = status('TASK_STATE_COMPLETED');

test('a text that comes as a status and as an artifact is said once; a question asked twice under one id is one (B033)', async () => {
  const question = status('TASK_STATE_INPUT_REQUIRED', say('m2', 'Which?'));
  const { url } = await peer([
    stream([
      task('TASK_STATE_SUBMITTED'),
      status('TASK_STATE_WORKING', say('m1', 'T')),
      artifact('a1', 'T'),
      question,
      question,
    ]),
    stream([task('TASK_STATE_INPUT_REQUIRED'), artifact('a2', 'answer'), done]),
  ]);
  const asked: string[] = [];
  const { events, result } = await run(url, {
    see: (event: { type: string; requestId: string; message: string }, going) => {
      if (event.type !== 'elicitation_request') return;
      asked.push(event.message);
      going.respond(event.requestId, { action: 'accept', content: { answer: 'this' } });
    },
  });
  expect(asked).toEqual(['Which?']);
  const said = ofType(events, 'message').filter(({ role }) => role === 'agent');
  expect(said.map(({ content }) => (content[0] as { text: string }).text)).toEqual(['T', 'answer']);
  expect(result).toMatchObject({ ok: true, text: 'answer' });
});

test('a stream that breaks is taken up once more; what ended meanwhile is delivered once (B178)', async () => {
  const { url, seen } = await peer([
    stream([task('TASK_STATE_WORKING'), artifact('a1', 'Hel')], 'cut'),
    answer(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32004, message: 'the task has ended' } })),
    answer(({ id }) => ({
      jsonrpc: '2.0',
      id,
      result: {
        ...task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a1', parts: [{ text: 'Hello' }] }] }).task,
      },
    })),
  ]);
  const { events, result } = await run(url);
  expect(seen.map(({ method }) => method)).toEqual(['SendStreamingMessage', 'SubscribeToTask', 'GetTask']);
  expect(textIn(events)).toBe('Hello');
  expect(result).toMatchObject({ ok: true, text: 'Hello' });
  expect(ofType(events, 'stream_end')).toHaveLength(1);
});

test('one that breaks and stays broken is a failure, never a success', async () => {
  const { url } = await peer([stream([task('TASK_STATE_WORKING'), artifact('a1', 'half')], 'cut')]);
  expect((await run(url)).result).toMatchObject({ reason: 'failed' });
  const quiet = await peer([
    stream([task('TASK_STATE_WORKING')]),
    stream([]),
    answer(({ id }) => ({ jsonrpc: '2.0', id, result: task('TASK_STATE_WORKING').task })),
  ]);
  expect((await run(quiet.url)).result).toMatchObject({ reason: 'failed', data: { code: 'REMOTE_BROKE_OFF' } });
});

test.each([
  ['TASK_STATE_FAILED', 'failed', 'REMOTE_FAILED'],
  ['TASK_STATE_CANCELED', 'failed', 'REMOTE_CANCELED'],
  ['TASK_STATE_REJECTED', 'refusal', undefined],
])('a task that ends as %s ends the run as %s', async (state, reason, code) => {
  const { url } = await peer([stream([task('TASK_STATE_WORKING'), status(state, say('m1', 'because'))])]);
  const { result } = await run(url);
  expect(result.reason).toBe(reason);
  if (code !== undefined) expect(result.data).toMatchObject({ code, message: 'because' });
});

test.each([
  ['no JSON', raw('data: {bad\n\n')],
  ['an answer without anything', stream([{}])],
  ['nothing at all', raw('')],
  ['HTML', raw('<html></html>', 'text/html')],
  ['an error inside', answer(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32603, message: 'broken inside' } }))],
  ['a 500', answer(() => ({}), 500)],
  [
    'foreign ids only',
    stream([
      task('TASK_STATE_WORKING'),
      { statusUpdate: { taskId: 'other', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' } } },
    ]),
  ],
  ['a peer that closes before the reply (B173)', ((_rpc, response) => void response.destroy()) as Step],
])('a remote that answers with %s fails its run, once, and nothing else', async (_, step) => {
  const { url } = await peer([step]);
  await using host = createHost({
    policy,
    models: { scripted: scriptedModel({ byAgent: { near: [{ text: 'N' }] } }) },
  });
  const far = agent({ name: 'far', executor: 'remote', backend: { cardUrl: url } });
  const going = host.run(parallel({ name: 'p', children: [far, leaf('near')] }), 'go');
  const events = await collect(going);
  const ends = ofType(events, 'stream_end').map(({ agentId, reason }) => [agentId, reason]);
  expect(ends).toContainEqual(['far', 'failed']);
  expect(ends).toContainEqual(['near', 'completed']);
});

test('what a remote says beyond all bounds ends its run', async () => {
  const flood: Step = async ({ id }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.on('error', () => {});
    const chunk = `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: artifact('a1', 'x'.repeat(1_000_000), true) })}\n\n`;
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: task('TASK_STATE_WORKING') })}\n\n`);
    for (let at = 0; at < 40 && !response.destroyed; at++)
      if (!response.write(chunk))
        await new Promise<void>((resolve) => {
          const done = () => {
            response.off('drain', done).off('close', done);
            resolve();
          };
          response.on('drain', done).on('close', done);
        });
    response.end();
  };
  const { url } = await peer([flood]);
  const { result } = await run(url);
  expect(result).toMatchObject({ reason: 'failed', data: { message: expect.stringContaining('more than') } });
});

test('an abort asks the peer to cancel, and does not wait for a peer that is silent', async () => {
  const { url, seen } = await peer([stream([task('TASK_STATE_WORKING'), artifact('a1', 'on my way')], 'open')]);
  const { result } = await run(url, {
    see: (event: { type: string; role?: string }, going) => {
      if (event.type === 'message' && event.role === 'agent') going.abort('enough');
    },
  });
  expect(result.reason).toBe('aborted');
  expect(seen.at(-1)).toMatchObject({ method: 'CancelTask', params: { id: 't1' } });
});

test('a credential that the peer asks for is given, and a declined one cancels the task', async () => {
  const need = status('TASK_STATE_AUTH_REQUIRED', say('m1', 'Log in at the calendar.'));
  const { url, seen } = await peer([stream([task('TASK_STATE_WORKING'), need]), stream([artifact('a1', 'in'), done])]);
  const see =
    (respond: (going: Run, requestId: string) => void) =>
    (event: { type: string; kind: string; requestId: string }, going: Run) => {
      if (event.type !== 'elicitation_request') return;
      expect(event.kind).toBe('auth_required');
      respond(going, event.requestId);
    };
  const given = await run(url, {
    see: see((going, id) => going.respond(id, { action: 'accept', content: { credential: 'pass' } })),
  });
  expect(given.result).toMatchObject({ ok: true, text: 'in' });
  expect(JSON.stringify(seen[1]?.params)).toContain('pass');
  const other = await peer([stream([task('TASK_STATE_WORKING'), need])]);
  const declined = await run(other.url, { see: see((going, id) => going.respond(id, { action: 'decline' })) });
  expect(declined.result).toMatchObject({ reason: 'failed', data: { code: 'DECLINED' } });
  expect(other.seen.at(-1)?.method).toBe('CancelTask');
});

test.each([{}, { name: 5 }, [], null])('what is no card is said to be none: %j', async (card) => {
  const { url, seen } = await peer([], () => card as object);
  const { result } = await run(url);
  expect(result).toMatchObject({ reason: 'failed', data: { message: expect.stringContaining(`card at ${url}`) } });
  expect(seen).toEqual([]);
});

test('a card cannot send credentials elsewhere, nor a redirect', async () => {
  const thief = await peer([]);
  const lying = await peer([], () => cardAt(thief.url));
  const refused = await run(lying.url, { backend: { auth: 'token' } });
  expect(refused.result).toMatchObject({ reason: 'failed', data: { code: 'CANNOT_ENFORCE' } });
  expect(thief.seen).toEqual([]);
  const { url } = await peer([
    (_rpc, response) => {
      response.writeHead(307, { location: thief.url });
      response.end();
    },
  ]);
  expect((await run(url, { backend: { auth: 'token' } })).result.reason).toBe('failed');
  expect(thief.seen).toEqual([]);
  const permitted = await run(lying.url, { backend: { allowOrigins: [thief.url] } });
  expect(thief.seen.length).toBeGreaterThan(0);
  expect(permitted.result.reason).toBe('failed');
});

test('credentials are asked for before every request', async () => {
  let asked = 0;
  const { url, seen } = await peer([stream([task('TASK_STATE_WORKING'), artifact('a1', 'ok'), done])]);
  await run(url, { backend: { auth: { headers: () => ({ 'x-key': `k${++asked}` }) } } });
  expect(asked).toBe(2);
  expect(seen[0]?.headers['x-key']).toBe('k2');
});

test('a remote agent is refused unless it is granted, and what is no backend is told whole', async () => {
  await using host = createHost();
  const far = agent({ name: 'far', executor: 'remote', backend: { cardUrl: 'http://127.0.0.1:9' } });
  expect(() => host.run(far, 'go')).toThrow(expect.objectContaining({ code: 'CANNOT_ENFORCE' }));
  const bad = agent({ name: 'far', executor: 'remote', backend: { cardUrl: 'ftp://x', pollMs: -1, streaming: 'yes' } });
  let thrown: TroupeError | undefined;
  try {
    host.run(bad, 'go');
  } catch (caught) {
    thrown = caught as TroupeError;
  }
  expect(thrown?.problems.map(({ path }) => path)).toEqual([
    'far.backend.cardUrl',
    'far.backend.streaming',
    'far.backend.pollMs',
  ]);
});

test('a peer of version 0.3 is understood', async () => {
  const old = (url: string) => ({
    name: 'old',
    description: 'o',
    version: '1',
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const { url, seen } = await peer(
    [
      stream([
        { kind: 'task', id: 't1', contextId: 'c1', status: { state: 'working' } },
        {
          kind: 'artifact-update',
          ...ids,
          artifact: { artifactId: 'a1', parts: [{ kind: 'text', text: 'from before' }] },
        },
        { kind: 'status-update', ...ids, status: { state: 'completed' }, final: true },
      ]),
    ],
    old,
  );
  expect((await run(url)).result).toMatchObject({ ok: true, text: 'from before' });
  expect(seen[0]?.method).toBe('message/stream');
});

const rpcError = (code: number, message = 'no') =>
  answer(({ id }) => ({ jsonrpc: '2.0', id, error: { code, message } }));
const whole = (state: string, more: object = {}) =>
  answer(({ id }) => ({ jsonrpc: '2.0', id, result: { task: task(state, more).task } }));
const look = (state: string, more: object = {}) =>
  answer(({ id }) => ({ jsonrpc: '2.0', id, result: task(state, more).task }));
const said = { artifacts: [{ artifactId: 'a1', parts: [{ text: 'done there' }] }] };

test.each([
  ['an error of the protocol', rpcError(-32004)],
  ['an unknown method', rpcError(-32601)],
  ['a bare 405', ((_rpc, response) => void response.writeHead(405).end()) as Step],
  ['a 404 that is a page', answer(() => '<html></html>', 404)],
])(
  'a card that promises streams that the server refuses with %s: asked again without, for good (B180)',
  async (_, no) => {
    const { url, seen } = await peer([
      no,
      whole('TASK_STATE_WORKING'),
      look('TASK_STATE_COMPLETED', said),
      whole('TASK_STATE_COMPLETED', said),
    ]);
    await using host = createHost({ policy });
    const session = host.session(agent({ name: 'far', executor: 'remote', backend: { cardUrl: url, pollMs: 0 } }));
    for (const content of ['one', 'two']) {
      const events = await readAll(session.stream({ kind: 'message', content }).stream);
      expect(ofType(events, 'stream_end')[0]).toMatchObject({ reason: 'completed', data: { result: 'done there' } });
    }
    expect(seen.map(({ method }) => method)).toEqual(['SendStreamingMessage', 'SendMessage', 'GetTask', 'SendMessage']);
    expect(seen[1]?.params.configuration).toMatchObject({ returnImmediately: true });
  },
);

test('the reverse: a card without streams of a server that only streams', async () => {
  const { url, seen } = await peer(
    [rpcError(-32601), stream([task('TASK_STATE_WORKING'), artifact('a1', 'ok'), done])],
    (at) => cardAt(at, { capabilities: {} }),
  );
  expect((await run(url)).result).toMatchObject({ ok: true, text: 'ok' });
  expect(seen.map(({ method }) => method)).toEqual(['SendMessage', 'SendStreamingMessage']);
});

test('a refusal of both ways is a failure, told once; any other fault is not tried twice', async () => {
  const both = await peer([rpcError(-32601), rpcError(-32601, 'nothing at all')]);
  expect((await run(both.url)).result).toMatchObject({ reason: 'failed', data: { message: 'nothing at all' } });
  const other = await peer([rpcError(-32603), stream([done])]);
  expect((await run(other.url)).result.reason).toBe('failed');
  expect(other.seen).toHaveLength(1);
});

test('a stream that is answered whole is an answer: nothing is asked twice', async () => {
  const { url, seen } = await peer([whole('TASK_STATE_COMPLETED', said)]);
  expect((await run(url)).result).toMatchObject({ ok: true, text: 'done there' });
  expect(seen).toHaveLength(1);
});
