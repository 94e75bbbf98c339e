import { join } from 'node:path';
import type { AgentEvent, ToolDescriptor } from '../../../src/contracts/index.js';
import { agent, createHost, type HostOptions, type Run, type RunOptions } from '../../../src/index.js';
import { type ScriptEntry, scriptedModel } from '../../../src/testing/index.js';
import { type McpStdioServer, type McpToolsOptions, mcpTools } from '../../../src/tools/mcp.js';
import { root } from '../../architecture/import-graph.js';
import { collect } from '../../support/team.js';

export const script = (name: string): string => join(root, 'test', 'support', name);

/** The real server, over stdio. */
export const stdioServer = (
  words: readonly string[] = [],
  env: Record<string, string> = {},
  more: Partial<McpStdioServer> = {},
): McpStdioServer => ({ command: process.execPath, args: [script('mcp-server.mjs'), ...words], env, ...more });

/** A hostile server that is one line of JavaScript after the helpers of `mcp-hostile.mjs`. */
export const hostileServer = (kind: string, env: Record<string, string> = {}): McpStdioServer => ({
  command: process.execPath,
  args: [script('mcp-hostile.mjs'), kind],
  env,
});

/** What is allowed without asking, as these tests are not about that. */
const ALLOW = { rules: [{ toolName: '*', decision: 'allow' as const }] };

/** A host with one toolset of MCP servers, and an agent that may use all of them. */
export function mcpHost(options: McpToolsOptions, entries: readonly ScriptEntry[], more: HostOptions = {}) {
  const model = scriptedModel([...entries]);
  const { tools = [], ...rest } = more;
  const host = createHost({
    models: { scripted: model },
    policy: [ALLOW],
    ...rest,
    tools: [...tools, mcpTools(options)],
  });
  const user = agent({ name: 'user', tools: ['mcp_*'] });
  return { host, model, user, run: (runOptions?: RunOptions): Run => host.run(user, 'go', runOptions) };
}

/** Runs a script to its end and closes the host. */
export async function runScript(
  options: McpToolsOptions,
  entries: readonly ScriptEntry[],
  more: HostOptions = {},
): Promise<{ events: AgentEvent[]; tools: ToolDescriptor[]; notices: Notice[] }> {
  const { host, run } = mcpHost(options, [...entries, { text: 'done' }], more);
  try {
    const events = await collect(run());
    return { events, tools: toolsIn(events), notices: noticesIn(events) };
  } finally {
    await host.close();
  }
}

export const call = (name: string, args: object = {}): ScriptEntry => ({ toolCalls: [{ name, args }] });

export const responsesIn = (events: readonly AgentEvent[]) =>
  events.filter((event) => event.type === 'tool_response') as AgentEvent<'tool_response'>[];

/** The text of a call's result. */
export const textIn = (event: AgentEvent<'tool_response'> | undefined): string =>
  (event?.llmContent ?? []).map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('');

export const toolsIn = (events: readonly AgentEvent[]): ToolDescriptor[] =>
  events.flatMap((event) => (event.type === 'initialize' ? (event.tools ?? []) : []));

export interface Notice {
  code: string;
  severity: string;
  text: string;
}

export const noticesIn = (events: readonly AgentEvent[]): Notice[] =>
  events.flatMap((event) => (event.type === 'custom' && event.kind === 'notice' ? [event.data as Notice] : []));
