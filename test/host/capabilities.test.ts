import { expect, test } from 'vitest';
import type { Executor } from '../../src/contracts/index.js';
import { agent, createHost, sequential } from '../../src/index.js';
import { collect, ofType } from '../support/team.js';

const able = (...capabilities: string[]): Executor => ({
  capabilities,
  turn: async () => ({ reason: 'completed' }),
});

async function run(executor: Executor, declared?: string[], below = false) {
  await using host = createHost({});
  host.registerExecutor('theirs', () => executor);
  const one = agent({ name: 'one', executor: 'theirs', ...(declared && { capabilities: declared }) });
  const events = await collect(host.run(below ? sequential({ name: 'team', children: [one] }) : one, 'go'));
  const notices = ofType(events, 'custom').flatMap(({ data }) => {
    const { code, text } = data as { code: string; text: string };
    return code === 'CAPABILITIES' ? [text] : [];
  });
  return { initialize: ofType(events, 'initialize')[0], notices };
}

test('initialize has what the executor can do, where its agent declares nothing', async () => {
  const { initialize, notices } = await run(able('streaming', 'telepathy'));
  expect(initialize?.capabilities).toEqual(['streaming', 'telepathy']);
  expect(notices).toEqual([]);
});

test('what an agent declares and its executor cannot do is left out, and told once', async () => {
  const { initialize, notices } = await run(able('streaming'), ['streaming', 'elicitation', 'usage']);
  expect(initialize?.capabilities).toEqual(['streaming']);
  expect(notices).toEqual(['one cannot do all that it declares: elicitation, usage']);
});

test('of an agent in a team it is told before it does anything', async () => {
  const { notices } = await run(able('streaming'), ['streaming', 'elicitation'], true);
  expect(notices).toEqual(['one cannot do all that it declares: elicitation']);
});

test('an executor that says nothing of it can do what its agent declares', async () => {
  const { initialize, notices } = await run({ turn: async () => ({ reason: 'completed' }) }, ['elicitation']);
  expect(initialize?.capabilities).toEqual(['elicitation']);
  expect(notices).toEqual([]);
});
