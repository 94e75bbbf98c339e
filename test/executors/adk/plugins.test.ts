import {
  BaseAgent,
  BasePlugin,
  type BaseTool,
  type Context,
  createEvent,
  type Event,
  FunctionTool,
  GOOGLE_SEARCH,
  InMemoryPolicyEngine,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  SecurityPlugin,
  SequentialAgent,
} from '@google/adk';
import { expect, test } from 'vitest';
import { agent, createHost, defineHook, parallel } from '../../../src/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { ofType } from '../../support/team.js';
import { collect } from './collect.js';
import { ScriptedLlm } from './scripted-llm.js';

const policy = [
  { rules: [{ toolName: '*', decision: 'allow' as const }] },
  { rules: [{ toolName: 'legacy', decision: 'allow' as const, context: { opaque: true } }] },
];

/** Notes where it is called. */
class Noting extends BasePlugin {
  readonly seen: string[] = [];
  constructor(name = 'noting') {
    super(name);
  }
  override async beforeModelCallback({ callbackContext }: { callbackContext: Context; llmRequest: LlmRequest }) {
    this.seen.push(`beforeModel ${callbackContext.agentName}`);
    return undefined;
  }
  override async beforeToolCallback({ tool, toolArgs }: { tool: BaseTool; toolArgs: Record<string, unknown> }) {
    this.seen.push(`beforeTool ${tool.name} ${JSON.stringify(toolArgs)}`);
    return undefined;
  }
  override async afterToolCallback({ tool, result }: { tool: BaseTool; result: Record<string, unknown> }) {
    this.seen.push(`afterTool ${tool.name} ${JSON.stringify(result)}`);
    return undefined;
  }
}

const look = (execute: () => unknown = () => 'seen') => new FunctionTool({ name: 'look', description: 'l', execute });
const calls = { toolCalls: [{ id: 'c1', name: 'look', args: {} }] };

function legacy(backendAgent: unknown, plugins: readonly unknown[]) {
  return agent({ name: 'legacy', executor: 'adk', backend: { agent: backendAgent, plugins } });
}

test('plugins of an ADK agent stand around its models and its own tools', async () => {
  const plugin = new Noting();
  const llm = new LlmAgent({ name: 'a', model: new ScriptedLlm([calls, { text: ['do', 'ne'] }]), tools: [look()] });
  await using host = createHost({ policy });
  const result = await host.run(legacy(llm, [plugin]), 'go').result;
  expect(result).toMatchObject({ ok: true, text: 'done' });
  expect(plugin.seen).toEqual([
    'beforeModel a',
    'beforeTool look {}',
    'afterTool look {"result":"seen"}',
    'beforeModel a',
  ]);
});

test('those of a tree are those of all agents in it, and of what is opaque', async () => {
  const plugin = new Noting();
  const one = (name: string) => new LlmAgent({ name, model: new ScriptedLlm([{ text: name }]) });
  const tree = new SequentialAgent({ name: 's', subAgents: [one('a'), one('b')] });
  await using host = createHost({ policy });
  await host.run(legacy(tree, [plugin]), 'go').result;
  const kept = new SequentialAgent({ name: 's', subAgents: [one('c')], beforeAgentCallback: () => undefined });
  await host.run(legacy(kept, [plugin]), 'go').result;
  expect(plugin.seen).toEqual(['beforeModel a', 'beforeModel b', 'beforeModel c']);
});

test('a plugin answers in the place of a model, changes an answer before it is said, and answers for a tool', async () => {
  class Answering extends BasePlugin {
    override async beforeModelCallback(): Promise<LlmResponse | undefined> {
      return { content: { role: 'model', parts: [{ text: 'from the plugin' }] } };
    }
  }
  class Changing extends BasePlugin {
    override async afterModelCallback({ llmResponse }: { llmResponse: LlmResponse }) {
      const [part] = llmResponse.content?.parts ?? [];
      if (part?.text === undefined) return undefined;
      return { ...llmResponse, content: { role: 'model', parts: [{ text: part.text.toUpperCase() }] } };
    }
  }
  class Standing extends BasePlugin {
    override async beforeToolCallback() {
      return { stood: 'in' };
    }
  }
  await using host = createHost({ policy });
  const model = new ScriptedLlm([]);
  const answered = await host.run(legacy(new LlmAgent({ name: 'a', model }), [new Answering('p')]), 'go').result;
  expect([answered.text, model.requests.length]).toEqual(['from the plugin', 0]);
  const said = new LlmAgent({ name: 'a', model: new ScriptedLlm([{ text: ['se', 'cret'] }]) });
  const events = await collect(host.run(legacy(said, [new Changing('p')]), 'go'));
  expect(JSON.stringify(events)).not.toContain('cret"');
  expect(ofType(events, 'stream_end')[0]?.data?.result).toBe('SECRET');
  let ran = 0;
  const tool = look(() => ++ran);
  const stood = new LlmAgent({ name: 'a', model: new ScriptedLlm([calls, { text: 'done' }]), tools: [tool] });
  const stand = await collect(host.run(legacy(stood, [new Standing('p')]), 'go'));
  expect([ran, ofType(stand, 'tool_response')[0]?.data]).toEqual([0, { stood: 'in' }]);
});

test('a tool that fails is answered for by a plugin that can; SecurityPlugin has its say', async () => {
  class Saving extends BasePlugin {
    override async onToolErrorCallback({ error }: { error: Error }) {
      return { saved: error.message };
    }
  }
  class Denying extends InMemoryPolicyEngine {
    override async evaluate() {
      return { outcome: 'DENY', reason: 'not here' } as never;
    }
  }
  await using host = createHost({ policy });
  const broken = look(() => {
    throw new Error('no luck');
  });
  const llm = (tool: BaseTool) =>
    new LlmAgent({ name: 'a', model: new ScriptedLlm([calls, { text: 'done' }]), tools: [tool] });
  const saved = await collect(host.run(legacy(llm(broken), [new Saving('p')]), 'go'));
  expect(JSON.stringify(ofType(saved, 'tool_response')[0])).toContain('no luck');
  let ran = 0;
  const security = new SecurityPlugin({ policyEngine: new Denying() });
  const denied = await collect(host.run(legacy(llm(look(() => ++ran)), [security]), 'go'));
  expect(ran).toBe(0);
  expect(JSON.stringify(ofType(denied, 'tool_response')[0])).toContain('not here');
});

const POINTS = [
  'onUserMessageCallback',
  'beforeRunCallback',
  'onEventCallback',
  'afterRunCallback',
  'beforeModelCallback',
  'afterModelCallback',
  'beforeToolSelection',
  'beforeToolCallback',
  'afterToolCallback',
] as const;

test.each(POINTS)('a plugin that throws at %s ends no more than the run of its agent', async (point) => {
  class Throwing extends BasePlugin {}
  Object.assign(Throwing.prototype, { [point]: () => Promise.reject(new Error('from the plugin')) });
  const llm = new LlmAgent({ name: 'a', model: new ScriptedLlm([calls, { text: 'done' }]), tools: [look()] });
  await using host = createHost({ policy, models: { scripted: scriptedModel([{ text: 'near' }]) } });
  const team = parallel({ name: 'p', children: [legacy(llm, [new Throwing('p')]), agent({ name: 'near' })] });
  const events = await collect(host.run(team, 'go'));
  const ends = new Map(ofType(events, 'stream_end').map(({ agentId, reason }) => [agentId, reason]));
  expect(ends.get('near')).toBe('completed');
  expect(['completed', 'failed']).toContain(ends.get('legacy'));
  expect(JSON.stringify(events)).toContain('from the plugin');
});

test('what is no list of plugins is said before anything runs', async () => {
  const llm = new LlmAgent({ name: 'a', model: new ScriptedLlm([]) });
  await using host = createHost({ policy });
  for (const plugins of [{}, [{}], [null], [new Noting(), new Noting()]] as never[])
    expect(() => host.run(legacy(llm, plugins), 'go')).toThrow(expect.objectContaining({ code: 'INVALID_DEFINITION' }));
});

test('an agent of one’s own class is run with the plugins, too', async () => {
  class Own extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void> {
      yield createEvent({
        author: this.name,
        invocationId: context.invocationId,
        content: { role: 'model', parts: [{ text: 'own way' }] },
      });
    }
    // biome-ignore lint/correctness/useYield: there is no live audio.
    protected override async *runLiveImpl(): AsyncGenerator<Event, void> {
      throw new Error('no live audio');
    }
  }
  class Renaming extends BasePlugin {
    override async onEventCallback({ event }: { event: Event }) {
      return { ...event, content: { role: 'model', parts: [{ text: 'the plugin’s way' }] } };
    }
  }
  await using host = createHost({ policy });
  const result = await host.run(legacy(new Own({ name: 'own' }), [new Renaming('p')]), 'go').result;
  expect(result).toMatchObject({ ok: true, text: 'the plugin’s way' });
});

/** Has an answer where a model failed, or fails itself. */
class Rescue extends BasePlugin {
  readonly seen: string[] = [];
  constructor(
    name: string,
    private readonly answer: () => LlmResponse | undefined,
  ) {
    super(name);
  }
  override async onModelErrorCallback(given: { callbackContext: Context; llmRequest: LlmRequest; error: Error }) {
    const { callbackContext, llmRequest, error } = given;
    this.seen.push(`${callbackContext.agentName} ${llmRequest.contents.length} ${error.message}`);
    return this.answer();
  }
}

const busy = { error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: 0 } };
const rescued: LlmResponse = {
  content: { role: 'model', parts: [{ text: 'rescued' }] },
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 },
};

test('a plugin answers in the place of a model that failed, once no more is tried, and before hooks are asked', async () => {
  const silent = new Rescue('silent', () => undefined);
  const plugin = new Rescue('rescue', () => rescued);
  const never = new Rescue('never', () => rescued);
  const model = new ScriptedLlm([busy, busy, busy, { text: 'later' }]);
  const fired: string[] = [];
  const hooks = [defineHook('on_model_error', ({ error }) => void fired.push(String(error.message)))];
  await using host = createHost({ policy, hooks });
  const run = host.run(legacy(new LlmAgent({ name: 'a', model }), [silent, plugin, never]), 'go');
  const events = await collect(run);
  expect(await run.result).toMatchObject({ ok: true, text: 'rescued', usage: { inputTokens: 3, outputTokens: 4 } });
  expect([model.requests.length, silent.seen, plugin.seen, never.seen]).toEqual([3, ['a 1 busy'], ['a 1 busy'], []]);
  expect([fired, ofType(events, 'error')]).toEqual([[], []]);
});

test('where no plugin has an answer the hooks are asked; one that fails is the failure', async () => {
  const answer = { content: [{ type: 'text' as const, text: 'hooked' }] };
  const hooks = [
    defineHook('on_model_error', () => ({ action: 'proceed' as const, modifications: { response: answer } })),
  ];
  const denied = { error: { code: 'INVALID_ARGUMENT', message: 'no' } };
  const failing = (plugin: BasePlugin) =>
    legacy(new LlmAgent({ name: 'a', model: new ScriptedLlm([denied]) }), [plugin]);
  await using asking = createHost({ policy, hooks });
  const silent = new Rescue('silent', () => undefined);
  expect((await asking.run(failing(silent), 'go').result).text).toBe('hooked');
  await using host = createHost({ policy });
  const broken = new Rescue('broken', () => {
    throw new Error('from the plugin');
  });
  const { data } = await host.run(failing(broken), 'go').result;
  expect(data).toMatchObject({
    code: 'EXECUTOR_FAILED',
    message: "Error in plugin 'broken' during 'onModelErrorCallback' callback: from the plugin",
  });
});

test('a tool that ADK offers to Gemini only says so, and ends the run', async () => {
  const model = new ScriptedLlm([{ text: 'never' }]);
  await using host = createHost({ policy });
  const run = host.run(legacy(new LlmAgent({ name: 'a', model, tools: [GOOGLE_SEARCH] }), []), 'go');
  const events = await collect(run);
  const { reason, data } = await run.result;
  expect([reason, data.message]).toEqual(['failed', 'Google search tool is not supported for model scripted-llm']);
  expect([ofType(events, 'error').length, model.requests.length]).toEqual([1, 0]);
});
