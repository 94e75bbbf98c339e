import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { JsonSchema } from '../../src/contracts/index.js';
import { schemaCompileFault, validateJson } from '../../src/kernel/schema.js';

const query: JsonSchema = {
  type: 'object',
  properties: { query: { type: 'string' }, limit: { type: 'integer', minimum: 1 } },
  required: ['query'],
  additionalProperties: false,
};

beforeAll(async () => {
  await validateJson({ type: 'object' }, {});
});

test('once the validator is loaded, answers come at once', () => {
  expect(validateJson({ type: 'object' }, {})).toEqual([]);
});

test('every fault is told, at its place', () => {
  expect(validateJson(query, { limit: 0, extra: true })).toEqual([
    "must have required property 'query'",
    'must NOT have additional properties: "extra"',
    '/limit must be >= 1',
  ]);
  expect(validateJson(query, { query: 3 })).toEqual(['/query must be string']);
  expect(validateJson(query, 'x')).toEqual(['must be object']);
});

test('permitted values are listed', () => {
  expect(validateJson({ properties: { a: { enum: ['x', 2] }, b: { const: null } } }, { a: 'y', b: 1 })).toEqual([
    '/a must be equal to one of the allowed values: "x", 2',
    '/b must be equal to constant: null',
  ]);
});

test('one fault is told once', () => {
  const schema = { anyOf: [{ type: 'string' }, { type: 'string', minLength: 2 }] };
  expect(validateJson(schema, 3)).toEqual(['must be string', 'must match a schema in anyOf']);
});

test('formats and unknown keywords are not enforced, defaults are not filled in', () => {
  const value = {};
  const schema = { type: 'object', properties: { a: { default: 1 }, b: { format: 'email' } }, 'x-own': true };
  expect(validateJson(schema, value)).toEqual([]);
  expect(value).toEqual({});
  expect(validateJson(schema, { b: 'no mail' })).toEqual([]);
});

describe('what every object inherits is not there', () => {
  test('an inherited name does not meet `required`', () => {
    expect(validateJson({ required: ['constructor', 'toString'] }, {})).toHaveLength(2);
  });

  test('an inherited value is not looked at', () => {
    expect(validateJson({ properties: { constructor: { type: 'string' } } }, {})).toEqual([]);
  });

  test('a __proto__ key out of JSON is an additional property', () => {
    const value: unknown = JSON.parse('{"query":"x","__proto__":{"limit":"no"}}');
    expect(validateJson(query, value)).toEqual(['must NOT have additional properties: "__proto__"']);
  });
});

describe('schemas that cannot be compiled', () => {
  test.each<[string, JsonSchema, RegExp]>([
    ['a reference that leads nowhere', { $ref: 'https://example.org/none.json' }, /can't resolve reference/],
    ['an unknown type', { type: 'strnig' }, /schema is invalid/],
    [
      'an unknown draft',
      { $schema: 'https://example.org/draft' },
      /no schema with key or ref "https:\/\/example.org\/draft"/,
    ],
    ['asynchronous validation', { $async: true, type: 'object' }, /\$async is not supported/],
  ])('%s: nothing fits, and the one message says why', (_, schema, why) => {
    const [message, ...more] = validateJson(schema, {}) as string[];
    expect(message).toMatch(/^the schema cannot be used: /);
    expect(message).toMatch(why);
    expect(more).toEqual([]);
    expect(schemaCompileFault(schema)).toBe(message);
  });

  test('a schema that can be compiled has no fault', () => {
    expect(schemaCompileFault(query)).toBeUndefined();
  });
});

describe('schemas do not meddle with one another', () => {
  test('two schemas of one id are two schemas', () => {
    expect(validateJson({ $id: 'https://example.org/a', type: 'string' }, 'x')).toEqual([]);
    expect(validateJson({ $id: 'https://example.org/a', type: 'number' }, 'x')).toEqual(['must be number']);
    expect(validateJson({ $defs: { a: { $id: 'https://example.org/a', type: 'null' } }, type: 'string' }, 'x')).toEqual(
      [],
    );
  });

  test('a schema that calls itself the meta-schema does not replace it', () => {
    validateJson({ $id: 'https://json-schema.org/draft/2020-12/schema', type: 'number' }, 1);
    expect(validateJson({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'string' }, 1)).toEqual([
      'must be string',
    ]);
  });

  test('equal schemas that are different objects each count', () => {
    expect(validateJson({ type: 'string' }, 1)).toEqual(['must be string']);
    expect(validateJson({ type: 'string' }, 1)).toEqual(['must be string']);
  });
});

describe('recursive schemas', () => {
  const tree = (type: string): JsonSchema => ({
    type: 'object',
    properties: { value: { type }, kids: { type: 'array', items: { $ref: '#' } } },
    required: ['value'],
  });

  test('a schema that refers to itself is held against every level', async () => {
    expect(await validateJson(tree('string'), { value: 'a', kids: [{ value: 'b', kids: [] }] })).toEqual([]);
    expect(validateJson(tree('string'), { value: 'a', kids: [{ kids: [] }] })).toEqual([
      "/kids/0 must have required property 'value'",
    ]);
    expect(validateJson({ $id: 'https://example.org/tree', ...tree('string') }, { value: 'a', kids: [{}] })).toEqual([
      "/kids/0 must have required property 'value'",
    ]);
  });

  test('two such schemas each mean themselves, in whatever order they are asked', async () => {
    const [texts, numbers] = [tree('string'), tree('number')];
    const deep = { value: 1, kids: [{ value: 2 }] };
    expect(await validateJson(numbers, deep)).toEqual([]);
    expect(validateJson(texts, { value: 'a', kids: [{ value: 'b' }] })).toEqual([]);
    expect(validateJson(numbers, deep)).toEqual([]);
    expect(validateJson(texts, deep)).toContain('/kids/0/value must be string');
  });
});

describe('older drafts', () => {
  test('draft-07 is read as draft-07: a list of items is a tuple', async () => {
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }] };
    expect(await validateJson(schema, [1])).toEqual(['/0 must be string']);
    expect(validateJson(schema, ['x', 2])).toEqual([]);
  });

  test('2019-09 is read as 2019-09', async () => {
    const schema = { $schema: 'https://json-schema.org/draft/2019-09/schema', unevaluatedProperties: false };
    expect(await validateJson(schema, { a: 1 })).toEqual(['must NOT have unevaluated properties: "a"']);
  });
});

test('the validator is loaded by the first validation, not by a definition', async () => {
  vi.resetModules();
  const load = vi.fn();
  vi.doMock('ajv/dist/2020.js', async () => {
    load();
    const { Ajv2020 } = await vi.importActual<typeof import('ajv/dist/2020.js')>('ajv/dist/2020.js');
    return { Ajv2020 };
  });
  const { agent } = await import('../../src/define/agent.js');
  const fresh = await import('../../src/kernel/schema.js');
  const { descriptor } = agent({ name: 'a', inputSchema: query, outputSchema: { type: 'string' } });
  expect(load).not.toHaveBeenCalled();
  const first = fresh.validateJson(descriptor.inputSchema, { query: 1 });
  expect(first).toBeInstanceOf(Promise);
  expect(await first).toEqual(['/query must be string']);
  expect(fresh.validateJson(descriptor.inputSchema, { query: 1 })).toEqual(['/query must be string']);
  expect(load).toHaveBeenCalledTimes(1);
  vi.doUnmock('ajv/dist/2020.js');
});
