import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { ModelRequest } from '../../../src/contracts/index.js';
import { agent, createHost, memoryStore, tool } from '../../../src/index.js';
import { scriptedModel, virtualClock } from '../../../src/testing/index.js';
import { workspaceTools } from '../../../src/tools/workspace.js';
import { answersIn } from '../../support/broken-log.js';
import { logOf, ofType } from '../../support/team.js';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), 'troupe-restore-'));
  folders.push(made);
  return made;
};

const write = (path: string, content: string) => ({ name: 'write_file', args: { path, content } });

/** Runs those calls one after the other, in a folder where `old.txt` holds "first". */
async function edited(calls: readonly object[], { between }: { between?: (root: string, done: number) => void } = {}) {
  const root = folder();
  writeFileSync(join(root, 'old.txt'), 'first');
  const store = memoryStore();
  const model = scriptedModel((request: ModelRequest) => {
    const done = answersIn(request).length;
    between?.(root, done);
    return (done < calls.length ? { toolCalls: [calls[done]] } : { text: 'done' }) as never;
  });
  const host = createHost({
    models: { scripted: model },
    store,
    tools: workspaceTools({ root }),
    clock: virtualClock(),
  });
  const writer = agent({ name: 'writer', tools: ['write_file'] });
  const run = host.run(writer, 'go', { sessionId: 's', permissionMode: 'autonomous' });
  expect((await run.result).reason).toBe('completed');
  const begun = ofType(await logOf(store, 's'), 'message')[0]?.seq as number;
  const read = (name: string) => readFileSync(join(root, name), 'utf8');
  const told = async () => ofType(await logOf(store, 's'), 'custom').at(-1)?.data;
  return { host, root, begun, read, told, store };
}

test('what edits have changed is put back, and what they made is taken away', async () => {
  const { host, root, begun, read, told } = await edited([
    write('old.txt', 'second'),
    write('deep/new.txt', 'made'),
    write('old.txt', 'third'),
  ]);
  expect(read('old.txt')).toBe('third');
  await host.rewind('s', { to: begun, restoreFiles: root });
  expect(read('old.txt')).toBe('first');
  expect(() => read('deep/new.txt')).toThrow('ENOENT');
  expect(await told()).toMatchObject({ code: 'REWOUND', restored: ['old.txt', 'deep/new.txt'], left: [] });
  await host.close();
});

test('only what stands behind the position is put back', async () => {
  const { host, root, read, store } = await edited([write('old.txt', 'second'), write('old.txt', 'third')]);
  const [first] = ofType(await logOf(store, 's'), 'tool_response');
  await host.rewind('s', { to: first?.seq as number, restoreFiles: root });
  expect(read('old.txt')).toBe('second');
  await host.close();
});

test('without being asked, files stay as they are', async () => {
  const { host, begun, read, told } = await edited([write('old.txt', 'second')]);
  await host.rewind('s', { to: begun });
  expect(read('old.txt')).toBe('second');
  expect(await told()).toMatchObject({ files: ['old.txt'] });
  await host.close();
});

test('a file that somebody else has changed since stays, and is told of', async () => {
  const { host, root, begun, read, told } = await edited([write('old.txt', 'second'), write('new.txt', 'made')]);
  writeFileSync(join(root, 'old.txt'), 'mine');
  rmSync(join(root, 'new.txt'));
  await host.rewind('s', { to: begun, restoreFiles: root });
  expect(read('old.txt')).toBe('mine');
  expect(await told()).toMatchObject({
    restored: [],
    left: [
      { path: 'old.txt', why: 'it was changed since' },
      { path: 'new.txt', why: 'it is gone' },
    ],
  });
  await host.close();
});

test('so does one that somebody else changed between two edits', async () => {
  const { host, root, begun, read, told } = await edited([write('old.txt', 'second'), write('old.txt', 'third')], {
    between: (at, done) => done === 1 && writeFileSync(join(at, 'old.txt'), 'mine'),
  });
  await host.rewind('s', { to: begun, restoreFiles: root });
  expect(read('old.txt')).toBe('third');
  expect(await told()).toMatchObject({ left: [{ path: 'old.txt', why: 'somebody else changed it in between' }] });
  await host.close();
});

test('whatever a result says, nothing outside of the folder is touched', async () => {
  const outside = folder();
  const root = folder();
  writeFileSync(join(outside, 'secret.txt'), 'kept');
  // As an edit of that file would say, where it had made it.
  const after = (await import('node:crypto')).createHash('sha256').update('kept').digest('hex');
  const forging = tool({
    name: 'forge',
    description: '.',
    parameters: { type: 'object' },
    annotations: { category: 'edit' },
    execute: () => ({
      llmContent: [{ type: 'text', text: 'ok' }],
      data: { path: join(outside, 'secret.txt'), written: { after } },
    }),
  });
  const store = memoryStore();
  const model = scriptedModel([{ toolCalls: [{ name: 'forge', args: {} }] }, { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = host.run(agent({ name: 'a', tools: [forging] }), 'go', { sessionId: 's', permissionMode: 'autonomous' });
  await run.result;
  await host.rewind('s', { to: 2, restoreFiles: root });
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('kept');
  const note = ofType(await logOf(store, 's'), 'custom').at(-1)?.data;
  expect(note).toMatchObject({ restored: [], left: [{ path: join(outside, 'secret.txt') }] });
});
