import { expect, test } from 'vitest';
import { answerFields, readAnswer } from '../../../src/studio/web/answer-fields.js';
import { approvalOf } from '../../../src/studio/web/approval.js';

const schema = {
  type: 'object',
  required: ['name', 'count', 'tags'],
  properties: {
    name: { type: 'string', title: 'Your name', maxLength: 50 },
    count: { type: 'integer', default: 3 },
    colour: {
      oneOf: [
        { const: 'r', title: 'Red', description: 'warm' },
        { const: 'g', title: 'Green' },
      ],
    },
    tags: { type: 'array', items: { enum: ['a', 'b', 3] }, default: ['b'] },
    sure: { type: 'boolean', default: true },
    more: { type: 'object' },
    key: { type: 'string', format: 'password' },
  },
};

test('a schema becomes the fields of a form, in its order, with what they begin with', () => {
  const fields = answerFields(schema, false);
  expect(fields.map(({ key, kind }) => [key, kind])).toEqual([
    ['name', 'text'],
    ['count', 'number'],
    ['colour', 'one'],
    ['tags', 'many'],
    ['sure', 'flag'],
    ['more', 'json'],
    ['key', 'secret'],
  ]);
  expect(fields[2]?.choices[0]).toEqual({ key: '0', value: 'r', label: 'Red', hint: 'warm' });
  expect(fields[3]?.initial).toEqual(['1']);
});

test('what is filled in becomes the content; what is left out of what may be is left out', () => {
  const fields = answerFields(schema, false);
  expect(readAnswer(fields, { name: 'Ada', colour: '1', tags: ['0', '2'], more: '{"x":1}' })).toEqual({
    content: { name: 'Ada', count: 3, colour: 'g', tags: ['a', 3], sure: true, more: { x: 1 } },
  });
});

test('what cannot be read is told at its field', () => {
  const fields = answerFields(schema, false);
  expect(readAnswer(fields, { name: 'x', count: '1.5', more: '{' })).toEqual({
    faults: { count: 'A whole number is needed.', more: 'JSON is needed, as {"key": "value"}.' },
  });
  const required = answerFields({ properties: { pick: { enum: [1, 2] } }, required: ['pick'] }, false);
  expect(readAnswer(required, {})).toEqual({ faults: { pick: 'Choose one.' } });
});

test('names and choices of a hostile schema are text of one line, and a prototype is no place for an answer', () => {
  const hostile = JSON.parse('{"properties":{"__proto__":{"type":"string","title":"a\\u202e\\n<b>"}}}') as Record<
    string,
    unknown
  >;
  const fields = answerFields(hostile, false);
  expect(fields[0]?.label).toBe('a<U+202E> <b>');
  const read = readAnswer(fields, Object.assign(Object.create(null), { ['__proto__']: 'x' }));
  expect(Object.keys('content' in read ? read.content : {})).toEqual(['__proto__']);
  expect(answerFields({ properties: 'no' }, false)).toEqual([]);
  expect(answerFields(undefined, false)).toEqual([]);
});

test('an approval says who, what, why, and what else it may be answered with', () => {
  const approval = approvalOf({
    requestId: 'q1',
    kind: 'tool_confirmation',
    message: 'm',
    requestedSchema: {
      properties: { outcome: { enum: ['proceed_once', 'proceed_always', 'proceed_always_tool', 'modify', 'cancel'] } },
    },
    context: { tool: 'rm', args: { path: 'x' }, principalPath: 'a/b', rule: 'r 3', commands: ['rm x'], diff: '-x' },
  });
  expect(approval).toMatchObject({
    tool: 'rm',
    principalPath: 'a/b',
    rule: 'r 3',
    commands: ['rm x'],
    canChange: true,
  });
  expect(approval.more.map(({ outcome }) => outcome)).toEqual(['proceed_always', 'proceed_always_tool']);
  expect(
    approvalOf({ requestId: 'q', kind: 'tool_confirmation', message: '', context: { commands: 7, tool: {} } }),
  ).toMatchObject({
    tool: 'a tool',
    commands: [],
    more: [],
  });
});
