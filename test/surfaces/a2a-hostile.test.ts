import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent, createHost, type HostOptions, tool } from '../../src/index.js';
import { type A2aServerOptions, serveA2a } from '../../src/surfaces/a2a.js';
import { type Script, scriptedModel } from '../../src/testing/index.js';
import { deferred, leaf } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(
  team: AgentDefinition,
  script: Script,
  { server: serverOptions, host: hostOptions }: { server?: A2aServerOptions; host?: HostOptions } = {},
) {
  const model = scriptedModel(script);
  const host = createHost({ ...hostOptions, models: { scripted: model } });
  const server = await serveA2a(host, team, serverOptions);
  closing.push(
    () => host.close(),
    () => server.close(),
  );
  const post = (
    method: string,
    params: unknown,
    { token = '', signal }: { token?: string; signal?: AbortSignal } = {},
  ) =>
    fetch(server.url, {
      method: 'POST',
      headers: { 'a2a-version': '1.0', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      ...(signal && { signal }),
    });
  const rpc = async (method: string, params: unknown, token = '') =>
    (await (await post(method, params, { token })).json()) as {
      result?: { task: TaskJson } & TaskJson;
      error?: { code: number; message: string };
    };
  const until = async (id: string, state: string) => {
    for (;;) {
      const { result } = await rpc('GetTask', { id });
      if (result?.status.state === state) return result;
    }
  };
  return { server, model, post, rpc, until };
}

interface TaskJson {
  id: string;
  contextId: string;
  status: { state: string; message?: { parts: { text?: string }[] } };
  artifacts?: { artifactId: string; parts: { text?: string }[] }[];
}

const say = (text: string, more: object = {}) => ({
  message: { messageId: text, role: 'ROLE_USER', parts: [{ text }], ...more },
});
const now = { configuration: { returnImmediately: true } };

/** A tool that waits until it is let go, or stopped. */
function gated() {
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
  return { wait, go: gate.resolve };
}

test('a caller that leaves its stream finds the task ended, whole, when it looks again', async () => {
  const { wait, go } = gated();
  const near = agent({ name: 'near', tools: [wait] });
  const { post, until } = await serve(near, [
    { text: 'first ', toolCalls: [{ name: 'wait', args: {} }] },
    { text: ['then ', 'this'] },
  ]);
  const leave = new AbortController();
  const response = await post('SendStreamingMessage', say('go'), { signal: leave.signal });
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  const { id } = JSON.parse(new TextDecoder().decode(value).split('\n')[0]!.slice('data: '.length)).result.task;
  leave.abort();
  await reader.cancel().catch(() => {});
  go();
  const { artifacts } = await until(id, 'TASK_STATE_COMPLETED');
  expect(artifacts?.map(({ parts }) => parts.map(({ text }) => text).join(''))).toEqual(['first ', 'then this']);
});

test('what is said to a task that works is heard by it, and breaks nothing', async () => {
  const { wait, go } = gated();
  const near = agent({ name: 'near', tools: [wait] });
  const { rpc, model } = await serve(near, [{ toolCalls: [{ name: 'wait', args: {} }] }, { text: 'done' }]);
  const { id, contextId } = (await rpc('SendMessage', { ...say('go'), ...now })).result!.task;
  const more = rpc('SendMessage', say('and hurry', { taskId: id, contextId }));
  await rpc('GetTask', { id });
  go();
  expect((await more).result?.task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('and hurry');
});

test('a question that somebody else answers is none to the caller any more: its task goes on to its end', async () => {
  let answer: (run: unknown) => void = () => {};
  const asked = deferred();
  const elicitation: HostOptions['elicitation'] = () => {
    asked.resolve();
    return new Promise((resolve) => {
      answer = () => resolve({ action: 'accept' });
    });
  };
  let ran = 0;
  const danger = tool({ name: 'danger', description: 'Deletes.', execute: () => `ran ${++ran}` });
  const script = [{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'done' }];
  const { rpc, until } = await serve(agent({ name: 'near', tools: [danger] }), script, { host: { elicitation } });
  const { id } = (await rpc('SendMessage', say('go'))).result!.task;
  await asked.promise;
  expect((await rpc('GetTask', { id })).result?.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  answer(undefined);
  const { artifacts } = await until(id, 'TASK_STATE_COMPLETED');
  expect([ran, artifacts?.[0]?.parts[0]?.text]).toEqual([1, 'done']);
  const late = await rpc('SendMessage', say('yes', { taskId: id }));
  expect(late.error).toBeDefined();
});

test('a host without anybody to ask asks no caller either', async () => {
  const danger = tool({ name: 'danger', description: 'Deletes.', execute: () => 'ran' });
  const script = [{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'then not' }];
  const { rpc } = await serve(agent({ name: 'near', tools: [danger] }), script, { host: { elicitation: 'deny' } });
  expect((await rpc('SendMessage', say('go'))).result?.task.status.state).toBe('TASK_STATE_COMPLETED');
});

test('a caller has so many tasks under way and no more; another is not kept out by that', async () => {
  const { wait, go } = gated();
  const near = agent({ name: 'near', tools: [wait] });
  const script: Script = ({ messages }) =>
    JSON.stringify(messages).includes('waited') ? { text: 'done' } : { toolCalls: [{ name: 'wait', args: {} }] };
  const token = { ann: 'token-ann', bob: 'token-bob' };
  const { rpc } = await serve(near, script, { server: { maxTasks: 2, token } });
  const states: string[] = [];
  for (const who of ['ann', 'ann', 'ann', 'bob'])
    states.push((await rpc('SendMessage', { ...say('go'), ...now }, `token-${who}`)).result!.task.status.state);
  const refused = await rpc('SendMessage', say('go'), 'token-ann');
  expect(states).toEqual(Array(4).fill('TASK_STATE_WORKING'));
  expect(refused.result?.task.status).toMatchObject({
    state: 'TASK_STATE_REJECTED',
    message: { parts: [{ text: expect.stringContaining('2 tasks are under way') }] },
  });
  go();
});

test.each([
  ['no method', { jsonrpc: '2.0', id: 1 }],
  ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'DeleteEverything', params: {} }],
  ['a method of JavaScript', { jsonrpc: '2.0', id: 1, method: 'constructor', params: {} }],
  ['params that are none', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: 'x' }],
  ['no message', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: {} }],
  [
    'parts that are none',
    { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', parts: 5 } } },
  ],
  ['a prototype', JSON.parse('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"__proto__":{"id":"x"}}}')],
  ['a task of nobody', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('x', { taskId: 'nobody’s' }) }],
  ['a list of calls', [{ jsonrpc: '2.0', id: 1, method: 'GetTask', params: {} }]],
  ['a number', 5],
])('a request with %s is answered with an error, and the server goes on', async (_, body) => {
  const { server, rpc } = await serve(leaf('near'), [{ text: 'still here' }]);
  const response = await fetch(server.url, {
    method: 'POST',
    headers: { 'a2a-version': '1.0' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { error?: { message: string } };
  expect(answer.error).toBeDefined();
  expect(JSON.stringify(answer)).not.toMatch(/node_modules|\.js:|\/src\//);
  expect((await rpc('SendMessage', say('go'))).result?.task.status.state).toBe('TASK_STATE_COMPLETED');
});

test.each(['1.0', '0.3', '2.0', '0.1', 'x', '1.0\u00e9'])(
  'a caller of version %j is answered, or told that it is not',
  async (version) => {
    const { server } = await serve(leaf('near'), [{ text: 'hello' }]);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('go') });
    const response = await fetch(server.url, { method: 'POST', headers: { 'a2a-version': version }, body });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    expect(result !== undefined).toBe(version === '1.0');
    expect(error !== undefined).toBe(version !== '1.0');
  },
);

test('wrong tokens are counted too: who tries them out is soon not listened to', async () => {
  const { post } = await serve(leaf('near'), [], { server: { token: 'right', maxRequestsPerMinute: 5 } });
  const statuses: number[] = [];
  for (let at = 0; at < 8; at++) statuses.push((await post('GetTask', { id: 'x' }, { token: `wrong ${at}` })).status);
  expect(statuses).toEqual([403, 403, 403, 403, 403, 429, 429, 429]);
});

test('a request that never ends holds nothing up', async () => {
  const { server, rpc } = await serve(leaf('near'), [{ text: 'hello' }]);
  const { hostname, port, host } = new URL(server.url);
  const slow = connect(Number(port), hostname);
  await new Promise<void>((resolve) => slow.once('connect', resolve));
  slow.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000\r\n\r\n{`);
  expect((await rpc('SendMessage', say('go'))).result?.task.status.state).toBe('TASK_STATE_COMPLETED');
  slow.destroy();
});
