import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { type AgentCard, Role, type StreamResponse, TaskState } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import {
  AgentEvent as A2aEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { afterEach, expect, test } from 'vitest';
import { agent, createHost, type Run, tool } from '../../src/index.js';
import { serveA2a } from '../../src/surfaces/a2a.js';
import { type Script, scriptedModel } from '../../src/testing/index.js';
import { collect, deferred, leaf, textIn } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const textPart = (value: string) => ({
  content: { $case: 'text' as const, value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});
const now = () => new Date().toISOString();

/** An agent as the SDK's examples have it: works, says something in pieces, asks where it is told to, and is done. */
class SampleAgent implements AgentExecutor {
  readonly cancelled: string[] = [];

  execute = async ({ taskId, contextId, userMessage, task }: RequestContext, bus: ExecutionEventBus) => {
    const said = userMessage.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
    const message = (text: string) => ({
      messageId: crypto.randomUUID(),
      role: Role.ROLE_AGENT,
      parts: [textPart(text)],
      taskId,
      contextId,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    });
    if (said === 'just say') {
      bus.publish(A2aEvent.message(message('said')));
      return bus.finished();
    }
    const status = (state: TaskState, text?: string) =>
      bus.publish(
        A2aEvent.statusUpdate({
          taskId,
          contextId,
          status: { state, message: text === undefined ? undefined : message(text), timestamp: now() },
          metadata: undefined,
        }),
      );
    const working = { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: now() };
    // A stream begins with the task, also where it goes on.
    const { artifacts = [], history = [userMessage] } = task ?? {};
    bus.publish(A2aEvent.task({ id: taskId, contextId, status: working, artifacts, history, metadata: undefined }));
    if (said === 'ask me') {
      status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which city?');
      return bus.finished();
    }
    const piece = (text: string, append: boolean) =>
      bus.publish(
        A2aEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: {
            artifactId: 'a',
            name: '',
            description: '',
            parts: [textPart(text)],
            metadata: undefined,
            extensions: [],
          },
          append,
          lastChunk: append,
          metadata: undefined,
        }),
      );
    piece('About ', false);
    piece(said, true);
    status(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  };

  cancelTask = async (taskId: string) => {
    this.cancelled.push(taskId);
  };
}

async function sampleServer(binding: 'JSONRPC' | 'HTTP+JSON', streaming = true) {
  const express = createRequire(import.meta.url)('express') as () => RequestListener & {
    use(path: string, handler: unknown): void;
  };
  const app = express();
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const at = binding === 'JSONRPC' ? '/rpc' : '/rest';
  const card = {
    name: 'sample',
    description: 'A sample.',
    version: '1',
    provider: undefined,
    supportedInterfaces: [{ url: `${url}${at}`, protocolBinding: binding, protocolVersion: '1.0', tenant: '' }],
    capabilities: { streaming, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
  } as AgentCard;
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new SampleAgent());
  const userBuilder = UserBuilder.noAuthentication;
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }));
  app.use('/rest', restHandler({ requestHandler, userBuilder }));
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return url;
}

test.each([
  ['JSONRPC', true],
  ['JSONRPC', false],
  ['HTTP+JSON', true],
  ['HTTP+JSON', false],
] as const)('a remote agent speaks with the SDK’s own server over %s, streaming: %s', async (binding, streaming) => {
  const cardUrl = await sampleServer(binding, streaming);
  const policy = [{ rules: [{ toolName: 'far', decision: 'allow' as const, context: { opaque: true } }] }];
  await using host = createHost({ policy });
  const far = agent({ name: 'far', executor: 'remote', backend: { cardUrl, pollMs: 0 } });
  for (const [input, expected] of [
    ['just say', 'said'],
    ['tea', 'About tea'],
  ] as const) {
    const run = host.run(far, input);
    expect([textIn(await collect(run)), (await run.result).text]).toEqual([expected, expected]);
  }
  const run = host.run(far, 'ask me') as Run;
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    expect(event.message).toBe('Which city?');
    run.respond(event.requestId, { action: 'accept', content: { answer: 'Oslo' } });
  }
  expect(await run.result).toMatchObject({ ok: true, text: 'About Oslo' });
});

async function ours(script: Script, tools: Parameters<typeof agent>[0]['tools'] = []) {
  const host = createHost({ models: { scripted: scriptedModel(script) } });
  const server = await serveA2a(host, tools.length === 0 ? leaf('near') : agent({ name: 'near', tools }));
  closing.push(
    () => host.close(),
    () => server.close(),
  );
  return { client: await new ClientFactory().createFromUrl(server.url), server };
}

const message = (text: string, more: object = {}) => ({
  tenant: '',
  message: {
    messageId: crypto.randomUUID(),
    role: Role.ROLE_USER,
    parts: [textPart(text)],
    taskId: '',
    contextId: '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  },
  configuration: undefined,
  metadata: undefined,
});
const said = (events: readonly StreamResponse[]) =>
  events
    .flatMap(({ payload }) => (payload?.$case === 'artifactUpdate' ? [payload.value] : []))
    .filter(({ lastChunk }) => !lastChunk)
    .flatMap(({ artifact }) => artifact?.parts ?? [])
    .map(({ content }) => (content?.$case === 'text' ? content.value : ''));

test('the SDK’s own client sends, streams and looks at a task of our server', async () => {
  const { client } = await ours([{ text: 'one' }, { text: ['t', 'wo'] }]);
  const first = await client.sendMessage(message('go'));
  if (!('artifacts' in first)) throw new Error('no task');
  expect(first.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  const events: StreamResponse[] = [];
  for await (const event of client.sendMessageStream(message('go', { contextId: first.contextId }))) events.push(event);
  expect(said(events)).toEqual(['t', 'wo']);
  const { payload } = events[0] as StreamResponse;
  const id = payload?.$case === 'task' ? payload.value.id : '';
  const looked = await client.getTask({ tenant: '', id });
  expect(looked.artifacts[0]?.parts.map(({ content }) => content?.value)).toEqual(['two']);
});

test('it takes a stream up again while the task works, and cancels it', async () => {
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
  const script: Script = [
    { toolCalls: [{ name: 'wait', args: {} }] },
    { text: 'done' },
    { toolCalls: [{ name: 'wait', args: {} }] },
  ];
  const { client } = await ours(script, [wait]);
  const begun = await client.sendMessage({
    ...message('go'),
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true },
  });
  const id = 'artifacts' in begun ? begun.id : '';
  const events: StreamResponse[] = [];
  for await (const event of client.resubscribeTask({ tenant: '', id })) {
    events.push(event);
    gate.resolve();
  }
  expect(said(events)).toEqual(['done']);
  expect(events.at(-1)?.payload).toMatchObject({ value: { status: { state: TaskState.TASK_STATE_COMPLETED } } });
  const asking = tool({ name: 'ask', description: 'Asks.', execute: () => 'asked' });
  const { client: other } = await ours([{ toolCalls: [{ name: 'ask', args: {} }] }, { text: 'never' }], [asking]);
  const held = await other.sendMessage(message('go'));
  if (!('artifacts' in held)) throw new Error('no task');
  expect(held.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  const cancelled = await other.cancelTask({ tenant: '', id: held.id, metadata: undefined });
  expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
});

test('it is asked, answers, and is told what came of it', async () => {
  let ran = 0;
  const danger = tool({ name: 'danger', description: 'Deletes.', execute: () => `ran ${++ran}` });
  const { client } = await ours([{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'done' }], [danger]);
  const asked = await client.sendMessage(message('go'));
  if (!('artifacts' in asked)) throw new Error('no task');
  expect([asked.status?.state, ran]).toEqual([TaskState.TASK_STATE_INPUT_REQUIRED, 0]);
  const { id: taskId, contextId } = asked;
  const answered = await client.sendMessage(message('yes', { taskId, contextId }));
  expect(answered).toMatchObject({ status: { state: TaskState.TASK_STATE_COMPLETED } });
  expect(ran).toBe(1);
});
