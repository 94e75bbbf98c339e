import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.js';
import type { AgentEvent } from '../../src/contracts/index.js';
import { fileStore } from '../../src/stores/file.js';
import { calls, confirms, ends, eventList, initialize, returns, says } from './event-list.js';
import { fakeIo } from './fake-io.js';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'troupe-sessions-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function troupe(...args: string[]) {
  const io = fakeIo({ cwd });
  const code = await runProgram({ args: ['sessions', ...args], io, version: '1.2.3' });
  return { code, out: io.stdout.text, err: io.stderr.text };
}

const store = (dir = '.troupe') => fileStore({ dir: join(cwd, dir) });

async function stored(id: string, dir?: string): Promise<AgentEvent[]> {
  const events = eventList(
    initialize('desk'),
    calls('search', { q: 'x' }),
    returns('search'),
    says('the answer'),
    ends('completed'),
  );
  const handle = await store(dir).create('desk', { id, title: `About ${id}` });
  for (const event of events) await handle.append(event);
  await handle.close();
  return events;
}

const logOf = (id: string, dir = '.troupe') => join(cwd, dir, 'sessions', id, 'log.jsonl');

test('list names what is stored, newest first, and nothing where nothing is', async () => {
  expect(await troupe('list')).toEqual({ code: 0, out: 'no sessions\n', err: '' });
  expect(await troupe('list', '--json')).toEqual({ code: 0, out: '[]\n', err: '' });
  const events = await stored('s1');
  await stored('s2', 'elsewhere');
  const last = events.at(-1)?.timestamp;
  const { code, out } = await troupe('list');
  expect([code, out]).toEqual([0, `s1  ${last}  desk  5 events  About s1\n`]);
  expect(JSON.parse((await troupe('list', '--json')).out)).toEqual([
    { id: 's1', agentName: 'desk', title: 'About s1', lastUpdateTime: last, eventCount: 5 },
  ]);
  expect((await troupe('list', '--store', 'elsewhere')).out).toMatch(/^s2 /);
  expect((await troupe('list', '--agent', 'other')).out).toBe('no sessions\n');
});

test('show says what happened; as JSON it is one object that holds every event', async () => {
  const events = await stored('s1');
  const { code, out, err } = await troupe('show', 's1');
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain('session s1 of desk: 5 events');
  expect(out).toMatch(/calls search.*\n.*got search/);
  expect(out).toContain('the answer');
  const shown = JSON.parse((await troupe('show', 's1', '--json')).out);
  expect(shown).toMatchObject({ id: 's1', agentName: 'desk', lastSeq: events.at(-1)?.seq, eventCount: 5, gaps: [] });
  expect(shown.events).toEqual(events);
});

test('export writes the events as JSON lines, to stdout or into a new file', async () => {
  const events = await stored('s1');
  const { out } = await troupe('export', 's1');
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(events);
  expect(await troupe('export', 's1', '-o', 'run.jsonl')).toMatchObject({ code: 0, out: '5 events in run.jsonl\n' });
  expect(await readFile(join(cwd, 'run.jsonl'), 'utf8')).toBe(out);
  expect((await stat(join(cwd, 'run.jsonl'))).mode & 0o777).toBe(0o600);
  expect(await troupe('export', 's1', '-o', 'run.jsonl')).toMatchObject({ code: 2, out: '' });
});

test('a damaged log is shown with its gap, listed as it is read, and repaired', async () => {
  const events = await stored('s1');
  const lines = (await readFile(logOf('s1'), 'utf8')).split('\n');
  await writeFile(logOf('s1'), lines.with(3, '\0'.repeat(300)).join('\n'));
  const { out } = await troupe('show', 's1');
  expect(out).toContain('! line 4 cannot be read: 300 NUL bytes');
  expect(JSON.parse((await troupe('list', '--json')).out)[0]).toMatchObject({
    eventCount: 4,
    lastUpdateTime: events.at(-1)?.timestamp,
  });
  expect(await troupe('repair', 's1')).toMatchObject({
    code: 0,
    out: `s1: 1 gap taken out and kept in its archive; 4 events, the last ${events.at(-1)?.seq}\n  line 4: 300 NUL bytes\n`,
  });
  expect((await troupe('repair', 's1')).out).toBe('s1 is whole: nothing was done\n');
  expect(JSON.parse((await troupe('repair', 's1', '--json')).out)).toMatchObject({ gaps: [], eventCount: 4 });
});

test('resume names the option that repairs a damaged log, and has it; the list says that it is damaged', async () => {
  await stored('s1');
  await writeFile(join(cwd, 'desk.agent.md'), '---\nname: desk\ndescription: .\nmodel: scripted\n---\nGo.\n');
  await writeFile(join(cwd, 'script.json'), '[]');
  const lines = (await readFile(logOf('s1'), 'utf8')).split('\n');
  await writeFile(logOf('s1'), lines.with(3, '\0'.repeat(300)).join('\n'));
  expect((await troupe('list')).out).toContain('damaged: a part of its log cannot be read');
  const { code, err } = await troupe('resume', 's1', 'desk.agent.md', '--script', 'script.json');
  expect(code).toBe(2);
  expect(err).toMatch(/line 4 .*resume it with --repair, or repair it first \(troupe sessions repair s1\)\n$/);
  expect(await troupe('resume', 's1', 'desk.agent.md', '--repair', '--port', '4000')).toMatchObject({
    code: 2,
    err: 'troupe: --port is the port of Studio: give --studio with it\n',
  });
  await troupe('resume', 's1', 'desk.agent.md', '--script', 'script.json', '--repair');
  expect((await troupe('list')).out).not.toContain('damaged');
});

test('delete takes those that are named, or all that are older, and nothing unasked', async () => {
  for (const id of ['a', 'ab', 'abc']) await stored(id);
  expect(await troupe('delete')).toMatchObject({ code: 2, err: expect.stringContaining('--older-than') });
  expect(await troupe('delete', 'a', 'nobody', 'ab')).toMatchObject({
    code: 2,
    err: 'troupe: no session "nobody"; nothing was deleted\n',
  });
  expect((await troupe('delete', 'ab')).out).toBe('1 session deleted\n');
  expect(JSON.parse((await troupe('list', '--json')).out)).toHaveLength(2);
  expect(await troupe('delete', '--older-than', '1Y')).toMatchObject({ code: 2, err: expect.stringContaining('1Y') });
  expect(JSON.parse((await troupe('delete', '--older-than', '0s', '--json')).out).deleted.sort()).toEqual(['a', 'abc']);
});

test('what cannot be done is one sentence, with exit code 2', async () => {
  await stored('s1');
  for (const command of ['show', 'export', 'repair', 'delete']) {
    for (const id of ['nobody', '../s1', 'CON']) {
      const { code, out, err } = await troupe(command, id);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(/^troupe: .*\n$/);
    }
  }
  const handle = await store().load('s1');
  await handle.lock?.();
  expect(await troupe('delete', 's1')).toMatchObject({ code: 2, err: expect.stringContaining(`(${process.pid})`) });
  expect((await troupe('show', 's1')).code).toBe(0);
  await stored('s2');
  expect(await troupe('delete', 's2', 's1')).toMatchObject({ code: 2, err: expect.stringMatching(/before it: s2\n$/) });
  await handle.close();
});

test('what a log says cannot steer the terminal', async () => {
  const handle = await store().create('desk', { id: 's1', title: 'red \u001b[31m' });
  for (const event of eventList(initialize('desk'), says('\u001b]0;gotcha\u0007 \u202e'), confirms('c1', 'x')))
    await handle.append(event);
  await handle.close();
  for (const args of [['list'], ['show', 's1'], ['show', 's1', '--json'], ['export', 's1']]) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    expect((await troupe(...args)).out).not.toMatch(/[\u001b\u0007\u202e]/);
  }
});
