import {
  BaseAgent,
  BaseLlm,
  type BaseLlmConnection,
  type Context,
  createEvent,
  type Event,
  FunctionTool,
  type InvocationContext,
  LlmAgent,
  type LlmAgentConfig,
  type LlmRequest,
  type LlmResponse,
  LogLevel,
  setLogLevel,
} from '@google/adk';
import { beforeAll, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/contracts/index.js';
import { agent, createHost, type HostOptions, parallel, type Run } from '../../../src/index.js';
import { scriptedModel, validateLog } from '../../../src/testing/index.js';
import { ofType, textIn } from '../../support/team.js';
import { ScriptedLlm } from './scripted-llm.js';

beforeAll(() => setLogLevel(LogLevel.ERROR));

const policy = [
  { rules: [{ toolName: '*', decision: 'allow' as const }] },
  { rules: [{ toolName: 'far', decision: 'allow' as const, context: { opaque: true } }] },
];

/** An ADK agent beside one that is near: what becomes of each. */
async function beside(
  given: unknown,
  options: { see?: (event: AgentEvent, run: Run) => void; host?: HostOptions; constraints?: object } = {},
) {
  await using host = createHost({ policy, models: { scripted: scriptedModel([{ text: 'N' }]) }, ...options.host });
  const far = agent({
    name: 'far',
    executor: 'adk',
    backend: { agent: given },
    ...(options.constraints && { constraints: options.constraints }),
  });
  const run = host.run(parallel({ name: 'p', children: [far, agent({ name: 'near' })] }), 'go') as Run;
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    options.see?.(event, run);
  }
  expect(validateLog(events)).toEqual([]);
  const ends = ofType(events, 'stream_end');
  expect(ends.find(({ agentId }) => agentId === 'near')?.reason).toBe('completed');
  const ofFar = events.filter(({ agentId }) => agentId === 'far');
  return { events: ofFar, end: ends.find(({ agentId }) => agentId === 'far'), text: textIn(ofFar) };
}

const look = (execute: (args: never, context: Context) => unknown = () => 'seen') =>
  new FunctionTool({ name: 'look', description: 'l', execute: execute as never });
const calls = (id?: string) => ({ toolCalls: [{ ...(id !== undefined && { id }), name: 'look', args: {} }] });
const llm = (more: Partial<LlmAgentConfig> = {}, model: BaseLlm = new ScriptedLlm([calls(), { text: 'done' }])) =>
  new LlmAgent({ name: 'a', model, tools: [look()], ...more });

class RawLlm extends BaseLlm {
  constructor(private readonly say: (request: LlmRequest, call: number) => AsyncIterable<LlmResponse>) {
    super({ model: 'raw' });
  }
  calls = 0;
  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    yield* this.say(request, ++this.calls);
  }
  override connect(): Promise<BaseLlmConnection> {
    return Promise.reject(new Error('no live connection'));
  }
}
const text = (said: string, more: object = {}): LlmResponse => ({
  content: { role: 'model', parts: [{ text: said }] },
  ...more,
});

const CALLBACKS = [
  'beforeAgentCallback',
  'afterAgentCallback',
  'beforeModelCallback',
  'afterModelCallback',
  'beforeToolCallback',
  'afterToolCallback',
  'instruction',
] as const;
const THROWN: [string, () => unknown][] = [
  ['an error', () => new Error('from the callback')],
  ['a word', () => 'from the callback'],
  ['nothing', () => undefined],
];

test.each(CALLBACKS.flatMap((point) => THROWN.map(([what, make]) => [point, what, make] as const)))(
  'an agent whose %s throws %s ends no more than its own run',
  async (point, _, make) => {
    const callback = () => {
      throw make();
    };
    const { end } = await beside(llm({ [point]: callback } as never));
    expect(['completed', 'failed']).toContain(end?.reason);
    if (!point.includes('Tool')) expect(end?.reason).toBe('failed');
  },
);

test('ids of calls used again and again are calls of their own, each answered once', async () => {
  const model = new ScriptedLlm([
    calls('same'),
    calls('same'),
    { toolCalls: [...calls('same').toolCalls, ...calls('same').toolCalls] },
    { text: 'done' },
  ]);
  let ran = 0;
  const { end, events } = await beside(llm({ tools: [look(() => `seen ${++ran}`)] }, model));
  expect(end?.reason).toBe('completed');
  const asked = ofType(events, 'tool_request').map(({ requestId }) => requestId);
  expect(new Set(asked).size).toBe(4);
  expect(ofType(events, 'tool_response').map(({ requestId }) => requestId)).toEqual(asked);
});

test('a model that never stops talking is ended by an abort, at once', async () => {
  const endless = () =>
    new RawLlm(async function* () {
      for (;;) {
        yield text('on and on ', { partial: true });
        await new Promise(setImmediate);
      }
    });
  let pieces = 0;
  const aborted = await beside(llm({}, endless()), {
    see: (event, run) => {
      if (event.type === 'message' && event.agentId === 'far' && ++pieces === 50)
        run.abort('enough', { threadId: 'far_1' });
    },
  });
  expect(aborted.end).toMatchObject({ reason: 'aborted' });
  expect(aborted.end?.data?.forced).toBeUndefined();
});

test('what a model says behind its end, twice, empty, as of nobody, is one answer', async () => {
  const model = new RawLlm(async function* () {
    yield text('One', { partial: true });
    yield text('One', { turnComplete: true, finishReason: 'STOP' });
    yield {};
    yield { content: undefined as never };
    yield { content: { role: 'model', parts: [] } };
    yield { content: { role: 'user', parts: [{ text: 'as the user' }] } };
  });
  const { end, text: said } = await beside(llm({}, model));
  expect(end?.reason).toBe('completed');
  expect(said.startsWith('One')).toBe(true);
  expect(said.match(/One/g)).toHaveLength(1);
});

test('an answer of eight million letters is whole; one of ten million is beyond what an answer may have', async () => {
  const answered = (letters: number) => beside(llm({}, new ScriptedLlm([{ text: 'x'.repeat(letters) }])));
  const { end, text: said } = await answered(8_000_000);
  expect([end?.reason, said.length]).toEqual(['completed', 8_000_000]);
  const beyond = await answered(10_000_000);
  expect(beyond.end).toMatchObject({ reason: 'failed', data: { code: 'INVALID_RESPONSE' } });
  expect(beyond.end?.data?.message).toContain('has more than');
});

test.each([
  ['null', [null]],
  ['a number', [5]],
  ['parts that are none', [{ content: { role: 'model', parts: 'text' } }]],
  ['a call without a name', [{ content: { role: 'model', parts: [{ functionCall: {} }] } }]],
  [
    'a call with a list of arguments',
    [{ content: { role: 'model', parts: [{ functionCall: { name: 'look', args: [1] } }] } }],
  ],
  ['tokens that are none', [{ ...text('a'), usageMetadata: { promptTokenCount: -5, candidatesTokenCount: 'many' } }]],
  ['an unknown reason to end', [{ ...text('a'), finishReason: 'TIRED' }]],
  ['nothing at all', []],
])('a model that answers with %s ends in a run that ended', async (_, answers) => {
  const model = new RawLlm(async function* (_request, call) {
    if (call > 8) yield text('at last');
    else yield* answers as never[];
  });
  const { end } = await beside(llm({}, model), { constraints: { maxTurns: 12 } });
  expect(end).toBeDefined();
});

test('state under names that mean something to JavaScript pollutes nothing', async () => {
  const spoil = look((_args, context) => {
    const delta = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"polluted":1}}') as Record<string, unknown>;
    for (const key of Object.getOwnPropertyNames(delta)) context.state.set(key, delta[key]);
    context.state.set('fine', 1);
    return 'set';
  });
  const { end } = await beside(llm({ tools: [spoil] }));
  expect(end).toBeDefined();
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  expect((Object as { polluted?: unknown }).polluted).toBeUndefined();
});

test('a tool that answers with what is no JSON is answered for in words', async () => {
  const ring: Record<string, unknown> = {};
  ring.self = ring;
  for (const result of [ring, 10n, () => 1, Symbol('s'), new Map([[1, 2]]), Number.NaN]) {
    const { end, events } = await beside(llm({ tools: [look(() => result)] }));
    expect(end?.reason, String(typeof result)).toBe('completed');
    expect(() => JSON.stringify(ofType(events, 'tool_response'))).not.toThrow();
  }
});

/** An agent that runs in a way of its own. */
class Own extends BaseAgent {
  constructor(private readonly way: (context: InvocationContext) => AsyncIterable<unknown>) {
    super({ name: 'own' });
  }
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void> {
    yield* this.way(context) as AsyncIterable<Event>;
  }
  // biome-ignore lint/correctness/useYield: there is no live audio.
  protected override async *runLiveImpl(): AsyncGenerator<Event, void> {
    throw new Error('no live audio');
  }
}
const said = (context: InvocationContext, words: string, more: object = {}) =>
  createEvent({
    author: 'own',
    invocationId: context.invocationId,
    content: { role: 'model', parts: [{ text: words }] },
    ...more,
  });

test('an opaque agent that goes on for ever and ignores its signal is left behind, and the team goes on', async () => {
  let isLeft = false;
  const endless = new Own(async function* (context) {
    try {
      for (;;) {
        yield said(context, 'on and on');
        await new Promise(setImmediate);
      }
    } finally {
      isLeft = true;
    }
  });
  let pieces = 0;
  const { end } = await beside(endless, {
    see: (event, run) => {
      if (event.type === 'message' && event.agentId === 'far' && ++pieces === 20)
        run.abort('enough', { threadId: 'far_1' });
    },
  });
  expect(end).toMatchObject({ reason: 'aborted' });
  expect(end?.data?.forced).toBeUndefined();
  expect(isLeft).toBe(true);
});

test('one that is silent for ever is left behind, too', async () => {
  const silent = new Own(async function* () {
    await new Promise(() => {});
  });
  const { end } = await beside(silent, {
    see: (event, run) => {
      if (event.type === 'custom' && event.agentId === 'far')
        setImmediate(() => run.abort('enough', { threadId: 'far_1' }));
    },
  });
  expect(end).toMatchObject({ reason: 'aborted' });
  expect(end?.data?.forced).toBeUndefined();
});

test.each<[string, (context: InvocationContext) => unknown]>([
  ['null', () => null],
  ['a word', () => 'event'],
  [
    'no actions',
    (context) => ({ author: 'own', invocationId: context.invocationId, content: { parts: [{ text: 'a' }] } }),
  ],
  ['no parts', (context) => said(context, '', { content: { role: 'model' } })],
  ['a call of nothing', (context) => said(context, '', { content: { role: 'model', parts: [{ functionCall: {} }] } })],
  [
    'an answer to nothing',
    (context) =>
      said(context, '', { content: { role: 'user', parts: [{ functionResponse: { id: 'x', name: 'y' } }] } }),
  ],
  [
    'a ring',
    (context) => {
      const ring: Record<string, unknown> = {};
      ring.self = ring;
      return said(context, 'a', {
        customMetadata: ring,
        content: { role: 'model', parts: [{ functionCall: { id: 'c', name: 'n', args: ring } }] },
      });
    },
  ],
])('an opaque agent whose event is %s ends no more than its own run', async (_, make) => {
  const odd = new Own(async function* (context) {
    yield make(context);
    yield said(context, 'after it');
  });
  const { end } = await beside(odd);
  expect(['completed', 'failed']).toContain(end?.reason);
});

test.each(THROWN)('an opaque agent that throws %s half way is a failure that says so', async (what, make) => {
  const half = new Own(async function* (context) {
    yield said(context, 'half ');
    throw make();
  });
  const { end, text: heard } = await beside(half);
  expect([end?.reason, heard]).toEqual(['failed', 'half ']);
  if (what !== 'nothing') expect(end?.data?.message).toContain('from the callback');
});

test('a factory that throws, gives nothing, or another thing for a session, ends no more than its own run', async () => {
  for (const make of [
    () => {
      throw new Error('no agent today');
    },
    () => undefined,
    () => Promise.reject(new Error('no agent today')),
  ]) {
    await using host = createHost({ policy });
    const run = host.run(agent({ name: 'far', executor: 'adk', backend: { agent: make } }), 'go');
    const result = await run.result.catch((thrown: Error) => thrown);
    expect(result instanceof Error ? result.message : result.data.message).toMatch(/no agent/);
  }
  let made = 0;
  const turning = () => (++made === 1 ? llm() : ({} as never));
  const { end } = await beside(turning);
  expect(end?.reason).toBe('failed');
});

test('a tool that cannot say what it is makes a definition that cannot be read', async () => {
  const mute = look();
  mute._getDeclaration = () => {
    throw new Error('no words for it');
  };
  await using host = createHost({ policy });
  const broken = agent({
    name: 'broken',
    executor: 'adk',
    backend: { agent: new LlmAgent({ name: 'a', tools: [mute] }) },
  });
  expect(() => host.run(broken, 'go')).toThrow(
    expect.objectContaining({ code: 'INVALID_DEFINITION', message: expect.stringContaining('no words for it') }),
  );
});

test('an opaque agent’s artifacts are told one by one, as those of any other', async () => {
  const saving = new Own(async function* (context) {
    const event = said(context, 'saved');
    event.actions.artifactDelta = { 'a.txt': 0, 'b.txt': 2 };
    yield event;
  });
  await using host = createHost({ policy });
  const run = host.run(agent({ name: 'far', executor: 'adk', backend: { agent: saving } }), 'go');
  const told: unknown[] = [];
  for await (const event of run)
    if (event.type === 'custom' && event.kind === 'artifact_delta') told.push((event as AgentEvent<'custom'>).data);
  expect(told).toEqual([
    { name: 'a.txt', version: 0 },
    { name: 'b.txt', version: 2 },
  ]);
});
