import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { createHost } from '../../src/index.js';
import type { LogPage, Overview } from '../../src/studio/wire.js';
import { scriptedModel } from '../../src/testing/index.js';
import { readEventStream } from '../support/event-stream.js';
import { leaf } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function newHost(text: string) {
  const model = scriptedModel(() => ({ text }));
  const host = createHost({ models: { scripted: model }, agents: [leaf('a')] });
  closing.push(() => host.close());
  return host;
}

const at = (url: string, path: string) => {
  const address = new URL(path, url);
  address.searchParams.set('token', new URL(url).searchParams.get('token') ?? '');
  return address;
};
const get = async <T>(url: string, path: string): Promise<T> => (await fetch(at(url, path))).json() as Promise<T>;
const post = async (url: string, command: object) => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(at(url, '/api/command'), { method: 'POST', headers, body: JSON.stringify(command) });
  return { status: response.status, ...((await response.json()) as { sessionId?: string; code?: string }) };
};

test('several hosts of a process are shown at once, each under its name with its own sessions', async () => {
  const [one, two] = [newHost('1'), newHost('2')];
  const first = await one.run(leaf('a'), 'go').result;
  const second = await two.run(leaf('a'), 'go').result;
  const { url } = await one.inspectServer({ name: 'first', hosts: { second: two } });
  const { hosts } = await get<Overview>(url, '/api/overview');
  expect(hosts.map(({ id, name, sessions }) => [id, name, sessions.map((session) => session.id)])).toEqual([
    ['1', 'first', [first.sessionId]],
    ['2', 'second', [second.sessionId]],
  ]);
  const { events } = await get<LogPage>(url, `/api/sessions/2/${second.sessionId}/log`);
  expect(JSON.stringify(events)).toContain('"2"');
  expect((await fetch(at(url, `/api/sessions/1/${second.sessionId}/log`))).status).toBe(404);
});

test('what is no host of ours is refused in words', async () => {
  await expect(newHost('1').inspectServer({ hosts: { other: {} as never } })).rejects.toThrow('"other" is no host');
});

test('the Studio of another process is shown beside: its sessions, their logs and streams, and it is commanded', async () => {
  const [here, there] = [newHost('here'), newHost('there')];
  const theirs = await there.inspectServer();
  const { url } = await here.inspectServer({ connect: [theirs.url] });
  const { sessionId } = await post(url, { host: 'r1-1', command: 'start', agent: 'a', input: 'go' });
  const stream = await readEventStream<AgentEvent[]>(at(url, `/api/sessions/r1-1/${sessionId}/stream`));
  closing.push(() => stream.close());
  const all: AgentEvent[] = [];
  for await (const { name, data } of stream.messages) {
    expect(name).toBe('events');
    all.push(...data);
    if (all.some(({ type }) => type === 'stream_end')) break;
  }
  expect(JSON.stringify(all)).toContain('there');
  const { hosts } = await get<Overview>(url, '/api/overview');
  expect(hosts.map(({ id }) => id)).toEqual(['1', 'r1-1']);
  expect(hosts[1]).toMatchObject({ name: `troupe at ${new URL(theirs.url).host}`, sessions: [{ id: sessionId }] });
  expect(JSON.stringify(hosts)).not.toContain(new URL(theirs.url).searchParams.get('token'));
  const { events } = await get<LogPage>(url, `/api/sessions/r1-1/${sessionId}/log?limit=2`);
  expect(events).toHaveLength(2);
  expect((await there.list()).map(({ id }) => id)).toEqual([sessionId]);
  expect(await here.list()).toEqual([]);
  expect(await post(url, { host: 'r1-1', command: 'dance' })).toMatchObject({ status: 400, code: 'INVALID_OPTION' });
});

test('a change there is told here', async () => {
  const [here, there] = [newHost('here'), newHost('there')];
  const { url } = await here.inspectServer({ connect: [(await there.inspectServer()).url] });
  const stream = await readEventStream<Overview>(at(url, '/api/overview/stream'));
  closing.push(() => stream.close());
  void there.run(leaf('a'), 'go').result;
  for await (const { data } of stream.messages) if (data.hosts[1]?.sessions.length === 1) break;
});

test('a Studio that does not answer, or takes the token no more, is shown as one that does not', async () => {
  const [here, there] = [newHost('here'), newHost('there')];
  const theirs = await there.inspectServer();
  const wrong = theirs.url.replace(/token=.*/, 'token=wrong');
  const { url } = await here.inspectServer({ connect: [theirs.url, wrong] });
  const first = await get<Overview>(url, '/api/overview');
  expect(first.hosts.map(({ fault }) => fault)).toEqual([
    undefined,
    undefined,
    expect.stringContaining('does not take this token any more'),
  ]);
  await theirs.close();
  const second = await get<Overview>(url, '/api/overview');
  expect(second.hosts[1]).toMatchObject({ sessions: [], fault: expect.stringContaining('does not answer') });
  expect((await fetch(at(url, '/api/sessions/r1-1/x/log'))).status).toBe(502);
});

test('Studios that show each other come to an end', async () => {
  const [one, two] = [newHost('1'), newHost('2')];
  const first = await one.inspectServer();
  const second = await two.inspectServer({ connect: [first.url] });
  const third = await one.inspectServer({ connect: [second.url] });
  const { hosts } = await get<Overview>(third.url, '/api/overview');
  expect(hosts.map(({ id }) => id)).toEqual(['1', 'r1-1']);
});

test('what answers there can be no page here', async () => {
  const there = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(request.url?.startsWith('/api/overview') ? '{"hosts":[{"id":7}]}' : '<script>1</script>');
  });
  await new Promise<void>((resolve) => there.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => there.close(resolve)));
  const address = `http://127.0.0.1:${(there.address() as AddressInfo).port}/?token=x`;
  const { url } = await newHost('1').inspectServer({ connect: [address] });
  const answer = await fetch(at(url, '/api/sessions/r1-1/x/log'));
  expect(answer.headers.get('content-type')).toContain('application/json');
  const { hosts } = await get<Overview>(url, '/api/overview');
  expect(hosts[1]?.fault).toContain('none of a Studio');
});

test('only the address of a Studio is connected to', async () => {
  for (const address of ['nowhere', 'http://127.0.0.1:1/', 'file:///etc/passwd?token=x'])
    await expect(newHost('1').inspectServer({ connect: [address] })).rejects.toThrow('not the address of a Studio');
});
