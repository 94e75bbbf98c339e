// A real MCP server over stdio. Arguments: `dual` (both generations, the default) or `legacy`; `stubborn` ignores the end
// of its input and SIGTERM; `resources` has resources.
import { connect } from 'node:net';
import process from 'node:process';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { buildServer } from './mcp-tools.mjs';

const witnessPort = process.env.WITNESS_PORT;
const witness = witnessPort === undefined ? undefined : connect(Number(witnessPort), '127.0.0.1').unref();
/** @type {import('./mcp-tools.mjs').Say} */
const say = (event, data) => void witness?.write(`${JSON.stringify({ event, data })}\n`);
say('started', { pid: process.pid });

const words = process.argv.slice(2);
if (words.includes('stubborn')) {
  process.on('SIGTERM', () => say('sigterm'));
  setInterval(() => {}, 1_000_000);
}
const options = { resources: words.includes('resources'), witnessPort };
if (words.includes('legacy')) await buildServer(say, options).connect(new StdioServerTransport());
else serveStdio(() => buildServer(say, options));
