import { expect, test } from 'vitest';
import { toOpenAiParameters, toResponseFormat } from '../../../src/models/wire/openai-schema.js';

test('an object schema stays as it is, its references resolved', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { a: { type: ['string', 'null'] }, b: { $ref: '#/$defs/B', description: 'mine' } },
    required: ['a'],
    additionalProperties: false,
    $defs: { B: { enum: [1, 2] } },
  };
  const before = structuredClone(schema);
  expect(toOpenAiParameters(schema, 't')).toEqual({
    type: 'object',
    properties: { a: { type: ['string', 'null'] }, b: { enum: [1, 2], description: 'mine' } },
    required: ['a'],
    additionalProperties: false,
  });
  expect(schema).toEqual(before);
});

test('a recursive schema keeps its references, which are understood there', () => {
  const schema = { type: 'object', properties: { next: { $ref: '#' } } };
  expect(toOpenAiParameters(schema, 't')).toEqual(schema);
  const root = { $ref: '#/$defs/N', $defs: { N: { type: 'object', properties: { next: { $ref: '#/$defs/N' } } } } };
  expect(toOpenAiParameters(root, 't')).toMatchObject({ type: 'object', properties: { next: { type: 'object' } } });
});

test('the root is an object with properties, also where the schema is a choice or nothing', () => {
  expect(toOpenAiParameters({}, 't')).toEqual({ type: 'object', properties: {} });
  expect(
    toOpenAiParameters({ oneOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: {} } }] }, 't'),
  ).toEqual({
    type: 'object',
    properties: { a: { type: 'string' }, b: {} },
  });
});

test('a reference that cannot be resolved is refused, naming the tool', () => {
  expect(() => toOpenAiParameters({ type: 'object', properties: { a: { $ref: '#/nope' } } }, 'tool "x"')).toThrow(
    'tool "x"',
  );
});

test('the response format is strict only where strict mode takes the schema', () => {
  const closed = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  expect(toResponseFormat(closed)).toEqual({
    type: 'json_schema',
    json_schema: { name: 'output', schema: closed, strict: true },
  });
  for (const loose of [
    { ...closed, required: [] },
    { ...closed, additionalProperties: true },
    { ...closed, properties: { a: { type: 'string', minLength: 1 } } },
    { ...closed, properties: { a: { type: 'array', items: { type: 'object' } } } },
  ]) {
    expect(toResponseFormat(loose)).toMatchObject({ json_schema: { strict: false } });
  }
});

test('an output that is no object has no response format', () => {
  expect(toResponseFormat({ type: 'array', items: {} })).toBeUndefined();
});
