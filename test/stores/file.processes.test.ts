import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AgentEvent, SessionHandle } from '../../src/contracts/index.js';
import { fileStore, type StoreNotice } from '../../src/stores/file.js';
import { root } from '../architecture/import-graph.js';
import '../support/process-limit.js';

let dir = '';
const children: ChildProcess[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'troupe-processes-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }
  await rm(dir, { recursive: true });
});

const note = (seq: number): AgentEvent => ({
  id: `e${seq}`,
  timestamp: new Date(seq).toISOString(),
  seq,
  type: 'custom',
  kind: 'note',
});

async function seqs(handle: SessionHandle): Promise<number[]> {
  const all: number[] = [];
  for await (const { seq } of handle.events) all.push(seq);
  return all;
}

/** A process that writes, once it has told of so many appends. */
async function writer(first: number, atOnce: number, untilCount: number) {
  const jiti = join(root, 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs');
  const program = join(root, 'test', 'support', 'store-process.ts');
  const args = [jiti, program, dir, 's1', String(first), String(atOnce)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let out = '';
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (out.split('\n').length > untilCount) resolve();
    });
    child.once('close', () => reject(new Error(`ended early: ${err}`)));
  });
  return {
    child,
    /** What it has told of by the time it is gone. */
    async kill(): Promise<number[]> {
      child.kill('SIGKILL');
      await once(child, 'close');
      return out.split('\n').slice(0, -1).map(Number);
    },
  };
}

test('another process is refused by the name of the one that writes, and reads all the same', async () => {
  const { child, kill } = await writer(1, 1, 3);
  const store = fileStore({ dir });
  const handle = await store.load('s1');
  const locked = { code: 'SESSION_LOCKED', message: expect.stringContaining(`process ${child.pid}`) };
  expect((await seqs(handle)).length).toBeGreaterThanOrEqual(3);
  await expect(handle.append(note(1_000_000))).rejects.toMatchObject(locked);
  await expect(store.delete('s1')).rejects.toMatchObject(locked);
  await expect(store.repair('s1')).rejects.toMatchObject(locked);
  // One that is stopped lives.
  child.kill('SIGSTOP');
  await expect(handle.append(note(1_000_000))).rejects.toMatchObject(locked);
  const stopped = await seqs(handle);
  const fork = await store.fork('s1', { id: 'fork' });
  expect(await seqs(fork)).toEqual(stopped);
  expect((await store.list()).map(({ id }) => id).sort()).toEqual(['fork', 's1']);
  child.kill('SIGCONT');
  await kill();
  const after = await store.load('s1');
  await after.append(note(1_000_000));
  await after.close();
});

test('a process that is killed while it appends loses nothing that it told of, again and again', async () => {
  const store = fileStore({ dir });
  let first = 1;
  for (const atOnce of [1, 7, 40]) {
    const { kill } = await writer(first, atOnce, atOnce * 3);
    const told = await kill();
    const handle = await store.load('s1');
    const read = await seqs(handle);
    expect(read.slice(0, first - 1)).toEqual(Array.from({ length: first - 1 }, (_, index) => index + 1));
    expect(told.filter((seq) => !read.includes(seq))).toEqual([]);
    expect(handle.gaps?.filter(({ kind }) => kind === 'damaged')).toEqual([]);
    // The lock of the dead is free at once, and what it left half done is put aside.
    const next = (read.at(-1) as number) + 1;
    await handle.append(note(next));
    await handle.close();
    const again = await store.load('s1');
    expect([await seqs(again), again.gaps]).toEqual([[...read, next], []]);
    first = next + 1;
  }
  expect(await readdir(join(dir, 'sessions', 's1'))).not.toContain('lock');
});

test('of many who want the lock of a dead process one gets it', async () => {
  const { kill } = await writer(1, 1, 2);
  await kill();
  for (let round = 0; round < 5; round++) {
    const handles = await Promise.all(Array.from({ length: 12 }, () => fileStore({ dir }).load('s1')));
    const taken = await Promise.allSettled(handles.map((handle) => handle.lock?.()));
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of taken)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'SESSION_LOCKED' });
    await Promise.all(handles.map((handle) => handle.close()));
  }
});

test('what stands where a file should, and is none, is skipped or read past; nobody waits for a pipe', async () => {
  const notices: StoreNotice[] = [];
  const store = fileStore({ dir, onNotice: (notice) => notices.push(notice) });
  for (const id of ['whole', 'pipe', 'folder', 'summary-pipe', 'summary-folder']) {
    const handle = await store.create('desk', { id });
    await handle.append(note(1));
    await handle.close();
  }
  const at = (id: string, file: string) => join(dir, 'sessions', id, file);
  for (const path of [at('pipe', 'log.jsonl'), at('summary-pipe', 'summary.json')]) {
    await rm(path);
    execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path]);
  }
  for (const path of [at('folder', 'log.jsonl'), at('summary-folder', 'summary.json')]) {
    await rm(path);
    await mkdir(path);
  }
  expect((await store.list()).map(({ id }) => id).sort()).toEqual(['summary-folder', 'summary-pipe', 'whole']);
  expect(notices.map(({ sessionId }) => sessionId).sort()).toEqual(['folder', 'pipe']);
  for (const id of ['pipe', 'folder']) {
    await expect(store.load(id)).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
      message: `no session "${id}": its log is no file`,
    });
  }
});
