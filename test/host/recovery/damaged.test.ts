import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agent, createHost, TroupeError, tool } from '../../../src/index.js';
import { fileStore } from '../../../src/stores/file.js';
import { scriptedModel, validateLog, virtualClock } from '../../../src/testing/index.js';
import { answersIn, recordRun } from '../../support/broken-log.js';
import { logOf, ofType } from '../../support/team.js';

const id = 's';
const look = tool({
  name: 'look',
  description: '.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const team = () => agent({ name: 'a', tools: [look] });
const byAgent = {
  a: (request: Parameters<typeof answersIn>[0]) =>
    answersIn(request).length < 2 ? { toolCalls: [{ name: 'look', args: {} }] } : { text: 'done' },
};

/** Every line of the middle of a log in turn is damaged. */
test('a damaged log is refused, naming where, and goes on once it is repaired: whole, and nothing open', async () => {
  const { log } = await recordRun({ team, byAgent });
  const lost = log.slice(2, -1);
  for (const [at, gone] of lost.entries()) {
    const dir = await mkdtemp(join(tmpdir(), 'damaged-'));
    try {
      const store = fileStore({ dir });
      const handle = await store.create('a', { id });
      for (const event of log.slice(0, -1)) await handle.append(structuredClone(event));
      await handle.close();
      const path = join(dir, 'sessions', id, 'log.jsonl');
      const lines = (await readFile(path, 'utf8')).split('\n');
      const line = lines.findIndex((text) => text.includes(`"${gone.id}"`));
      lines[line] = '\0'.repeat(300);
      await writeFile(path, lines.join('\n'));

      const model = () => scriptedModel({ byAgent } as never);
      await using host = createHost({ models: { scripted: model() }, store, clock: virtualClock() });
      const where = `${at}: ${gone.type}`;
      if (line === lines.length - 2) continue;
      await expect(host.resume(id, { agent: team() }), where).rejects.toMatchObject({
        code: 'SESSION_DAMAGED',
        message: expect.stringMatching(new RegExp(`line ${line + 1} .*troupe sessions repair ${id}\\)`)),
      });
      const run = await host.resume(id, { agent: team(), repair: true });
      for await (const event of run) {
        if (event.type === 'elicitation_request') run.respond(event.requestId, { action: 'decline' });
      }
      expect((await run.result).ok, where).toBe(true);
      const whole = await logOf(store, id);
      const open = (kind: 'tool_request' | 'tool_response') => ofType(whole, kind).map(({ requestId }) => requestId);
      expect(
        open('tool_request').filter((requestId) => !open('tool_response').includes(requestId)),
        where,
      ).toEqual([]);
      if (!['tool_request', 'message'].includes(gone.type)) {
        expect(validateLog(whole, { finished: true }), where).toEqual([]);
      }
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }
});

/** A log of a run that was cut off, with a line in its middle that cannot be read. */
async function damagedLog(dir: string): Promise<{ store: ReturnType<typeof fileStore>; files(): Promise<string> }> {
  const { log } = await recordRun({ team, byAgent });
  const store = fileStore({ dir });
  const handle = await store.create('a', { id });
  for (const event of log.slice(0, -1)) await handle.append(structuredClone(event));
  await handle.close();
  const directory = join(dir, 'sessions', id);
  const path = join(directory, 'log.jsonl');
  const lines = (await readFile(path, 'utf8')).split('\n');
  lines[4] = '\0'.repeat(30);
  await writeFile(path, lines.join('\n'));
  return {
    store,
    async files() {
      const names = (await readdir(directory, { recursive: true })).sort();
      return `${names.join(' ')}\n${await readFile(path, 'latin1')}`;
    },
  };
}

test('a resume that is refused has repaired nothing: not for another definition, an unknown agent, a failed migration', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'damaged-'));
  try {
    const { store, files } = await damagedLog(dir);
    const before = await files();
    const scripted = scriptedModel({ byAgent } as never);
    await using host = createHost({ models: { scripted }, store, clock: virtualClock() });
    const refused = async (options: Parameters<typeof host.resume>[1], code: string) => {
      await expect(host.resume(id, { ...options, repair: true }), code).rejects.toMatchObject({ code });
      expect(await files(), code).toBe(before);
    };
    const other = agent({ name: 'a', instruction: 'another one', tools: [look] });
    await refused({ agent: other }, 'DEFINITION_CHANGED');
    await refused({ agent: agent({ name: 'b' }) }, 'DEFINITION_CHANGED');
    await refused({}, 'UNKNOWN_AGENT');
    await refused({ agent: team(), model: 'nowhere/none' }, 'UNKNOWN_MODEL');
    const migrate = () => Promise.reject(new TroupeError({ code: 'NOT_MIGRATED', message: 'no' }));
    await refused({ agent: other, migrate }, 'NOT_MIGRATED');

    const migrated = await host.resume(id, { agent: other, repair: true, migrate: () => ({ moved: true }) });
    expect((await migrated.result).ok).toBe(true);
    const updates = ofType(await logOf(store, id), 'session_update');
    expect(updates.filter(({ _meta }) => _meta?.migrated === true)).toMatchObject([{ stateDelta: { moved: true } }]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test('a fork of a damaged session says what is not in it', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'damaged-'));
  try {
    const { store, files } = await damagedLog(dir);
    const before = await files();
    await using host = createHost({ store, clock: virtualClock() });
    const { sessionId } = await host.fork(id);
    const told = ofType(await logOf(store, sessionId), 'custom').filter(({ kind }) => kind === 'notice');
    expect(told.map(({ data }) => data)).toMatchObject([
      { code: 'FORK_DAMAGED', text: 's is damaged at line 5 (30 NUL bytes): what stood there is not in the fork' },
    ]);
    expect(await files()).toBe(before);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
