import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonSchema } from '../../../src/contracts/index.js';
import { toGeminiParameters, toGeminiSchema } from '../../../src/models/wire/gemini-schema.js';

/** Converted, with a check that the original was not touched. */
function convert(schema: JsonSchema) {
  const before = structuredClone(schema);
  const converted = toGeminiSchema(schema, 'tool "t"');
  expect(schema).toEqual(before);
  return converted;
}

describe('null', () => {
  test('beside one type is nullable (B110)', () => {
    expect(convert({ type: ['string', 'null'] })).toEqual({ type: 'STRING', nullable: true });
    expect(convert({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toEqual({ type: 'STRING', nullable: true });
    expect(
      convert({ oneOf: [{ type: 'null' }, { type: 'array', items: { type: 'string' } }], description: 'd' }),
    ).toEqual({
      type: 'ARRAY',
      items: { type: 'STRING' },
      nullable: true,
      description: 'd',
    });
  });

  test('beside several types is anyOf and nullable (B110)', () => {
    const expected = { nullable: true, anyOf: [{ type: 'INTEGER' }, { type: 'STRING' }] };
    expect(convert({ anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] })).toEqual(expected);
    expect(convert({ type: ['integer', 'string', 'null'] })).toEqual(expected);
  });

  test('in an enum is nullable', () => {
    expect(convert({ enum: ['a', 'b', null] })).toEqual({ type: 'STRING', enum: ['a', 'b'], nullable: true });
    expect(convert({ type: ['string', 'null'], enum: ['a', null] })).toEqual({
      type: 'STRING',
      enum: ['a'],
      nullable: true,
    });
  });
});

describe('choices', () => {
  test('what stands beside them goes into each', () => {
    const schema = {
      type: 'object',
      description: 'either',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      required: ['a'],
      anyOf: [{ required: ['b'] }, { properties: { c: { type: 'boolean' } } }],
    };
    const properties = { a: { type: 'STRING' }, b: { type: 'NUMBER' } };
    expect(convert(schema)).toEqual({
      description: 'either',
      anyOf: [
        { type: 'OBJECT', properties, required: ['a', 'b'] },
        { type: 'OBJECT', properties: { ...properties, c: { type: 'BOOLEAN' } }, required: ['a'] },
      ],
    });
  });

  test('allOf is one schema', () => {
    const schema = {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: { type: 'integer' } }, required: ['b'] },
      ],
    };
    expect(convert(schema)).toEqual({
      type: 'OBJECT',
      properties: { a: { type: 'STRING' }, b: { type: 'INTEGER' } },
      required: expect.arrayContaining(['a', 'b']),
    });
  });

  test('at the root of a tool are one object, required only where every choice requires it', () => {
    const schema = {
      anyOf: [
        { type: 'object', properties: { kind: { const: 'a' }, x: { type: 'string' } }, required: ['kind', 'x'] },
        { type: 'object', properties: { kind: { const: 'a' }, y: { type: 'string' } }, required: ['kind'] },
      ],
    };
    expect(toGeminiParameters(schema, 't')).toEqual({
      type: 'OBJECT',
      properties: { kind: { type: 'STRING', enum: ['a'] }, x: { type: 'STRING' }, y: { type: 'STRING' } },
      required: ['kind'],
    });
  });
});

describe('values', () => {
  test('texts are an enum, others are told', () => {
    expect(convert({ const: 'x' })).toEqual({ type: 'STRING', enum: ['x'] });
    expect(convert({ enum: [1, 2.5], description: 'How much.' })).toEqual({
      type: 'NUMBER',
      description: 'How much. One of: 1, 2.5.',
    });
    expect(convert({ const: true })).toEqual({ type: 'BOOLEAN', description: 'One of: true.' });
  });

  test('an empty text in an enum opens it rather than forbidding it', () => {
    expect(convert({ type: 'string', enum: ['', 'a'] })).toEqual({ type: 'STRING', description: 'One of: "", "a".' });
  });
});

describe('limits', () => {
  test('those that exist are kept, others are left to the validation', () => {
    const schema = {
      type: 'object',
      properties: {
        s: {
          type: 'string',
          minLength: 1,
          maxLength: 9,
          pattern: '^a+$',
          format: 'email',
          default: 'a',
          examples: ['a'],
        },
        d: { type: 'string', format: 'date-time', pattern: '^(?=x)' },
        n: { type: 'integer', minimum: 0, exclusiveMaximum: 10, multipleOf: 2 },
        l: { type: 'array', items: { type: 'number' }, minItems: 1, uniqueItems: true },
        t: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
      },
      required: ['s', 'gone'],
      additionalProperties: false,
      $schema: 'https://json-schema.org/draft/2020-12/schema',
    };
    expect(convert(schema)).toEqual({
      type: 'OBJECT',
      properties: {
        s: { type: 'STRING', minLength: '1', maxLength: '9', pattern: '^a+$' },
        d: { type: 'STRING', format: 'date-time' },
        n: { type: 'INTEGER', minimum: 0, maximum: 10 },
        l: { type: 'ARRAY', items: { type: 'NUMBER' }, minItems: '1' },
        t: { type: 'ARRAY', items: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] } },
      },
      required: ['s'],
    });
  });

  test('a schema that takes anything has every type', () => {
    for (const open of [{}, true as unknown as JsonSchema, { type: 'any' }]) {
      expect(convert(open).anyOf?.map(({ type }) => type)).toEqual(['STRING', 'NUMBER', 'BOOLEAN', 'OBJECT', 'ARRAY']);
    }
    expect(convert({ type: 'array' }).items?.anyOf).toHaveLength(5);
  });

  test('a tool without parameters declares none', () => {
    expect(toGeminiParameters({ type: 'object', properties: {} }, 't')).toBeUndefined();
    expect(toGeminiParameters({}, 't')).toBeUndefined();
  });

  test('a property may be called like a keyword', () => {
    const names = {
      type: { type: 'string' },
      properties: { type: 'object' },
      $ref: { type: 'string' },
      anyOf: { type: 'number' },
    };
    expect(convert({ type: 'object', properties: names }).properties).toEqual({
      type: { type: 'STRING' },
      properties: { type: 'OBJECT' },
      $ref: { type: 'STRING' },
      anyOf: { type: 'NUMBER' },
    });
  });
});

describe('references', () => {
  test('are replaced by what they point to, and a description beside them stays (B111)', () => {
    const schema = {
      type: 'object',
      properties: {
        h: { type: 'string', description: 'original' },
        list: { type: 'array', items: { $ref: '#/properties/h' } },
        x: { $ref: '#/$defs/X', description: 'mine' },
        'a/b~c': { $ref: '#/$defs/odd~1na~0me' },
      },
      $defs: {
        X: { type: 'integer', description: 'theirs' },
        'odd/na~me': { $anchor: 'odd', type: 'boolean' },
        unused: { $ref: '#odd' },
      },
    };
    const converted = convert(schema);
    expect(converted.properties).toEqual({
      h: { type: 'STRING', description: 'original' },
      list: { type: 'ARRAY', items: { type: 'STRING', description: 'original' } },
      x: { type: 'INTEGER', description: 'mine' },
      'a/b~c': { type: 'BOOLEAN' },
    });
    expect(JSON.stringify(converted)).not.toMatch(/\$ref|\$defs/);
  });

  test('to the schema around them are left open one level down', () => {
    const tree = {
      $defs: {
        Tree: {
          type: 'object',
          description: 'A tree.',
          properties: { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Tree' } } },
        },
      },
      $ref: '#/$defs/Tree',
    };
    expect(convert(tree)).toEqual({
      type: 'OBJECT',
      description: 'A tree.',
      properties: {
        value: { type: 'STRING' },
        children: { type: 'ARRAY', items: { type: 'OBJECT', description: 'A tree.' } },
      },
    });
    const self = { type: 'object', properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } } };
    expect(convert(self).properties?.next).toEqual({
      type: 'OBJECT',
      nullable: true,
      description: 'Has the same shape as the schema around it.',
    });
  });

  test.each([
    ['#/$defs/none', 'leads nowhere'],
    ['https://example.com/other.json', 'points outside of the schema'],
    ['#/properties/loop', 'leads only to itself'],
  ])('%s is refused: it %s', (ref, why) => {
    const schema = { type: 'object', properties: { loop: { $ref: ref } } };
    expect(() => convert(schema)).toThrow(`tool "t": the reference "${ref}" ${why}`);
  });

  test('that double at every step do not grow without end', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `d${at}`,
        at === 39
          ? { type: 'string' }
          : { type: 'object', properties: { l: { $ref: `#/$defs/d${at + 1}` }, r: { $ref: `#/$defs/d${at + 1}` } } },
      ]),
    );
    expect(JSON.stringify(convert({ $ref: '#/$defs/d0', $defs })).length).toBeLessThan(20_000_000);
  });
});

test('what zod makes is taken, recursion and all', () => {
  interface Category {
    name: string;
    sub: Category[];
  }
  const category: z.ZodType<Category> = z.lazy(() => z.object({ name: z.string(), sub: z.array(category) }));
  const schema = z.toJSONSchema(
    z.object({
      mode: z.enum(['fast', 'slow']).optional(),
      size: z.number().int().min(1).nullable(),
      root: category,
      pick: z.discriminatedUnion('t', [
        z.object({ t: z.literal('a'), n: z.number() }),
        z.object({ t: z.literal('b') }),
      ]),
      pair: z.tuple([z.string(), z.number()]),
      bag: z.record(z.string(), z.number()),
    }),
  ) as JsonSchema;
  const converted = convert(schema);
  expect(converted.properties?.size).toMatchObject({ type: 'INTEGER', nullable: true, minimum: 1 });
  expect(converted.properties?.pick?.anyOf).toHaveLength(2);
  expect(converted.properties?.root?.properties?.sub?.items?.type).toBe('OBJECT');
  expect(converted.properties?.bag).toEqual({ type: 'OBJECT' });
  expect(JSON.stringify(converted)).not.toMatch(/\$ref|\$defs|additionalProperties|"const"/);
});
