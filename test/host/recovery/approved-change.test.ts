import { expect, test } from 'vitest';
import type { ToolDefinition } from '../../../src/contracts/index.js';
import { agent } from '../../../src/define/agent.js';
import { createHost } from '../../../src/index.js';
import { scriptedModel, validateLog, virtualClock } from '../../../src/testing/index.js';
import { answersIn, recordRun, storeWith } from '../../support/broken-log.js';
import { logOf, ofType } from '../../support/team.js';

const id = 's';

/** Saves over a file that is `before` as long as nobody else writes it. */
function saving(before: string, ran: string[]) {
  const save: ToolDefinition = {
    kind: 'tool',
    name: 'save',
    descriptor: { name: 'save', description: '.', parametersSchema: { type: 'object' } },
    preview: () => ({ diff: `-${before}\n+mine\n` }),
    execute: () => {
      ran.push(before);
      return 'saved';
    },
  };
  return agent({ name: 'a', tools: [save] });
}

const byAgent = {
  a: (request: Parameters<typeof answersIn>[0]) =>
    answersIn(request).length === 0 ? { toolCalls: [{ id: 'c1', name: 'save', args: {} }] } : { text: 'done' },
};

/** Takes the run up behind its first event of that type, with a file that is `before` by now; says yes to everything. */
async function takenUpBehind(type: 'elicitation_request' | 'elicitation_response', before: string) {
  const { log } = await recordRun({ team: (ran) => saving('old', ran), byAgent });
  const store = await storeWith(log.slice(0, log.findIndex((event) => event.type === type) + 1), {
    id,
    agentName: 'a',
  });
  const ran: string[] = [];
  await using host = createHost({
    models: { scripted: scriptedModel({ byAgent } as never) },
    store,
    clock: virtualClock(),
  });
  const run = await host.resume(id, { agent: saving(before, ran) });
  const shown: unknown[] = [];
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    expect(ran).toEqual([]);
    shown.push(event.context?.diff);
    run.respond(event.requestId, { action: 'accept' });
  }
  const whole = await logOf(store, id);
  expect(validateLog(whole, { finished: true })).toEqual([]);
  expect(ofType(whole, 'tool_response')).toMatchObject([{ llmContent: [{ text: 'saved' }] }]);
  return { shown, ran };
}

test('an approval that is asked for across a restart is asked for again where the change is another by then', async () => {
  expect(await takenUpBehind('elicitation_request', 'old')).toEqual({ shown: ['-old\n+mine\n'], ran: ['old'] });
  expect(await takenUpBehind('elicitation_request', 'theirs')).toEqual({
    shown: ['-old\n+mine\n', '-theirs\n+mine\n'],
    ran: ['theirs'],
  });
});

test('an approval that was given before a restart holds for the change that it was given for alone', async () => {
  expect(await takenUpBehind('elicitation_response', 'old')).toEqual({ shown: [], ran: ['old'] });
  expect(await takenUpBehind('elicitation_response', 'theirs')).toEqual({
    shown: ['-theirs\n+mine\n'],
    ran: ['theirs'],
  });
});
