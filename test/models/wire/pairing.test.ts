import { describe, expect, test } from 'vitest';
import type { ContentPart, ModelMessage } from '../../../src/contracts/index.js';
import { findBrokenPairs } from '../../../src/kernel/history.js';
import { pairMessages } from '../../../src/models/wire/pairing.js';
import { fc } from '../../support/fast-check.js';
import { call, model, result, user } from '../ask.js';

const ids = (messages: readonly ModelMessage[]) =>
  messages.map(
    ({ role, content }) =>
      `${role}: ${content.map((part) => ('id' in part ? `${part.type === 'function_call' ? '?' : '!'}${part.id}` : part.type)).join(' ')}`,
  );

describe('ids', () => {
  test('that are unique and usable stay', () => {
    expect(ids(pairMessages([user('q'), model(call('c1', 'f')), user(result('c1', 'f', 1))]))).toEqual([
      'user: text',
      'model: ?c1',
      'user: !c1',
    ]);
  });

  test('reused across messages become unique, each call with its own result', () => {
    const history = [
      user('q'),
      model(call('call_0', 'f', { n: 1 })),
      user(result('call_0', 'f', 'one')),
      model(call('call_0', 'f', { n: 2 })),
      user(result('call_0', 'f', 'two')),
    ];
    const before = structuredClone(history);
    const paired = pairMessages(history);
    expect(
      new Set(
        paired
          .flatMap(({ content }) => content)
          .filter((part) => part.type === 'function_call')
          .map((part) => part.id),
      ).size,
    ).toBe(2);
    expect(findBrokenPairs(paired)).toEqual([]);
    expect(paired[2]?.content[0]).toMatchObject({ response: { output: 'one' } });
    expect(paired[4]?.content[0]).toMatchObject({ response: { output: 'two' } });
    expect(history).toEqual(before);
  });

  test('reused inside one message pair first with first', () => {
    const paired = pairMessages([
      model(call('c', 'f', { n: 1 }), call('c', 'f', { n: 2 })),
      user(result('c', 'f', 'one'), result('c', 'f', 'two')),
    ]);
    expect(findBrokenPairs(paired)).toEqual([]);
    expect(paired[1]?.content).toMatchObject([{ response: { output: 'one' } }, { response: { output: 'two' } }]);
  });

  test('that are empty, too long or oddly spelt are replaced', () => {
    for (const id of ['', 'x'.repeat(41), 'a.b:c', 'é']) {
      expect(ids(pairMessages([model(call(id, 'f')), user(result(id, 'f', 1))]))).toEqual([
        'model: ?call_1',
        'user: !call_1',
      ]);
    }
  });
});

describe('order', () => {
  test('responses stand in call order, in one message, before what else the user said', () => {
    const paired = pairMessages([
      model('let me', call('a', 'f'), call('b', 'g'), call('c', 'h')),
      user(result('c', 'h', 3)),
      user('and', result('a', 'f', 1), result('b', 'g', 2)),
    ]);
    expect(ids(paired)).toEqual(['model: text ?a ?b ?c', 'user: !a !b !c text']);
  });

  test('neighbours of one role are one message', () => {
    const paired = pairMessages([
      user('a'),
      user('b'),
      model(call('x', 'f')),
      model(call('y', 'f')),
      user(result('x', 'f', 1)),
      user(result('y', 'f', 2)),
    ]);
    expect(ids(paired)).toEqual(['user: text text', 'model: ?x ?y', 'user: !x !y']);
  });

  test('a system message between a call and its result comes behind the result', () => {
    const system: ModelMessage = { role: 'system', content: [{ type: 'text', text: 's' }] };
    expect(
      ids(pairMessages([model(call('a', 'f')), system, user(result('a', 'f', 1), { type: 'text', text: 't' })])),
    ).toEqual(['model: ?a', 'user: !a', 'system: text', 'user: text']);
  });
});

describe('what does not pair', () => {
  test('a call without a result is answered with an error', () => {
    const paired = pairMessages([
      model(call('a', 'f'), call('b', 'g')),
      user(result('b', 'g', 2), { type: 'text', text: 'go on' }),
    ]);
    expect(ids(paired)).toEqual(['model: ?a ?b', 'user: !a !b text']);
    expect(paired[1]?.content[0]).toMatchObject({ name: 'f', response: { error: 'no result was recorded' } });
    expect(ids(pairMessages([model(call('a', 'f'))]))).toEqual(['model: ?a', 'user: !a']);
  });

  test('a result without a call becomes text', () => {
    expect(pairMessages([user(result('z', 'f', 'lost'))])).toEqual([user('[result of f: {"output":"lost"}]')]);
  });

  test('a result under another id goes to the open call of that name', () => {
    const paired = pairMessages([model(call('a', 'f')), user(result('other', 'f', 1))]);
    expect(paired[1]?.content).toEqual([{ ...result('a', 'f', 1) }]);
  });

  test('empty messages are left out', () => {
    expect(pairMessages([user(), model(), user('q')])).toEqual([user('q')]);
  });
});

test('any history comes out paired, with unique ids and nothing lost', () => {
  const id = fc.constantFrom('a', 'b', 'c', '', 'call_2');
  const name = fc.constantFrom('f', 'g');
  const part: fc.Arbitrary<ContentPart> = fc.oneof(
    fc.string().map((text): ContentPart => ({ type: 'text', text })),
    fc.tuple(id, name).map(([each, tool]) => call(each, tool)),
    fc.tuple(id, name).map(([each, tool]) => result(each, tool, 1)),
  );
  const message = fc.record({
    role: fc.constantFrom('user', 'model', 'system'),
    content: fc.array(part, { maxLength: 5 }),
  });
  fc.assert(
    fc.property(fc.array(message as fc.Arbitrary<ModelMessage>, { maxLength: 8 }), (history) => {
      const before = structuredClone(history);
      const paired = pairMessages(history);
      expect(history).toEqual(before);
      expect(findBrokenPairs(paired)).toEqual([]);
      const calls = paired.flatMap(({ content }) => content).filter((each) => each.type === 'function_call');
      expect(new Set(calls.map((each) => each.id)).size).toBe(calls.length);
      const said = (messages: readonly ModelMessage[]) =>
        messages.flatMap(({ content }) => content).flatMap((each) => (each.type === 'text' ? [each.text] : []));
      expect(said(paired)).toEqual(expect.arrayContaining(said(history)));
      expect(calls.every((each) => /^[A-Za-z0-9_-]{1,40}$/.test(each.id))).toBe(true);
    }),
    { numRuns: 300 },
  );
});
