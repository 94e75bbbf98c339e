import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { agent, createHost, tool } from '../../src/index.js';
import { type A2aServerOptions, serveA2a } from '../../src/surfaces/a2a.js';
import { openPushInbox } from '../../src/surfaces/a2a-inbox.js';
import { type Script, scriptedModel, virtualClock } from '../../src/testing/index.js';
import { deferred } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Keeps what it is told. */
async function listener() {
  const told: { headers: IncomingMessage['headers']; body: Record<string, unknown>; path: string }[] = [];
  let onTold: () => void = () => {};
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    told.push({ headers: request.headers, body: JSON.parse(text), path: request.url ?? '' });
    response.writeHead(204).end();
    onTold();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  const until = async (count: number) => {
    while (told.length < count)
      await new Promise<void>((resolve) => {
        onTold = resolve;
      });
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, told, until };
}

async function serve(script: Script, options: A2aServerOptions) {
  const gate = deferred();
  const wait = tool({
    name: 'wait',
    description: 'Waits.',
    annotations: { readOnly: true },
    execute: (_args, { signal }) =>
      Promise.race([
        gate.promise.then(() => 'waited'),
        new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
      ]),
  });
  const host = createHost({ models: { scripted: scriptedModel(script) } });
  const server = await serveA2a(host, agent({ name: 'near', tools: [wait] }), options);
  closing.push(
    () => host.close(),
    () => server.close(),
  );
  const rpc = async (method: string, params: object, { token = '', version = '1.0' } = {}) => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { 'a2a-version': version, ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as { result?: never; error?: { code: number; message: string } };
  };
  return { server, rpc, go: gate.resolve };
}

const waits: Script = [{ toolCalls: [{ name: 'wait', args: {} }] }, { text: 'done' }];
const send = (url: string, more: object = {}) => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] },
  configuration: { returnImmediately: true, taskPushNotificationConfig: { url, ...more } },
});
const stateOf = (body: Record<string, unknown>) =>
  (body as { statusUpdate?: { status: { state: string } } }).statusUpdate?.status.state;

test('a caller is told where it asked for it, with its token: the answer, then the end', async () => {
  const { origin, told, until } = await listener();
  const { server, rpc, go } = await serve(waits, { push: { origins: [origin] } });
  const card = (await (await fetch(server.cardUrl)).json()) as { capabilities: object };
  expect(card.capabilities).toMatchObject({ pushNotifications: true });
  const authentication = { scheme: 'Bearer', credentials: 'mine' };
  await rpc('SendMessage', send(`${origin}/news?x=1`, { token: 'tok', authentication }));
  go();
  await until(2);
  expect(told.map(({ path }) => path)).toEqual(['/news?x=1', '/news?x=1']);
  expect(JSON.stringify(told[0]?.body)).toContain('"done"');
  expect(stateOf(told[1]!.body)).toBe('TASK_STATE_COMPLETED');
  for (const { headers } of told)
    expect(headers).toMatchObject({ 'x-a2a-notification-token': 'tok', authorization: 'Bearer mine' });
});

test('a caller of version 0.3 is told in its words', async () => {
  const { origin, told, until } = await listener();
  const { rpc, go } = await serve(waits, { push: { origins: [origin] } });
  const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'go' }] };
  const configuration = { blocking: false, pushNotificationConfig: { url: `${origin}/n` } };
  await rpc('message/send', { message, configuration }, { version: '0.3' });
  go();
  await until(2);
  expect(told.at(-1)?.body).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true });
});

test('nothing is sent where it is not permitted, and without permission the card offers nothing', async () => {
  const { origin, told } = await listener();
  const off = await serve([{ text: 'a' }], {});
  const card = (await (await fetch(off.server.cardUrl)).json()) as { capabilities: { pushNotifications?: boolean } };
  expect(card.capabilities.pushNotifications ?? false).toBe(false);
  expect((await off.rpc('SendMessage', send(origin))).error?.code).toBe(-32003);
  const { message } = send(origin);
  const { id } = ((await off.rpc('SendMessage', { message })).result as unknown as { task: { id: string } }).task;
  const refused = await off.rpc('CreateTaskPushNotificationConfig', { taskId: id, url: origin });
  expect(refused.error?.code).toBe(-32003);
  const on = await serve([], { push: { origins: ['https://elsewhere.example'] } });
  const bad = [origin, 'http://169.254.169.254/latest', 'file:///etc/passwd', 'no address', ''];
  const inside = 'https://elsewhere.example';
  for (const url of [...bad, `${inside}.evil.example/`, 'https://user:pass@elsewhere.example/', `${inside}:444/`])
    expect((await on.rpc('SendMessage', send(url))).error?.message, url).toContain('cannot be sent');
  expect(told).toEqual([]);
  await expect(serve([], { push: { origins: ['https://a.example/path'] } })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  });
});

test('targets are set, listed and taken away by whose task it is, and are few', async () => {
  const { origin, told } = await listener();
  const token = { ann: 'token-ann', bob: 'token-bob' };
  const { rpc } = await serve(waits, { push: { origins: [origin] }, token });
  const ann = { token: 'token-ann' };
  const { task } = (await rpc('SendMessage', send(`${origin}/1`), ann)).result as unknown as { task: { id: string } };
  const taskId = task.id;
  const made = (await rpc('CreateTaskPushNotificationConfig', { taskId, url: `${origin}/2` }, ann)).result;
  const { id } = made as unknown as { id: string };
  expect((await rpc('GetTaskPushNotificationConfig', { taskId, id }, ann)).result).toMatchObject({
    url: `${origin}/2`,
  });
  const list = async () =>
    ((await rpc('ListTaskPushNotificationConfigs', { taskId }, ann)).result as unknown as { configs: unknown[] })
      .configs;
  expect(await list()).toHaveLength(2);
  for (const method of ['GetTaskPushNotificationConfig', 'DeleteTaskPushNotificationConfig'])
    expect((await rpc(method, { taskId, id }, { token: 'token-bob' })).error, method).toBeDefined();
  const bobs = { taskId, url: `${origin}/bob` };
  expect((await rpc('CreateTaskPushNotificationConfig', bobs, { token: 'token-bob' })).error).toBeDefined();
  await rpc('DeleteTaskPushNotificationConfig', { taskId, id }, ann);
  expect(await list()).toHaveLength(1);
  for (let at = 0; at < 3; at++) await rpc('CreateTaskPushNotificationConfig', { taskId, url: `${origin}/${at}` }, ann);
  const one = await rpc('CreateTaskPushNotificationConfig', { taskId, url: `${origin}/more` }, ann);
  expect(one.error?.message).toContain('at most');
  expect(told).toEqual([]);
});

test('who does not take it is told up to three times, in order, and who is silent is left; the task goes on', async () => {
  const clock = virtualClock();
  const origin = 'https://caller.example';
  const told: string[] = [];
  const ended = deferred();
  const answers = [503, 'silence', 500, 204];
  const deliver: typeof fetch = async (_url, init) => {
    const body = JSON.parse(String(init?.body)) as Record<string, unknown>;
    told.push(`${stateOf(body) ?? 'artifact'} ${init?.redirect}`);
    const answer = answers.shift();
    if (stateOf(body) !== undefined) ended.resolve();
    if (answer !== 'silence') return new Response(null, { status: answer as number });
    return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))));
  };
  const { rpc, go } = await serve(waits, { push: { origins: [origin], fetch: deliver }, clock });
  const { task } = (await rpc('SendMessage', send(`${origin}/n`))).result as unknown as { task: { id: string } };
  go();
  while (told.length === 0) await new Promise(setImmediate);
  for (const ms of [499, 1, 5_000, 1_999]) {
    await clock.advance(ms);
    expect(told.length).toBe(ms === 499 ? 1 : 2);
  }
  await clock.advance(1);
  await ended.promise;
  const artifact = 'artifact error';
  expect(told).toEqual([artifact, artifact, artifact, 'TASK_STATE_COMPLETED error']);
  const looked = (await rpc('GetTask', { id: task.id })).result as unknown as { status: { state: string } };
  expect(looked.status.state).toBe('TASK_STATE_COMPLETED');
});

test('a remote agent that does not stream is looked at when it says that there is news, and not before', async () => {
  const inbox = await openPushInbox();
  closing.push(() => inbox.close());
  const { server, go } = await serve(waits, { push: { origins: [inbox.url] } });
  const methods: string[] = [];
  const clock = virtualClock();
  const policy = [{ rules: [{ toolName: 'far', decision: 'allow' as const, context: { opaque: true } }] }];
  await using host = createHost({ policy, clock });
  const backend = {
    cardUrl: server.cardUrl,
    streaming: false,
    push: inbox,
    async fetch(input: string | URL | Request, init?: RequestInit) {
      const response = await fetch(input, init);
      if (typeof init?.body === 'string') {
        const { method } = JSON.parse(init.body) as { method: string };
        methods.push(method);
        if (method === 'SendMessage') go();
      }
      return response;
    },
  };
  const run = host.run(agent({ name: 'far', executor: 'remote', backend }), 'go');
  expect(await run.result).toMatchObject({ ok: true, text: 'done' });
  expect(methods[0]).toBe('SendMessage');
  expect(new Set(methods.slice(1))).toEqual(new Set(['GetTask']));
  expect(methods.length).toBeLessThanOrEqual(4);
});

test('an inbox tells only of a task whose token was shown, and has nothing for anybody else', async () => {
  const inbox = await openPushInbox();
  closing.push(() => inbox.close());
  let news = 0;
  const { url, token, close } = inbox.expect(() => news++);
  const post = async (address: string, headers: Record<string, string>) =>
    (await fetch(address, { method: 'POST', headers, body: '{"state":"completed"}' })).status;
  expect(await post(url, {})).toBe(404);
  expect(await post(url, { 'x-a2a-notification-token': 'wrong' })).toBe(404);
  expect(await post(`${inbox.url}/other`, { 'x-a2a-notification-token': token })).toBe(404);
  expect((await fetch(url)).status).toBe(404);
  expect(news).toBe(0);
  expect(await post(url, { 'x-a2a-notification-token': token })).toBe(204);
  expect(await post(url, { authorization: `Bearer ${token}` })).toBe(204);
  expect(news).toBe(2);
  close();
  expect(await post(url, { 'x-a2a-notification-token': token })).toBe(404);
});
