import { describe, expect, test } from 'vitest';
import { createAliases } from '../../src/models/aliases.js';

const thrown = (act: () => unknown): string => {
  try {
    act();
  } catch (fault) {
    return (fault as Error).message;
  }
  return 'nothing was thrown';
};

describe('an alias', () => {
  test('takes over what it extends: objects are merged, lists replaced', () => {
    const aliases = createAliases({
      base: {
        generation: { temperature: 0.2, stopSequences: ['a', 'b'], thinking: { budget: 100, includeThoughts: true } },
      },
      middle: { extends: 'base', model: 'gemini/flash', generation: { thinking: { budget: 0 } } },
      top: { extends: 'middle', generation: { stopSequences: ['c'] } },
    });
    expect(aliases.resolve('top')).toEqual({
      model: 'gemini/flash',
      generation: { temperature: 0.2, stopSequences: ['c'], thinking: { budget: 0, includeThoughts: true } },
    });
  });

  test('may be a text, name another alias, or be named as its model', () => {
    const aliases = createAliases({
      fast: 'gemini/flash',
      summary: { model: 'fast', generation: { temperature: 0 } },
      'openai/small': { generation: { topP: 0.5 } },
    });
    expect(aliases.resolve('fast').model).toBe('gemini/flash');
    expect(aliases.resolve('summary')).toEqual({ model: 'gemini/flash', generation: { temperature: 0 } });
    expect(aliases.resolve('openai/small')).toEqual({ model: 'openai/small', generation: { topP: 0.5 } });
  });

  test('changes nothing of what it was given', () => {
    const given = {
      base: { generation: { thinking: { budget: 1 } } },
      top: { extends: 'base', model: 'x', generation: { thinking: { budget: 2 } } },
    };
    const before = structuredClone(given);
    createAliases(given).resolve('top');
    expect(given).toEqual(before);
  });
});

test('a model without an alias of its own takes the parameters of chat-base, and its overrides', () => {
  const aliases = createAliases({
    'chat-base': {
      generation: { temperature: 0.7 },
      overrides: [{ when: { retry: true }, generation: { temperature: 1 } }],
    },
    own: { model: 'openai/x' },
  });
  expect(aliases.resolve('openai/x')).toEqual({ model: 'openai/x', generation: { temperature: 0.7 } });
  expect(aliases.resolve('openai/x', { retry: true }).generation).toEqual({ temperature: 1 });
  expect(aliases.resolve('own').generation).toBeUndefined();
});

test('the most specific override wins, whatever the order; of equal ones the last', () => {
  const overrides = [
    { when: { agent: 'critic', retry: true, purpose: 'turn' }, model: 'm/three' },
    { when: {}, model: 'm/none', generation: { topK: 1 } },
    { when: { agent: 'critic' }, model: 'm/first' },
    { when: { purpose: 'turn' }, model: 'm/second' },
  ];
  const resolve = createAliases({ a: { model: 'm/own', overrides } }).resolve;
  expect(resolve('a', { agent: 'critic', purpose: 'turn', retry: true })).toEqual({
    model: 'm/three',
    generation: { topK: 1 },
  });
  expect(resolve('a', { agent: 'critic', purpose: 'turn' }).model).toBe('m/second');
  expect(resolve('a', { agent: 'writer', purpose: 'summary' }).model).toBe('m/none');
});

test('an override of what is extended gives way to an equal one of its own', () => {
  const aliases = createAliases({
    base: { model: 'm/base', overrides: [{ when: { agent: 'a' }, model: 'm/inherited' }] },
    top: { extends: 'base', overrides: [{ when: { agent: 'a' }, model: 'm/own' }] },
  });
  expect(aliases.resolve('top', { agent: 'a' }).model).toBe('m/own');
  expect(aliases.resolve('base', { agent: 'a' }).model).toBe('m/inherited');
});

test('circles are refused with their way, through extends, models and overrides', () => {
  expect(thrown(() => createAliases({ a: { extends: 'b' }, b: { extends: 'a' } }))).toMatch(
    /aliases\.a: goes in a circle: a → b → a/,
  );
  expect(thrown(() => createAliases({ a: 'b', b: { model: 'c' }, c: 'a' }))).toMatch(/a → b → c → a/);
  expect(
    thrown(() => createAliases({ a: { model: 'm', overrides: [{ when: {}, model: 'b' }] }, b: { extends: 'a' } })),
  ).toMatch(/circle/);
  expect(thrown(() => createAliases({ a: { extends: 'a' } }))).toMatch(/a → a/);
});

test('every fault is told at once, with what would do', () => {
  const message = thrown(() =>
    createAliases({
      one: { extends: 'tow' },
      two: { modell: 'x' } as never,
      three: 5 as never,
      four: { overrides: [{ when: { agnet: 'a' } }] } as never,
      five: { overrides: [{ when: { retry: 'yes' } }] } as never,
      six: { generation: [] } as never,
    }),
  );
  for (const part of [
    'aliases.one: extends "tow", which is no alias (did you mean "two"',
    'aliases.two: no "modell" (did you mean "model"?)',
    'aliases.three: must be the name of a model',
    'aliases.four: overrides[0]: no condition "agnet"',
    'aliases.five: overrides[0]: when.retry must be a boolean',
    'aliases.six: generation must be an object',
  ])
    expect(message).toContain(part);
});

test('they may be set and taken away while they are used; a change that would not do changes nothing', () => {
  const aliases = createAliases({ a: 'm/one', b: { extends: 'a' } });
  aliases.set('a', 'm/two');
  expect(aliases.resolve('b').model).toBe('m/two');
  expect(thrown(() => aliases.set('a', { extends: 'b' }))).toMatch(/circle/);
  expect(thrown(() => aliases.set('a', undefined))).toMatch(/extends "a"/);
  expect(aliases.resolve('b').model).toBe('m/two');
  aliases.set('b', undefined);
  expect(aliases.resolve('b')).toEqual({ model: 'b', generation: undefined });
});

test('a parameter named __proto__ reaches no prototype', () => {
  const evil = JSON.parse('{"__proto__":{"polluted":1},"thinking":{"__proto__":{"polluted":1}}}');
  const aliases = createAliases({
    a: { generation: { thinking: { budget: 1 } } },
    b: { extends: 'a', model: 'm', generation: evil },
  });
  const { generation } = aliases.resolve('b');
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  expect((generation as { polluted?: number }).polluted).toBeUndefined();
  expect((generation?.thinking as { polluted?: number } | undefined)?.polluted).toBeUndefined();
});
