// The tools of the real MCP servers that tests talk to: one factory for stdio and HTTP, and for both generations.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** @typedef {(event: string, data?: unknown) => void} Say */

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const person = z.object({ name: z.string(), age: z.number().default(30) });
/** @type {(text: string) => { content: { type: 'text', text: string }[] }} */
const text = (said) => ({ content: [{ type: 'text', text: said }] });

/**
 * @param {Say} say tells the test what happens here
 * @param {{ resources?: boolean, witnessPort?: string | undefined }} [options]
 */
export function buildServer(say, { resources = false, witnessPort } = {}) {
  const server = new McpServer(
    { name: 'test-server', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );

  server.registerTool(
    'echo',
    {
      title: 'Echo',
      description: 'Says it again.',
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false },
    },
    ({ text: said }) => {
      say('echo', said);
      return text(said);
    },
  );
  server.registerTool(
    'add',
    {
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ content: [{ type: 'text', text: `it is ${a + b}` }], structuredContent: { sum: a + b } }),
  );
  server.registerTool('environment', { description: 'Its environment.' }, () => text(JSON.stringify(process.env)));
  server.registerTool('place', { description: 'Where it runs.' }, () =>
    text(JSON.stringify({ cwd: process.cwd(), args: process.argv.slice(2), pid: process.pid })),
  );
  server.registerTool('picture', { description: 'Media.' }, () => ({
    content: [
      { type: 'image', mimeType: 'image/png', data: PIXEL },
      { type: 'audio', mimeType: 'audio/wav', data: Buffer.alloc(70_000, 1).toString('base64') },
    ],
  }));
  server.registerTool('links', { description: 'Resources.' }, () => ({
    content: [
      {
        type: 'resource_link',
        uri: 'note://one',
        name: 'one',
        title: 'Note one',
        description: 'The first.',
        mimeType: 'text/plain',
      },
      { type: 'resource', resource: { uri: 'note://two', mimeType: 'text/plain', text: 'the text of two' } },
      { type: 'resource', resource: { uri: 'note://three', mimeType: 'application/pdf', blob: 'JVBERi0=' } },
      { type: 'resource', resource: { uri: 'note://four', mimeType: 'image/png', blob: PIXEL } },
    ],
  }));
  server.registerTool('fail', { description: 'Fails.', annotations: { destructiveHint: true } }, () => ({
    content: [{ type: 'text', text: 'no such issue' }],
    isError: true,
  }));
  server.registerTool('throw', { description: 'Throws.' }, () => {
    throw new Error('it broke inside');
  });
  server.registerTool('steps', { description: 'Says how far it is.' }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (const step of [1, 2]) {
      if (progressToken === undefined) break;
      await ctx.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress: step, total: 4, message: `step ${step}` },
      });
    }
    return text('done');
  });
  server.registerTool('ask', { description: 'Asks a person.' }, async (ctx) => {
    const given = acceptedContent(ctx.mcpReq.inputResponses, 'who', person);
    if (given !== undefined) return text(`${given.name} is ${given.age}`);
    const answer = /** @type {{ action?: string } | undefined} */ (ctx.mcpReq.inputResponses?.who);
    if (answer !== undefined) return text(`not told: ${answer.action}`);
    const requestedSchema = {
      type: /** @type {const} */ ('object'),
      properties: {
        name: { type: /** @type {const} */ ('string') },
        age: { type: /** @type {const} */ ('number'), default: 30 },
      },
      required: ['name'],
    };
    const who = inputRequired.elicit({ message: 'Who are you?', requestedSchema });
    return inputRequired({ inputRequests: { who }, requestState: 'asked' });
  });
  server.registerTool('sample', { description: 'Wants a model.' }, () =>
    inputRequired({
      inputRequests: {
        said: inputRequired.createMessage({
          maxTokens: 10,
          messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }],
        }),
      },
    }),
  );
  server.registerTool('hang', { description: 'Never answers.' }, async (ctx) => {
    say('hanging');
    await new Promise((resolve) => ctx.mcpReq.signal.addEventListener('abort', resolve, { once: true }));
    say('cancelled');
    return text('too late');
  });
  server.registerTool('die', { description: 'Ends the process.' }, () => {
    process.stderr.write('out of luck\n');
    process.exit(3);
  });
  server.registerTool('grow', { description: 'Brings another tool.' }, () => {
    server.registerTool('grown', { description: 'New.' }, () => text('I am new'));
    return text('grown');
  });
  server.registerTool('helper', { description: 'Starts a process that stays.' }, async () => {
    const told = `() => console.log('ready')`;
    const code = `
      process.on('SIGTERM', () => {});
      setInterval(() => {}, 1e6);
      require('node:net').connect(${witnessPort}, '127.0.0.1').write('{"event":"helper"}\\n', ${told});`;
    const helper = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(helper.stdout, 'data');
    return text('started');
  });
  server.registerTool(
    'big',
    { description: 'A long text.', inputSchema: z.object({ characters: z.number() }) },
    ({ characters }) => text('😀'.repeat(characters / 2)),
  );
  if (resources) {
    server.registerResource('one', 'note://one', { mimeType: 'text/plain' }, (uri) => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'the text of one' }],
    }));
  }
  return server;
}
