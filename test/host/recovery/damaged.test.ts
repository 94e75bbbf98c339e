import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agent, createHost, tool } from '../../../src/index.js';
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
        message: expect.stringContaining(`line ${line + 1}`),
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
