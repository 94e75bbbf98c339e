import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import type { AgentEvent, TelemetryBridge } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  type HostOptions,
  hierarchical,
  loop,
  parallel,
  type Run,
  type RunOptions,
  sequential,
  tool,
} from '../../src/index.js';
import { otelTelemetry } from '../../src/telemetry/otel.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, leaf, ofType } from '../support/team.js';

const SECRET = 'the-word-that-must-not-leave';

const work = (name: string) =>
  tool({
    name,
    description: name,
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => `${SECRET} done`,
  });

async function tracedBy(options: { captureContent?: boolean } = {}) {
  const exporter = new InMemorySpanExporter();
  let begun = 0;
  const counting = {
    onStart: () => void begun++,
    onEnd() {},
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const provider = new BasicTracerProvider({ spanProcessors: [counting, new SimpleSpanProcessor(exporter)] });
  const telemetry = await otelTelemetry({ tracer: provider.getTracer('test'), ...options });
  return { telemetry, spans: () => exporter.getFinishedSpans(), begun: () => begun };
}

type Traced = Awaited<ReturnType<typeof tracedBy>>;

async function trace(
  team: Parameters<ReturnType<typeof createHost>['run']>[0],
  byAgent: Record<string, unknown>,
  options: {
    host?: HostOptions;
    run?: RunOptions;
    onEvent?: (event: AgentEvent, run: Run) => void;
    traced?: Traced;
  } = {},
) {
  const traced = options.traced ?? (await tracedBy());
  const host = createHost({
    models: { scripted: scriptedModel({ byAgent } as never) },
    telemetry: traced.telemetry,
    ...options.host,
  });
  const run = host.run(team, SECRET as never, options.run ?? {});
  const events: AgentEvent[] = [];
  const watched = (async function* () {
    for await (const event of run) {
      options.onEvent?.(event, run as Run);
      events.push(event);
      yield event;
    }
  })();
  await collect(watched);
  const result = await run.result;
  await host.close();
  return { ...traced, events, result };
}

const named = (spans: ReadableSpan[], name: string) => spans.filter((span) => span.name === name);
const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId;
const callBoth = {
  toolCalls: [
    { name: 'one', args: {} },
    { name: 'two', args: {} },
  ],
};

test('parallel agents with parallel tools: one trace, each tool below its agent, no span left open (B186)', async () => {
  const member = (name: string) => agent({ name, tools: [work('one'), work('two')] });
  const team = parallel({ name: 'p', children: [member('a'), member('b')] });
  const { spans, begun } = await trace(team, { a: [callBoth, { text: 'A' }], b: [callBoth, { text: 'B' }] });
  const all = spans();
  expect(new Set(all.map((span) => span.spanContext().traceId)).size).toBe(1);
  expect(all).toHaveLength(begun());
  const [root] = named(all, 'invoke_agent p');
  for (const name of ['a', 'b']) {
    const [own] = named(all, `invoke_agent ${name}`);
    expect(parentOf(own!)).toBe(root!.spanContext().spanId);
    for (const called of ['one', 'two']) {
      const [span] = named(all, `execute_tool ${name}.${called}`);
      expect(parentOf(span!)).toBe(own!.spanContext().spanId);
    }
    const chats = all.filter((span) => span.name.startsWith('chat ') && parentOf(span) === own!.spanContext().spanId);
    expect(chats).toHaveLength(2);
  }
  expect(parentOf(root!)).toBeUndefined();
});

test('what an agent is, what it used and how it ended stand on its span', async () => {
  const usage = { inputTokens: 11, outputTokens: 7, cachedTokens: 3, thoughtTokens: 2, cost: { usd: 0.5 } };
  const { spans, events } = await trace(leaf('a'), { a: [{ text: 'A', usage }] });
  const [own] = named(spans(), 'invoke_agent a');
  const { sessionId } = ofType(events, 'initialize')[0]!;
  expect(own!.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'a',
    'gen_ai.conversation.id': sessionId,
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 7,
    'troupe.cost_usd': 0.5,
    'troupe.end_reason': 'completed',
  });
  const [chat] = spans().filter((span) => span.name.startsWith('chat '));
  expect(chat!.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.cache_read.input_tokens': 3,
    'gen_ai.usage.reasoning.output_tokens': 2,
    'troupe.attempt': 1,
  });
});

test('no content leaves unless it is asked for', async () => {
  const script = { a: [{ toolCalls: [{ name: 'one', args: { word: SECRET } }] }, { text: `${SECRET} said` }] };
  const own = agent({ name: 'a', instruction: SECRET, tools: [work('one')] });
  const silent = await trace(own, script);
  expect(
    JSON.stringify(silent.spans().map(({ name, attributes, events }) => [name, attributes, events])),
  ).not.toContain(SECRET);
  const open = await trace(own, script, { traced: await tracedBy({ captureContent: true }) });
  const [call] = named(open.spans(), 'execute_tool a.one');
  expect(call!.attributes).toMatchObject({
    'gen_ai.tool.call.arguments': JSON.stringify({ word: SECRET }),
    'gen_ai.tool.call.result': expect.stringContaining(`${SECRET} done`),
  });
  const [run] = named(open.spans(), 'invoke_agent a');
  expect(run!.attributes['gen_ai.input.messages']).toContain(SECRET);
  expect(run!.attributes['gen_ai.output.messages']).toContain(`${SECRET} said`);
});

test('a child that a leader calls stands below the call', async () => {
  const team = hierarchical({ name: 'lead', agent: leaf('boss'), children: [leaf('helper')] });
  const { spans } = await trace(team, {
    boss: [{ toolCalls: [{ name: 'helper', args: { prompt: 'x' } }] }, { text: 'B' }],
    helper: [{ text: 'H' }],
  });
  const [call] = named(spans(), 'execute_tool helper');
  const [child] = named(spans(), 'invoke_agent helper');
  expect(parentOf(child!)).toBe(call!.spanContext().spanId);
});

test('the trace of the caller goes on, through every member and every round', async () => {
  const traceContext = { traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16) };
  const team = sequential({
    name: 's',
    children: [leaf('a'), loop({ name: 'l', children: [leaf('b')], maxIterations: 2 })],
  });
  const { spans, begun } = await trace(
    team,
    { a: [{ text: 'A' }], b: [{ text: 'B' }, { text: 'B' }] },
    { run: { traceContext } },
  );
  expect(new Set(spans().map((span) => span.spanContext().traceId))).toEqual(new Set([traceContext.traceId]));
  expect(parentOf(named(spans(), 'invoke_agent s')[0]!)).toBe(traceContext.parentSpanId);
  expect(named(spans(), 'invoke_agent b')).toHaveLength(2);
  expect(spans()).toHaveLength(begun());
});

test('an approval tells its decision and how long it took, a failure its code', async () => {
  const risky = tool({ name: 'risky', description: 'r', parameters: { type: 'object' }, execute: () => 'x' });
  const broken = tool({
    name: 'broken',
    description: 'b',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => {
      throw new Error(SECRET);
    },
  });
  const { spans } = await trace(
    agent({ name: 'a', tools: [risky, broken] }),
    {
      a: [
        {
          toolCalls: [
            { name: 'risky', args: {} },
            { name: 'broken', args: {} },
          ],
        },
        { text: 'A' },
      ],
    },
    {
      onEvent: (event, run) => {
        if (event.type === 'elicitation_request') run.respond(event.requestId, { action: 'decline' });
      },
    },
  );
  const [declined] = named(spans(), 'execute_tool a.risky');
  expect(declined!.attributes).toMatchObject({
    'troupe.approval.decision': 'decline',
    'troupe.approval.wait_ms': expect.any(Number),
    'error.type': 'declined',
  });
  const [failed] = named(spans(), 'execute_tool a.broken');
  expect(failed!.attributes).toMatchObject({ 'error.type': 'execution_failed' });
  expect(JSON.stringify(spans().map(({ attributes, status }) => [attributes, status]))).not.toContain(SECRET);
});

test('each attempt at a model is a span of its own, and an abort leaves none open', async () => {
  const failing = await trace(leaf('a'), {
    a: [{ error: { code: 'UNAVAILABLE', message: SECRET, retryAfterMs: 0, retryable: true } }, { text: 'A' }],
  });
  const chats = failing.spans().filter((span) => span.name.startsWith('chat '));
  expect(chats.map((span) => [span.attributes['troupe.attempt'], span.attributes['error.type']])).toEqual([
    [1, 'UNAVAILABLE'],
    [2, undefined],
  ]);
  const stuck = tool({
    name: 'stuck',
    description: 's',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_args, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  });
  const aborted = await trace(
    parallel({ name: 'p', children: [agent({ name: 'a', tools: [stuck] }), agent({ name: 'b', tools: [stuck] })] }),
    { a: [{ toolCalls: [{ name: 'stuck', args: {} }] }], b: [{ toolCalls: [{ name: 'stuck', args: {} }] }] },
    {
      onEvent: (event, run) => {
        if (event.type === 'tool_update' && event.status === 'executing' && event.agentId === 'b') run.abort('enough');
      },
    },
  );
  expect(aborted.spans()).toHaveLength(aborted.begun());
  expect(named(aborted.spans(), 'invoke_agent p')[0]!.attributes).toMatchObject({ 'troupe.end_reason': 'aborted' });
});

test('a bridge that throws is left alone and harms no run; a notice says so once', async () => {
  const throwing = () => {
    throw new Error('no collector');
  };
  const telemetry: TelemetryBridge = {
    startAgentSpan: throwing,
    recordToolCall: throwing,
    recordModelCall: throwing,
    recordError: throwing,
  };
  const team = parallel({ name: 'p', children: [leaf('a'), leaf('b')] });
  const { result, events } = await trace(team, { a: [{ text: 'A' }], b: [{ text: 'B' }] }, { host: { telemetry } });
  expect(result.ok).toBe(true);
  const notices = ofType(events, 'custom').filter(
    (event) => (event.data as { code?: string })?.code === 'TELEMETRY_FAILED',
  );
  expect(notices).toHaveLength(1);
});

test('what is no telemetry bridge is refused when the host is made', () => {
  expect(() => createHost({ telemetry: {} as never })).toThrow('telemetry');
});

test('a call of the router is a span of its own, and the call that it leads to says how it came about', async () => {
  const { spans, telemetry } = await tracedBy();
  const says = (text: string) => scriptedModel([{ text, usage: { inputTokens: 3, outputTokens: 1 } }]);
  await using host = createHost({
    telemetry,
    models: { own: says('no'), judge: says('big'), big: says('yes') },
    router: [
      {
        name: 'judge',
        async route({ ask, history }) {
          await ask('judge', { messages: history });
          return { model: 'big', reason: SECRET };
        },
      },
    ],
  });
  await collect(host.run(agent({ name: 'a', model: 'own' }), 'go'));
  const chats = spans().filter((span) => span.name.startsWith('chat '));
  expect(chats.map(({ name, attributes }) => [name, attributes])).toMatchObject([
    ['chat judge', { 'troupe.purpose': 'classify', 'gen_ai.usage.input_tokens': 3, 'gen_ai.agent.name': 'a' }],
    ['chat big', { 'troupe.routing.by': 'judge', 'troupe.routing.requested': 'own', 'gen_ai.usage.input_tokens': 3 }],
  ]);
  expect(chats[1]?.attributes).toHaveProperty(['troupe.routing.latency_ms']);
  expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toContain(SECRET);
});

test('a name that a model made up is no name of a span: it stands, short and on one line, beside it', async () => {
  const wild = [`look\n\u001b[2J${'x'.repeat(5_000)}`, 'rm -rf /', 'a.lookk', '__proto__'];
  const team = agent({ name: 'a', tools: [work('look')] });
  const toolCalls = [...wild, 'look'].map((name) => ({ name, args: {} }));
  const { spans } = await trace(team, { a: [{ toolCalls }, { text: 'A' }] });
  const calls = spans().filter(({ name }) => name.startsWith('execute_tool'));
  expect(calls.map(({ name }) => name).sort()).toEqual([
    'execute_tool a.look',
    ...wild.map(() => 'execute_tool unknown'),
  ]);
  const names = calls.map(({ attributes }) => String(attributes['gen_ai.tool.name']));
  expect(names.sort()).toEqual([
    '__proto__',
    'a.look',
    'a.lookk',
    expect.stringMatching(/^look <U\+001B>\[2Jx{1,50}$/),
    'rm -rf /',
  ]);
  for (const name of names) expect(name.length).toBeLessThanOrEqual(64);
});

test('tools of the host and children that are tools are known by their names', async () => {
  const lead = hierarchical({
    name: 'h',
    agent: agent({ name: 'lead', tools: ['ask_user'] }),
    children: [leaf('helper')],
  });
  const toolCalls = [
    { name: 'helper', args: { prompt: 'x' } },
    { name: 'ask_user', args: { question: '?' } },
  ];
  const { spans } = await trace(
    lead,
    { lead: [{ toolCalls }, { text: 'L' }], helper: [{ text: 'H' }] },
    {
      onEvent: (event, run) => {
        if (event.type === 'elicitation_request') run.respond(event.requestId, { action: 'decline' });
      },
    },
  );
  const names = spans().map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['execute_tool helper', 'execute_tool ask_user']));
});
