import type { ToolDefinition, Toolset } from '../contracts/index.js';
import { type McpToolsOptions, readOptions } from './mcp/options.js';
import { loadSdk } from './mcp/sdk.js';
import { createServerLink } from './mcp/server.js';

export type {
  McpHeaders,
  McpHeadersContext,
  McpHttpServer,
  McpStdioServer,
  McpToolsOptions,
} from './mcp/options.js';

/**
 * The tools of MCP servers, as `mcp_<server>_<tool>`: goes into `createHost({ tools })` as it is. A server is connected
 * before the first run that may use its tools, once per host, over stdio or streamable HTTP. Nothing that it says of
 * itself is believed unless it is configured with `trust`; what it does wrong fails its own calls, with `mcp_tool_error`
 * and a notice, and it is connected again with the next call. Throws `INVALID_OPTION` with all that is wrong; opening
 * rejects with `MISSING_PACKAGE` where the optional peer `@modelcontextprotocol/client` is not installed.
 */
export function mcpTools(options: McpToolsOptions): Toolset {
  const plans = readOptions(options);
  const { connectTimeoutMs, callTimeoutMs, sandbox } = options;
  return {
    kind: 'toolset',
    name: `mcp: ${plans.map(({ name }) => name).join(', ')}`,
    prefixes: plans.map(({ prefix }) => prefix),
    async open(context) {
      const sdk = await loadSdk();
      const settings = { connectTimeoutMs, callTimeoutMs, sandbox };
      let listener = () => {};
      let tools: readonly ToolDefinition[] = [];
      const onChange = () => {
        tools = links.flatMap((link) => link.tools);
        listener();
      };
      const links = plans.map((plan) => createServerLink({ sdk, plan, context, settings, onChange }));
      return {
        ready(prefixes) {
          const waits = links
            .filter(({ plan }) => prefixes.includes(plan.prefix))
            .flatMap((link) => link.ready() ?? []);
          return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
        },
        tools: () => tools,
        mayHave: (name) => links.some((link) => link.mayHave(name)),
        onChange(told) {
          listener = told;
        },
        async close() {
          await Promise.all(links.map((link) => link.close()));
        },
      };
    },
  };
}
