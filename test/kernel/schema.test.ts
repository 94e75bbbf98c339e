import { type } from 'arktype';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonSchema, SchemaInput, StandardSchema } from '../../src/contracts/index.js';
import { DEFAULT_INPUT_SCHEMA, isDefaultInputSchema, readSchema } from '../../src/kernel/schema.js';

const read = (schema: unknown, objectOnly = true) =>
  readSchema(schema as SchemaInput, { path: 'a.parameters', objectOnly });
const faults = (schema: unknown, objectOnly = true) =>
  read(schema, objectOnly).problems.map(({ path, message }) => `${path}: ${message}`);

const mute: StandardSchema<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'mute', validate: (value) => ({ value }) },
};

describe('what an author hands in', () => {
  test('a zod schema becomes the JSON Schema of what must be written, and keeps its validator', () => {
    const schema = z.object({ query: z.string(), limit: z.number().default(10) });
    const { jsonSchema, validator, problems } = read(schema);
    expect(problems).toEqual([]);
    expect(jsonSchema).toEqual({
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'number', default: 10 } },
      required: ['query'],
    });
    expect(validator).toBe(schema);
  });

  test('an arktype schema, which is a function, is one too', () => {
    const { jsonSchema, validator, problems } = read(type({ path: 'string', 'line?': 'number > 0' }));
    expect(problems).toEqual([]);
    expect(jsonSchema).toMatchObject({ type: 'object', required: ['path'], properties: { path: { type: 'string' } } });
    expect(validator).toBeDefined();
  });

  test('a schema that nothing fits, or that no validator takes, is refused', () => {
    const impossible = {
      type: 'object',
      required: ['a', 'a'],
      properties: {
        a: { enum: [] },
        b: { minimum: 5, maximum: 3 },
        c: { type: 'string', minLength: 2, maxLength: 1 },
        d: { minimum: 3, maximum: 3 },
      },
    };
    expect(read(impossible).problems.map(({ message }) => message)).toEqual([
      'names a property twice',
      'must be a list of values, at least one',
      'is above maximum: nothing is from 5 and at most 3',
      'is above maxLength: nothing is from 2 and at most 1',
    ]);
  });

  test('a recursive schema keeps its references', () => {
    const tree = z.object({
      name: z.string(),
      get kids() {
        return z.array(tree);
      },
    });
    expect(read(tree)).toMatchObject({ problems: [], jsonSchema: { properties: { kids: { items: { $ref: '#' } } } } });
  });

  test('a pair gives the JSON Schema beside the validator', () => {
    const { jsonSchema, validator } = read({ schema: mute, jsonSchema: { type: 'object', title: 'T' } });
    expect(jsonSchema).toEqual({ type: 'object', title: 'T' });
    expect(validator).toBe(mute);
  });

  test('a plain JSON Schema is taken as it is, without a validator', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, 'x-own': 1 };
    expect(read(schema)).toEqual({ jsonSchema: schema, problems: [] });
  });

  test('what the author changes later changes nothing, and nobody can change the copy', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const { jsonSchema } = read(schema);
    schema.properties.a.type = 'number';
    expect(jsonSchema).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
    expect(() => Object.assign(jsonSchema.properties as object, { b: {} })).toThrow(TypeError);
  });

  test('the draft of descriptors goes without saying; another one stays', () => {
    expect(read({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }).jsonSchema).toEqual({
      type: 'object',
    });
    const old = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' };
    expect(read(old).jsonSchema).toEqual(old);
  });
});

describe('what cannot be read is told with what would work', () => {
  test('a schema that cannot say its JSON Schema', () => {
    expect(faults(mute)).toEqual([
      'a.parameters: the mute schema cannot say its JSON Schema (no "~standard".jsonSchema): pass { schema, jsonSchema } with its JSON Schema beside it',
    ]);
  });

  test('a type that JSON Schema has no word for', () => {
    expect(faults(z.object({ at: z.date() }))).toEqual([
      expect.stringMatching(
        /^a\.parameters: the zod schema has no JSON Schema \(.*Date.*\): pass \{ schema, jsonSchema \}/,
      ),
    ]);
  });

  test.each([
    ['a text', 'string'],
    ['a list', [{ type: 'object' }]],
    ['a boolean', true],
    ['a plain function', () => ({})],
    ['null', null],
  ])('%s is no schema', (_, schema) => {
    expect(faults(schema)).toEqual([
      expect.stringContaining('a schema is a Standard Schema, { schema, jsonSchema } or a JSON Schema'),
    ]);
  });

  test('a schema object of a library that does not speak the standard', () => {
    expect(faults({ _def: { typeName: 'ZodObject' }, parse() {} })).toEqual([
      expect.stringContaining('use a version of its library that speaks Standard Schema'),
    ]);
  });

  test.each([
    ['a function', { type: 'object', default: () => 1 }, '.default is a function'],
    [
      'a date',
      { type: 'object', properties: { at: { default: new Date(0) } } },
      '.properties.at.default is an instance of Date',
    ],
    ['not a number', { type: 'object', minProperties: Number.NaN }, '.minProperties is NaN'],
    ['a big integer', { type: 'object', maxProperties: 3n }, '.maxProperties is a bigint'],
  ])('JSON would lose %s', (_, schema, told) => {
    expect(faults(schema)).toEqual([`a.parameters: the JSON Schema must be plain JSON: ${told}`]);
  });

  test('a cycle is told, not followed', () => {
    const schema: Record<string, unknown> = { type: 'object' };
    schema.not = schema;
    expect(faults(schema)).toEqual(['a.parameters: the JSON Schema must be plain JSON: .not is a cycle']);
  });

  test('every keyword of the wrong shape is told, each at its place', () => {
    expect(
      faults({
        type: 'object',
        properties: {
          a: { type: 'strnig' },
          b: { type: 'string', pattern: '(' },
          c: { $ref: '#/$defs/missing' },
          d: { enum: 'x', minLength: -1 },
          e: { anyOf: [] },
          f: 3,
          g: { type: 'array', items: [{ type: 'nope' }], minimum: '1' },
        },
        required: 'a',
      }),
    ).toEqual([
      'a.parameters.required: must be a list of property names',
      'a.parameters.properties.a.type: unknown type "strnig"; known: string, number, integer, boolean, object, array, null',
      'a.parameters.properties.b.pattern: is no regular expression',
      'a.parameters.properties.c.$ref: #/$defs/missing leads nowhere in this schema',
      'a.parameters.properties.d.enum: must be a list of values, at least one',
      'a.parameters.properties.d.minLength: must be a whole number from 0',
      'a.parameters.properties.e.anyOf: must be a list of schemas, at least one',
      'a.parameters.properties.f: must be a schema: an object or a boolean',
      'a.parameters.properties.g.minimum: must be a number',
      'a.parameters.properties.g.items[0].type: unknown type "nope"; known: string, number, integer, boolean, object, array, null',
    ]);
  });

  test('references that lead only to one another are refused; a schema that holds itself is not', () => {
    const circle = { a: { $ref: '#/properties/b' }, b: { $ref: '#/properties/a' }, c: { $ref: '#/properties/c' } };
    expect(faults({ type: 'object', properties: circle })).toEqual([
      'a.parameters.properties.a.$ref: #/properties/b leads only to itself',
      'a.parameters.properties.b.$ref: #/properties/a leads only to itself',
      'a.parameters.properties.c.$ref: #/properties/c leads only to itself',
    ]);
    expect(faults({ $ref: '#' })).toContain('a.parameters.$ref: # leads only to itself');
    const tree = { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#/$defs/tree' } } };
    expect(faults({ ...tree, $defs: { tree: { $ref: '#/$defs/again' }, again: tree } })).toEqual([]);
  });

  test('a reference finds its way through escaped and encoded names', () => {
    expect(faults({ type: 'object', $defs: { 'a/b c': {} }, properties: { x: { $ref: '#/$defs/a~1b%20c' } } })).toEqual(
      [],
    );
    expect(faults({ type: 'object', properties: { x: { $ref: '#/constructor' } } })).toEqual([
      'a.parameters.properties.x.$ref: #/constructor leads nowhere in this schema',
    ]);
  });
});

describe('where values must be objects', () => {
  test.each<[string, JsonSchema]>([
    ['properties without a type', { properties: { a: {} } }],
    ['a union of objects', { oneOf: [{ type: 'object' }, { properties: {} }] }],
    ['an intersection with an object', { allOf: [{ type: 'object' }, { required: ['a'] }] }],
    ['a reference to an object', { $ref: '#/$defs/x', $defs: { x: { type: 'object' } } }],
    ['an empty schema', {}],
  ])('%s is one, and says so', (_, schema) => {
    expect(read(schema)).toEqual({ jsonSchema: { type: 'object', ...schema }, problems: [] });
  });

  test('a discriminated union of zod objects is one', () => {
    const schema = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a') }),
      z.object({ kind: z.literal('b'), n: z.number() }),
    ]);
    expect(read(schema)).toMatchObject({ problems: [], jsonSchema: { type: 'object', oneOf: [{}, {}] } });
  });

  test.each<[string, unknown, string]>([
    ['a text', z.string(), 'this is of type "string"'],
    ['a list', { type: 'array' }, 'this is of type "array"'],
    ['an object or null', { type: ['object', 'null'] }, 'this is of type ["object","null"]'],
    ['a union with a text', { anyOf: [{ type: 'object' }, { type: 'string' }] }, 'this is a schema without "type"'],
  ])('%s is refused', (_, schema, told) => {
    expect(faults(schema)).toEqual([
      `a.parameters: must describe an object, such as { type: 'object', properties: { … } }; ${told}`,
    ]);
  });

  test('elsewhere any schema will do', () => {
    expect(read(z.array(z.string()), false)).toMatchObject({ problems: [], jsonSchema: { type: 'array' } });
    expect(read({ enum: ['a', 'b'] }, false)).toEqual({ jsonSchema: { enum: ['a', 'b'] }, problems: [] });
  });
});

describe('the default input', () => {
  test('is known as such, also after a trip through JSON', () => {
    expect(isDefaultInputSchema(DEFAULT_INPUT_SCHEMA)).toBe(true);
    expect(isDefaultInputSchema(JSON.parse(JSON.stringify(DEFAULT_INPUT_SCHEMA)) as JsonSchema)).toBe(true);
    expect(
      isDefaultInputSchema({ type: 'object', properties: { prompt: { type: 'number' } }, required: ['prompt'] }),
    ).toBe(false);
  });

  test('cannot be changed by those who share it', () => {
    expect(() => Object.assign(DEFAULT_INPUT_SCHEMA.properties as object, { more: {} })).toThrow(TypeError);
    expect(() => (DEFAULT_INPUT_SCHEMA.required as string[]).push('more')).toThrow(TypeError);
  });
});
