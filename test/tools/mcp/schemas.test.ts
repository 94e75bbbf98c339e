import { expect, test } from 'vitest';
import { validateJson } from '../../../src/kernel/schema.js';
import { toGeminiParameters } from '../../../src/models/wire/gemini-schema.js';
import { toOpenAiParameters } from '../../../src/models/wire/openai-schema.js';
import { readOutput, readParameters } from '../../../src/tools/mcp/schemas.js';

const nested = (levels: number): unknown => JSON.parse('{"a":'.repeat(levels).concat('1', '}'.repeat(levels)));

test('a sound schema is shown as it is and checked in its own draft', async () => {
  const seven = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { pair: { type: 'array', items: [{ type: 'string' }], additionalItems: false } },
  };
  const { shown, checked, fault } = await readParameters(seven);
  expect(shown).toEqual(seven);
  expect(fault).toBeUndefined();
  expect(await validateJson(checked, { pair: ['x'] })).toEqual([]);
  expect(await validateJson(checked, { pair: ['x', 'y'] })).toEqual(['/pair must NOT have more than 1 items']);
});

const broken: [string, unknown, string][] = [
  ['an unknown type', { type: 'object', properties: { a: { type: 'banana' } } }, 'the schema cannot be used'],
  ['a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/x' } } }, 'the schema cannot be used'],
  ['a reference outside', { type: 'object', properties: { a: { $ref: 'https://x.invalid/y' } } }, 'cannot be used'],
  ['too deep', { type: 'object', properties: { a: nested(100) } }, 'nested deeper than 64 levels'],
  ['too long', { type: 'object', description: 'x'.repeat(300_000) }, 'longer than 256 KB'],
  ['no object', { type: 'string' }, 'its type is not "object"'],
  ['a list', [], 'it is no object'],
  ['nothing', undefined, 'it is no object'],
  ['null', null, 'it is no object'],
];

test.each(broken)('%s: any object passes, and every model is shown something it can take', async (_, given, why) => {
  const { shown, checked, fault } = await readParameters(given);
  expect(fault).toContain(why);
  expect(await validateJson(checked, { whatever: [1] })).toEqual([]);
  expect(() => toGeminiParameters(shown, 'it')).not.toThrow();
  expect(() => toOpenAiParameters(shown, 'it')).not.toThrow();
});

test('of a schema that cannot be used the model still sees names, types and descriptions', async () => {
  const { shown } = await readParameters({
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to look for.', pattern: 7 },
      limit: { type: 'banana' },
      ref: { $ref: '#/none' },
    },
  });
  expect(shown).toEqual({
    type: 'object',
    properties: { query: { type: 'string', description: 'What to look for.' }, limit: {}, ref: {} },
  });
});

test.each([
  ['to itself', { $ref: '#/properties/a' }],
  ['in a circle', { $ref: '#/properties/b' }],
  ['by a dynamic anchor', { $dynamicRef: '#x' }],
  ['by the name of a known schema', { $ref: 'http://json-schema.org/draft-07/schema#' }],
])('a reference %s, which compiles or not, breaks no model adapter', async (_, a) => {
  const { shown } = await readParameters({
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { a, b: { $ref: '#/properties/a' } },
  });
  expect(() => toGeminiParameters(shown, 'it')).not.toThrow();
  expect(() => toOpenAiParameters(shown, 'it')).not.toThrow();
});

test('patterns are shown and not run: one could take exponential time', async () => {
  const evil = '^(a+)+$';
  const { shown, checked, fault } = await readParameters({
    type: 'object',
    properties: { a: { type: 'string', pattern: evil }, pattern: { type: 'number' } },
    patternProperties: { [evil]: { type: 'number' } },
    propertyNames: { pattern: evil },
    additionalProperties: false,
    $defs: { one: { pattern: evil, type: 'string' } },
    anyOf: [{ properties: { c: { pattern: evil } } }],
  });
  expect(fault).toBeUndefined();
  expect(shown).toMatchObject({ properties: { a: { pattern: evil } } });
  expect(JSON.stringify(checked)).not.toContain('a+');
  // A property that is called so is none.
  expect(checked).toMatchObject({ properties: { pattern: { type: 'number' } } });
  expect(await validateJson(checked, { a: `${'a'.repeat(40)}!`, [`${'a'.repeat(40)}?`]: 1 })).toEqual([]);
  expect(await validateJson(checked, { a: 1 })).toEqual(['/a must be string']);
});

test('keys that would reach into prototypes are inert', async () => {
  const { shown, checked } = await readParameters(
    JSON.parse('{"type":"object","__proto__":{"type":"string"},"properties":{"__proto__":{"type":"string"}}}'),
  );
  expect(shown).toEqual({ type: 'object', properties: {} });
  expect(Object.getPrototypeOf(checked)).toBe(Object.prototype);
  expect(({} as { type?: unknown }).type).toBeUndefined();
});

test('an output schema that cannot be compiled checks nothing', async () => {
  expect(await readOutput({ type: 'banana' })).toBeUndefined();
  expect(await readOutput('x')).toBeUndefined();
  const sound = await readOutput({ type: 'object', required: ['sum'] });
  expect(await validateJson(sound ?? {}, {})).toHaveLength(1);
});
