// A program that uses an MCP server and ends without closing its host: code 7. The server ignores SIGTERM and the end of
// its input, and has started a process of its own.
import { fileURLToPath } from 'node:url';
import { agent, createHost } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { mcpTools } from '../../src/tools/mcp.js';

const server = fileURLToPath(new URL('./mcp-server.mjs', import.meta.url));
const env = { WITNESS_PORT: process.env.WITNESS_PORT ?? '' };
const model = scriptedModel([{ toolCalls: [{ name: 'mcp_real_helper', args: {} }] }, { text: 'done' }]);
const host = createHost({
  models: { scripted: model },
  policy: [{ rules: [{ toolName: '*', decision: 'allow' }] }],
  tools: [mcpTools({ servers: { real: { command: process.execPath, args: [server, 'stubborn'], env } } })],
});
const run = host.run(agent({ name: 'user', tools: ['mcp_*'] }), 'go');
await run.result;
process.exit(7);
