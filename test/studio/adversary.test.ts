import { EventEmitter } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { InspectionEvent } from 'xstate';
import type { AgentEvent } from '../../src/contracts/index.js';
import { createHost } from '../../src/index.js';
import { streamInspection } from '../../src/studio/inspection-stream.js';
import { scriptedModel } from '../../src/testing/index.js';
import { readEventStream } from '../support/event-stream.js';
import { leaf } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function studio(texts: readonly string[] = []) {
  const model = scriptedModel(texts.map((text) => ({ text })));
  const host = createHost({ models: { scripted: model }, agents: [leaf('a')] });
  closing.push(() => host.close());
  const server = await host.inspectServer();
  const url = new URL(server.url);
  const at = (path: string) => {
    const address = new URL(path, url);
    address.searchParams.set('token', url.searchParams.get('token') ?? '');
    return address;
  };
  return { host, server, url, at };
}

const ask = (url: URL, headers: Record<string, string>, method = 'GET') =>
  new Promise<[number | undefined, string]>((resolve, reject) => {
    const request = httpRequest(url, { headers, method }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve([response.statusCode, body]));
    });
    request.on('error', reject);
    request.end();
  });

test('every way in is closed to another name, another origin and a wrong token: a bare 403', async () => {
  const { url, at } = await studio();
  const { host } = url;
  const paths = ['/', '/api/overview', '/api/overview/stream', '/api/inspection/1', '/api/sessions/1/x/stream'];
  for (const path of paths) {
    const bad: [URL, Record<string, string>][] = [
      [new URL(path, url), {}],
      [new URL(`${path}?token=`, url), {}],
      [new URL(`${path}?token=${'x'.repeat(100_000 / 8)}`, url), {}],
      [new URL(path, url), { authorization: 'Basic eDp5' }],
      [at(path), { host: 'evil.example' }],
      [at(path), { host: `evil.example:${url.port}` }],
      [at(path), { host: `127.0.0.1.evil.example:${url.port}` }],
      [at(path), { host: `localhost:${Number(url.port) + 1}` }],
      [at(path), { host, origin: 'null' }],
      [at(path), { host, origin: `http://localhost:${Number(url.port) + 1}` }],
      [at(path), { host, origin: `http://evil.example:${url.port}` }],
    ];
    for (const [address, headers] of bad) expect(await ask(address, headers)).toEqual([403, '']);
  }
  expect(await ask(at('/api/command'), { host, origin: 'https://evil.example' }, 'OPTIONS')).toEqual([403, '']);
  expect(await ask(at('/api/command'), { host, origin: 'https://evil.example' }, 'POST')).toEqual([403, '']);
});

test('a command that a form could send, one that is too large, one that is none: refused, and it goes on', async () => {
  const { at } = await studio(['A']);
  const post = async (body: string, type?: string) => {
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
    // A text would be sent as text/plain.
    return (await fetch(at('/api/command'), { method: 'POST', headers, body: Buffer.from(body) })).status;
  };
  const command = JSON.stringify({ host: '1', command: 'start', agent: 'a', input: 'go' });
  expect(await post(command, 'application/x-www-form-urlencoded')).toBe(415);
  expect(await post(command, 'multipart/form-data; boundary=x')).toBe(415);
  for (const type of [undefined, 'text/plain', 'application/jsonp', 'text/plain; application/json'])
    expect(await post(command, type), type).toBe(415);
  expect(await post('{', 'application/json; charset=utf-8')).toBe(400);
  expect(await post(`{"host":"1","input":"${'x'.repeat(3_000_000)}"}`, 'application/json')).toBe(413);
  for (const body of ['', '[]', 'null', '7', '{', '{"host":{}}', '{"host":"__proto__"}', '['.repeat(500_000)])
    expect(await post(body, 'application/json')).toBe(400);
  expect(await post(command, 'application/json')).toBe(200);
});

test('a page that does not read holds up no run, and has all of it once it reads', async () => {
  const texts = Array.from({ length: 60 }, (_, at) => `${at} ${'word '.repeat(40_000)}`);
  const { host, at } = await studio(texts);
  const { sessionId } = await host.run(leaf('a'), 'go').result;
  const address = at(`/api/sessions/1/${sessionId}/stream`);
  const socket = connect(Number(address.port), '127.0.0.1');
  socket.pause();
  socket.write(`GET ${address.pathname}${address.search} HTTP/1.1\r\nhost: ${address.host}\r\n\r\n`);
  closing.push(async () => socket.destroy());
  for (let at = 1; at < texts.length; at++) await host.run(leaf('a'), 'more', { sessionId }).result;
  // 12 MB: more than a connection holds.
  let told = '';
  socket.on('data', (chunk) => {
    told += chunk.toString();
  });
  socket.resume();
  await expect.poll(() => told.includes('"59 word'), { timeout: 15_000 }).toBe(true);
  for (let at = 0; at < texts.length; at++) expect(told.includes(`"${at} word`)).toBe(true);
});

test('an inspector that does not read is told how much it missed, and no more than a bound is kept for it', async () => {
  let hear: (event: InspectionEvent) => void = () => {};
  const inspection = {
    onInspection(listener: typeof hear) {
      hear = listener;
      return () => {};
    },
    actors: () => [],
  };
  let isFull = true;
  const written: string[] = [];
  const response = Object.assign(new EventEmitter(), {
    writeHead() {},
    flushHeaders() {},
    write(text: string) {
      written.push(text);
      return !isFull;
    },
  });
  streamInspection(inspection as never, undefined, response as never);
  const actorRef = { sessionId: 'x:1', id: 'x:1', getSnapshot: () => ({}) };
  const event = (n: number) => ({ type: '@xstate.event', actorRef, rootId: 'x:0', event: { type: `e${n}` } }) as never;
  hear(event(0));
  await expect.poll(() => written.length).toBe(1);
  for (let at = 1; at <= 20_000; at++) hear(event(at));
  expect(written).toHaveLength(1);
  isFull = false;
  response.emit('drain');
  await expect.poll(() => written.at(-1)).toContain('"e20000"');
  const lost = Number(/event: lost\ndata: \{"events":(\d+)\}/.exec(written.join(''))?.[1]);
  const told = written.join('').split('"type":"e').length - 1;
  expect(told).toBeLessThanOrEqual(5_001);
  expect(lost + told).toBe(20_001);
  response.emit('close');
});

test('pages that come and go leave nothing behind', async () => {
  const { host, server, at } = await studio(['1', '2']);
  const { sessionId } = await host.run(leaf('a'), 'go').result;
  for (let round = 0; round < 3; round++) {
    const streams = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        readEventStream<AgentEvent[]>(
          at(
            n % 3 === 0
              ? '/api/overview/stream'
              : n % 3 === 1
                ? '/api/inspection/1'
                : `/api/sessions/1/${sessionId}/stream`,
          ),
        ),
      ),
    );
    for (const { status } of streams) expect(status).toBe(200);
    await Promise.all(streams.map((stream) => stream.close()));
  }
  expect((await host.run(leaf('a'), 'go').result).ok).toBe(true);
  await server.close();
});
