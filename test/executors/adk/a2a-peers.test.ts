import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type BaseTool,
  type Event,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  LogLevel,
  LongRunningFunctionTool,
  requestInputTool,
  setLogLevel,
} from '@google/adk';
import { RemoteA2AAgent, toA2a } from '@google/adk/a2a';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent } from '../../../src/contracts/index.js';
import { agent, createHost, type Run, tool } from '../../../src/index.js';
import { serveA2a } from '../../../src/surfaces/a2a.js';
import { type ScriptEntry, scriptedModel } from '../../../src/testing/index.js';
import { collect, ofType, textIn } from '../../support/team.js';
import { ScriptedLlm } from './scripted-llm.js';

const closing: (() => Promise<unknown>)[] = [];
beforeAll(() => setLogLevel(LogLevel.ERROR));
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** An agent of ADK behind ADK's own A2A server. */
async function adkPeer(script: readonly ScriptEntry[], tools: BaseTool[] = [], hangs = false) {
  let app: RequestListener = () => {};
  const server = createServer((request, response) => app(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const model = new ScriptedLlm(script, hangs);
  const far = new LlmAgent({ name: 'far', description: 'Far.', model, tools });
  app = (await toA2a(far, { host: '127.0.0.1', port, allowUnauthenticated: true })) as unknown as RequestListener;
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${port}`, model };
}

const policy = [{ rules: [{ toolName: 'far', decision: 'allow' as const, context: { opaque: true } }] }];

async function ask(url: string, see: (event: AgentEvent, run: Run) => void = () => {}) {
  await using host = createHost({ policy });
  const run = host.run(agent({ name: 'far', executor: 'remote', backend: { cardUrl: url } }), 'go') as Run;
  const watched = (async function* () {
    for await (const event of run) {
      see(event, run);
      yield event;
    }
  })();
  const events = await collect(watched);
  return { events, result: await run.result };
}

const stepsOf = (events: readonly AgentEvent[]) =>
  ofType(events, 'custom').flatMap(({ kind, data }) =>
    kind.startsWith('remote_') ? [[kind, (data as { name: string }).name]] : [],
  );

test('an agent behind ADK’s own server says its words once, and what it calls is no word of its', async () => {
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ seen: 1 }) });
  const { url } = await adkPeer(
    [{ text: ['Let me ', 'look.'], toolCalls: [{ name: 'look', args: {} }] }, { text: ['All ', 'seen.'] }],
    [look],
  );
  const { events, result } = await ask(url);
  expect(textIn(events)).toBe('Let me look.All seen.');
  expect(result).toMatchObject({ ok: true, text: 'All seen.' });
  expect(stepsOf(events)).toEqual([
    ['remote_call', 'look'],
    ['remote_result', 'look'],
  ]);
});

test('its questions are asked and answered, each call of them by its own', async () => {
  const approve = new LongRunningFunctionTool({
    name: 'approve',
    description: 'Asks the office.',
    parameters: z.object({ what: z.string() }),
    execute: () => undefined,
  });
  const calls = ['tea', 'cake'].map((what) => ({ id: `call-${what}`, name: 'approve', args: { what } }));
  const { url, model } = await adkPeer([{ toolCalls: calls }, { text: 'Both.' }], [approve]);
  const asked: unknown[] = [];
  const { result } = await ask(url, (event, run) => {
    if (event.type !== 'elicitation_request') return;
    const { details } = event.context as { details: { args: { what: string } } };
    const { what } = details.args;
    asked.push([event.kind, event.message, what]);
    run.respond(event.requestId, { action: 'accept', content: { answer: `yes to ${what}` } });
  });
  expect(asked).toEqual([
    ['clarification', 'approve waits for its result', 'tea'],
    ['clarification', 'approve waits for its result', 'cake'],
  ]);
  expect(result).toMatchObject({ ok: true, text: 'Both.' });
  const answers = model.requests
    .at(-1)
    ?.contents.flatMap(({ parts = [] }) => parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []));
  expect(answers).toEqual([{ result: 'yes to tea' }, { result: 'yes to cake' }]);
});

test('what it asks a person for comes as its message, and with the answer it goes on', async () => {
  const { url } = await adkPeer(
    [{ toolCalls: [{ name: 'adk_request_input', args: { message: 'Which city?' } }] }, { text: 'To Oslo.' }],
    [requestInputTool],
  );
  const { result } = await ask(url, (event, run) => {
    if (event.type !== 'elicitation_request') return;
    expect(event.message).toBe('Which city?');
    run.respond(event.requestId, { action: 'accept', content: { answer: 'Oslo' } });
  });
  expect(result.text).toBe('To Oslo.');
});

test('its failure is a failure here; an abort does not wait for a server that cannot cancel', async () => {
  const broken = await adkPeer([{ error: { code: 'INVALID_ARGUMENT', message: 'no such model' } }]);
  const { result } = await ask(broken.url);
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'REMOTE_FAILED' } });
  expect(String(result.data.message)).toContain('no such model');
  const stuck = await adkPeer([], [], true);
  const aborted = await ask(stuck.url, (event, run) => {
    if (event.type === 'message') setImmediate(() => run.abort('enough'));
  });
  expect(aborted.result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
  expect(aborted.result.data.forced).toBeUndefined();
});

/** What an agent of ADK that stands for our server says in ADK's own runner. */
async function throughAdk(url: string, text: string) {
  const runner = new InMemoryRunner({ agent: new RemoteA2AAgent({ name: 'ours', agentCard: url }) });
  const events: Event[] = [];
  for await (const event of runner.runEphemeral({ userId: 'u', newMessage: { role: 'user', parts: [{ text }] } }))
    events.push(event);
  return events;
}

test('ADK’s remote agent is answered by our server: the words, and the failure', async () => {
  const look = tool({ name: 'look', description: 'Looks.', annotations: { readOnly: true }, execute: () => 'seen' });
  const model = scriptedModel([
    { text: 'Wait.', toolCalls: [{ name: 'look', args: {} }] },
    { text: ['Hel', 'lo'] },
    { error: { code: 'INVALID_ARGUMENT', message: 'no such model' } },
  ]);
  await using host = createHost({ models: { scripted: model } });
  const server = await serveA2a(host, agent({ name: 'near', description: 'Near.', tools: [look] }));
  closing.push(() => server.close());
  const events = await throughAdk(server.url, 'Good day');
  const whole = events.filter(({ partial }) => partial !== true);
  const said = whole.flatMap(({ content }) => content?.parts?.flatMap(({ text }) => text ?? []) ?? []);
  expect(said.join(' ')).toContain('Hello');
  expect(JSON.stringify(model.requests[0]?.messages)).toContain('Good day');
  const failed = await throughAdk(server.url, 'Again');
  expect(failed.at(-1)?.errorMessage).toContain('no such model');
});

test('a question of our server is shown to ADK as what the agent says, and nothing is taken for an answer', async () => {
  let ran = 0;
  const danger = tool({ name: 'danger', description: 'Deletes.', execute: () => `ran ${++ran}` });
  const model = scriptedModel([{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const server = await serveA2a(host, agent({ name: 'near', tools: [danger] }));
  closing.push(() => server.close());
  const events = await throughAdk(server.url, 'Delete it');
  expect(JSON.stringify(events.at(-1)?.content)).toContain('danger');
  expect(ran).toBe(0);
});
