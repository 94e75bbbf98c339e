import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createClackPrompter } from '../../src/cli/clack-prompter.js';
import type { Prompter } from '../../src/cli/question-form.js';

const keys = { down: '\u001b[B', enter: '\r', space: ' ', escape: '\u001b', ctrlC: '\u0003' };

async function setUp() {
  const input = new PassThrough();
  const output = new PassThrough();
  let shown = '';
  output.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  const withdraw = new AbortController();
  const prompter = await createClackPrompter({ input, output, env: {}, signal: withdraw.signal });
  return { input, output, withdraw, prompter, shown: () => shown };
}

/** Asks, and presses keys once the question is on the screen. */
async function answer<Value>(ask: (prompter: Prompter) => Promise<Value>, ...pressed: string[]): Promise<Value> {
  const { input, prompter } = await setUp();
  const answered = ask(prompter);
  // Each key on its own, as a terminal sends them: Escape and what follows would otherwise be one sequence.
  for (const key of pressed) {
    await new Promise((resolve) => setImmediate(resolve));
    input.write(key);
  }
  return answered;
}

const fruit = {
  message: 'Which?',
  choices: [
    { value: { n: 1 }, label: 'apple' },
    { value: { n: 2 }, label: 'pear', hint: 'green' },
  ],
};

test('a choice is made by moving to it; it begins at its default, whatever kind of value it is', async () => {
  expect(await answer((p) => p.choose(fruit), keys.down, keys.enter)).toEqual({ n: 2 });
  expect(await answer((p) => p.choose({ ...fruit, initial: { n: 2 } }), keys.enter)).toEqual({ n: 2 });
  expect(await answer((p) => p.choose({ ...fruit, initial: { n: 9 } }), keys.enter)).toEqual({ n: 1 });
});

test('keys pressed before a question was shown do not answer it', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  input.write(keys.enter);
  const output = new PassThrough();
  output.resume();
  const prompter = await createClackPrompter({ input, output, env: {}, signal: new AbortController().signal });
  const asked = prompter.choose(fruit);
  for (const key of [keys.down, keys.enter]) {
    await new Promise((resolve) => setImmediate(resolve));
    input.write(key);
  }
  expect(await asked).toEqual({ n: 2 });
});

test('several can be chosen, beginning with the defaults', async () => {
  const many = { ...fruit, initial: [{ n: 2 }], required: false };
  expect(await answer((p) => p.chooseMany(many), keys.enter)).toEqual([{ n: 2 }]);
  expect(await answer((p) => p.chooseMany({ ...many, initial: [] }), keys.space, keys.enter)).toEqual([{ n: 1 }]);
});

test('yes or no begins at its default', async () => {
  expect(await answer((p) => p.confirm({ message: 'Sure?', initial: false }), keys.enter)).toBe(false);
  expect(await answer((p) => p.confirm({ message: 'Sure?', initial: true }), keys.enter)).toBe(true);
});

test('text is typed after its default, and asked for again until it is right', async () => {
  const question = {
    message: 'Name?',
    secret: false,
    check: (text: string) => (text.endsWith('!') ? undefined : 'louder'),
  };
  expect(await answer((p) => p.text({ ...question, initial: 'Ada' }), keys.enter, '!', keys.enter)).toBe('Ada!');
});

test('a secret is not shown', async () => {
  const { input, prompter, shown } = await setUp();
  const typed = prompter.text({ message: 'Key?', secret: true, check: () => undefined });
  for (const key of ['s', '3', 'c', keys.enter]) {
    await new Promise((resolve) => setImmediate(resolve));
    input.write(key);
  }
  expect(await typed).toBe('s3c');
  expect(shown()).not.toContain('s3c');
});

test.each([
  ['escape', 'cancelled'],
  ['ctrlC', 'interrupted'],
] as const)('%s: the form was %s', async (key, why) => {
  await expect(answer((p) => p.confirm({ message: 'Sure?', initial: true }), keys[key])).rejects.toMatchObject({ why });
});

test('a question that is withdrawn goes away, and the next one is not asked', async () => {
  const { prompter, withdraw } = await setUp();
  const asked = prompter.confirm({ message: 'Sure?', initial: true });
  withdraw.abort();
  await expect(asked).rejects.toMatchObject({ why: 'withdrawn' });
  await expect(prompter.confirm({ message: 'Sure?', initial: true })).rejects.toMatchObject({ why: 'withdrawn' });
});

test('an answered question writes nothing when its signal fires later', async () => {
  const { input, prompter, withdraw, shown } = await setUp();
  const asked = prompter.confirm({ message: 'Sure?', initial: true });
  await new Promise((resolve) => setImmediate(resolve));
  input.write(keys.enter);
  expect(await asked).toBe(true);
  const before = shown();
  withdraw.abort();
  await new Promise((resolve) => setImmediate(resolve));
  expect(shown()).toBe(before);
});
