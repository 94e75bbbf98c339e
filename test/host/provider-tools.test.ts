import { expect, test } from 'vitest';
import type { PolicyRule, PolicyRuleSet } from '../../src/index.js';
import { agent, createHost, hierarchical, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';

const SEARCH = 'provider:google_search';
const ALLOW: PolicyRule = { toolName: SEARCH, decision: 'allow' };
const write = tool({ name: 'write', description: 'Writes.', parameters: { type: 'object' }, execute: () => 'written' });
const searcher = agent({ name: 'searcher', description: 'Searches.', tools: [write, SEARCH] });

async function offered(policy: readonly PolicyRuleSet[], permissionMode = 'default', rounds = 1) {
  const answers = Array.from({ length: rounds }, (_, at) =>
    at < rounds - 1 ? { toolCalls: [{ name: 'write', args: {} }] } : { text: 'done' },
  );
  const model = scriptedModel(answers);
  await using host = createHost({ models: { scripted: model }, policy });
  const events = await collect(host.run(searcher, 'Go.', { permissionMode }));
  const notices = ofType(events, 'custom').filter(({ data }) => Object(data).code === 'PROVIDER_TOOL_LEFT_OUT');
  return { events, notices, tools: model.requests.map(({ tools = [] }) => tools.map(({ name }) => name)) };
}

test('a tool of the provider is declared where a rule allows it, behind the others, and marked', async () => {
  const { events, notices, tools } = await offered([{ rules: [ALLOW] }]);
  expect(tools).toEqual([['write', SEARCH]]);
  expect(notices).toEqual([]);
  const [initialize] = ofType(events, 'initialize');
  expect(initialize?.tools?.at(-1)).toEqual({
    name: SEARCH,
    description: 'Run by the provider of the model.',
    parametersSchema: { type: 'object' },
    annotations: { category: 'other', providerExecuted: true },
  });
});

test('what policy would ask about or denies is not declared, and a notice says why, once', async () => {
  const asked = await offered([{ rules: [{ toolName: 'searcher.write', decision: 'allow' }] }], 'default', 3);
  expect(asked.tools).toEqual([['write'], ['write'], ['write']]);
  expect(asked.notices).toHaveLength(1);
  expect(asked.notices[0]?.data).toMatchObject({ text: expect.stringContaining('a rule has to allow it') });
  const denied = await offered(
    [{ rules: [{ ...ALLOW, decision: 'deny', denyMessage: 'no searching' }] }],
    'autonomous',
  );
  expect(denied.tools).toEqual([['write']]);
  expect(denied.notices[0]?.data).toMatchObject({ text: expect.stringContaining('no searching') });
});

test.each([
  ['autonomous', true],
  ['plan', false],
  ['dont_ask', false],
  ['auto_edit', false],
])('without a rule the mode decides: %s', async (mode, isOffered) => {
  const { tools } = await offered([], mode);
  expect(tools[0]?.includes(SEARCH)).toBe(isOffered);
});

test('an evaluator has a say; one that does not answer at once has not agreed', async () => {
  const evaluated = async (evaluate: () => never) => {
    const model = scriptedModel([{ text: 'done' }]);
    await using host = createHost({ models: { scripted: model }, policy: [{ rules: [ALLOW] }, { evaluate }] });
    await collect(host.run(searcher, 'Go.'));
    return model.requests[0]?.tools?.map(({ name }) => name);
  };
  expect(await evaluated(() => ({ outcome: 'allow' }) as never)).toEqual(['write', SEARCH]);
  expect(await evaluated(() => Promise.resolve({ outcome: 'allow' }) as never)).toEqual(['write']);
  expect(await evaluated(() => ({ outcome: 'deny', reason: 'no' }) as never)).toEqual(['write']);
});

test('below a leader it is declared only where the leader may have it as well', async () => {
  const lead = hierarchical({ name: 'lead', agent: agent({ name: 'planner' }), children: [searcher] });
  const offeredBelow = async (rules: readonly PolicyRule[]) => {
    const model = scriptedModel({
      byAgent: {
        planner: [{ toolCalls: [{ name: 'searcher', args: { prompt: 'x' } }] }, { text: 'done' }],
        searcher: [{ text: 'found' }],
      },
    });
    await using host = createHost({ models: { scripted: model }, policy: [{ rules }] });
    await collect(host.run(lead, 'Go.'));
    return model.requests.flatMap(({ tools = [] }) => tools.map(({ name }) => name)).includes(SEARCH);
  };
  expect(await offeredBelow([ALLOW])).toBe(true);
  expect(await offeredBelow([{ ...ALLOW, principal: 'searcher' }])).toBe(false);
  expect(await offeredBelow([{ ...ALLOW, principal: 'searcher', grant: true }])).toBe(true);
});

test('a model that calls it by name, as if it were a function, calls nothing', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: SEARCH, args: {} }] }, { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, policy: [{ rules: [ALLOW] }] });
  const events = await collect(host.run(searcher, 'Go.'));
  expect(ofType(events, 'tool_response')).toMatchObject([{ isError: true, errorType: 'tool_not_registered' }]);
});
