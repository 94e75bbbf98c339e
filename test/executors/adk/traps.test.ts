import {
  BaseLlm,
  type BaseLlmConnection,
  type BaseTool,
  BaseToolset,
  type Context,
  FunctionTool,
  getUserChoiceTool,
  LlmAgent,
  type LlmAgentConfig,
  type LlmRequest,
  type LlmResponse,
  LongRunningFunctionTool,
  requestInputTool,
} from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent, ElicitationAnswer } from '../../../src/contracts/index.js';
import { type AgentOptions, agent } from '../../../src/define/agent.js';
import type { HostOptions } from '../../../src/host/types.js';
import { createHost, defineHook } from '../../../src/index.js';
import { memoryStore } from '../../../src/stores/memory.js';
import { eventsOf } from '../../../src/testing/event-checks.js';
import {
  expectNoLeaks,
  type ScriptEntry,
  scriptedModel,
  validateLog,
  virtualClock,
} from '../../../src/testing/index.js';
import { collect } from './collect.js';
import { ScriptedLlm } from './scripted-llm.js';

const ALLOW = { tier: 'user' as const, rules: [{ toolName: '*', decision: 'allow' as const, priority: 1 }] };

interface Setting {
  agent?: Partial<LlmAgentConfig>;
  ours?: Partial<AgentOptions<string, undefined, undefined, never>>;
  host?: HostOptions;
  answer?: (event: AgentEvent<'elicitation_request'>) => ElicitationAnswer;
  script?: readonly ScriptEntry[];
  model?: BaseLlm;
}

/** One run of one ADK agent on a host that allows everything. */
async function runAgent({
  agent: given,
  ours,
  host: options,
  answer,
  script = [],
  model = new ScriptedLlm(script),
}: Setting) {
  const subject = agent({
    name: 'legacy',
    ...ours,
    executor: 'adk',
    backend: { agent: new LlmAgent({ name: 'a', model, ...given }) },
  });
  await using host = createHost({ policy: [ALLOW], ...options });
  const run = host.run(subject, 'go');
  const events = await collect(run, (event) => {
    if (event.type === 'elicitation_request') run.respond(event.requestId, answer?.(event) ?? { action: 'accept' });
  });
  expect(validateLog(events)).toEqual([]);
  return { events, result: await run.result, model: model as ScriptedLlm };
}

const call = (name: string, args: object = {}, id?: string) => ({ name, args, ...(id !== undefined && { id }) });
const fn = (name: string, execute: (input: never, context?: Context) => unknown, more: object = {}) =>
  new FunctionTool({ name, description: name, execute: execute as never, ...more });
const questions = (events: readonly AgentEvent[]) =>
  eventsOf(events, 'elicitation_request').map(({ kind, message }) => [kind, message]);

/** A model that yields what it is told, as it is. */
class RawLlm extends BaseLlm {
  calls = 0;
  constructor(
    private readonly answers: (
      request: LlmRequest,
      signal: AbortSignal | undefined,
    ) => Iterable<LlmResponse> | AsyncIterable<LlmResponse>,
  ) {
    super({ model: 'raw' });
  }
  override async *generateContentAsync(
    request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    this.calls++;
    yield* this.answers(request, signal);
  }
  override connect(): Promise<BaseLlmConnection> {
    return Promise.reject(new Error('none'));
  }
}
const text = (words: string, more: object = {}): LlmResponse => ({
  content: { role: 'model', parts: [{ text: words }] },
  ...more,
});

describe('calls of a turn', () => {
  test('a gated and a free one: both results go back, in one message, in the order asked', async () => {
    const order: string[] = [];
    const gated = fn('gated', () => order.push('gated') && 'G', { requireConfirmation: true });
    const free = fn('free', () => order.push('free') && 'F');
    const { model, events } = await runAgent({
      agent: { tools: [gated, free] },
      script: [{ toolCalls: [call('gated', {}, 'g'), call('free', {}, 'f')] }, { text: 'done' }],
    });
    expect(questions(events)).toMatchObject([['tool_confirmation', expect.anything()]]);
    expect(order.sort()).toEqual(['free', 'gated']);
    expect(model.requests[1]?.contents.slice(1)).toMatchObject([
      { role: 'model', parts: [{ functionCall: { id: 'g' } }, { functionCall: { id: 'f' } }] },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'g', response: { output: 'G' } } }, { functionResponse: { id: 'f' } }],
      },
    ]);
  });

  test('without ids they get ids of their own (B100), and a signature stays on its call (B101)', async () => {
    const look = fn('look', ({ n }: { n?: number }) => `saw ${n}`, { parameters: z.object({ n: z.number() }) });
    const toolCalls = [
      { ...call('look', { n: 1 }), thoughtSignature: 'c2ln/+==' },
      call('look', { n: 2 }),
      call('look', { n: 3 }),
    ];
    const { model, events } = await runAgent({ agent: { tools: [look] }, script: [{ toolCalls }, { text: 'done' }] });
    const ids = eventsOf(events, 'tool_request').map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(3);
    const [, asked, answered] = model.requests[1]?.contents ?? [];
    expect(asked?.parts?.map(({ thoughtSignature }) => thoughtSignature)).toEqual(['c2ln/+==', undefined, undefined]);
    expect(answered?.parts?.map(({ functionResponse }) => functionResponse?.response)).toEqual(
      ['saw 1', 'saw 2', 'saw 3'].map((output) => ({ output })),
    );
    expect(model.requests[1]?.contents.length).toBe(3);
  });

  test('one in a piece of an answer runs once', async () => {
    let ran = 0;
    const parts = [{ functionCall: { name: 'look', args: {}, id: 'c1' } }];
    const answers = [
      [
        { content: { role: 'model', parts }, partial: true },
        { content: { role: 'model', parts }, partial: false },
      ],
      [text('done')],
    ];
    const model = new RawLlm(() => answers.shift() ?? []);
    const { result } = await runAgent({ agent: { tools: [fn('look', () => ++ran)] }, model });
    expect([ran, result.text, model.calls]).toEqual([1, 'done', 2]);
  });

  test('what a tool does to its arguments changes no history', async () => {
    const spoil = fn('spoil', (args: Record<string, unknown>) => {
      args.secret = 'added';
      return 'ok';
    });
    const { model } = await runAgent({
      agent: { tools: [spoil] },
      script: [{ toolCalls: [call('spoil', { a: 1 })] }, { text: 'done' }],
    });
    expect(model.requests[1]?.contents[1]?.parts?.[0]?.functionCall?.args).toEqual({ a: 1 });
  });

  test('one that throws, or whose arguments do not fit, is told, and the others go on', async () => {
    const boom = fn('boom', () => {
      throw new Error('no luck');
    });
    const add = fn('add', () => 'added', { parameters: z.object({ a: z.number() }) });
    const { events, result } = await runAgent({
      agent: { tools: [boom, add] },
      script: [{ toolCalls: [call('boom'), call('add', { a: 'x' }), call('add', { a: 1 })] }, { text: 'done' }],
    });
    expect(eventsOf(events, 'tool_response').map(({ errorType }) => errorType)).toEqual(
      expect.arrayContaining(['execution_failed', 'invalid_tool_params', undefined]),
    );
    expect(result.text).toBe('done');
  });

  test('of a tool that there is not: told each time, and the run ends at its limit, not after 500 calls', async () => {
    const model = new RawLlm(function* () {
      yield { content: { role: 'model', parts: [{ functionCall: { name: 'nothing_there', args: {} } }] } };
    });
    const { events, result } = await runAgent({ model, ours: { constraints: { maxTurns: 4 } } });
    expect(result.ok).toBe(false);
    expect(model.calls).toBeLessThanOrEqual(4);
    expect(eventsOf(events, 'tool_response')[0]?.errorType).toBe('tool_not_registered');
  });

  test('the agent’s own callbacks stand around them', async () => {
    const seen: unknown[] = [];
    const { events } = await runAgent({
      agent: {
        tools: [fn('a', () => ({ raw: 1 })), fn('b', () => 'never')],
        beforeToolCallback: ({ tool }) => (tool.name === 'b' ? { canned: true } : undefined),
        afterToolCallback: ({ tool, response }) => {
          seen.push([tool.name, response]);
          return { ...response, more: 2 };
        },
      },
      script: [{ toolCalls: [call('a'), call('b')] }, { text: 'done' }],
    });
    expect(seen).toEqual([['a', { raw: 1 }]]);
    expect(eventsOf(events, 'tool_response').map(({ data }) => data)).toEqual(
      expect.arrayContaining([{ raw: 1, more: 2 }, { canned: true }]),
    );
  });
});

describe('what a tool asks of a person', () => {
  test.each([
    ['accept', true, 'ran'],
    ['decline', false, 'kept'],
  ])('confirmation from inside: %s', async (action, confirmed, result) => {
    const seen: unknown[] = [];
    const risky = fn('risky', (_, context) => {
      const { toolConfirmation } = context ?? {};
      if (toolConfirmation === undefined) {
        context?.requestConfirmation({ hint: 'really?', payload: { n: 1 } });
        return 'pending';
      }
      seen.push([toolConfirmation.confirmed, toolConfirmation.payload]);
      return toolConfirmation.confirmed ? 'ran' : 'kept';
    });
    const { events } = await runAgent({
      agent: { tools: [risky] },
      script: [{ toolCalls: [call('risky')] }, { text: 'done' }],
      answer: () => ({ action, content: { payload: { n: 2 } } }),
    });
    expect(questions(events)).toEqual([['tool_confirmation', 'really?']]);
    expect(seen[0]).toEqual([confirmed, confirmed ? { n: 2 } : { n: 1 }]);
    expect(eventsOf(events, 'tool_response')[0]?.llmContent).toEqual([{ type: 'text', text: result }]);
  });

  test('a credential: it goes to the tool, is kept for its user, and stands in no log, state or request', async () => {
    const authConfig = {
      credentialKey: 'shop',
      authScheme: { type: 'apiKey' as const, in: 'header' as const, name: 'x' },
    };
    const seen: unknown[] = [];
    const fetchIt = fn('fetch_it', (_, context) => {
      const credential = context?.getAuthResponse(authConfig as never);
      if (credential === undefined) {
        context?.requestCredential(authConfig as never);
        return { pending: true };
      }
      seen.push(credential);
      return 'fetched';
    });
    const { events, model } = await runAgent({
      agent: { tools: [fetchIt] },
      script: [
        { toolCalls: [call('fetch_it', { n: 1 })] },
        { toolCalls: [call('fetch_it', { n: 2 })] },
        { text: 'done' },
      ],
      answer: () => ({ action: 'accept', content: { credential: { authType: 'apiKey', apiKey: 'hush' } } }),
    });
    expect(questions(events)).toEqual([['auth_required', 'fetch_it needs a credential']]);
    const credential = { authType: 'apiKey', apiKey: 'hush' };
    expect(seen).toEqual([credential, credential]);
    expect(JSON.stringify([events, model.requests])).not.toContain('hush');
  });

  test('input, with the schema that the model gave', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const { events, model } = await runAgent({
      agent: { tools: [requestInputTool] },
      script: [
        { toolCalls: [call('request_input', { message: 'Where?', response_schema: schema })] },
        { text: 'done' },
      ],
      answer: () => ({ action: 'accept', content: { city: 'Rome' } }),
    });
    expect(eventsOf(events, 'elicitation_request')[0]).toMatchObject({
      kind: 'clarification',
      message: 'Where?',
      requestedSchema: schema,
    });
    expect(JSON.stringify(model.requests[1]?.contents.at(-1))).toContain('Rome');
  });

  test('the result of what takes long', async () => {
    const slow = new LongRunningFunctionTool({ name: 'slow', description: 'Slow.', execute: () => null });
    const { model, events } = await runAgent({
      agent: { tools: [slow, getUserChoiceTool] },
      script: [{ toolCalls: [call('slow'), call('get_user_choice', { options: ['a', 'b'] })] }, { text: 'done' }],
      answer: ({ context }) => ({
        action: 'accept',
        content: context?.tool === 'slow' ? { result: 'late' } : { choice: 'b' },
      }),
    });
    expect(questions(events).map(([kind]) => kind)).toEqual(['clarification', 'clarification']);
    expect(
      model.requests[1]?.contents.at(-1)?.parts?.map(({ functionResponse }) => functionResponse?.response),
    ).toEqual([{ output: 'late' }, { output: '{"choice":"b"}' }]);
  });
});

describe('an answer', () => {
  test('in pieces and once more as a whole is one message, said once', async () => {
    const { events, result } = await runAgent({ script: [{ text: ['Hel', 'lo ', 'you'] }] });
    const said = eventsOf(events, 'message').filter(({ role }) => role === 'agent');
    expect(said.map(({ content }) => content[0])).toEqual(
      ['Hel', 'lo ', 'you'].map((words) => ({ type: 'text', text: words })),
    );
    expect(new Set(said.map(({ messageId }) => messageId)).size).toBe(1);
    expect(result.text).toBe('Hello you');
  });

  test('that comes in pieces only is kept', async () => {
    const { result } = await runAgent({
      model: new RawLlm(() => [text('a', { partial: true }), text('b', { partial: true })]),
    });
    expect(result.text).toBe('ab');
  });

  test('has its tokens told once, however often they are repeated (B105)', async () => {
    const usage = (out: number) => ({ usageMetadata: { promptTokenCount: 10, candidatesTokenCount: out } });
    const model = new RawLlm(() => [
      text('a', { partial: true, ...usage(5) }),
      text('b', { partial: true, ...usage(9) }),
      text('ab', { partial: false, ...usage(12) }),
      { partial: false, ...usage(12) },
    ]);
    const { result, events } = await runAgent({ model });
    expect(eventsOf(events, 'usage').length).toBe(1);
    expect(result.usage).toEqual({ inputTokens: 10, outputTokens: 12 });
  });

  test('keeps the signatures that the whole has lost', async () => {
    const parts = [{ text: 'so', thoughtSignature: 'dGV4dA==' }];
    const answers = [[{ content: { role: 'model', parts }, partial: true }, text('so')], [text('done')]];
    const requests: LlmRequest[] = [];
    const model = new RawLlm((request) => {
      requests.push(structuredClone({ contents: request.contents }) as LlmRequest);
      return answers.shift() ?? [];
    });
    const subject = agent({ name: 'legacy', executor: 'adk', backend: { agent: new LlmAgent({ name: 'a', model }) } });
    await using host = createHost({});
    const session = host.session(subject);
    for (const content of ['one', 'two']) for await (const _ of session.stream({ kind: 'message', content }).stream);
    expect(requests[1]?.contents[1]?.parts).toEqual(parts);
    await session.close();
  });

  test('that is cut at the limit of tokens is complete, and says so', async () => {
    const { result } = await runAgent({
      model: new RawLlm(() => [text('half', { errorCode: 'MAX_TOKENS', finishReason: 'MAX_TOKENS' as never })]),
    });
    expect([result.ok, result.text, result.data.finishReason]).toEqual([true, 'half', 'length']);
  });

  test('that is withheld is a refusal, once, with what was said', async () => {
    const model = new RawLlm(() => [
      text('well', { partial: true }),
      { errorCode: 'SAFETY', errorMessage: 'unsafe' },
      text('well', { errorCode: 'SAFETY', errorMessage: 'unsafe' }),
    ]);
    const { result, events } = await runAgent({ model });
    expect(result.reason).toBe('refusal');
    expect(eventsOf(events, 'message').filter(({ role }) => role === 'agent').length).toBe(1);
    expect(eventsOf(events, 'error')).toEqual([]);
  });

  test('changed by the agent’s callback is said as changed', async () => {
    const { result } = await runAgent({
      script: [{ text: ['a', 'b'] }],
      agent: {
        afterModelCallback: ({ response }) => ({ ...response, content: { role: 'model', parts: [{ text: 'other' }] } }),
      },
    });
    expect(result.text).toBe('other');
  });

  test('of a callback in the model’s place, and after it', async () => {
    const say = (words: string) => ({ role: 'model', parts: [{ text: words }] });
    const { result, model } = await runAgent({ agent: { beforeAgentCallback: () => say('cached') } });
    expect([result.text, model.requests.length]).toEqual(['cached', 0]);
    const after = await runAgent({ script: [{ text: 'one' }], agent: { afterAgentCallback: () => say('and more') } });
    const said = eventsOf(after.events, 'message').filter(({ role }) => role === 'agent');
    expect(said.map(({ content }) => content)).toEqual([
      [{ type: 'text', text: 'one' }],
      [{ type: 'text', text: 'and more' }],
    ]);
    expect(new Set(said.map(({ messageId }) => messageId)).size).toBe(2);
  });
});

describe('an answer with nothing in it', () => {
  test('is asked for once more, as a whole, then it is a failure (B103)', async () => {
    const clock = virtualClock();
    const asked: boolean[] = [];
    class Empty extends ScriptedLlm {
      override async *generateContentAsync(_: LlmRequest, stream = false): AsyncGenerator<LlmResponse, void> {
        asked.push(stream);
        yield { partial: false, usageMetadata: { promptTokenCount: 3 } };
      }
    }
    const subject = agent({
      name: 'legacy',
      executor: 'adk',
      backend: { agent: new LlmAgent({ name: 'a', model: new Empty([]) }) },
    });
    await using host = createHost({ clock });
    const run = host.run(subject, 'go');
    const events = await collect(run, (event) => {
      if (event.type === 'custom' && event.kind === 'notice') void clock.advance(500);
    });
    expect(asked).toEqual([true, false]);
    expect((await run.result).data).toMatchObject({ code: 'MALFORMED_RESPONSE', usage: { inputTokens: 6 } });
    expect(eventsOf(events, 'message').filter(({ role }) => role === 'agent')).toEqual([]);
  });
});

describe('a failure', () => {
  test('is tried again where that may help, counted, and waits as long as it is told', async () => {
    const clock = virtualClock();
    const model = new ScriptedLlm([
      { error: { code: 'RESOURCE_EXHAUSTED', message: 'slow', retryAfterMs: 2_000 } },
      { text: 'there' },
    ]);
    const subject = agent({ name: 'legacy', executor: 'adk', backend: { agent: new LlmAgent({ name: 'a', model }) } });
    await using host = createHost({ clock });
    const run = host.run(subject, 'go');
    const events = await collect(run, (event) => {
      if (event.type === 'custom' && event.kind === 'notice') void clock.advance(2_000);
    });
    expect(JSON.stringify(eventsOf(events, 'custom')[0]?.data)).toContain('again in 2000 ms');
    expect([(await run.result).text, model.requests.length]).toEqual(['there', 2]);
  });

  test.each([
    ['of a model', { script: [{ error: { code: 'INVALID_ARGUMENT', message: 'bad' } }] }, 'INVALID_ARGUMENT'],
    [
      'of a model that throws no error',
      {
        model: new RawLlm(() => {
          throw 'odd';
        }),
      },
      'MODEL_FAILED',
    ],
    [
      'of an instruction',
      {
        agent: {
          instruction: () => {
            throw new Error('no words');
          },
        },
      },
      'EXECUTOR_FAILED',
    ],
    [
      'of a callback',
      {
        script: [{ text: 'x' }],
        agent: {
          beforeAgentCallback: () => {
            throw new Error('no');
          },
        },
      },
      'EXECUTOR_FAILED',
    ],
    ['of a state key that an instruction needs', { agent: { instruction: 'Use {missing}' } }, 'EXECUTOR_FAILED'],
  ] as [string, Setting, string][])('%s ends the run, told once', async (_, setting, code) => {
    const { result, events } = await runAgent(setting);
    expect([result.reason, result.data.code]).toEqual(['failed', code]);
    expect(eventsOf(events, 'error').length).toBe(1);
  });

  test('leaves the session usable', async () => {
    const model = new ScriptedLlm([{ error: { code: 'INVALID_ARGUMENT', message: 'bad' } }, { text: 'fine' }]);
    const subject = agent({ name: 'legacy', executor: 'adk', backend: { agent: new LlmAgent({ name: 'a', model }) } });
    await using host = createHost({});
    const session = host.session(subject);
    const ends: string[] = [];
    for (const content of ['one', 'two'])
      for await (const event of session.stream({ kind: 'message', content }).stream)
        if (event.type === 'stream_end') ends.push(event.reason);
    expect(ends).toEqual(['failed', 'completed']);
    await session.close();
  });
});

describe('an abort', () => {
  test('does not wait for a model that ignores its signal, and the next message finds a whole history', async () => {
    await expectNoLeaks(async () => {
      let release: () => void = () => {};
      const requests: LlmRequest[] = [];
      const model = new RawLlm(async function* (request) {
        requests.push(structuredClone({ contents: request.contents }) as LlmRequest);
        if (requests.length === 1) {
          yield text('well', { partial: true });
          await new Promise<void>((resolve) => {
            release = resolve;
          });
          return;
        }
        yield text('back');
      });
      const subject = agent({
        name: 'legacy',
        executor: 'adk',
        backend: { agent: new LlmAgent({ name: 'a', model }) },
      });
      const host = createHost({});
      const session = host.session(subject);
      const first = session.stream({ kind: 'message', content: 'one' });
      const events: AgentEvent[] = [];
      for await (const event of first.stream) {
        events.push(event);
        if (event.type === 'message' && event.role === 'agent') first.controller.abort('enough');
      }
      expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
      expect((events.at(-1) as AgentEvent<'stream_end'>).data?.forced).toBeUndefined();
      for await (const event of session.stream({ kind: 'message', content: 'two' }).stream) events.push(event);
      expect(requests[1]?.contents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
        ['user', 'one'],
        ['model', 'well'],
        ['user', 'two'],
      ]);
      release();
      await session.close();
      await host.close();
    });
  });

  test('in a tool answers its call: no call is left without one', async () => {
    const hold = fn(
      'hold',
      (_, context) => new Promise((resolve) => context?.abortSignal?.addEventListener('abort', () => resolve('late'))),
    );
    const model = new ScriptedLlm([{ toolCalls: [call('hold', {}, 'c1')] }, { text: 'back' }]);
    const subject = agent({
      name: 'legacy',
      executor: 'adk',
      backend: { agent: new LlmAgent({ name: 'a', model, tools: [hold] }) },
    });
    await using host = createHost({ policy: [ALLOW] });
    const session = host.session(subject);
    const first = session.stream({ kind: 'message', content: 'one' });
    for await (const event of first.stream)
      if (event.type === 'tool_update' && event.status === 'executing') setImmediate(() => first.controller.abort());
    for await (const _ of session.stream({ kind: 'message', content: 'two' }).stream);
    const [, asked, answered] = model.requests[1]?.contents ?? [];
    expect(asked?.parts?.[0]?.functionCall?.id).toBe('c1');
    expect(answered?.parts?.[0]?.functionResponse).toMatchObject({
      id: 'c1',
      response: { error: expect.stringContaining('cancelled') },
    });
    await session.close();
  });
});

describe('limits, hooks and models of the host', () => {
  test('calls are counted against its limits, retries included', async () => {
    const script = [
      { toolCalls: [call('look', { n: 1 })] },
      { toolCalls: [call('look', { n: 2 })] },
      { text: 'never' },
    ];
    const { result, model } = await runAgent({
      script,
      agent: { tools: [fn('look', () => 'x')] },
      ours: { constraints: { maxLlmCalls: 2 } },
    });
    expect([result.reason, result.data.limit, model.requests.length]).toEqual(['max_turns', 'maxLlmCalls', 2]);
  });

  test('before_model sees and changes what the agent’s own model is asked, or answers for it', async () => {
    const hooks = [
      defineHook('before_model', ({ request }) => ({
        action: 'proceed',
        modifications: { request: { ...request, systemInstruction: 'changed' } },
      })),
    ];
    const { model } = await runAgent({ script: [{ text: 'x' }], agent: { instruction: 'own' }, host: { hooks } });
    expect(model.requests[0]?.config?.systemInstruction).toBe('changed');
    const canned = [
      defineHook('before_model', () => ({
        action: 'proceed',
        modifications: { response: { content: [{ type: 'text', text: 'canned' }] } },
      })),
    ];
    const answered = await runAgent({ host: { hooks: canned } });
    expect([answered.result.text, answered.model.requests.length]).toEqual(['canned', 0]);
    const blocked = await runAgent({
      host: { hooks: [defineHook('before_model', () => ({ action: 'block', reason: 'no' }))] },
    });
    expect(blocked.result.data).toMatchObject({ code: 'HOOK_BLOCKED', message: 'no' });
  });

  test('a model that the run asks for stands in for the agent’s own', async () => {
    const ours = scriptedModel([{ text: 'ours' }]);
    const subject = agent({
      name: 'legacy',
      executor: 'adk',
      backend: { agent: new LlmAgent({ name: 'a', model: new ScriptedLlm([]), instruction: 'Be brief.' }) },
    });
    await using host = createHost({ models: { scripted: ours } });
    expect((await host.run(subject, 'go', { model: 'scripted', generation: { temperature: 0.5 } }).result).text).toBe(
      'ours',
    );
    expect(ours.requests[0]).toMatchObject({ config: { temperature: 0.5 } });
    expect(ours.requests[0]?.systemInstruction).toContain('Be brief.');
  });

  test('an agent without a model takes that of the agent above it, else the host’s', async () => {
    const model = new ScriptedLlm([
      { toolCalls: [call('transfer_to_agent', { target: 'below' })] },
      { text: 'mine too' },
    ]);
    const root = new LlmAgent({ name: 'above', model, subAgents: [new LlmAgent({ name: 'below' })] });
    await using host = createHost({});
    expect(
      (await host.run(agent({ name: 'legacy', executor: 'adk', backend: { agent: root } }), 'go').result).text,
    ).toBe('mine too');
  });

  test('what telemetry records holds no content unless it is asked for', () => {
    expect(process.env.ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS).toBe('false');
  });
});

describe('structured output', () => {
  const schema = z.object({ n: z.number() });

  test('of the agent’s own schema: text that is JSON counts, and goes back once when it does not fit', async () => {
    const { result, model } = await runAgent({
      agent: { outputSchema: schema, outputKey: 'out' },
      script: [{ text: '{"n":"x"}' }, { text: '{"n":3}' }],
    });
    expect(result.result).toEqual({ n: 3 });
    expect(JSON.stringify(model.requests[1]?.contents.at(-1))).toContain('does not fit');
  });

  test('beside tools it comes through complete_task', async () => {
    const { result, model } = await runAgent({
      agent: { outputSchema: schema, tools: [fn('look', () => 'x')] },
      script: [{ toolCalls: [call('complete_task', { n: 4 })] }],
    });
    expect(result.result).toEqual({ n: 4 });
    const [declared] = (model.requests[0]?.config?.tools ?? []) as { functionDeclarations: { name: string }[] }[];
    expect(declared?.functionDeclarations.map(({ name }) => name)).toEqual(['look', 'complete_task']);
  });
});

describe('state and artifacts', () => {
  test('what tools and callbacks write is the tree’s, prefixes and all; temp: is not stored', async () => {
    const store = memoryStore();
    const write = fn('write', (_, context) => {
      context?.state.set('plain', 1);
      context?.state.set('user:name', 'Ann');
      context?.state.set('app:theme', 'dark');
      context?.state.set('temp:x', 'gone');
      return context?.state.get('fromCallback');
    });
    const { events } = await runAgent({
      host: { store },
      agent: { tools: [write], beforeAgentCallback: (context) => void context.state.set('fromCallback', 'yes') },
      script: [{ toolCalls: [call('write')] }, { text: 'done' }],
    });
    const deltas = eventsOf(events, 'session_update').flatMap(({ stateDelta }) => (stateDelta ? [stateDelta] : []));
    expect(deltas).toContainEqual({ fromCallback: 'yes' });
    expect(deltas).toContainEqual({ plain: 1, 'user:name': 'Ann', 'app:theme': 'dark', 'temp:x': 'gone' });
    expect(eventsOf(events, 'tool_response')[0]?.llmContent).toEqual([{ type: 'text', text: 'yes' }]);
    const [{ id } = { id: '' }] = store.list('legacy') as { id: string }[];
    const { state } = await store.load(id);
    expect(state).toEqual({ fromCallback: 'yes', plain: 1, 'user:name': 'Ann', 'app:theme': 'dark' });
  });

  test('a session goes on with what its agent wrote', async () => {
    const store = memoryStore();
    const remember = fn('remember', (_, context) => context?.state.set('seen', 7));
    const of2 = (model: ScriptedLlm) =>
      agent({
        name: 'legacy',
        executor: 'adk',
        backend: { agent: new LlmAgent({ name: 'a', model, tools: [remember], instruction: 'Seen: {seen?}' }) },
      });
    const first = createHost({ store, policy: [ALLOW] });
    await first.run(of2(new ScriptedLlm([{ toolCalls: [call('remember')] }, { text: 'ok' }])), 'go', {
      sessionId: 's1',
    }).result;
    await first.close();
    const model = new ScriptedLlm([{ text: 'again' }]);
    await using second = createHost({ store, policy: [ALLOW] });
    expect((await second.run(of2(model), 'and?', { sessionId: 's1' }).result).text).toBe('again');
    expect(model.requests[0]?.config?.systemInstruction).toContain('Seen: 7');
    expect(model.requests[0]?.contents.length).toBe(5);
  });

  test('artifacts are saved, found again, and told', async () => {
    const save = fn('save', async (_, context) => {
      await context?.saveArtifact('a.txt', { text: 'hi' });
      await context?.saveArtifact('b.png', { inlineData: { mimeType: 'image/png', data: 'QUJD' } });
      return [
        await context?.listArtifacts(),
        await context?.loadArtifact('a.txt'),
        await context?.loadArtifact('b.png'),
      ];
    });
    const { events } = await runAgent({
      agent: { tools: [save] },
      script: [{ toolCalls: [call('save')] }, { text: 'done' }],
    });
    expect(eventsOf(events, 'tool_response')[0]?.data).toEqual([
      ['a.txt', 'b.png'],
      { text: 'hi' },
      { inlineData: { mimeType: 'image/png', data: 'QUJD' } },
    ]);
    const told = eventsOf(events, 'custom').filter(({ kind }) => kind === 'artifact_delta');
    expect(told.map(({ data }) => data)).toMatchObject([
      { name: 'a.txt', version: 1 },
      { name: 'b.png', version: 1 },
    ]);
  });

  test('a callback saves them too', async () => {
    const { events } = await runAgent({
      script: [{ text: 'x' }],
      agent: {
        afterModelCallback: async ({ context }) => {
          await context.saveArtifact('note.txt', { text: 'noted' });
          return undefined;
        },
      },
    });
    const told = eventsOf(events, 'custom').filter(({ kind }) => kind === 'artifact_delta');
    expect(told.map(({ data }) => data)).toEqual([{ name: 'note.txt', version: 1 }]);
  });

  test('a result that wants no summary is the agent’s own', async () => {
    const show = fn('show', (_, context) => {
      if (context) context.actions.skipSummarization = true;
      return { shown: true };
    });
    const { result, model } = await runAgent({ agent: { tools: [show] }, script: [{ toolCalls: [call('show')] }] });
    expect([result.ok, result.result, model.requests.length]).toEqual([true, { shown: true }, 1]);
  });
});

describe('toolsets and factories', () => {
  class Shelf extends BaseToolset {
    opened = 0;
    closed = 0;
    constructor(private readonly fails = 0) {
      super([]);
    }
    override async getTools(): Promise<BaseTool[]> {
      if (this.opened++ < this.fails) throw new Error('no server');
      return [fn('shelved', () => 'from the shelf')];
    }
    override async close(): Promise<void> {
      this.closed++;
    }
  }

  test('a toolset is opened before the first run, its tools are policed, and the host closes it', async () => {
    const shelf = new Shelf();
    const model = new ScriptedLlm([{ toolCalls: [call('shelved')] }, { text: 'done' }, { text: 'again' }]);
    const subject = agent({
      name: 'legacy',
      executor: 'adk',
      backend: { agent: new LlmAgent({ name: 'a', model, tools: [shelf] }) },
    });
    const host = createHost({ elicitation: 'deny' });
    const events = await collect(host.run(subject, 'go'));
    expect(eventsOf(events, 'tool_response')[0]).toMatchObject({ name: 'legacy.shelved', errorType: 'policy_denied' });
    expect((await host.run(subject, 'go').result).text).toBe('again');
    expect([shelf.opened, shelf.closed]).toEqual([1, 0]);
    await host.close();
    expect(shelf.closed).toBe(1);
  });

  test('one that cannot be opened fails the run that wanted it, and the next one tries again', async () => {
    const subject = agent({
      name: 'legacy',
      executor: 'adk',
      backend: { agent: new LlmAgent({ name: 'a', model: new ScriptedLlm([{ text: 'ok' }]), tools: [new Shelf(1)] }) },
    });
    await using host = createHost({});
    await expect(host.run(subject, 'go').result).rejects.toThrow(
      'legacy: a toolset of its agent cannot be opened: no server',
    );
    expect((await host.run(subject, 'go').result).text).toBe('ok');
  });

  test('a factory makes one agent per session, and its tools are those of that session', async () => {
    let made = 0;
    const make = async () => {
      const mine = ++made;
      return new LlmAgent({
        name: 'a',
        model: new ScriptedLlm([{ toolCalls: [call('who')] }, { text: 'done' }]),
        tools: [fn('who', () => `agent ${mine}`)],
      });
    };
    const subject = agent({ name: 'legacy', executor: 'adk', backend: { agent: make } });
    await using host = createHost({ policy: [ALLOW] });
    const said = await Promise.all([1, 2].map(() => collect(host.run(subject, 'go'))));
    const answers = said
      .flatMap((events) => eventsOf(events, 'tool_response'))
      .map(({ llmContent }) => (llmContent[0] as { text: string }).text);
    expect(new Set(answers).size).toBe(2);
  });

  test('a class that makes itself is driven like any other', async () => {
    const model = new ScriptedLlm([{ toolCalls: [call('own')] }, { text: 'done' }]);
    let ran = 0;
    class Mine extends LlmAgent {
      constructor() {
        super({
          name: 'mine',
          model,
          tools: [fn('own', () => ++ran)],
          subAgents: [new LlmAgent({ name: 'below', model })],
          disallowTransferToPeers: true,
        });
      }
    }
    const subject = agent({ name: 'legacy', executor: 'adk', backend: { agent: new Mine() } });
    await using host = createHost({ elicitation: 'deny' });
    const events = await collect(host.run(subject, 'go'));
    expect(ran).toBe(0);
    expect(eventsOf(events, 'tool_response')[0]).toMatchObject({ name: 'mine.own', errorType: 'policy_denied' });
    const [declared] = (model.requests[0]?.config?.tools ?? []) as { functionDeclarations: { name: string }[] }[];
    expect(declared?.functionDeclarations.map(({ name }) => name)).toEqual(['own', 'transfer_to_agent']);
  });

  test('what is no agent is refused, saying so', async () => {
    await using host = createHost({});
    expect(() => host.run(agent({ name: 'legacy', executor: 'adk', backend: { agent: {} } }), 'go')).toThrow(
      'legacy: backend.agent is no agent of @google/adk',
    );
    await expect(
      host.run(agent({ name: 'legacy', executor: 'adk', backend: { agent: () => 7 } }), 'go').result,
    ).rejects.toMatchObject({ code: 'INVALID_DEFINITION' });
  });

  test('twenty sessions of one agent at once, each with its own conversation; one session takes one message at a time', async () => {
    const model = new RawLlm(function* (request) {
      yield text(`to ${request.contents.at(-1)?.parts?.[0]?.text}`);
    });
    const subject = agent({ name: 'legacy', executor: 'adk', backend: { agent: new LlmAgent({ name: 'a', model }) } });
    await using host = createHost({});
    const texts = await Promise.all(
      Array.from({ length: 20 }, (_, at) => host.run(subject, `${at}`).result.then((result) => result.text)),
    );
    expect(texts).toEqual(Array.from({ length: 20 }, (_, at) => `to ${at}`));
    const session = host.session(subject);
    const first = session.stream({ kind: 'message', content: 'a' });
    await expect(session.stream({ kind: 'message', content: 'b' }).stream.next()).rejects.toMatchObject({
      code: 'SESSION_BUSY',
    });
    for await (const _ of first.stream);
    await session.close();
  });
});
