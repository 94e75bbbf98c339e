import { expect, test } from 'vitest';
import { connect } from '../../../src/tools/mcp/connection.js';
import { readOptions } from '../../../src/tools/mcp/options.js';
import { loadSdk } from '../../../src/tools/mcp/sdk.js';
import { mcpHttpServer } from '../../support/mcp-http.js';
import { createWitness } from '../../support/mcp-witness.js';
import { hostileServer, stdioServer } from './hosted.js';
import '../../support/process-limit.js';

type Server = Parameters<typeof readOptions>[0]['servers'][string];

async function connectTo(server: Server, more: { era?: 'legacy' | 'modern'; probeTimeoutMs?: number } = {}) {
  const [plan] = readOptions({ servers: { it: server } });
  if (plan === undefined) throw new Error('no plan');
  return connect({
    sdk: await loadSdk(),
    plan,
    sandbox: undefined,
    era: more.era,
    probeTimeoutMs: more.probeTimeoutMs ?? 10_000,
    signal: new AbortController().signal,
    onClosed() {},
    onToolsChanged() {},
    onQuestion: async () => ({ action: 'cancel' }),
  });
}

test('a server that speaks both generations is spoken to in the newer one, another in its own', async () => {
  const both = await connectTo(stdioServer(['dual']));
  const old = await connectTo(stdioServer(['legacy']));
  expect([both.era, old.era]).toEqual(['modern', 'legacy']);
  await Promise.all([both.close(), old.close()]);
  expect([both.isOpen, old.isOpen]).toEqual([false, false]);
  for (const kind of ['modern', 'legacy'] as const) {
    const web = await mcpHttpServer(kind);
    const connection = await connectTo({ url: web.url });
    expect(connection.era).toBe(kind);
    await connection.close();
    await web.close();
  }
});

test('a server that never answers what it does not know is asked in the old way on the same pipe', async () => {
  const witness = await createWitness();
  const connection = await connectTo(hostileServer('deaf', witness.env), { probeTimeoutMs: 1 });
  expect(connection.era).toBe('legacy');
  await connection.close();
  expect(witness.events.filter(({ event }) => event === 'started')).toHaveLength(1);
  await witness.close();
});

test('a server that starts too slowly to say what it speaks is spoken to in the old way', async () => {
  const connection = await connectTo(stdioServer(['dual']), { probeTimeoutMs: 1 });
  expect(connection.era).toBe('legacy');
  expect((await connection.client.listTools()).tools.length).toBeGreaterThan(10);
  await connection.close();
});

test('what a server spoke before is not asked for again', async () => {
  const witness = await createWitness();
  const connection = await connectTo(hostileServer('plain', witness.env), { era: 'legacy' });
  await connection.close();
  const asked = witness.events.flatMap(({ data }) => (data as { method?: string }).method ?? []);
  expect(asked.slice(0, 2)).toEqual(['initialize', 'notifications/initialized']);
  await witness.close();
});
