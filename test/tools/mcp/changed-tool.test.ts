import { expect, test } from 'vitest';
import type { AgentEvent, ElicitationAnswer } from '../../../src/contracts/index.js';
import { agent, createHost, memoryStore } from '../../../src/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { mcpTools } from '../../../src/tools/mcp.js';
import { collect } from '../../support/team.js';
import { call, hostileServer, noticesIn, responsesIn, textIn } from './hosted.js';

const allowFine = { rules: [{ toolName: 'mcp_bad_fine', decision: 'allow' as const }] };
const work = call('mcp_bad_work');
const fine = call('mcp_bad_fine');
const user = agent({ name: 'user', tools: ['mcp_*'] });

/** What is asked when `work` is called in two messages, with "always" said at the first and `change` in between. */
async function asked(kind: string, outcome: string): Promise<number> {
  let questions = 0;
  await using host = createHost({
    models: { scripted: scriptedModel([work, fine, { text: 'one' }, work, { text: 'two' }]) },
    policy: [allowFine],
    elicitation: async (): Promise<ElicitationAnswer> => {
      questions++;
      return { action: 'accept', content: { outcome } };
    },
    tools: [mcpTools({ servers: { bad: hostileServer(kind) } })],
  });
  const session = host.session(user);
  const said: string[] = [];
  for (const content of ['one', 'two']) {
    const events: AgentEvent[] = [];
    for await (const event of session.stream({ kind: 'message', content }).stream) events.push(event);
    said.push(...responsesIn(events).map(textIn));
  }
  expect(said).toEqual(['worked', 'fine', 'worked']);
  return questions;
}

test.each(['proceed_always', 'proceed_always_tool'])(
  '%s holds while the tool says the same of itself',
  async (outcome) => {
    expect(await asked('rug-none', outcome)).toBe(1);
  },
);

test.each(['rug-title', 'rug-description', 'rug-schema', 'rug-hints', 'rug-unbelieved-hints'])(
  '%s: a tool that says another thing of itself is asked about again, whatever was allowed always',
  async (kind) => {
    expect(await asked(kind, 'proceed_always')).toBe(2);
    expect(await asked(kind, 'proceed_always_tool')).toBe(2);
  },
);

test('"always" for a server is for its tools whatever they say of themselves', async () => {
  expect(await asked('rug-description', 'proceed_always_server')).toBe(1);
});

test.each([
  ['rug-none', 'plain', 1],
  ['plain', 'words', 2],
])('after a restart likewise: %s, then %s', async (first, then, count) => {
  const store = memoryStore();
  let questions = 0;
  let sessionId = '';
  for (const kind of [first, then]) {
    await using host = createHost({
      store,
      models: { scripted: scriptedModel([work, { text: 'done' }]) },
      elicitation: async (): Promise<ElicitationAnswer> => {
        questions++;
        return { action: 'accept', content: { outcome: 'proceed_always_tool' } };
      },
      tools: [mcpTools({ servers: { bad: hostileServer(kind) } })],
    });
    const run = host.run(user, 'go', sessionId === '' ? {} : { sessionId });
    await collect(run);
    sessionId = run.sessionId;
  }
  expect(questions).toBe(count);
});

test('a tool that changes while it is asked about is asked about again, and it is told why', async () => {
  let questions = 0;
  await using host = createHost({
    models: { scripted: scriptedModel([work, fine, { text: 'it has' }, { text: 'listed' }, { text: 'done' }]) },
    policy: [allowFine],
    elicitation: async (): Promise<ElicitationAnswer> => {
      // Another run makes the server change, and a third begins with the new list.
      if (++questions === 1) for (const message of ['change', 'list']) await collect(host.run(user, message));
      return { action: 'accept' };
    },
    tools: [mcpTools({ servers: { bad: hostileServer('rug-description') } })],
  });
  const events = await collect(host.run(user, 'go'));
  expect(questions).toBe(2);
  expect(noticesIn(events)).toMatchObject([{ code: 'APPROVAL_VOID', text: expect.stringContaining('says of itself') }]);
  expect(responsesIn(events).map(textIn)).toEqual(['worked']);
});
