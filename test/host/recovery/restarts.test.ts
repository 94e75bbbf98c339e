import { expect, test } from 'vitest';
import { agent, sequential } from '../../../src/index.js';
import { validateLog } from '../../../src/testing/index.js';
import { type BrokenTeam, goOn, recordRun } from '../../support/broken-log.js';
import { startedIn } from '../../support/teams.js';

test('a child whose start was cut off is started once, and its restart is another thread', async () => {
  const broken: BrokenTeam = {
    team: () =>
      sequential({
        name: 's',
        children: [agent({ name: 'a' })],
        supervise: { children: { a: { restart: 'on_failure', maxRestarts: 1 } } },
      }),
    byAgent: { a: () => ({ error: { code: 'BOOM', message: 'boom', retryable: false } }) },
  };
  const { log } = await recordRun(broken);
  expect(startedIn(log)).toEqual(['a', 'a']);
  const starts = log.flatMap((event, at) => (event.type === 'agent_started' ? [at] : []));
  for (const at of starts) {
    const again = await goOn(broken, log.slice(0, at + 1), 's');
    expect(validateLog(again.log, { finished: true })).toEqual([]);
    expect(startedIn(again.log)).toEqual(['a', 'a']);
    expect(again.result).toMatchObject({ reason: 'failed' });
  }
});
