import { expect, test } from 'vitest';
import { createModelRegistry } from '../../src/models/registry.js';
import { scriptedModel } from '../../src/models/scripted.js';

test('a model that is asked for twice before it is there is made once', async () => {
  const made: string[] = [];
  const slow = async (name: string) => {
    made.push(name);
    await new Promise((resolve) => setImmediate(resolve));
    return scriptedModel([]);
  };
  const { resolve } = createModelRegistry({ slow }, {});
  const [one, other] = await Promise.all([resolve('slow/a'), resolve('slow/a'), resolve('slow/b')]);
  expect(made).toEqual(['a', 'b']);
  expect(one?.model).toBe(other?.model);
  expect(await resolve('slow/a')).toBe(one);
});

test('a model that could not be made is tried again', async () => {
  let attempts = 0;
  const { resolve } = createModelRegistry(
    {
      flaky: async () => {
        if (++attempts === 1) throw new Error('not yet');
        return scriptedModel([]);
      },
    },
    {},
  );
  await expect(Promise.all([resolve('flaky/a'), resolve('flaky/a')])).rejects.toThrow('not yet');
  expect(attempts).toBe(1);
  await expect(resolve('flaky/a')).resolves.toMatchObject({ provider: 'flaky' });
});
