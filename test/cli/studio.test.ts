import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.js';
import { studioCommand } from '../../src/cli/studio.js';
import { createHost } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import { scriptedModel } from '../../src/testing/index.js';
import { root } from '../architecture/import-graph.js';
import { leaf } from '../support/team.js';
import { fakeIo } from './fake-io.js';

test('Studio shows the stored sessions, of whatever application, until a signal ends it, and says where', async () => {
  const store = memoryStore();
  const before = createHost({ appName: 'reports', store, models: { scripted: scriptedModel([{ text: 'hi' }]) } });
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

/** Studio of the command line until it has said `words` on stderr; then all that it said there. */
async function untilSaid(words: RegExp, ...args: string[]) {
  const io = fakeIo({ cwd: import.meta.dirname });
  const serving = runProgram({ args: ['studio', ...args], io, version: '1.2.3' });
  while (!words.test(io.stderr.text)) await new Promise((resolve) => setImmediate(resolve));
  io.raise('SIGINT');
  expect(await serving).toBe(0);
  return io.stderr.text;
}

test('a store with nothing in it is told by its name, with what fills it', async () => {
  expect(await untilSaid(/\n/, '--store', 'nowhere-at-all')).toBe(
    'troupe: no sessions are in nowhere-at-all: those of troupe run <file> "…" --store nowhere-at-all are shown here as they come\n',
  );
});

test('what is no Studio is told, and the rest is shown', async () => {
  const other = createServer((_, response) => response.end('<h1>hello</h1>')).listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const place = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const said = await untilSaid(/does not answer.*\n/, '--connect', `http://${place}/?token=x`);
  expect(said).toContain(`troupe: ${place}: This Studio does not answer`);
  other.close();
});

test('a run shows itself on the port that it is given', async () => {
  const io = fakeIo({ cwd: root });
  const free = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => free.once('listening', resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const args = ['run', 'examples/report/report.team.yaml', 'go', '--ephemeral', '--studio', '--port', String(port)];
  const running = runProgram({ args, io, version: '1.2.3' });
  while (!io.stderr.text.includes('stays open')) await new Promise((resolve) => setImmediate(resolve));
  const [, url = ''] = /Studio is at (\S+)/.exec(io.stderr.text) ?? [];
  expect(url).toContain(`http://127.0.0.1:${port}/`);
  expect((await fetch(url)).status).toBe(200);
  io.raise('SIGINT');
  expect(await running).toBe(0);
});

test('a run whose port is taken, is none, or is not for Studio does not begin', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  const taken = `port ${port} of 127.0.0.1 is taken: choose another one, or 0 for any that is free`;
  for (const [args, words] of [
    [['--studio', '--port', String(port)], taken],
    [['--port', '4000'], '--port is the port of Studio: give --studio with it'],
    ...['', ' ', '-1', '65536', '1e3', '0x50', 'http', '80.5'].map(
      (given) => [['--studio', '--port', given], `--port takes a number from 0 to 65535, not "${given}"`] as const,
    ),
  ] as const) {
    const io = fakeIo({ cwd: root });
    const team = ['run', 'examples/report/report.team.yaml', 'go', '--ephemeral'];
    expect(await runProgram({ args: [...team, ...args], io, version: '1.2.3' })).toBe(2);
    expect(io.stderr.text).toContain(`troupe: ${words}`);
    expect(io.stdout.text).toBe('');
  }
  other.close();
});

test('a port that is taken, and a file for a store, are refused with what would do', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  for (const [args, words] of [
    [['--port', String(port)], `port ${port} of 127.0.0.1 is taken: choose another one, or 0 for any that is free`],
    [['--store', 'studio.test.ts'], '--store takes a folder; "studio.test.ts" is a file'],
  ] as const) {
    const io = fakeIo({ cwd: import.meta.dirname });
    expect(await runProgram({ args: ['studio', ...args], io, version: '1.2.3' })).toBe(2);
    expect(io.stderr.text).toBe(`troupe: ${words}\n`);
  }
  other.close();
});
