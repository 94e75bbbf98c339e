import { expect, test } from 'vitest';
import { studioCommand } from '../../src/cli/studio.js';
import { createHost } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import { scriptedModel } from '../../src/testing/index.js';
import { leaf } from '../support/team.js';
import { fakeIo } from './fake-io.js';

test('Studio shows the stored sessions until a signal ends it, and says where', async () => {
  const store = memoryStore();
  const before = createHost({ store, models: { scripted: scriptedModel([{ text: 'hi' }]) } });
  const { sessionId } = await before.run(leaf('near'), 'go').result;
  await before.close();
  const io = fakeIo();
  const parts = {
    loadDefinition: async () => ({ definition: leaf('near'), notices: [] }),
    loadModel: async () => scriptedModel([]),
    workspaceTools: () => [],
    openStore: () => store,
    createHost,
  };
  const serving = studioCommand({ file: 'a.yaml', json: true }, io, parts);
  while (io.stdout.text === '') await new Promise((resolve) => setImmediate(resolve));
  const { url } = JSON.parse(io.stdout.text) as { url: string };
  const token = new URL(url).searchParams.get('token');
  const overview = await (await fetch(new URL(`/api/overview?token=${token}`, url))).json();
  expect(overview).toMatchObject({
    hosts: [{ agents: [{ name: 'near' }], sessions: [{ id: sessionId, isLive: false }] }],
  });
  io.raise('SIGINT');
  expect(await serving).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test('every store is a host of its own, by the name of its folder', async () => {
  const stores = { one: memoryStore(), two: memoryStore() };
  const ids: string[] = [];
  for (const store of Object.values(stores)) {
    const before = createHost({ store, models: { scripted: scriptedModel([{ text: 'hi' }]) } });
    ids.push((await before.run(leaf('near'), 'go').result).sessionId);
    await before.close();
  }
  const io = fakeIo();
  const parts = {
    loadDefinition: async () => ({ definition: leaf('near'), notices: [] }),
    loadModel: async () => scriptedModel([]),
    workspaceTools: () => [],
    openStore: (dir: string | undefined) => stores[dir as 'one' | 'two'],
    createHost,
  };
  const serving = studioCommand({ store: ['one', 'two'], json: true }, io, parts);
  while (io.stdout.text === '') await new Promise((resolve) => setImmediate(resolve));
  const { url } = JSON.parse(io.stdout.text) as { url: string };
  const token = new URL(url).searchParams.get('token');
  const { hosts } = (await (await fetch(new URL(`/api/overview?token=${token}`, url))).json()) as {
    hosts: { name: string; sessions: { id: string }[] }[];
  };
  expect(hosts.map(({ name, sessions }) => [name, sessions.map(({ id }) => id)])).toEqual([
    ['one', [ids[0]]],
    ['two', [ids[1]]],
  ]);
  io.raise('SIGINT');
  expect(await serving).toBe(0);
});
