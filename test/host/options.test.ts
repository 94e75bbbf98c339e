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
