import {
  type BasePlugin,
  type Event,
  FunctionTool,
  GOOGLE_SEARCH,
  getFunctionResponses,
  getPendingUserInputRequests,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  LogLevel,
  Runner,
  SecurityPlugin,
  setLogLevel,
  URL_CONTEXT,
} from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { HookResult, LifecycleInterceptor } from '../../../src/contracts/index.js';
import {
  HostContextCompactor,
  HostModel,
  type HostModelOptions,
  HostSessionService,
  InterceptorPlugin,
  PolicyBridge,
  toAdkTool,
} from '../../../src/executors/adk/index.js';
import { createHost, defineHook, tool } from '../../../src/index.js';
import type { PolicyRule } from '../../../src/kernel/policy-rules.js';
import { memoryStore } from '../../../src/stores/memory.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { ScriptedLlm } from './scripted-llm.js';

setLogLevel(LogLevel.ERROR);

const user = (text: string) => ({ role: 'user', parts: [{ text }] });

/** An existing ADK program: its own runner, and what it says. */
async function program(agent: LlmAgent, { plugins = [] as BasePlugin[], text = 'go' } = {}) {
  const runner = new InMemoryRunner({ agent, appName: 'app', plugins });
  const { id } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  const send = (newMessage: Parameters<Runner['runAsync']>[0]['newMessage']) =>
    all(runner.runAsync({ userId: 'u', sessionId: id, newMessage, runConfig: { streamingMode: 'sse' as never } }));
  return { send, events: await send(user(text)) };
}

async function all(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const said = (events: readonly Event[]) =>
  events.flatMap((event) => (event.partial ? [] : (event.content?.parts ?? []))).flatMap(({ text }) => text ?? []);
const answers = (events: readonly Event[]) => events.flatMap(getFunctionResponses).map(({ response }) => response);

/** Hooks of any point, as somebody's own interceptor fires them. */
function interceptor(
  hooks: Record<string, (payload: Record<string, unknown>) => HookResult | undefined>,
): LifecycleInterceptor {
  return {
    supportedHookPoints: () => Object.keys(hooks),
    fire: (point, payload) => Promise.resolve(hooks[point]?.(payload) ?? { action: 'proceed' }),
  };
}

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: z.object({ at: z.string() }),
  annotations: { readOnly: true },
  execute: ({ at }, { state }) => {
    state.set('seen', at);
    return { at };
  },
});

describe('HostModel', () => {
  test('answers an ADK agent from the host’s model, in pieces, with calls and tokens', async () => {
    const model = scriptedModel([
      { toolCalls: [{ id: 'c1', name: 'add', args: { a: 1 }, thoughtSignature: 'c2ln' }] },
      { text: ['Hel', 'lo'], usage: { inputTokens: 7, outputTokens: 2 } },
    ]);
    await using host = createHost({ models: { scripted: model } });
    const add = new FunctionTool({
      name: 'add',
      description: 'Adds.',
      parameters: z.object({ a: z.number() }),
      execute: ({ a }) => ({ sum: a + 1 }),
    });
    const agent = new LlmAgent({
      name: 'a',
      model: new HostModel({ host, model: 'scripted' }),
      instruction: 'Be brief.',
      tools: [add],
    });
    const { events } = await program(agent);
    expect(said(events)).toEqual(['Hello']);
    expect(
      events
        .filter(({ partial, content }) => partial && content?.parts?.[0]?.text)
        .map(({ content }) => content?.parts?.[0]?.text),
    ).toEqual(['Hel', 'lo']);
    expect(events.at(-1)?.usageMetadata).toMatchObject({ promptTokenCount: 7, candidatesTokenCount: 2 });
    const [first, second] = model.requests;
    expect(first?.systemInstruction).toContain('Be brief.');
    expect(first?.tools).toMatchObject([{ name: 'add', parametersSchema: { type: 'object', required: ['a'] } }]);
    expect(second?.messages.slice(1)).toEqual([
      {
        role: 'model',
        content: [{ type: 'function_call', id: 'c1', name: 'add', args: { a: 1 }, thoughtSignature: 'c2ln' }],
      },
      { role: 'user', content: [{ type: 'function_response', id: 'c1', name: 'add', response: { sum: 2 } }] },
    ]);
  });

  test('fires the host’s hooks, and a failure keeps its code', async () => {
    const model = scriptedModel([{ error: { code: 'RESOURCE_EXHAUSTED', message: 'slow down' } }, { text: 'never' }]);
    const fired: string[] = [];
    const hooks = [
      defineHook('before_model', ({ request }) => {
        fired.push(String(request.messages.length));
      }),
    ];
    await using host = createHost({ models: { scripted: model }, hooks });
    const agent = new LlmAgent({ name: 'a', model: new HostModel({ host }) });
    const { events } = await program(agent);
    expect(fired).toEqual(['1']);
    expect(events.at(-1)).toMatchObject({ errorCode: 'RESOURCE_EXHAUSTED', errorMessage: 'slow down' });
  });

  test('a hook may block the call, or answer in the model’s place', async () => {
    const model = scriptedModel([]);
    for (const [result, want] of [
      [
        { action: 'block', reason: 'no' },
        { errorCode: 'HOOK_BLOCKED', errorMessage: 'no' },
      ],
      [
        { action: 'proceed', modifications: { response: { content: [{ type: 'text', text: 'canned' }] } } },
        { content: { parts: [{ text: 'canned' }] } },
      ],
    ] as const) {
      const host = {
        hookSystem: interceptor({ before_model: () => result as HookResult }),
        modelConfig: { resolve: () => ({ name: 's', provider: 's', model }) },
      };
      const { events } = await program(new LlmAgent({ name: 'a', model: new HostModel({ host }) }));
      expect(events.at(-1)).toMatchObject(want);
    }
    expect(model.requests).toEqual([]);
  });

  describe('tools that the provider runs', () => {
    const searching = async (rules: PolicyRule[], options: Partial<HostModelOptions> = {}) => {
      const model = scriptedModel([{ text: 'found' }]);
      await using host = createHost({ models: { gemini: model }, policy: [{ tier: 'user', rules }] });
      const given = new HostModel({ host, model: 'gemini/gemini-2.5-flash', ...options });
      const { events } = await program(new LlmAgent({ name: 'a', model: given, tools: [GOOGLE_SEARCH, URL_CONTEXT] }));
      return { last: events.at(-1), asked: model.requests.map(({ tools }) => tools?.map(({ name }) => name)) };
    };

    test('reach the model as ours where policy allows each of them', async () => {
      const { last, asked } = await searching([{ toolName: 'provider:*', decision: 'allow' }]);
      expect(last).toMatchObject({ content: { parts: [{ text: 'found' }] } });
      expect(asked).toEqual([['provider:google_search', 'provider:url_context']]);
    });

    test.each([
      [
        'denies',
        { toolName: 'provider:url_context', decision: 'deny', priority: 9, denyMessage: 'not here' },
        'not here',
      ],
      ['would ask', { toolName: 'provider:url_context', decision: 'ask_user', priority: 9 }, 'a rule has to allow it'],
    ] as const)('end the call in words where policy %s', async (_, rule, why) => {
      const { last, asked } = await searching([{ toolName: 'provider:*', decision: 'allow' }, rule]);
      expect(last).toMatchObject({
        errorCode: 'PERMISSION_DENIED',
        errorMessage: expect.stringMatching(`provider:url_context is not offered to the model: .*${why}`),
      });
      expect(asked).toEqual([]);
    });

    test('are refused where no policy is given, and the agent’s own affair where there is no host', async () => {
      const model = scriptedModel([{ text: 'found' }]);
      const ports = {
        hookSystem: interceptor({}),
        modelConfig: { resolve: () => ({ name: 's', provider: 's', model }) },
      };
      const { last } = await searching([], { host: ports });
      expect(last?.errorMessage).toContain('needs the host’s policy');
      // ADK offers its own ones to Gemini only.
      const beforeModelCallback = ({ request }: { request: LlmRequest }) => {
        request.config = { ...request.config, tools: [{ urlContext: {} }] };
        return undefined;
      };
      const own = new LlmAgent({ name: 'a', model: new HostModel({ model }), beforeModelCallback });
      await program(own);
      expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual([['provider:url_context']]);
    });

    test('that a hook leaves out are not offered', async () => {
      const model = scriptedModel([{ text: 'ok' }]);
      const hooks = [
        defineHook('before_model', ({ request }) => ({
          action: 'proceed',
          modifications: { request: { ...request, tools: [] } },
        })),
      ];
      await using host = createHost({
        models: { gemini: model },
        hooks,
        policy: [{ tier: 'user', rules: [{ toolName: 'provider:*', decision: 'allow' }] }],
      });
      await program(
        new LlmAgent({
          name: 'a',
          model: new HostModel({ host, model: 'gemini/gemini-2.5-flash' }),
          tools: [URL_CONTEXT],
        }),
      );
      expect(model.requests[0]?.tools).toBeUndefined();
    });

    test('that ADK offers to Gemini only say so of any other model', async () => {
      const given = new HostModel({ model: scriptedModel([]) });
      const running = program(new LlmAgent({ name: 'a', model: given, tools: [GOOGLE_SEARCH] }));
      const said = await running.then(({ events }) => events.at(-1)?.errorMessage, String);
      expect(said).toContain('Google search tool is not supported for model troupe');
    });
  });

  test('refuses live connections, saying so', async () => {
    const model = new HostModel({ model: scriptedModel([]) });
    await expect(model.connect({} as never)).rejects.toThrow('live connections');
    expect(() => new HostModel({ model: 'named' })).toThrow('needs a model object');
  });
});

describe('toAdkTool', () => {
  const calls = (args: object = { at: 'x' }) =>
    new ScriptedLlm([{ toolCalls: [{ id: 'c1', name: 'look', args }] }, { text: 'done' }, { text: 'done' }]);

  test('runs under the host’s policy and hooks, and writes ADK’s state', async () => {
    const fired: unknown[] = [];
    const hooks = [
      defineHook('before_tool', ({ tool: name, args }) => {
        fired.push([name, args]);
        return { action: 'proceed', modifications: { args: { at: 'y' } } };
      }),
      defineHook('after_tool', ({ result }) => {
        fired.push(result.data);
      }),
    ];
    await using host = createHost({ hooks });
    const model = calls();
    const { events } = await program(new LlmAgent({ name: 'a', model, tools: [toAdkTool(look, { host })] }));
    expect(fired).toEqual([['look', { at: 'x' }], { at: 'y' }]);
    expect(answers(events)).toEqual([{ at: 'y' }]);
    expect(events.find(({ actions }) => actions.stateDelta.seen)?.actions.stateDelta).toEqual({ seen: 'y' });
    // The call in the history is what the model said.
    expect(model.requests[1]?.contents[1]?.parts?.[0]?.functionCall?.args).toEqual({ at: 'x' });
    expect(model.requests[0]?.config?.tools).toMatchObject([
      { functionDeclarations: [{ name: 'look', parametersJsonSchema: { type: 'object', required: ['at'] } }] },
    ]);
  });

  test('what policy denies, and arguments that do not fit, run nothing', async () => {
    await using host = createHost({
      policy: [{ tier: 'user', rules: [{ toolName: 'look', decision: 'deny', priority: 1, denyMessage: 'not here' }] }],
    });
    const { events } = await program(new LlmAgent({ name: 'a', model: calls(), tools: [toAdkTool(look, { host })] }));
    expect(answers(events)).toMatchObject([{ errorType: 'policy_denied' }]);
    await using open = createHost({});
    const other = await program(
      new LlmAgent({ name: 'a', model: calls({ at: 1 }), tools: [toAdkTool(look, { host: open })] }),
    );
    expect(answers(other.events)).toMatchObject([{ errorType: 'invalid_tool_params' }]);
  });

  test.each([
    [true, { at: 'x' }],
    [false, { errorType: 'declined' }],
  ])('what policy wants asked is ADK’s confirmation, and %s brings it on', async (confirmed, want) => {
    await using host = createHost({
      policy: [{ tier: 'user', rules: [{ toolName: 'look', decision: 'ask_user', priority: 1 }] }],
    });
    const { send, events } = await program(
      new LlmAgent({ name: 'a', model: calls(), tools: [toAdkTool(look, { host })] }),
    );
    const [pending] = getPendingUserInputRequests(events);
    expect(pending).toMatchObject({ kind: 'confirmation', toolName: 'look' });
    const { interruptId: id, functionCallName: name } = pending as { interruptId: string; functionCallName: string };
    const after = await send({ role: 'user', parts: [{ functionResponse: { id, name, response: { confirmed } } }] });
    expect(answers(after)[0]).toMatchObject(want);
    expect(said(after)).toEqual(['done']);
  });
});

describe('PolicyBridge', () => {
  const ran: number[] = [];
  const pay = () =>
    new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ n: z.number() }),
      execute: ({ n }) => ({ paid: ran.push(n) }),
    });
  const agent = () =>
    new LlmAgent({
      name: 'a',
      model: new ScriptedLlm([{ toolCalls: [{ name: 'pay', args: { n: 1 } }] }, { text: 'done' }]),
      tools: [pay()],
    });
  const decide = (
    decision: 'allow' | 'deny' | 'ask_user',
    elicitation?: Parameters<typeof createHost>[0] extends infer O
      ? O extends { elicitation?: infer E }
        ? E
        : never
      : never,
  ) =>
    createHost({
      policy: [{ tier: 'user', rules: [{ toolName: 'pay', decision, priority: 1 }] }],
      ...(elicitation && { elicitation }),
    });

  test.each([
    ['allow', undefined, 1],
    ['deny', undefined, 0],
    ['ask_user', undefined, 0],
    ['ask_user', () => ({ action: 'accept' }), 1],
    ['ask_user', () => ({ action: 'decline' }), 0],
  ] as const)('%s, answered with %s, runs it %s times', async (decision, elicitation, times) => {
    ran.length = 0;
    await using host = decide(decision, elicitation);
    const plugins = [new SecurityPlugin({ policyEngine: new PolicyBridge({ host }) })];
    const { events } = await program(agent(), { plugins });
    expect(ran.length).toBe(times);
    expect(said(events)).toEqual(['done']);
  });

  test('what fails, or says what nobody knows, is refused', async () => {
    for (const evaluate of [() => Promise.reject(new Error('down')), () => ({ outcome: 'maybe' })]) {
      const host = {
        policyEngine: { evaluate, getExcluded: () => [] },
        elicitation: { ask: () => Promise.reject(new Error('nobody')) },
      };
      const { outcome } = await new PolicyBridge({ host: host as never }).evaluate({ tool: pay(), toolArgs: { n: 1 } });
      expect(outcome).toBe('DENY');
    }
  });
});

describe('InterceptorPlugin', () => {
  const add = () =>
    new FunctionTool({
      name: 'add',
      description: 'Adds.',
      parameters: z.object({ a: z.number() }),
      execute: ({ a }) => {
        if (a < 0) throw new Error('negative');
        return { a };
      },
    });
  const run = (script: ConstructorParameters<typeof ScriptedLlm>[0], hooks: Parameters<typeof interceptor>[0]) => {
    const model = new ScriptedLlm(script);
    const plugins = [new InterceptorPlugin({ host: { hookSystem: interceptor(hooks) } })];
    return program(new LlmAgent({ name: 'a', model, tools: [add()] }), { plugins }).then(({ events }) => ({
      events,
      model,
    }));
  };

  test('fires what ADK reaches, in ADK’s order', async () => {
    const fired: string[] = [];
    const points = [
      'on_user_message',
      'before_run',
      'before_tool_selection',
      'before_model',
      'after_model',
      'before_tool',
      'after_tool',
      'after_run',
    ];
    const hooks = Object.fromEntries(
      points.map((point) => [
        point,
        () => {
          fired.push(point);
          return undefined;
        },
      ]),
    );
    const { events } = await run([{ toolCalls: [{ name: 'add', args: { a: 1 } }] }, { text: 'end' }], hooks);
    expect(said(events)).toEqual(['end']);
    expect(fired).toEqual([
      'on_user_message',
      'before_run',
      'before_tool_selection',
      'before_model',
      'after_model',
      'before_tool',
      'after_tool',
      'before_tool_selection',
      'before_model',
      'after_model',
      'after_run',
    ]);
  });

  test('blocks, changes and answers', async () => {
    const block = { action: 'block', reason: 'no' };
    const call = [{ toolCalls: [{ id: 'c1', name: 'add', args: { a: 1 } }] }, { text: 'end' }];
    const withChange = (modifications: Record<string, unknown>) => ({ action: 'proceed', modifications });
    expect(answers((await run(call, { before_tool: () => block })).events)).toEqual([
      { error: 'denied by a hook: no' },
    ]);
    const changed = await run(call, { before_tool: () => withChange({ args: { a: 5 } }) });
    expect(answers(changed.events)).toEqual([{ a: 5 }]);
    expect(changed.model.requests[1]?.contents[1]?.parts?.[0]?.functionCall?.args).toEqual({ a: 1 });
    expect(answers((await run(call, { after_tool: () => withChange({ additionalContext: 'note' }) })).events)).toEqual([
      { a: 1, additionalContext: 'note' },
    ]);
    expect((await run([], { before_model: () => block })).events.at(-1)).toMatchObject({
      errorCode: 'HOOK_BLOCKED',
      errorMessage: 'no',
    });
    expect(
      said(
        (
          await run([{ text: 'a' }], {
            after_model: () => withChange({ response: { content: [{ type: 'text', text: 'b' }] } }),
          })
        ).events,
      ),
    ).toEqual(['b']);
    expect(said((await run([], { before_run: () => block })).events)).toEqual(['no']);
    const none = await run([{ text: 'end' }], { before_tool_selection: () => withChange({ allowedTools: [] }) });
    expect(none.model.requests[0]?.config?.tools).toBeUndefined();
    const told = await run([{ text: 'end' }], {
      on_user_message: () => withChange({ content: [{ type: 'text', text: 'other' }] }),
    });
    expect(told.model.requests[0]?.contents[0]?.parts).toEqual([{ text: 'other' }]);
  });

  test('an answer in place of a model error does not break the run', async () => {
    const response = { content: [{ type: 'text', text: 'sorry' }] };
    const { events } = await run([{ error: { code: 'INTERNAL', message: 'down' } }], {
      on_model_error: () => ({ action: 'proceed', modifications: { response } }),
    });
    expect(said(events)).toEqual(['sorry']);
  });

  test('a hook that throws blocks, and ADK goes on', async () => {
    const boom = () => {
      throw new Error('boom');
    };
    const { events } = await run([{ toolCalls: [{ name: 'add', args: { a: 1 } }] }, { text: 'end' }], {
      before_tool: boom,
    });
    expect(answers(events)).toEqual([{ error: 'denied by a hook: the hooks failed: boom' }]);
    expect(said(events)).toEqual(['end']);
  });
});

describe('HostSessionService', () => {
  const runnerOn = (sessionService: HostSessionService, model: ScriptedLlm, tools: FunctionTool[] = []) =>
    new Runner({ appName: 'app', agent: new LlmAgent({ name: 'a', model, tools, outputKey: 'last' }), sessionService });

  test('a session goes on in another process, as readable log', async () => {
    const store = memoryStore();
    const write = new FunctionTool({
      name: 'write',
      description: 'Writes.',
      execute: (_, context) => {
        context?.state.set('user:name', 'Ann');
        context?.state.set('temp:x', 1);
        return 'ok';
      },
    });
    const first = new HostSessionService({ store });
    const { id } = await first.createSession({
      appName: 'app',
      userId: 'u',
      sessionId: 's1',
      state: { mood: 'good', 'temp:t': 1 },
    });
    const script = [
      { toolCalls: [{ id: 'c1', name: 'write', args: {}, thoughtSignature: 'c2ln' }] },
      { text: 'hi Ann' },
    ];
    await all(
      runnerOn(first, new ScriptedLlm(script), [write]).runAsync({
        userId: 'u',
        sessionId: id,
        newMessage: user('hello'),
      }),
    );
    await first.close();

    const second = new HostSessionService({ store });
    const session = await second.getSession({ appName: 'app', userId: 'u', sessionId: 's1' });
    expect(session?.state).toEqual({ mood: 'good', 'user:name': 'Ann', last: 'hi Ann' });
    expect(session?.events.length).toBe(4);
    const model = new ScriptedLlm([{ text: 'again' }]);
    await all(runnerOn(second, model).runAsync({ userId: 'u', sessionId: 's1', newMessage: user('and?') }));
    expect(model.requests[0]?.contents.length).toBe(5);
    expect(model.requests[0]?.contents[1]?.parts?.[0]).toMatchObject({
      functionCall: { name: 'write' },
      thoughtSignature: 'c2ln',
    });
    await second.close();

    const handle = await store.load('s1');
    const types: string[] = [];
    for await (const event of handle.events) types.push(event.type);
    expect(types).toEqual([
      'session_update',
      'message',
      'tool_request',
      'tool_response',
      'session_update',
      'message',
      'session_update',
      'message',
      'message',
      'session_update',
    ]);
  });

  test('is kept by application and user, listed page by page, and deleted', async () => {
    const store = memoryStore();
    const service = new HostSessionService({ store });
    for (const userId of ['u', 'v']) await service.createSession({ appName: 'app', userId, sessionId: 'same' });
    await service.createSession({ appName: 'other', userId: 'u', sessionId: 'same', state: { of: 'other' } });
    await expect(service.createSession({ appName: 'app', userId: 'u', sessionId: 'same' })).rejects.toMatchObject({
      code: 'SESSION_EXISTS',
    });
    expect((await service.getSession({ appName: 'other', userId: 'u', sessionId: 'same' }))?.state).toEqual({
      of: 'other',
    });
    expect(await service.getSession({ appName: 'app', userId: 'w', sessionId: 'same' })).toBeUndefined();
    const { sessions, totalItems } = await service.listSessions({ appName: 'app' });
    expect([totalItems, sessions.map(({ id, userId }) => `${userId}/${id}`).sort()]).toEqual([2, ['u/same', 'v/same']]);
    await service.deleteSession({ appName: 'app', userId: 'u', sessionId: 'same' });
    expect(await service.getSession({ appName: 'app', userId: 'u', sessionId: 'same' })).toBeUndefined();
    expect(await service.getSession({ appName: 'app', userId: 'v', sessionId: 'same' })).toBeDefined();
    await service.close();
  });

  test('a credential that a person gave stands in no log', async () => {
    const store = memoryStore();
    const service = new HostSessionService({ store });
    const session = await service.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
    const secret = {
      id: 'q',
      name: 'adk_request_credential',
      response: { credentialKey: 'k', exchangedAuthCredential: { apiKey: 'hush' } },
    };
    const runner = runnerOn(service, new ScriptedLlm([]));
    await all(
      runner.runAsync({
        userId: 'u',
        sessionId: session.id,
        newMessage: { role: 'user', parts: [{ functionResponse: secret }] },
      }),
    );
    const logged: unknown[] = [];
    for await (const event of (await store.load('s')).events) logged.push(event);
    expect(logged.length).toBeGreaterThan(0);
    expect(JSON.stringify(logged)).not.toContain('hush');
    await service.close();
  });
});

describe('HostContextCompactor', () => {
  test('sums up a long past with the host’s model, and keeps calls with their answers', async () => {
    const summary = scriptedModel([{ text: 'they talked' }]);
    const compactor = new HostContextCompactor({ model: summary, maxTokens: 10, keep: 2 });
    const model = new ScriptedLlm([{ text: 'one '.repeat(40) }, { text: 'two' }]);
    const agent = new LlmAgent({ name: 'a', model, contextCompactors: [compactor] });
    const { send } = await program(agent, { text: 'a long question '.repeat(10) });
    const events = await send(user('and?'));
    expect(said(events)).toContain('two');
    expect(JSON.stringify(model.requests[1]?.contents)).toContain('they talked');
    expect(JSON.stringify(summary.requests[0]?.messages)).toContain('a long question');
  });

  test('a pre_compress hook may put it off', async () => {
    const summary = scriptedModel([]);
    const host = {
      hookSystem: interceptor({ pre_compress: () => ({ action: 'proceed', modifications: { suppress: true } }) }),
      modelConfig: { resolve: () => ({ name: 's', provider: 's', model: summary }) },
    };
    const compactor = new HostContextCompactor({ host, maxTokens: 1, keep: 1 });
    const agent = new LlmAgent({
      name: 'a',
      model: new ScriptedLlm([{ text: 'one' }, { text: 'two' }]),
      contextCompactors: [compactor],
    });
    const { send } = await program(agent);
    expect(said(await send(user('and?')))).toEqual(['two']);
    expect(summary.requests).toEqual([]);
  });
});
