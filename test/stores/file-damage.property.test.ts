import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import type { AgentEvent, SessionHandle } from '../../src/contracts/index.js';
import { fileStore, type StoreNotice } from '../../src/stores/file.js';
import { type VirtualFiles, virtualFiles } from '../support/virtual-files.js';

const LOG = '/store/sessions/s1/log.jsonl';

const note = (seq: number, data: unknown = null): AgentEvent => ({
  id: `e${seq}`,
  timestamp: new Date(seq * 1_000).toISOString(),
  seq,
  type: 'custom',
  kind: 'note',
  data,
});

async function readAll(handle: SessionHandle): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of handle.events) events.push(event);
  return events;
}

/** In the order in which they are appended: one comes late, one holds what separates lines elsewhere. */
const appended = [note(1), note(2, 'ünï\u2028\u2029\u0085\r\\"'), note(5), note(4, [null]), note(9, { deep: {} })];
const bySeq = (events: readonly AgentEvent[]) => [...events].sort((a, b) => a.seq - b.seq);

async function written(): Promise<{ files: VirtualFiles; ends: number[] }> {
  const files = virtualFiles();
  const handle = await fileStore({ dir: '/store', files }).create('desk', { id: 's1' });
  const ends = [files.bytes(LOG).length];
  for (const event of appended) {
    await handle.append(event);
    ends.push(files.bytes(LOG).length);
  }
  await handle.close();
  return { files, ends };
}

test('a log cut at any byte holds every record that is whole, and is written on behind them', async () => {
  const { files, ends } = await written();
  const whole = files.bytes(LOG);
  for (let size = ends[0] as number; size <= whole.length; size++) {
    const cut = files.copy();
    cut.put(LOG, whole.subarray(0, size));
    const notices: StoreNotice[] = [];
    const store = fileStore({ dir: '/store', files: cut, onNotice: (notice) => notices.push(notice) });
    // A record that lacks nothing but its end of line is whole.
    const count = ends.filter((end) => end - 1 <= size).length - 1;
    const expected = bySeq(appended.slice(0, count));
    const handle = await store.load('s1');
    expect(await readAll(handle)).toEqual(expected);
    const isTorn = !ends.some((end) => end === size || end - 1 === size);
    expect(handle.gaps?.map(({ kind }) => kind)).toEqual(isTorn ? ['torn'] : []);
    const [listed] = await store.list();
    expect([listed?.eventCount, listed?.lastUpdateTime]).toEqual(
      count === 0 ? [undefined, undefined] : [count, expected.at(-1)?.timestamp],
    );
    notices.length = 0;
    await handle.append(note(20));
    await handle.close();
    expect(notices.map(({ code }) => code)).toEqual(isTorn ? ['TORN_RECORD'] : []);
    const torn = cut.paths().filter((path) => path.includes('/archive/torn'));
    expect(torn.map((path) => cut.bytes(path))).toEqual(isTorn ? [whole.subarray(ends[count], size)] : []);
    // Once: whoever opens it next finds it whole.
    const again = await store.load('s1');
    expect([await readAll(again), again.gaps]).toEqual([[...expected, note(20)], []]);
    expect((await store.list())[0]?.eventCount).toBe(count + 1);
  }
});

test('a log cut within its header is no session, and gives way to a new one', async () => {
  const { files, ends } = await written();
  const whole = files.bytes(LOG);
  for (let size = 0; size < (ends[0] as number) - 1; size++) {
    const cut = files.copy();
    cut.put(LOG, whole.subarray(0, size));
    const store = fileStore({ dir: '/store', files: cut });
    if (size === 0) {
      await expect(store.load('s1')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
      const anew = await store.create('desk', { id: 's1' });
      expect(await readAll(anew)).toEqual([]);
    }
    expect(await store.list()).toEqual([]);
  }
});

test('whatever byte is changed, and to what: no event is changed, those before and behind are read, a repair mends it', async () => {
  const { files, ends } = await written();
  const whole = files.bytes(LOG);
  for (let at = 0; at < whole.length; at++) {
    for (const value of [(whole[at] as number) ^ 1, 0, 10]) {
      if (value === whole[at]) continue;
      const flipped = files.copy();
      const bytes = Buffer.from(whole);
      bytes[at] = value;
      flipped.put(LOG, bytes);
      const store = fileStore({ dir: '/store', files: flipped });
      // The digit of the format itself: it reads as a later version, which is refused by name.
      const handle = await store.load('s1').catch((thrown: unknown) => thrown as { code: string });
      if ('code' in handle) {
        expect([handle.code, whole[at]]).toEqual(['INCOMPATIBLE_VERSION', '1'.charCodeAt(0)]);
        continue;
      }
      const line = ends.findIndex((end) => at < end);
      const events = await readAll(handle);
      // What stands in the damaged line is lost; where that is only its end, nothing is.
      const isEnd = ends.includes(at + 1);
      expect(events).toEqual(bySeq(isEnd ? appended : appended.filter((_, index) => index !== line - 1)));
      expect(handle.agentName).toBe('desk');
      const [listed] = await store.list();
      expect([listed?.eventCount, listed?.lastUpdateTime]).toEqual([events.length, events.at(-1)?.timestamp]);
      expect(handle.gaps?.length).toBe(1);
      const [gap] = handle.gaps ?? [];
      // A line that begins with an end of line is two.
      const isTwo = value === 10 && (at === 0 || ends.includes(at));
      expect(gap?.line).toBe(line + (isTwo ? 2 : 1));
      await expect(handle.append(note(20))).rejects.toMatchObject({ code: 'SESSION_DAMAGED' });
      const report = await store.repair('s1');
      expect([report.gaps, report.eventCount]).toEqual([handle.gaps, events.length]);
      const mended = await store.load('s1');
      expect(mended.gaps).toEqual([]);
      await mended.append(note(20));
      expect(await readAll(mended)).toEqual([...events, note(20)]);
      await mended.close();
    }
  }
}, 60_000);

test('300 NUL bytes as a line in the middle are a gap with its place; all agree on what is last (B150)', async () => {
  const { files, ends } = await written();
  const whole = files.bytes(LOG);
  const at = ends[2] as number;
  files.put(LOG, Buffer.concat([whole.subarray(0, at), Buffer.alloc(300), Buffer.from('\n'), whole.subarray(at)]));
  const store = fileStore({ dir: '/store', files });
  const handle = await store.load('s1');
  expect(await readAll(handle)).toEqual(bySeq(appended));
  expect(handle.gaps).toEqual([{ kind: 'damaged', afterSeq: 2, line: 4, lines: 1, reason: '300 NUL bytes' }]);
  expect(handle.head?.lastSeq).toBe(9);
  expect((await store.list())[0]).toMatchObject({ eventCount: 5, lastUpdateTime: note(9).timestamp });
  await expect(handle.append(note(20))).rejects.toThrow(/line 4 .*300 NUL bytes.*troupe sessions repair s1/);
});

test('damaged lines that follow one another are one gap', async () => {
  const { files } = await written();
  const lines = files.text(LOG).split('\n');
  lines.splice(2, 0, 'rubbish', '{"a":1}', '\u0000');
  files.put(LOG, lines.join('\n'));
  const handle = await fileStore({ dir: '/store', files }).load('s1');
  expect(handle.gaps).toEqual([{ kind: 'damaged', afterSeq: 1, line: 3, lines: 3, reason: 'no JSON' }]);
  expect(await readAll(handle)).toHaveLength(5);
});

test('a record that a crash joined to the next is read, as is that', async () => {
  const { files, ends } = await written();
  const whole = files.bytes(LOG);
  const at = ends[3] as number;
  files.put(LOG, Buffer.concat([whole.subarray(0, at), whole.subarray(at, at + 30), whole.subarray(at)]));
  const handle = await fileStore({ dir: '/store', files }).load('s1');
  expect(await readAll(handle)).toEqual(bySeq(appended));
  expect(handle.gaps).toMatchObject([{ line: 5, lines: 1 }]);
});

const sound = (rest: string) => `{"crc":"${crc32(rest).toString(16).padStart(8, '0')}",${rest}\n`;

test('a record at a position that no event has is damage, however sound its checksum', async () => {
  const reason = 'no position that an event can have';
  for (const seq of ['0', '-3', '2.5', '1e3', '99999999999999999999', '"3"']) {
    const { files } = await written();
    const text = files.text(LOG);
    const end = text.indexOf('\n', text.indexOf('"seq":2')) + 1;
    for (const rest of [`"seq":${seq},"event":${JSON.stringify(note(3))}}`, `"reserve":${seq}}`]) {
      files.put(LOG, text.slice(0, end) + sound(rest) + text.slice(end));
      const store = fileStore({ dir: '/store', files });
      const handle = await store.load('s1');
      expect(handle.gaps, rest).toEqual([{ kind: 'damaged', afterSeq: 2, line: 4, lines: 1, reason }]);
      expect(handle.head, rest).toMatchObject({ lastSeq: 9, reservedSeq: 9, eventCount: 5 });
      expect(await readAll(handle), rest).toEqual(bySeq(appended));
      await expect(handle.append(note(20)), rest).rejects.toMatchObject({ code: 'SESSION_DAMAGED' });
    }
  }
});

test('an event is read at the position that its record gives it', async () => {
  const { files } = await written();
  const forged = { ...note(20), seq: 1e9 };
  files.put(LOG, files.text(LOG) + sound(`"seq":20,"event":${JSON.stringify(forged)}}`));
  expect((await readAll(await fileStore({ dir: '/store', files }).load('s1'))).at(-1)).toEqual(note(20));
});

test('a sound record that holds no event is SESSION_DAMAGED to whoever reads it', async () => {
  for (const event of ['null', '7', '{"id":']) {
    const { files } = await written();
    files.put(
      LOG,
      files.text(LOG).replace(/(\n[^\n]*"seq":2,)/, `\n${sound(`"seq":1,"event":${event}}`).trimEnd()}$1`),
    );
    files.put(LOG, files.text(LOG) + sound(`"seq":30,"event":${event}}`));
    const reading = fileStore({ dir: '/store', files }).load('s1').then(readAll);
    await expect(reading, event).rejects.toMatchObject({ code: 'SESSION_DAMAGED' });
  }
});

test('a session whose header is lost, and what was said of it, is listed as damaged: to its application, to no user', async () => {
  const { files } = await written();
  const own = fileStore({ dir: '/store', files });
  const other = await own.create('desk', { id: 's2', appName: 'shop', userId: 'ann' });
  await other.append(note(1));
  await other.close();
  const path = LOG.replace('s1', 's2');
  for (const id of ['s1', 's2']) {
    const log = LOG.replace('s1', id);
    files.put(log, files.text(log).replace('"troupe"', '"trouqe"'));
    await files.unlink(log.replace('log.jsonl', 'summary.json'));
  }
  const store = fileStore({ dir: '/store', files });
  const damage = 'its header is lost, whose it was is not known; a part of its log cannot be read';
  for (const scope of [undefined, { appName: 'shop' }, { appName: 'elsewhere' }]) {
    const listed = await store.list(undefined, scope);
    expect(listed.map(({ id, eventCount, damage }) => [id, eventCount, damage])).toEqual([
      ['s1', 5, damage],
      ['s2', 1, damage],
    ]);
  }
  for (const userId of ['ann', 'bob']) expect(await store.list(undefined, { appName: 'shop', userId })).toEqual([]);
  await store.repair('s2');
  expect(files.text(path)).toContain('"isLost":true');
  expect((await store.list()).map(({ id, damage }) => [id, damage])).toEqual([
    ['s1', damage],
    ['s2', 'its header is lost, whose it was is not known'],
  ]);
});

test('a handle of a deleted session writes nothing into one that took its name, its inode and its size', async () => {
  const disk = virtualFiles();
  const files = { ...disk, facts: async (fd: number) => ({ ...(await disk.facts(fd)), ino: 7 }) };
  const store = fileStore({ dir: '/store', files });
  for (const isWritten of [false, true]) {
    const made = await store.create('desk', { id: 's1' });
    if (isWritten) await made.append(note(1));
    await made.close();
    const handles = [made, await store.load('s1')];
    await store.delete('s1');
    const anew = await store.create('desk', { id: 's1' });
    if (isWritten) await anew.append(note(1));
    await anew.close();
    for (const handle of handles) {
      await expect(handle.append(note(2))).rejects.toMatchObject({ code: 'SESSION_STALE' });
    }
    expect(await readAll(await store.load('s1'))).toEqual(isWritten ? [note(1)] : []);
    await store.delete('s1');
  }
});
