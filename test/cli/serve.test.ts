import { expect, test } from 'vitest';
import { type ServeCommand, serveCommand } from '../../src/cli/serve.js';
import { createHost } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import { serveA2a } from '../../src/surfaces/a2a.js';
import { scriptedModel } from '../../src/testing/index.js';
import { leaf } from '../support/team.js';
import { fakeIo } from './fake-io.js';

const parts = {
  loadDefinition: async () => ({ definition: leaf('near'), notices: [] }),
  loadModel: async () => scriptedModel([{ text: 'hi' }]),
  workspaceTools: () => [],
  openStore: () => memoryStore(),
  createHost,
  serveA2a,
};
const serve = (command: Omit<ServeCommand, 'file'>, io = fakeIo()) =>
  serveCommand({ file: 'a.yaml', ...command }, io, parts);

test('a team is served until a signal ends it, and says where', async () => {
  const io = fakeIo();
  const pushOrigin = ['https://caller.example'];
  const serving = serve({ a2a: true, json: true, script: 's.yaml', pushOrigin }, io);
  while (io.stdout.text === '') await new Promise((resolve) => setImmediate(resolve));
  const { cardUrl } = JSON.parse(io.stdout.text) as { cardUrl: string };
  expect(await (await fetch(cardUrl)).json()).toMatchObject({
    name: 'near',
    capabilities: { pushNotifications: true },
  });
  io.raise('SIGTERM');
  expect(await serving).toBe(0);
  await expect(fetch(cardUrl)).rejects.toThrow();
});

test('what cannot be served is refused with what would do', async () => {
  await expect(serve({})).rejects.toThrow('--a2a');
  await expect(serve({ a2a: true, port: 'x' })).rejects.toThrow('--port takes a number');
  await expect(serve({ a2a: true, tokenEnv: 'NO_SUCH' })).rejects.toThrow('no such variable');
  await expect(serve({ a2a: true, host: '0.0.0.0' })).rejects.toThrow('give a token');
  await expect(serve({ a2a: true, pushOrigin: ['caller.example'] })).rejects.toThrow('no origin');
});
