import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/contracts/index.js';
import { createHost } from '../../../src/index.js';
import { fileStore } from '../../../src/stores/file.js';
import { validateLog } from '../../../src/testing/index.js';
import { buildProgram } from '../../support/built-program.js';
import { givenIn, paidIn, payingModel, payingTeam } from '../../support/killed-run.js';
import { PROCESS_LIMIT_MS } from '../../support/process-limit.js';
import { logOf } from '../../support/team.js';

/** A program starts within a second, later on a machine that is busy. */

let program: Awaited<ReturnType<typeof buildProgram>>;
beforeAll(async () => {
  program = await buildProgram('test/support/killed-run.ts');
}, PROCESS_LIMIT_MS);
afterAll(() => program.remove());

const points = [
  'initialize 1',
  'agent_started 2',
  'message 3',
  'tool_request 1',
  'tool_request 2',
  'elicitation_request 1',
  'elicitation_response 1',
  'before the payment',
  'after the payment',
  'tool_response 1',
  'tool_response 2',
  'agent_completed 1',
  'agent_completed 3',
  'session_update 1',
  'stream_end 1',
  'stream_end 5',
  'the result',
];

/** What no log need have: progress, and increments of a message that was not finished. */
const isLogged = (event: AgentEvent) =>
  event.type !== 'tool_update' && !(event.type === 'message' && event.role === 'agent');

test.each(points)(
  'killed behind %s it loses nothing that was given, and pays once',
  async (point) => {
    const dir = await mkdtemp(join(tmpdir(), 'killed-'));
    try {
      expect(await program.run([dir, point])).toEqual({ err: '', ended: 'SIGKILL' });
      const given = givenIn(dir);
      const store = fileStore({ dir: join(dir, 'store') });
      const before = await logOf(store, 'killed');
      const ids = new Set(before.map(({ id }) => id));
      expect(given.filter((event) => isLogged(event) && !ids.has(event.id))).toEqual([]);

      await using host = createHost({ models: { scripted: payingModel() }, store });
      if (before.every(({ type }) => type !== 'message')) {
        await expect(host.resume('killed', { agent: payingTeam(dir) })).rejects.toMatchObject({
          code: 'SESSION_STALE',
        });
        return;
      }
      const run = await host.resume('killed', { agent: payingTeam(dir) });
      const seen: AgentEvent[] = [];
      for await (const event of run) {
        seen.push(event);
        if (event.type !== 'elicitation_request') continue;
        const called = String(event.context?.toolRequestId);
        const known = paidIn(dir).includes(called) ? { outcome: 'result', result: 'paid' } : { outcome: 'run_again' };
        run.respond(
          event.requestId,
          event.kind === 'tool_recovery' ? { action: 'accept', content: known } : { action: 'accept' },
        );
      }
      const { ok, text } = await run.result;
      expect({ ok, text }).toMatchObject({ ok: true, text: expect.stringMatching(/^seen 1: .*paid it.*saw it/) });
      expect(paidIn(dir)).toHaveLength(1);
      const log = await logOf(store, 'killed');
      expect(validateLog(log, { finished: true })).toEqual([]);
      // Nothing is given out twice, whatever was in no log.
      const taken = new Set(given.map(({ seq }) => seq));
      const old = new Set(before.map(({ id }) => id));
      expect(seen.filter(({ id, seq }) => taken.has(seq) && !old.has(id))).toEqual([]);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  },
  PROCESS_LIMIT_MS,
);
