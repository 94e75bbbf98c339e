import {
  BuiltInCodeExecutor,
  FunctionTool,
  Gemini,
  GOOGLE_SEARCH,
  getLogger,
  LlmAgent,
  type LlmAgentConfig,
  setLogger,
  URL_CONTEXT,
} from '@google/adk';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { PermissionMode } from '../../../src/contracts/index.js';
import type { HostOptions } from '../../../src/host/types.js';
import { agent, createHost, defineHook } from '../../../src/index.js';
import type { PolicyRule } from '../../../src/kernel/policy-rules.js';
import { eventsOf } from '../../../src/testing/event-checks.js';
import { scriptedModel, validateLog } from '../../../src/testing/index.js';
import { collect } from './collect.js';
import { type GeminiServer, geminiServer } from './gemini-server.js';

const servers: GeminiServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

class LocalGemini extends Gemini {
  constructor(private readonly url: string) {
    super({ model: 'gemini-2.5-flash', apiKey: 'key' });
  }
  protected override getHttpOptions() {
    return { ...super.getHttpOptions(), baseUrl: this.url };
  }
}

const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
const SAID = [{ candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] }];
const allow = (toolName: string): PolicyRule => ({ toolName, decision: 'allow' });

interface Setting {
  llm: Partial<LlmAgentConfig>;
  rules?: PolicyRule[];
  tools?: string[];
  permissionMode?: PermissionMode;
  host?: HostOptions;
}

/** What Gemini is asked with, and what the host told. */
async function asked({ llm, rules = [], tools = [], permissionMode = 'default', host: more }: Setting) {
  const server = await geminiServer([SAID, SAID]);
  servers.push(server);
  const inner = new LlmAgent({ name: 'helper', model: new LocalGemini(server.url), ...llm });
  const subject = agent({ name: 'legacy', executor: 'adk', tools, backend: { agent: inner } });
  await using host = createHost({ policy: [{ tier: 'user', rules }], ...more });
  const run = host.run(subject, 'go', { permissionMode });
  const events = await collect(run);
  expect(validateLog(events)).toEqual([]);
  expect((await run.result).text).toBe('ok');
  const notices = eventsOf(events, 'custom').map(({ data }) => data as { code?: string; text?: string });
  return {
    tools: (server.requests[0]?.body.tools ?? []) as Record<string, unknown>[],
    left: notices.filter(({ code }) => code === 'PROVIDER_TOOL_LEFT_OUT').map(({ text }) => text?.split(' ')[0]),
  };
}
const kinds = (tools: readonly Record<string, unknown>[]) => tools.flatMap((tool) => Object.keys(tool)).sort();

describe('what the provider runs for an agent of ADK', () => {
  test('is left out where no rule allows it, and a notice says so; its functions stay', async () => {
    const { tools, left } = await asked({ llm: { tools: [GOOGLE_SEARCH, look, URL_CONTEXT] } });
    expect(kinds(tools)).toEqual(['functionDeclarations']);
    expect(left).toEqual(['provider:google_search', 'provider:url_context']);
  });

  test('is declared where a rule allows it by name, and no other is', async () => {
    const { tools, left } = await asked({
      llm: { tools: [GOOGLE_SEARCH, URL_CONTEXT] },
      rules: [allow('provider:google_search')],
    });
    expect(tools).toEqual([{ googleSearch: {} }]);
    expect(left).toEqual(['provider:url_context']);
  });

  test('so is code that the provider executes, and what a callback adds', async () => {
    const llm: Partial<LlmAgentConfig> = {
      codeExecutor: new BuiltInCodeExecutor(),
      beforeModelCallback: ({ request }) => {
        request.config ??= {};
        request.config.tools = [...(request.config.tools ?? []), { googleMaps: {} }];
        return undefined;
      },
    };
    const without = await asked({ llm });
    expect(without.tools).toEqual([]);
    expect(without.left).toEqual(['provider:code_execution', 'provider:google_maps']);
    const { tools, left } = await asked({ llm, permissionMode: 'autonomous' });
    expect([kinds(tools), left]).toEqual([['codeExecution', 'googleMaps'], []]);
  });

  test('a rule that denies it holds in the autonomous mode', async () => {
    const { tools, left } = await asked({
      llm: { tools: [GOOGLE_SEARCH] },
      rules: [{ toolName: 'provider:*', decision: 'deny' }],
      permissionMode: 'autonomous',
    });
    expect([tools, left]).toEqual([[], ['provider:google_search']]);
  });

  test('named by the definition it is declared too, once', async () => {
    const { tools, left } = await asked({
      llm: { tools: [GOOGLE_SEARCH] },
      tools: ['provider:google_search', 'provider:url_context'],
      rules: [allow('provider:*')],
    });
    expect(tools).toEqual([{ googleSearch: {} }, { urlContext: {} }]);
    expect(left).toEqual([]);
  });

  test('a hook sees it among the tools and may leave it out', async () => {
    const seen: unknown[] = [];
    const pick = defineHook('before_tool_selection', async ({ request }) => {
      seen.push((request as { tools?: { name: string }[] }).tools?.map(({ name }) => name));
      return { action: 'proceed', modifications: { allowedTools: ['look'] } };
    });
    const { tools } = await asked({
      llm: { tools: [GOOGLE_SEARCH, look] },
      rules: [allow('provider:google_search')],
      host: { hooks: [pick] },
    });
    expect(seen).toEqual([['look', 'provider:google_search']]);
    expect(kinds(tools)).toEqual(['functionDeclarations']);
  });

  test('a model of the host in its place is told of it by its name', async () => {
    const model = scriptedModel([{ text: 'ok' }]);
    await using host = createHost({
      models: { gemini: model },
      policy: [{ tier: 'user', rules: [allow('provider:code_execution')] }],
    });
    const inner = new LlmAgent({
      name: 'helper',
      model: 'gemini-2.5-flash',
      codeExecutor: new BuiltInCodeExecutor(),
      tools: [look],
    });
    const legacy = agent({
      name: 'legacy',
      executor: 'adk',
      model: 'gemini/gemini-2.5-flash',
      backend: { agent: inner },
    });
    await host.run(legacy, 'go').result;
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['look', 'provider:code_execution']);
  });
});

describe('words of ADK', () => {
  const own = getLogger();
  afterEach(() => {
    vi.restoreAllMocks();
    setLogger(own);
  });

  test('that it logs go to standard error; standard output is the program’s', async () => {
    const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const console_ = vi.spyOn(console, 'log').mockReturnValue(undefined);
    const err = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const made = () => new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash' });
    const legacy = agent({ name: 'legacy', executor: 'adk', model: 'scripted', backend: { agent: made } });
    await using host = createHost({ models: { scripted: scriptedModel([{ text: 'ok' }]) } });
    await host.run(legacy, 'go').result;
    getLogger().warn('hardly worth a word');
    getLogger().error('it broke', 3);
    expect([out.mock.calls, console_.mock.calls]).toEqual([[], []]);
    expect(err.mock.calls.map(([text]) => text)).toEqual(['[ADK] ERROR it broke 3\n']);
  });

  test('a logger that the program has set stays', async () => {
    const { setLogLevel: _, ...rest } = getLogger();
    const mine = { ...rest, setLogLevel: () => {}, log() {}, debug() {}, info() {}, warn() {}, error() {} };
    setLogger(mine);
    const inner = new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash' });
    const legacy = agent({ name: 'legacy', executor: 'adk', model: 'scripted', backend: { agent: inner } });
    await using host = createHost({ models: { scripted: scriptedModel([{ text: 'ok' }]) } });
    await host.run(legacy, 'go').result;
    expect(getLogger()).toBe(mine);
  });
});
