import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AgentEvent, SessionHandle } from '../../src/contracts/index.js';
import { nodeFiles } from '../../src/stores/file/file-port.js';
import { type FilePort, fileStore, type StoreNotice } from '../../src/stores/file.js';
import { expectNoLeaks } from '../../src/testing/index.js';
import { type VirtualFiles, virtualFiles } from '../support/virtual-files.js';

const LOG = '/store/sessions/s1/log.jsonl';
const dir = '/store';

const note = (seq: number, more: object = {}): AgentEvent => ({
  id: `e${seq}`,
  timestamp: new Date(seq * 1_000).toISOString(),
  seq,
  type: 'custom',
  kind: 'note',
  ...more,
});
const update = (seq: number, stateDelta: object): AgentEvent =>
  ({ ...note(seq), type: 'session_update', stateDelta }) as AgentEvent;

async function seqs(handle: SessionHandle): Promise<number[]> {
  const all: number[] = [];
  for await (const { seq } of handle.events) all.push(seq);
  return all;
}

async function storeWith(files: VirtualFiles, ...events: AgentEvent[]) {
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  for (const event of events) await handle.append(event);
  await handle.close();
  return store;
}

test('ids that are paths, devices, empty or too long are refused before any file is touched (B161)', async () => {
  const files = new Proxy(virtualFiles(), {
    get: (_, name) => {
      if (name === 'boot') return 'now';
      throw new Error(`the file system was asked: ${String(name)}`);
    },
  });
  const store = fileStore({ dir, files });
  const bad = ['../x', 'a/b', 'C:\\x', 'CON', 'con.txt', 'nul', 'COM1', '.', '..', '', 'x'.repeat(200), 'a\0b', 'a..b'];
  for (const id of [...bad, ' a', 'a ', 'a.', '-a', 'ü', 'a\n']) {
    const refused = { code: 'INVALID_SESSION_ID' };
    await expect(store.create('desk', { id })).rejects.toMatchObject(refused);
    await expect(store.load(id)).rejects.toMatchObject(refused);
    await expect(store.delete(id)).rejects.toMatchObject(refused);
    await expect(store.repair(id)).rejects.toMatchObject(refused);
    await expect(store.fork(id)).rejects.toMatchObject(refused);
    await expect(store.fork('s1', { id })).rejects.toMatchObject(refused);
  }
});

test('the first session of an application is made without a word about itself', async () => {
  const notices: StoreNotice[] = [];
  const store = fileStore({ dir, files: virtualFiles(), onNotice: (notice) => notices.push(notice) });
  const handle = await store.create('desk', { id: 's1', appName: 'app' });
  await handle.append(note(1));
  await handle.close();
  expect(notices).toEqual([]);
  expect(await store.list()).toMatchObject([{ id: 's1' }]);
});

test('a log of another session is an error, and no session in the list (B161)', async () => {
  const moved = virtualFiles();
  await storeWith(moved, note(1));
  await moved.rename('/store/sessions/s1', '/store/sessions/s9');
  const notices: StoreNotice[] = [];
  const reader = fileStore({ dir, files: moved, onNotice: (notice) => notices.push(notice) });
  await expect(reader.load('s9')).rejects.toThrow(/is that of session "s1"/);
  expect(await reader.list()).toEqual([]);
  expect(notices).toMatchObject([{ code: 'SESSION_DAMAGED', sessionId: 's9' }]);
});

test('files are for their owner alone', async () => {
  const place = await mkdtemp(join(tmpdir(), 'troupe-modes-'));
  try {
    const store = fileStore({ dir: join(place, 'new', 'store') });
    const handle = await store.create('desk', { id: 's1', appName: 'app', userId: 'ann' });
    for (const event of [note(1), note(2), update(3, { 'app:n': 1 })]) await handle.append(event);
    await handle.truncate?.(1);
    await handle.close();
    const fork = await store.fork('s1');
    await fork.append(note(9));
    await fork.close();
    const all = await readdir(join(place, 'new', 'store'), { recursive: true, withFileTypes: true });
    const modes = await Promise.all(
      all.map(async (one) => [one.isDirectory(), (await stat(join(one.parentPath, one.name))).mode & 0o777] as const),
    );
    expect(modes.length).toBeGreaterThan(8);
    for (const [isDirectory, mode] of modes) expect(mode).toBe(isDirectory ? 0o700 : 0o600);
    expect((await stat(join(place, 'new', 'store'))).mode & 0o777).toBe(0o700);
  } finally {
    await rm(place, { recursive: true });
  }
});

test('a later format is refused by name, wherever it begins, and nothing is changed', async () => {
  const files = virtualFiles();
  const store = await storeWith(files, note(1), note(2));
  const lines = files.text(LOG).split('\n');
  const later = '{"troupe":"session-log","format":7,"id":"s1","body":"what this version knows nothing of"}';
  for (const at of [0, 2, lines.length - 1]) {
    const changed = lines.with(at, at === 0 ? later : `${later}\n${lines[at]}`).join('\n');
    files.put(LOG, changed);
    const refused = { code: 'INCOMPATIBLE_VERSION', message: expect.stringMatching(/log format 7.*up to 1/) };
    await expect(store.load('s1')).rejects.toMatchObject(refused);
    await expect(store.fork('s1')).rejects.toMatchObject(refused);
    await expect(store.repair('s1')).rejects.toMatchObject(refused);
    expect(await store.list()).toEqual([]);
    expect(files.text(LOG)).toBe(changed);
  }
});

test('what is no session, holds nothing, or goes away meanwhile is left out of the list with a notice (B155)', async () => {
  const files = virtualFiles();
  const store = await storeWith(files, note(1));
  files.put('/store/sessions/.DS_Store', 'x');
  files.put('/store/sessions/notes.txt', 'x');
  for (const name of ['empty', 'bare', 'no log', 'only-header']) await files.mkdir(`/store/sessions/${name}`);
  files.put('/store/sessions/empty/log.jsonl', '');
  files.put('/store/sessions/only-header/log.jsonl', `${files.text(LOG).split('\n')[0]?.replace('s1', 'x')}\n`);
  await (await store.create('desk', { id: 'unused' })).close();
  files.put('/store/sessions/foreign.json/log.jsonl', 'once upon a time');
  await files.mkdir('/store/sessions/foreign.json');
  files.put('/store/sessions/foreign.json/log.jsonl', 'once upon a time\nthere was\n');
  await store.fork('s1', { id: 'leaves' });
  const names = files.names;
  files.names = async (path) => {
    const all = await names(path);
    if (path.endsWith('sessions')) await files.removeAll('/store/sessions/leaves');
    return all;
  };
  const notices: StoreNotice[] = [];
  const reader = fileStore({ dir, files, onNotice: (notice) => notices.push(notice) });
  expect((await reader.list()).map(({ id }) => id)).toEqual(['s1']);
  expect(Object.fromEntries(notices.map(({ sessionId, code }) => [sessionId, code]))).toEqual({
    'notes.txt': 'FOREIGN_FILE',
    'no log': 'FOREIGN_FILE',
    'foreign.json': 'SESSION_NOT_FOUND',
    empty: 'SESSION_NOT_FOUND',
    bare: 'FOREIGN_FILE',
    'only-header': 'SESSION_NOT_FOUND',
    unused: 'EMPTY_SESSION',
    leaves: 'FOREIGN_FILE',
  });
  const empty = await reader.create('desk', { id: 'empty' });
  await empty.append(note(1));
  expect(await seqs(empty)).toEqual([1]);
});

test('a store that is not there yet has no sessions; to look at it makes no file', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  expect(await store.list()).toEqual([]);
  await expect(store.load('s1')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  await expect(store.delete('s1')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  expect(files.paths()).toEqual(['/']);
});

test('the list reads no log that is summed up, and reads those that are not', async () => {
  const files = virtualFiles();
  await storeWith(files, ...Array.from({ length: 500 }, (_, index) => note(index + 1)));
  files.reads.clear();
  const store = fileStore({ dir, files });
  const listed = await store.list();
  expect(listed).toEqual([{ id: 's1', agentName: 'desk', lastUpdateTime: note(500).timestamp, eventCount: 500 }]);
  expect(files.reads.get(LOG)).toBeUndefined();
  await files.unlink('/store/sessions/s1/summary.json');
  expect(await store.list()).toEqual(listed);
  expect(files.reads.get(LOG)).toBeGreaterThan(0);
  files.reads.clear();
  expect(await store.list()).toEqual(listed);
  expect(files.reads.get(LOG)).toBeUndefined();
  files.put('/store/sessions/s1/summary.json', '{"format":1,"log":');
  expect(await store.list()).toEqual(listed);
});

test('a session that is being written is listed as it is', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  for (const seq of [1, 2]) await handle.append(note(seq));
  const other = fileStore({ dir, files });
  expect(await other.list()).toMatchObject([{ eventCount: 2, lastUpdateTime: note(2).timestamp }]);
  for (const seq of [5, 4]) await handle.append(note(seq));
  expect(await other.list()).toMatchObject([{ eventCount: 4, lastUpdateTime: note(5).timestamp }]);
  await handle.close();
  expect(await other.list()).toMatchObject([{ eventCount: 4, lastUpdateTime: note(5).timestamp }]);
});

for (const code of ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES']) {
  test(`${code} is a clear error, and what was stored stays readable and as it was`, async () => {
    const files = virtualFiles();
    await storeWith(files, note(1), note(2));
    const before = files.bytes(LOG);
    files.refuseWith = code;
    const store = fileStore({ dir, files });
    const clear = { code: expect.stringMatching(/^STORE_/), message: expect.stringContaining(`(${code})`) };
    const handle = await store.load('s1');
    await expect(handle.append(note(3))).rejects.toMatchObject(clear);
    await expect(store.create('desk', { id: 's2' })).rejects.toMatchObject(clear);
    await expect(store.fork('s1')).rejects.toMatchObject(clear);
    await expect(store.delete('s1')).rejects.toMatchObject(clear);
    expect(await seqs(handle)).toEqual([1, 2]);
    expect(await store.list()).toHaveLength(1);
    expect(files.bytes(LOG)).toEqual(before);
    files.refuseWith = undefined;
    await handle.append(note(3));
    await handle.close();
    expect(await seqs(await store.load('s1'))).toEqual([1, 2, 3]);
  });
}

test('a disk that is full in the middle of a record leaves none of it; all later appends are refused too', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  await handle.append(note(1));
  const before = files.bytes(LOG);
  files.room = 40;
  const failures = await Promise.allSettled([handle.append(note(2)), handle.append(note(3))]);
  expect(failures).toMatchObject([{ reason: { code: 'STORE_FULL' } }, { reason: { code: 'STORE_FULL' } }]);
  expect(files.bytes(LOG)).toEqual(before);
  files.room = Number.POSITIVE_INFINITY;
  // A log has no holes.
  await expect(handle.append(note(4))).rejects.toMatchObject({ code: 'STORE_FULL' });
  await handle.close();
  const again = await store.load('s1');
  expect([await seqs(again), again.gaps]).toEqual([[1], []]);
  await again.append(note(2));
  await again.close();
});

test('an append whose sync failed is refused', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  await handle.append(note(1));
  files.syncFailsWith = 'EIO';
  await expect(handle.append(note(2))).rejects.toMatchObject({ code: 'STORE_FAILED' });
  files.syncFailsWith = undefined;
  await handle.close();
  expect(await seqs(await store.load('s1'))).toEqual([1]);
});

test('what an append has resolved for survives a loss of power, in a session made just then too', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const many = await Promise.all(Array.from({ length: 8 }, (_, index) => store.create('desk', { id: `m${index}` })));
  for (let seq = 1; seq <= 3; seq++) {
    await Promise.all(many.map((handle) => handle.append(note(seq))));
    const after = fileStore({ dir, files: files.afterPowerLoss() });
    for (const { id } of many) expect((await seqs(await after.load(id))).at(-1)).toBe(seq);
  }
  const fork = await store.fork('m0', { id: 'fork', at: 2 });
  await many[1]?.truncate?.(1);
  const after = fileStore({ dir, files: files.afterPowerLoss() });
  expect(await seqs(await after.load('fork'))).toEqual([1, 2]);
  expect(await seqs(await after.load('m1'))).toEqual([1]);
  await fork.close();
});

test('appends that are made together share a sync', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  await handle.append(note(1));
  const before = files.syncs;
  await Promise.all(Array.from({ length: 100 }, (_, index) => handle.append(note(index + 2))));
  expect(files.syncs - before).toBe(1);
});

test('sessions that append together share a sync, however many they are', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const many = await Promise.all(Array.from({ length: 64 }, (_, index) => store.create('desk', { id: `m${index}` })));
  await Promise.all(many.map((handle) => handle.append(note(1))));
  for (let seq = 2; seq < 10; seq++) {
    const before = files.syncs;
    await Promise.all(many.map((handle) => handle.append(note(seq))));
    expect(files.syncs - before).toBe(1);
  }
  const after = fileStore({ dir, files: files.afterPowerLoss() });
  for (const { id } of many) expect(await seqs(await after.load(id))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(await after.list()).toHaveLength(64);
});

test('what was shared out of many sessions is in their logs by the time it is thrown away', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const many = await Promise.all(Array.from({ length: 4 }, (_, index) => store.create('desk', { id: `m${index}` })));
  const journal = () => files.bytes(files.paths().find((path) => path.startsWith('/store/journal/')) as string);
  const data = 'x'.repeat(300_000);
  let largest = 0;
  for (let seq = 1; seq <= 10; seq++) {
    await Promise.all(many.map((handle) => handle.append(note(seq, { data }))));
    largest = Math.max(largest, journal().length);
    const after = fileStore({ dir, files: files.afterPowerLoss() });
    expect((await seqs(await after.load('m3'))).at(-1)).toBe(seq);
  }
  expect(journal().length).toBeLessThan(largest);
});

test('a sync that fails for many fails for each, and nothing of it comes back', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const many = await Promise.all(Array.from({ length: 4 }, (_, index) => store.create('desk', { id: `m${index}` })));
  await Promise.all(many.map((handle) => handle.append(note(1))));
  files.syncFailsWith = 'EIO';
  const failed = await Promise.allSettled(many.map((handle) => handle.append(note(2))));
  expect(failed.map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
  files.syncFailsWith = undefined;
  for (const one of [files, files.afterPowerLoss()]) {
    const after = fileStore({ dir, files: one });
    for (const { id } of many) expect(await seqs(await after.load(id))).toEqual([1]);
  }
});

test('a log that was cut or deleted stays so after a loss of power', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const many = await Promise.all(Array.from({ length: 4 }, (_, index) => store.create('desk', { id: `m${index}` })));
  for (const seq of [1, 2, 3]) await Promise.all(many.map((handle) => handle.append(note(seq))));
  await many[0]?.truncate?.(1);
  for (const handle of many) await handle.close();
  await store.delete('m2');
  const up = files.afterPowerLoss();
  const after = fileStore({ dir, files: up });
  expect(await seqs(await after.load('m0'))).toEqual([1]);
  expect(await seqs(await after.load('m1'))).toEqual([1, 2, 3]);
  await after.delete('m1');
  expect(up.paths().filter((path) => path.startsWith('/store/journal/'))).toEqual([]);
  const later = fileStore({ dir, files: up });
  expect((await later.list()).map(({ id }) => id).sort()).toEqual(['m0', 'm3']);
});

test('what an append writes does not grow with the log', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  for (let seq = 1; seq <= 2_000; seq++) void handle.append(note(seq));
  await handle.append(note(2_001));
  files.reads.clear();
  await handle.append(note(2_002));
  // Late, and known to be new.
  await handle.append(note(2_004));
  await handle.append(note(2_003));
  expect(files.reads.get(LOG)).toBeUndefined();
});

test('what is cut off and what is mended is kept beside the log', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  for (const seq of [1, 2, 4, 3]) await handle.append(note(seq));
  const lines = files.text(LOG).split('\n');
  await handle.truncate?.(2);
  await handle.append(note(9));
  await handle.truncate?.(2);
  await handle.close();
  const archived = files.paths().filter((path) => path.includes('/archive/'));
  expect(archived.map((path) => path.slice(path.lastIndexOf('/') + 1))).toEqual(['after-2-1.jsonl', 'after-2-2.jsonl']);
  expect(files.text(archived[0] as string)).toBe(`${lines.slice(3, 5).join('\n')}\n`);
  expect(files.text(archived[1] as string)).toContain('"seq":9');
});

test('state that is shared is merged across processes, and put together again when its file is lost', async () => {
  const files = virtualFiles();
  const owner = { appName: 'app', userId: 'ann' };
  const [one, two] = [fileStore({ dir, files }), fileStore({ dir, files })];
  const s1 = await one.create('desk', { id: 's1', ...owner });
  const s2 = await two.create('desk', { id: 's2', ...owner });
  await Promise.all([
    ...[1, 2, 3].map((seq) => s1.append(update(seq, { [`app:a${seq}`]: seq }))),
    ...[1, 2, 3].map((seq) => s2.append(update(seq, { [`app:b${seq}`]: seq, 'user:last': seq }))),
  ]);
  const all = { 'app:a1': 1, 'app:a2': 2, 'app:a3': 3, 'app:b1': 1, 'app:b2': 2, 'app:b3': 3, 'user:last': 3 };
  expect([s1.state, s2.state]).toEqual([all, all]);
  await s1.close();
  await s2.close();
  for (const path of files.paths().filter((name) => name.startsWith('/store/shared/'))) await files.unlink(path);
  const three = fileStore({ dir, files });
  const s3 = await three.create('desk', { id: 's3', ...owner });
  expect(s3.state).toEqual(all);
  expect((await three.create('desk', { id: 's4', appName: 'other', userId: 'ann' })).state).toEqual({});
});

test('what a crash kept from the shared state is shared by the next who writes on, unless others wrote since', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1', appName: 'app' });
  await handle.append(update(1, { 'app:a': 'old' }));
  await handle.close();
  const shared = files.paths().find((path) => path.startsWith('/store/shared/') && files.text(path).includes('app:a'));
  const before = files.bytes(shared as string);
  const next = await store.load('s1');
  await next.append(update(2, { 'app:a': 'new', 'app:b': 1 }));
  // The log has it; the process died before all could see it.
  const crashed = files.copy();
  crashed.put(shared as string, before);
  const after = fileStore({ dir, files: crashed });
  const again = await after.load('s1');
  await again.append(note(9));
  expect(again.state).toEqual({ 'app:a': 'new', 'app:b': 1 });
});

test('keys that are meant for the moment are in no file', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  await handle.append({
    ...update(1, { 'temp:secret': 'hush', kept: 1 }),
    _meta: { updates: [{ key: 'temp:secret', value: 'hush' }] },
  });
  await handle.close();
  for (const path of files.paths()) expect(files.text(path)).not.toContain('hush');
  expect(handle.state).toEqual({ kept: 1 });
});

test('a sweep takes what is older, by its whole id, and only when asked', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const add = async (id: string, seq: number) => {
    const handle = await store.create('desk', { id });
    await handle.append(note(seq));
    return handle;
  };
  await (await add('abcd', 1)).close();
  await (await add('abcdef', 100)).close();
  const open = await add('open', 1);
  const now = Date.parse(note(100).timestamp);
  for (const maxAge of ['1Y', '', 'soon', -1, Number.NaN]) {
    await expect(store.sweep({ maxAge })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('maxAge'),
    });
  }
  expect(await store.list()).toHaveLength(3);
  expect(await store.sweep({ maxAge: '50s', now })).toEqual(['abcd']);
  expect((await store.list()).map(({ id }) => id)).toEqual(['abcdef', 'open']);
  await open.close();
});

test('two copies of a store are two stores: what is written in one is not locked, nor seen, in the other (B026)', async () => {
  const files = virtualFiles();
  const store = fileStore({ dir, files });
  const handle = await store.create('desk', { id: 's1' });
  await handle.append(note(1));
  const copied = files.copy();
  const other = await fileStore({ dir, files: copied }).load('s1');
  await other.append(note(2, { id: 'theirs' }));
  await handle.append(note(2));
  expect(files.text(LOG)).not.toContain('theirs');
  expect(await seqs(other)).toEqual([1, 2]);
});

test('a log of 10,000 events and 20 MB is read in pieces, unchanged (B151)', async () => {
  const place = await mkdtemp(join(tmpdir(), 'troupe-large-'));
  let largest = 0;
  const files: FilePort = {
    ...nodeFiles,
    read: (fd, into, position) => {
      largest = Math.max(largest, into.length);
      return nodeFiles.read(fd, into, position);
    },
  };
  try {
    const data = `\u2028 \u2029 \u0085 \r lone ${'x'.repeat(2_000)}`;
    const store = fileStore({ dir: place, files });
    const handle = await store.create('desk', { id: 's1' });
    await Promise.all(Array.from({ length: 10_000 }, (_, index) => handle.append(note(index + 1, { data }))));
    await handle.close();
    expect((await stat(join(place, 'sessions', 's1', 'log.jsonl'))).size).toBeGreaterThan(20_000_000);
    let count = 0;
    for await (const event of (await store.load('s1')).events) {
      count++;
      if (event.seq !== count || (event as { data?: unknown }).data !== data) throw new Error(`at ${count}`);
    }
    expect(count).toBe(10_000);
    expect(largest).toBeLessThanOrEqual(256 * 1024);
  } finally {
    await rm(place, { recursive: true });
  }
});

test('a store whose sessions are closed holds no process open', async () => {
  const place = await mkdtemp(join(tmpdir(), 'troupe-leaks-'));
  try {
    await expectNoLeaks(async () => {
      const store = fileStore({ dir: place });
      const handles = await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.create('desk', { id, appName: 'app' })));
      await Promise.all(handles.map((handle) => handle.append(update(1, { 'app:n': handle.id }))));
      await Promise.allSettled(['a', 'b'].map(async (id) => (await fileStore({ dir: place }).load(id)).lock?.()));
      await Promise.all(handles.map((handle) => handle.close()));
    });
    expect((await readdir(join(place, 'sessions', 'a'))).sort()).toEqual(['log.jsonl', 'summary.json']);
  } finally {
    await rm(place, { recursive: true });
  }
});

test('a folder that no system makes is a clear error, at once', async () => {
  for (const place of ['/proc/troupe-store', '/proc/self/troupe/store', '/dev/null/store']) {
    await expect(fileStore({ dir: place }).create('desk', { id: 's1' }), place).rejects.toMatchObject({
      message: expect.stringContaining('session "s1" cannot be made'),
    });
    expect(await fileStore({ dir: place }).list()).toEqual([]);
  }
});
