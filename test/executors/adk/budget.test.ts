import { FunctionTool, LlmAgent } from '@google/adk';
import { expect, test } from 'vitest';
import { agent, createHost, sequential } from '../../../src/index.js';
import { eventsOf } from '../../../src/testing/event-checks.js';
import { type ScriptEntry, scriptedModel, validateLog } from '../../../src/testing/index.js';
import { collect } from './collect.js';
import { ScriptedLlm } from './scripted-llm.js';

const policy = [{ tier: 'user' as const, rules: [{ toolName: '*', decision: 'allow' as const, priority: 1 }] }];
const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
const USED = { inputTokens: 100, outputTokens: 100 };
const CALLS: ScriptEntry[] = Array.from({ length: 4 }, () => ({
  toolCalls: [{ name: 'look', args: {} }],
  usage: USED,
}));
/** USD per million tokens: an output token costs a thousandth of a dollar. */
const prices = { 'scripted-llm': { input: 0, output: 1000 }, scripted: { input: 0, output: 1000 } };

const settings = (llm: ScriptedLlm) => ({
  name: 'legacy' as const,
  executor: 'adk' as const,
  backend: { agent: new LlmAgent({ name: 'a', model: llm, tools: [look] }) },
});
const legacy = (llm: ScriptedLlm) => agent(settings(llm));

test('a model of ADK’s own is asked for no more than the budget can pay, and not at all when that is used up', async () => {
  await using host = createHost({ policy, prices });
  const llm = new ScriptedLlm(CALLS);
  const run = host.run(legacy(llm), 'go', { maxBudgetUsd: 0.25 });
  expect(validateLog(await collect(run))).toEqual([]);
  const result = await run.result;
  expect(llm.requests.map(({ config }) => config?.maxOutputTokens)).toEqual([250, 150, 50]);
  expect([result.reason, result.data.limit]).toEqual(['max_budget', 'maxBudgetUsd']);
});

test('a try that failed gives back what was reserved for it', async () => {
  await using host = createHost({ policy, prices });
  const retryAfterMs = 0;
  const error = { code: 'UNAVAILABLE', message: 'busy', retryAfterMs };
  const llm = new ScriptedLlm([{ error }, { text: 'there', usage: USED }]);
  const result = await host.run(legacy(llm), 'go', { maxBudgetUsd: 0.25 }).result;
  expect(llm.requests.map(({ config }) => config?.maxOutputTokens)).toEqual([250, 250]);
  expect([result.text, result.cost]).toEqual(['there', { usd: 0.1 }]);
});

test('a limit in USD with a model of which nobody knows the price is refused before anything is asked', async () => {
  await using host = createHost({ policy, models: { scripted: scriptedModel([]) } });
  const llm = new ScriptedLlm(CALLS);
  expect(() => host.run(legacy(llm), 'go', { maxBudgetUsd: 1 })).toThrow('the model "scripted-llm": nothing says what');
  const limited = agent({ ...settings(llm), constraints: { maxBudgetUsd: 1 } });
  expect(() => host.run(sequential({ name: 'team', children: [limited] }), 'go')).toThrow('"scripted-llm"');
  const named = agent({
    name: 'x',
    executor: 'adk',
    backend: { agent: new LlmAgent({ name: 'a', model: 'gemini-x' }) },
  });
  expect(() => host.run(named, 'go', { maxBudgetUsd: 1 })).toThrow('"gemini/gemini-x"');
  expect(llm.requests).toEqual([]);
  expect(() => host.run(legacy(llm), 'go', { maxBudgetUsd: 1, model: 'scripted' })).toThrow(
    /nothing says what it costs/,
  );
});

test('so is an agent that is made for each session, once it has been made', async () => {
  await using host = createHost({ policy });
  const llm = new ScriptedLlm(CALLS);
  const made = () => Promise.resolve(new LlmAgent({ name: 'a', model: llm, tools: [look] }));
  const run = host.run(agent({ name: 'legacy', executor: 'adk', backend: { agent: made } }), 'go', { maxBudgetUsd: 1 });
  await expect(collect(run)).rejects.toMatchObject({ code: 'UNKNOWN_PRICE' });
  expect(llm.requests).toEqual([]);
});

test('a limit of tokens counts those of ADK’s own model', async () => {
  await using host = createHost({ policy });
  const llm = new ScriptedLlm(CALLS);
  const limited = agent({ ...settings(llm), constraints: { maxTokens: 150 } });
  const result = await host.run(limited, 'go').result;
  expect([result.reason, result.data.limit, llm.requests.length]).toEqual(['max_budget', 'maxTokens', 1]);
});

test('a model of the host that fails is stood in for by its fallback', async () => {
  const bad = scriptedModel([{ error: { code: 'UNAUTHENTICATED', message: 'no key' } }]);
  const good = scriptedModel([{ text: 'good' }]);
  await using host = createHost({ policy, models: { bad, good }, fallbacks: { bad: ['good'] } });
  const subject = agent({ name: 'x', executor: 'adk', model: 'bad', backend: { agent: new LlmAgent({ name: 'a' }) } });
  const run = host.run(subject, 'go');
  const events = await collect(run);
  expect(validateLog(events)).toEqual([]);
  expect((await run.result).text).toBe('good');
  expect(JSON.stringify(eventsOf(events, 'custom'))).toContain('MODEL_CHANGED');
});

test('the router chooses for an agent without a model, and not for one that has its own', async () => {
  const small = scriptedModel([{ text: 'small' }]);
  await using host = createHost({ policy, models: { big: scriptedModel([]), small }, router: () => 'small' });
  const bare = agent({ name: 'x', executor: 'adk', backend: { agent: new LlmAgent({ name: 'a' }) } });
  expect((await host.run(bare, 'go').result).text).toBe('small');
  expect((await host.run(legacy(new ScriptedLlm([{ text: 'mine' }])), 'go').result).text).toBe('mine');
});

test('a model that is not known is a failure that says so, with a budget or without one', async () => {
  await using host = createHost({ policy, prices, models: { scripted: scriptedModel([]) } });
  const lost = agent({
    name: 'x',
    executor: 'adk',
    model: 'nope/x',
    constraints: { maxTokens: 1_000 },
    backend: { agent: new LlmAgent({ name: 'a' }) },
  });
  const run = host.run(lost, 'go');
  const events = await collect(run);
  expect((await run.result).data).toMatchObject({ code: 'UNKNOWN_MODEL', message: expect.stringContaining('nope/x') });
  expect(eventsOf(events, 'error').length).toBe(1);
});
