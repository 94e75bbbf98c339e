import { expect, test } from 'vitest';
import { agent, tool } from '../../../src/index.js';
import { validateLog } from '../../../src/testing/index.js';
import { answersIn, type BrokenTeam, goOn, recordRun } from '../../support/broken-log.js';
import { ofType } from '../../support/team.js';

const broken: BrokenTeam = {
  team: () =>
    agent({
      name: 'a',
      tools: [
        tool({
          name: 'look',
          description: 'look',
          parameters: { type: 'object' },
          annotations: { readOnly: true },
          execute: () => 'seen',
        }),
      ],
    }),
  byAgent: {
    a: (request) =>
      answersIn(request).length > 0
        ? { text: 'done' }
        : {
            toolCalls: [
              { name: 'look', args: {} },
              { name: 'look', args: {} },
            ],
          },
  },
};

test('calls of a turn that was given up are answered, also when the process ended right behind that', async () => {
  const { log } = await recordRun(broken);
  const first = log.findIndex((event) => event.type === 'tool_request');
  const once = await goOn(broken, log.slice(0, first + 1), 'a');
  const givenUp = once.log.findIndex((event) => event.type === 'custom' && event.kind === 'interrupted');
  expect(givenUp).toBeGreaterThan(first);
  const twice = await goOn(broken, once.log.slice(0, givenUp + 1), 'a');
  expect(validateLog(twice.log, { finished: true })).toEqual([]);
  expect(ofType(twice.log, 'tool_response')[0]).toMatchObject({ requestId: 'c1', errorType: 'cancelled' });
  expect(twice.result).toMatchObject({ ok: true, text: 'done' });
});
