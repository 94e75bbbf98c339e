import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agent, createHost, tool } from '../../../src/index.js';
import { fileStore } from '../../../src/stores/file.js';
import { scriptedModel, virtualClock } from '../../../src/testing/index.js';
import { leaf, readAll } from '../../support/team.js';
import { until } from '../../support/teams.js';

const id = 's';
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'refused-'));
});
afterEach(() => rm(dir, { recursive: true }));

const hostOn = (text = 'said') =>
  createHost({
    models: { scripted: scriptedModel(() => ({ text })) },
    store: fileStore({ dir }),
    clock: virtualClock(),
  });

test('while another host runs a session, a message is refused as locked, and not as cut off', async () => {
  const pay = tool({ name: 'pay', description: '.', parameters: { type: 'object' }, execute: () => 'paid' });
  const team = agent({ name: 'a', tools: [pay] });
  const model = scriptedModel([{ toolCalls: [{ name: 'pay', args: {} }] }, { text: 'done' }]);
  await using owner = createHost({ models: { scripted: model }, store: fileStore({ dir }), clock: virtualClock() });
  await using other = hostOn();
  const run = owner.run(team, 'go', { sessionId: id });
  const reading = readAll(run);
  await until(() => run.state().pending.length === 1);
  await expect(other.run(team, 'me too', { sessionId: id }).result).rejects.toMatchObject({ code: 'SESSION_LOCKED' });
  run.respond(run.state().pending[0]?.requestId as string, { action: 'decline' });
  await reading;
  expect(await run.result).toMatchObject({ ok: true, text: 'done' });
});

const damages: Record<string, (log: string) => string> = {
  'a block of NUL bytes in its middle': (log) => log.replace(/\n/, `\n${'\0'.repeat(300)}\n`),
  'a flipped byte': (log) => log.replace('"go"', '"gp"'),
  'another file in its place': () => 'this is no log\n',
  'another file in its place, of one line without an end': () => 'this is no log',
  'bytes that are no text in its place': () => '\x01\x02\x03',
};

test.each(Object.entries(damages))('a log with %s takes no message, and stays as it is', async (_, damage) => {
  await using first = hostOn();
  await first.run(leaf('a'), 'go', { sessionId: id }).result;
  await first.close();
  const path = join(dir, 'sessions', id, 'log.jsonl');
  const damaged = damage(await readFile(path, 'utf8'));
  await writeFile(path, damaged);
  await using host = hostOn();
  const refused = { code: 'SESSION_DAMAGED', message: expect.stringContaining('line ') };
  await expect(host.run(leaf('a'), 'more', { sessionId: id }).result).rejects.toMatchObject(refused);
  await expect(host.resume(id, { agent: leaf('a') })).rejects.toMatchObject(refused);
  await expect(host.rewind(id, { to: 1 })).rejects.toMatchObject(refused);
  expect(await readFile(path, 'utf8')).toBe(damaged);
});

test('a log of which nothing can be read is not forked', async () => {
  await using first = hostOn();
  await first.run(leaf('a'), 'go', { sessionId: id }).result;
  await first.close();
  await writeFile(join(dir, 'sessions', id, 'log.jsonl'), 'this is no log\n');
  await using host = hostOn();
  await expect(host.fork(id)).rejects.toMatchObject({ code: 'SESSION_DAMAGED' });
});
