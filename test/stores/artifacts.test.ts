import { describe, expect, test } from 'vitest';
import type { SessionProvider } from '../../src/contracts/index.js';
import { fileStore } from '../../src/stores/file.js';
import { memoryStore } from '../../src/stores/memory.js';
import { virtualFiles } from '../support/virtual-files.js';

const dir = '/store';
const textOf = (found: { data: Uint8Array } | undefined) => found && Buffer.from(found.data).toString('utf8');
const made: readonly [string, () => SessionProvider][] = [
  ['memory', memoryStore],
  ['files', () => fileStore({ dir, files: virtualFiles() })],
];

describe.each(made)('%s', (_, make) => {
  test('an artifact has versions, counted from 1 per session and name; the last is what is loaded', async () => {
    const store = make();
    const { artifacts } = store;
    for (const id of ['s1', 's2']) await store.create('desk', { id });
    const name = '../reports/ünï.md';
    expect(await artifacts?.save('s1', name, 'one', 'text/markdown')).toMatchObject({ version: 1 });
    const { version, uri } = (await artifacts?.save('s1', name, new Uint8Array([0, 10, 255]))) ?? {
      version: 0,
      uri: '',
    };
    expect([version, uri.startsWith('artifact:')]).toEqual([2, true]);
    await artifacts?.save('s1', 'other', '');
    expect(await artifacts?.save('s2', name, 'theirs')).toMatchObject({ version: 1 });
    expect(await artifacts?.load('s1', name)).toEqual({ data: new Uint8Array([0, 10, 255]), version: 2 });
    expect(await artifacts?.load('s1', name, 1)).toMatchObject({ mimeType: 'text/markdown', version: 1 });
    expect(textOf(await artifacts?.load('s1', name, 1))).toBe('one');
    expect(textOf(await artifacts?.load('s1', 'other'))).toBe('');
    expect(await artifacts?.load('s1', name, 3)).toBeUndefined();
    expect(await artifacts?.load('s1', 'nothing')).toBeUndefined();
    const listed = (await artifacts?.list('s1')) ?? [];
    expect(Object.fromEntries(listed.map((one) => [one.name, one.versions]))).toEqual({ [name]: [1, 2], other: [1] });
    await expect(artifacts?.save('s1', '', 'x')).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  test('versions are withdrawn from one on, a name or all of a session; with a session go its artifacts', async () => {
    const store = make();
    const { artifacts } = store;
    for (const id of ['s1', 's2']) await (await store.create('desk', { id })).close();
    for (const text of ['1', '2', '3']) await artifacts?.save('s1', 'a', text);
    await artifacts?.save('s1', 'b', 'x');
    await artifacts?.save('s2', 'a', 'theirs');
    await artifacts?.delete('s1', 'a', 2);
    expect(textOf(await artifacts?.load('s1', 'a'))).toBe('1');
    expect(await artifacts?.save('s1', 'a', 'again')).toMatchObject({ version: 2 });
    await artifacts?.delete('s1', 'b');
    expect((await artifacts?.list('s1'))?.map(({ name }) => name)).toEqual(['a']);
    await store.delete('s1');
    expect(await artifacts?.list('s1')).toEqual([]);
    expect(textOf(await artifacts?.load('s2', 'a'))).toBe('theirs');
  });

  test('what is remembered of a user is found by its words, best first, and by nobody else', async () => {
    const { memory } = make();
    await memory?.add('ann', { text: 'Likes green tea.' });
    await memory?.add('ann', { text: 'Tea at five, green or black', _meta: { from: 's1' } });
    await memory?.add('bob', { text: 'green' });
    const found = (await memory?.search('ann', 'green tea at five')) ?? [];
    expect(found.map(({ text }) => text)).toEqual(['Tea at five, green or black', 'Likes green tea.']);
    expect(found[0]).toMatchObject({ score: 1, _meta: { from: 's1' } });
    expect(await memory?.search('ann', 'green', 1)).toHaveLength(1);
    expect(await memory?.search('eve', 'green')).toEqual([]);
    expect(await memory?.search('ann', 'coffee')).toEqual([]);
  });
});

test('artifacts and memories are files that survive a loss of power, and are damaged or cut off alone', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  await handle.append({ id: 'e1', seq: 1, timestamp: new Date(1).toISOString(), type: 'custom', kind: 'x' });
  await store.artifacts.save('s1', 'a', 'kept');
  await store.memory.add('ann', { text: 'first' });
  const up = files.afterPowerLoss();
  const after = fileStore({ dir, files: up });
  expect(textOf(await after.artifacts.load('s1', 'a'))).toBe('kept');
  const memories = up.paths().find((path) => path.startsWith('/store/memory/')) as string;
  up.put(memories, `${up.text(memories)}{"text":"half of a fir`);
  await after.memory.add('ann', { text: 'second first' });
  expect((await after.memory.search('ann', 'first')).map(({ text }) => text)).toEqual(['second first', 'first']);
  const [artifact = ''] = up.paths().filter((path) => path.endsWith('.artifact'));
  up.put(artifact, up.text(artifact).replace('kept', 'kepT'));
  await expect(after.artifacts.load('s1', 'a')).rejects.toMatchObject({ code: 'ARTIFACT_DAMAGED' });
  for (const id of ['../s1', 'CON']) {
    await expect(after.artifacts.save(id, 'a', 'x')).rejects.toMatchObject({ code: 'INVALID_SESSION_ID' });
  }
});
