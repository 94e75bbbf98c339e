import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { expectNoLeaks } from '../../../src/testing/index.js';
import { type McpHttpServer, mcpHttpServer } from '../../support/mcp-http.js';
import { collect } from '../../support/team.js';
import { call, mcpHost, noticesIn, responsesIn, runScript, textIn, toolsIn } from './hosted.js';

let server: McpHttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe.each(['modern', 'legacy'] as const)('a real server over streamable HTTP, %s', (kind) => {
  test('its tools are called, say how far they are, and are answered', async () => {
    server = await mcpHttpServer(kind, { resources: true });
    const { events, notices } = await runScript({ servers: { web: { url: server.url } } }, [
      call('mcp_web_echo', { text: 'hi' }),
      call('mcp_web_steps'),
      call('mcp_web_fail'),
      call('mcp_web_read_resource', { uri: 'note://one' }),
    ]);
    expect(responsesIn(events).map(textIn)).toEqual(['hi', 'done', 'no such issue', '<reference>']);
    expect(events.filter((event) => event.type === 'tool_update' && event.progress !== undefined)).toHaveLength(2);
    expect(notices).toEqual([]);
  });

  test('after the host is closed no socket and no timer is left, and a session is ended', () =>
    expectNoLeaks(async () => {
      server = await mcpHttpServer(kind);
      await runScript({ servers: { web: { url: server.url } } }, [call('mcp_web_echo', { text: 'hi' })]);
      await server.noSockets();
      expect(server.events.includes('session closed')).toBe(kind === 'legacy');
      await server.close();
      server = undefined;
    }));

  test('a call that is cancelled is told to the server, and others go on', async () => {
    server = await mcpHttpServer(kind);
    const { host, run } = mcpHost({ servers: { web: { url: server.url } } }, [
      { toolCalls: [{ name: 'mcp_web_hang', args: {} }] },
      call('mcp_web_echo', { text: 'still here' }),
      { text: 'done' },
    ]);
    const running = run();
    const collected = collect(running);
    await server.event('hanging');
    running.abort('enough', { requestId: 'c1' });
    await server.event('cancelled');
    const events = await collected;
    expect(responsesIn(events).map((event) => [event.errorType, textIn(event)])).toEqual([
      ['cancelled', 'cancelled: enough'],
      [undefined, 'still here'],
    ]);
    await host.close();
  });
});

test('headers go with every request, never in place of the protocol’s own', async () => {
  server = await mcpHttpServer('legacy');
  const headers = { authorization: 'Bearer fixed', 'mcp-session-id': 'mine', accept: 'text/html', 'x-team': 'a' };
  await runScript({ servers: { web: { url: server.url, headers } } }, [call('mcp_web_echo', { text: 'hi' })]);
  for (const request of server.requests) {
    expect(request.headers).toMatchObject({ authorization: 'Bearer fixed', 'x-team': 'a' });
    expect(String(request.headers.accept)).not.toContain('html');
    expect(request.headers).not.toHaveProperty('x-troupe-mark');
  }
  const sessions = new Set(server.requests.map((request) => request.headers['mcp-session-id']));
  expect([...sessions].filter((one) => one !== 'mine' && one !== undefined)).toHaveLength(1);
});

test('a function gives the headers of each request, and is asked again when they are refused', async () => {
  server = await mcpHttpServer('modern');
  let token = 'first';
  const asked: unknown[] = [];
  server.intercept = ({ headers }) =>
    headers.authorization === `Bearer ${token}` ? undefined : new Response('who are you?', { status: 401 });
  const { host, run } = mcpHost(
    {
      servers: {
        web: {
          url: server.url,
          async headers(context) {
            asked.push(context);
            if (context.status === 401) return { authorization: `Bearer ${token}` };
            return { authorization: 'Bearer first' };
          },
        },
      },
    },
    [call('mcp_web_echo', { text: 'one' }), { text: 'done' }, call('mcp_web_echo', { text: 'two' }), { text: 'done' }],
  );
  expect(responsesIn(await collect(run())).map(textIn)).toEqual(['one']);
  expect(asked.every((context) => Object.keys(context as object).length === 0)).toBe(true);
  token = 'second';
  expect(responsesIn(await collect(run())).map(textIn)).toEqual(['two']);
  expect(asked).toContainEqual({ status: 401 });
  await host.close();
});

test('a refusal that stays one, and headers that cannot be had, are told and fail no run', async () => {
  server = await mcpHttpServer('modern');
  server.intercept = () => new Response('go away', { status: 401 });
  const refused = await runScript(
    { servers: { web: { url: server.url, headers: () => ({ authorization: 'x' }) } } },
    [],
  );
  expect(refused.tools).toEqual([]);
  expect(refused.notices).toMatchObject([{ code: 'MCP_SERVER_FAILED', text: expect.stringContaining('401') }]);
  const headers = () => {
    throw new Error('the vault is locked');
  };
  const locked = await runScript({ servers: { web: { url: server.url, headers } } }, []);
  expect(locked.notices).toMatchObject([{ text: expect.stringContaining('the vault is locked') }]);
});

test('a server that was started anew gets a new session, and the call is made on it', async () => {
  server = await mcpHttpServer('legacy');
  const { host, run } = mcpHost({ servers: { web: { url: server.url } } }, [
    call('mcp_web_echo', { text: 'one' }),
    { text: 'done' },
    call('mcp_web_echo', { text: 'two' }),
    { text: 'done' },
  ]);
  await collect(run());
  server.forget();
  const events = await collect(run());
  expect(responsesIn(events).map(textIn)).toEqual(['two']);
  expect(server.requests.filter(({ body }) => body.includes('"initialize"'))).toHaveLength(2);
  expect(server.events.filter((event) => event === 'echo')).toHaveLength(2);
  await host.close();
});

test('a session that is refused as a bad request is a lost session too', async () => {
  server = await mcpHttpServer('legacy');
  const { host, run } = mcpHost({ servers: { web: { url: server.url } } }, [
    { text: 'one' },
    call('mcp_web_echo', { text: 'two' }),
    { text: 'done' },
  ]);
  await collect(run());
  const lost = server.requests.find(({ headers }) => headers['mcp-session-id'] !== undefined)?.headers[
    'mcp-session-id'
  ];
  server.intercept = ({ headers }) =>
    headers['mcp-session-id'] === lost ? new Response('Bad Request: no valid session ID', { status: 400 }) : undefined;
  expect(responsesIn(await collect(run())).map(textIn)).toEqual(['two']);
  await host.close();
});

const lies: [string, (id: unknown) => Response, string][] = [
  [
    'an answer to another request',
    () => Response.json({ jsonrpc: '2.0', id: 4711, result: {} }),
    'its answer ended before the result',
  ],
  ['no answer', () => new Response(null, { status: 202 }), 'its answer ended before the result'],
  ['a stream that ends without the answer', () => stream(': nothing\n\n'), 'its answer ended before the result'],
  ['a stream of garbage', () => stream('data: {{{\n\n', 'data: 7\n\n'), 'its answer ended before the result'],
  ['a web page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } }), 'Unexpected content type'],
  ['half an answer', () => new Response('{"jsonrpc":', { headers: { 'content-type': 'application/json' } }), 'failed'],
  ['a failure', () => new Response('it is on fire', { status: 500 }), 'it is on fire'],
  [
    'more than can be held',
    (id) =>
      Response.json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'x'.repeat(17_000_000) }] } }),
    'it sent an answer of more than 16 MB',
  ],
  [
    'a redirect elsewhere',
    () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.2/' } }),
    'edirect',
  ],
];
const stream = (...chunks: string[]) =>
  new Response(chunks.join(''), { headers: { 'content-type': 'text/event-stream' } });

test.each(lies)('%s fails that call only', async (_, answer, why) => {
  server = await mcpHttpServer('legacy');
  let isDone = false;
  server.intercept = (_request, body) => {
    if (isDone || !body.includes('"tools/call"')) return undefined;
    isDone = true;
    return answer((JSON.parse(body) as { id: unknown }).id);
  };
  const { events } = await runScript({ servers: { web: { url: server.url } } }, [
    call('mcp_web_echo', { text: 'one' }),
    call('mcp_web_echo', { text: 'two' }),
  ]);
  const [first, second] = responsesIn(events);
  expect(first).toMatchObject({ isError: true, errorType: 'mcp_tool_error' });
  expect(textIn(first)).toContain(why);
  expect(textIn(second)).toBe('two');
});

test('a peer that closes the connection before its reply fails the call, and nothing is thrown anywhere', () =>
  expectNoLeaks(async () => {
    server = await mcpHttpServer('modern');
    let hanging: { destroy(): void } | undefined;
    server.intercept = (request, body) => {
      if (body.includes('mcp_web_hang') || body.includes('"hang"')) hanging = request.socket;
      if (!body.includes('cut me')) return undefined;
      request.socket.destroy();
      return new Response(null);
    };
    const { host, run } = mcpHost({ servers: { web: { url: server.url } } }, [
      call('mcp_web_echo', { text: 'cut me' }),
      call('mcp_web_hang'),
      call('mcp_web_echo', { text: 'fine' }),
      { text: 'done' },
    ]);
    const collected = collect(run());
    await server.event('hanging');
    hanging?.destroy();
    const events = await collected;
    expect(responsesIn(events).map((event) => event.errorType)).toEqual([
      'mcp_tool_error',
      'mcp_tool_error',
      undefined,
    ]);
    await host.close();
    await server.close();
    server = undefined;
  }));

test('a server that is not there is told, missed by no run, and used once it is there', async () => {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const { tools, notices, events } = await runScript({ servers: { web: { url: `http://127.0.0.1:${port}/mcp` } } }, []);
  expect(tools).toEqual([]);
  expect(notices).toMatchObject([
    { code: 'MCP_SERVER_FAILED', severity: 'warning', text: expect.stringContaining('ECONNREFUSED') },
  ]);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
});

test('a modern server tells of a changed list: later runs have it', async () => {
  server = await mcpHttpServer('modern');
  const { host, run } = mcpHost({ servers: { web: { url: server.url } } }, [{ text: 'one' }, { text: 'two' }]);
  const before = toolsIn(await collect(run())).length;
  await server.event('POST tools/list', 2);
  server.intercept = (_request, body) => {
    const { id, method } = JSON.parse(body === '' ? '{}' : body) as { id?: number; method?: string };
    if (method !== 'tools/list') return undefined;
    const tool = { name: 'fresh', inputSchema: { type: 'object' } };
    return Response.json({
      jsonrpc: '2.0',
      id,
      result: { resultType: 'complete', tools: [tool], ttlMs: 0, cacheScope: 'private' },
    });
  };
  server.toolsChanged();
  await server.event('POST tools/list', 3);
  let after: string[] = [];
  const events = await collect(run());
  after = toolsIn(events).map(({ name }) => name);
  expect(before).toBeGreaterThan(10);
  expect(after).toEqual(['mcp_web_fresh']);
  expect(noticesIn(events)).toEqual([]);
  await host.close();
});
