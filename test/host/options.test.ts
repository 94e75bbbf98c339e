import { expect, test } from 'vitest';
import { agent, createHost, parallel, textOf } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';

const leaf = (name: string) => agent({ name, description: 'Does it.' });
const newHost = () => createHost({ models: { scripted: scriptedModel(() => ({ text: 'done' })) } });

test('an option that nobody reads is refused, with the one that may have been meant', async () => {
  expect(() => createHost({ modles: {} } as never)).toThrow(/no option "modles".*models/);
  const host = newHost();
  expect(() => host.run(leaf('a'), 'x', { permisionMode: 'plan' } as never)).toThrow(
    /no option "permisionMode".*permissionMode/,
  );
  expect(() => host.session(leaf('a'), { nope: 1 } as never)).toThrow(/no option "nope"/);
  await host.close();
});

test('an input is a text, parts or an object; anything else is refused before anything runs', async () => {
  const host = newHost();
  for (const input of [undefined, 7, null, true]) {
    expect(() => host.run(leaf('a'), input as never)).toThrow(/input of "a" does not fit/);
  }
  expect(await host.list()).toEqual([]);
  await host.close();
});

test('a model that a run asks for in vain is told once, however many agents there are', async () => {
  const host = newHost();
  const team = parallel({ name: 'team', children: [leaf('a'), leaf('b'), leaf('c')] });
  expect(() => host.run(team, 'x', { model: 'nobody/one' })).toThrow(/^options\.model: no model "nobody\/one"/);
  await host.close();
});

test('the text of parts is what a person reads of them', () => {
  expect(
    textOf([
      { type: 'text', text: 'a' },
      { type: 'thought', thought: 'hm' },
      { type: 'refusal', text: 'b' },
    ]),
  ).toBe('ab');
});

test('an option of another form is refused by name, all of them at once', async () => {
  const bad = {
    limits: { concurency: 5 },
    tools: 'x',
    hooks: [1],
    models: { 'a/b': {} },
    store: {},
    clock: {},
    appName: 5,
    inspect: 5,
    telemetry: 5,
  };
  let told = '';
  try {
    createHost(bad as never);
  } catch (thrown) {
    told = (thrown as Error).message;
  }
  for (const key of Object.keys(bad)) expect(told).toContain(`createHost.${key}: `);
  expect(told).toContain('did you mean "concurrency"');

  const host = newHost();
  const options = {
    maxBudgetUsd: 'x',
    generation: 5,
    contextBudget: 5,
    streaming: 'x',
    ephemeral: 'q',
    userId: 5,
    sessionId: 5,
    model: 5,
    tools: [3],
    signal: 5,
  };
  for (const [key, value] of Object.entries(options)) {
    expect(() => host.run(leaf('a'), 'x', { [key]: value } as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(`options.${key}: must be`) }),
    );
  }
  expect(() => host.run(leaf('a'), 'x', { maxBudgetUsd: -3 })).toThrow(/maxBudgetUsd: must be a number, 0 or more/);
  expect(() => host.run(undefined as never, 'x')).toThrow(/first argument must be an agent/);
  await host.close();
});
