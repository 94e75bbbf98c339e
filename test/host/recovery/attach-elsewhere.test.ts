import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AgentEvent, SessionProvider } from '../../../src/contracts/index.js';
import { createHost, memoryStore, parallel } from '../../../src/index.js';
import { fileStore } from '../../../src/stores/file.js';
import { scriptedModel, validateLog } from '../../../src/testing/index.js';
import { storeWith } from '../../support/broken-log.js';
import { deferred, leaf, logOf, readAll, settle } from '../../support/team.js';

const id = 's';

const withFiles = async (use: (stores: [SessionProvider, SessionProvider]) => Promise<void>) => {
  const dir = await mkdtemp(join(tmpdir(), 'attach-'));
  try {
    await use([fileStore({ dir }), fileStore({ dir })]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};
const withMemory = (use: (stores: [SessionProvider, SessionProvider]) => Promise<void>) => {
  const store = memoryStore();
  return use([store, store]);
};

test.each([
  ['files', withFiles],
  ['memory', withMemory],
])('a reader in another host follows a run to its end, with no gap and no double (%s)', async (_, withStores) => {
  await withStores(async ([own, other]) => {
    const held = deferred<{ text: string[] }>();
    const models = { scripted: scriptedModel({ byAgent: { a: [{ text: 'A' }], b: () => held.promise } } as never) };
    await using owner = createHost({ models, store: own });
    await using reader = createHost({ models: { scripted: scriptedModel([]) }, store: other });
    const run = owner.run(parallel({ name: 'p', children: [leaf('a'), leaf('b')] }), 'go', { sessionId: id });
    const begun = deferred();
    const written = (async () => {
      for await (const event of run) if (event.type === 'initialize') begun.resolve();
    })();
    await begun.promise;
    const all: AgentEvent[] = [];
    const middle = deferred<number>();
    const following = (async () => {
      for await (const event of reader.attach(id)) {
        all.push(event);
        if (event.type === 'agent_completed') middle.resolve(event.seq);
      }
    })();
    const after = await middle.promise;
    const late = readAll(reader.attach(id, { after }));
    held.resolve({ text: ['B', '!'] });
    await written;
    await following;
    const log = await logOf(other, id);
    expect([...all].sort((a, b) => a.seq - b.seq)).toEqual(log);
    expect(validateLog(all, { finished: true })).toEqual([]);
    expect((await late).map((event) => event.seq)).toEqual(log.map(({ seq }) => seq).filter((seq) => seq > after));
  });
});

test('where nobody writes, a reader is given what there is', async () => {
  const held = deferred<{ text: string }>();
  const store = memoryStore();
  const owner = createHost({ models: { scripted: scriptedModel(() => held.promise) }, store });
  void owner.run(leaf('a'), 'go', { sessionId: id }).result;
  await settle();
  const part = await logOf(store, id);
  await using reader = createHost({ models: {}, store: await storeWith(part, { id, agentName: 'a' }) });
  expect(await readAll(reader.attach(id))).toEqual(part);
  await expect(readAll(reader.attach(id, { after: 'nosuch' }))).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  held.resolve({ text: 'x' });
  await owner.close();
});
