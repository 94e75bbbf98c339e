import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent, createHost, type HostOptions, tool } from '../../src/index.js';
import { OwnTasks } from '../../src/surfaces/a2a/task-store.js';
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
  status: { state: string; message?: { parts: { text?: string; data?: { requestId: string } }[] } };
  history?: unknown[];
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
    'a part that is none',
    { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', parts: [null] } } },
  ],
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
  expect(JSON.stringify(answer)).not.toMatch(/node_modules|\.js:|\/src\/|Cannot read/);
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

/** Asks for two approvals, one after the other. */
async function twoApprovals() {
  const ran: unknown[] = [];
  const danger = tool({ name: 'danger', description: 'Deletes.', execute: (args) => `ran ${ran.push(args)}` });
  const calls = [
    {
      toolCalls: [
        { name: 'danger', args: {} },
        { name: 'danger', args: {} },
      ],
    },
    { text: 'done' },
  ];
  const served = await serve(agent({ name: 'near', tools: [danger] }), calls);
  const { id, status } = (await served.rpc('SendMessage', say('go'))).result!.task;
  let sent = 0;
  const reply = async (part: object, messageId = `reply ${++sent}`) =>
    (await served.rpc('SendMessage', { message: { messageId, role: 'ROLE_USER', taskId: id, parts: [part] } })).result!
      .task.status;
  return { ...served, ran, status, reply };
}

const idIn = ({ message }: TaskJson['status']) => message?.parts[1]?.data?.requestId;

test('an answer that names a question which is not open answers no other', async () => {
  const { status, reply, ran } = await twoApprovals();
  const first = idIn(status);
  const made = await reply({ data: { requestId: 'made up', action: 'accept' } });
  expect(made.message?.parts[0]?.text).toContain('there is no open question made up');
  expect([made.state, idIn(made)]).toEqual(['TASK_STATE_INPUT_REQUIRED', first]);
  const second = await reply({ data: { requestId: first, action: 'accept' } });
  expect(idIn(second)).not.toBe(first);
  const again = await reply({ data: { requestId: first, action: 'accept' } });
  expect([again.state, idIn(again)]).toEqual(['TASK_STATE_INPUT_REQUIRED', idIn(second)]);
  expect((await reply({ data: { requestId: 5, action: 'accept' } })).state).toBe('TASK_STATE_INPUT_REQUIRED');
  const { state } = await reply({ data: { requestId: idIn(second), action: 'decline' } });
  expect([state, ran.length]).toEqual(['TASK_STATE_COMPLETED', 1]);
});

test('a message that is sent once more under its id is heard once: its yes is none to the next question', async () => {
  const { status, reply, ran } = await twoApprovals();
  const second = await reply({ text: 'yes' }, 'the first');
  const again = await reply({ text: 'yes' }, 'the first');
  expect(idIn(second)).not.toBe(idIn(status));
  expect([again.state, idIn(again)]).toEqual(['TASK_STATE_INPUT_REQUIRED', idIn(second)]);
  await reply({ text: 'no' });
  expect(ran).toHaveLength(1);
});

test('a second task of a context that works is turned away without a word of what is inside; the context goes on', async () => {
  const { wait, go } = gated();
  const near = agent({ name: 'near', tools: [wait] });
  const script = [{ toolCalls: [{ name: 'wait', args: {} }] }, { text: 'done' }, { text: 'more' }];
  const { rpc, until } = await serve(near, script);
  const { id, contextId } = (await rpc('SendMessage', { ...say('go'), ...now })).result!.task;
  const { status } = (await rpc('SendMessage', say('and', { contextId }))).result!.task;
  expect(status.state).toBe('TASK_STATE_REJECTED');
  const words = status.message?.parts[0]?.text;
  expect(words).toBe(`task ${id} of this context is under way: answer, await or cancel it first`);
  go();
  await until(id, 'TASK_STATE_COMPLETED');
  expect((await rpc('SendMessage', say('then', { contextId }))).result?.task.status.state).toBe('TASK_STATE_COMPLETED');
});

test.each([
  ['a stream to a task of nobody', 'SendStreamingMessage', say('x', { taskId: 'nobody’s' }), -32001],
  ['a task of nobody to watch', 'SubscribeToTask', { id: 'nobody’s' }, -32001],
  ['a list without a token', 'ListTasks', {}, -32004],
  [
    'news where none are sent',
    'SendMessage',
    { ...say('x'), configuration: { taskPushNotificationConfig: { url: 'http://127.0.0.1:1/' } } },
    -32003,
  ],
])('%s is refused with the code that the protocol has for it', async (_, method, params, code) => {
  const { post, model } = await serve(leaf('near'), [{ text: 'hello' }]);
  const body = await (await post(method, params)).text();
  expect((JSON.parse(body.replace(/^data: /, '')) as { error: { code: number } }).error.code).toBe(code);
  expect(model.requests).toHaveLength(0);
});

test('a task that works takes so many messages and no more; it goes on, and another is not kept out', async () => {
  const { wait, go } = gated();
  const script: Script = ({ messages }) =>
    JSON.stringify(messages).includes('waited') ? { text: 'done' } : { toolCalls: [{ name: 'wait', args: {} }] };
  const { rpc, until } = await serve(agent({ name: 'near', tools: [wait] }), script);
  const { id } = (await rpc('SendMessage', { ...say('go'), ...now })).result!.task;
  const other = (await rpc('SendMessage', { ...say('go'), ...now })).result!.task;
  const codes: unknown[] = [];
  for (let at = 0; at < 40; at++)
    codes.push((await rpc('SendMessage', { ...say(`word ${at}`, { taskId: id }), ...now })).error?.code);
  expect(codes).toEqual([...Array(31).fill(undefined), ...Array(9).fill(-32004)]);
  const more = await rpc('SendMessage', { ...say('word', { taskId: other.id }), ...now });
  expect(more.error).toBeUndefined();
  go();
  expect((await until(id, 'TASK_STATE_COMPLETED')).history?.length).toBeGreaterThanOrEqual(32);
});

test('of what was said in a task the latest 200 messages are kept', async () => {
  const tasks = new OwnTasks(new Set(), (message) => new Error(message));
  const context = { user: undefined } as never;
  const history = Array.from({ length: 300 }, (_, at) => ({ messageId: `${at}` }));
  await tasks.save({ id: 't', history, artifacts: [] } as never, context);
  const kept = (await tasks.load('t', context))?.history ?? [];
  expect([kept.length, kept.at(-1)?.messageId]).toEqual([200, '299']);
});

test('the name of a bearer token may be written in any case', async () => {
  const { server } = await serve(leaf('near'), [{ text: 'hello' }], { server: { token: 'right' } });
  const statuses: number[] = [];
  for (const authorization of ['bearer right', 'BEARER right', 'Bearer  right', 'Basic right', 'bearerright'])
    statuses.push((await fetch(server.url, { method: 'POST', headers: { authorization }, body: '{}' })).status);
  expect(statuses).toEqual([200, 200, 403, 403, 403]);
});
