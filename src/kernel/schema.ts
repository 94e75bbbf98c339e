import type { JsonSchema, SchemaInput, SchemaPair, StandardSchema } from '../contracts/index.js';
import { describeError, type Problem } from './errors.js';
import { inertJson, jsonFault } from './json-value.js';
import { describesObjects, schemaFaults } from './schema-shape.js';

export { schemaCompileFault, validateJson } from './validate-json.js';

const DRAFT = 'draft-2020-12';

/** JSON Schema of an agent's input when it declares none: `{ prompt: string }`. */
export const DEFAULT_INPUT_SCHEMA: JsonSchema = Object.freeze({
  type: 'object',
  properties: Object.freeze({ prompt: Object.freeze({ type: 'string' }) }),
  required: Object.freeze(['prompt']),
});

/** Whether a schema is the default input, also after a trip through JSON: text goes in as it is. */
export function isDefaultInputSchema(schema: JsonSchema): boolean {
  return schema === DEFAULT_INPUT_SCHEMA || JSON.stringify(schema) === JSON.stringify(DEFAULT_INPUT_SCHEMA);
}

/** What became of a schema that an author handed in. */
export interface SchemaReading {
  /** A frozen copy, plain JSON, draft 2020-12 unless its own `$schema` says otherwise; `{ type: 'object' }` when there are problems. */
  jsonSchema: JsonSchema;
  /** Absent for plain JSON Schema. */
  validator?: StandardSchema<unknown, unknown>;
  problems: Problem[];
}

/**
 * Reads a Standard Schema, a `{ schema, jsonSchema }` pair or a JSON Schema, once. Never throws: what is wrong
 * stands in `problems`, each with what would work. `objectOnly`: values must be objects (tool parameters, agent input).
 */
export function readSchema(given: SchemaInput, place: { path: string; objectOnly: boolean }): SchemaReading {
  const failed = (message: string): SchemaReading => ({
    jsonSchema: { type: 'object' },
    problems: [{ code: 'INVALID_DEFINITION', path: place.path, message }],
  });
  const found = findSchema(given);
  if ('fault' in found) return failed(found.fault);
  const lost = jsonFault(found.jsonSchema);
  if (lost !== undefined) return failed(`the JSON Schema must be plain JSON: ${lost.trim()}`);
  const problems = schemaFaults(found.jsonSchema).map(({ at, message }) => ({
    code: 'INVALID_DEFINITION',
    path: `${place.path}${at}`,
    message,
  }));
  if (problems.length > 0) return { jsonSchema: { type: 'object' }, problems };
  const plain = withoutDraft(found.jsonSchema);
  if (place.objectOnly && Object.keys(plain).length > 0 && !describesObjects(plain)) {
    return failed(`must describe an object, such as { type: 'object', properties: { … } }; this is ${kindOf(plain)}`);
  }
  const jsonSchema = place.objectOnly && plain.type === undefined ? { type: 'object', ...plain } : plain;
  return {
    jsonSchema: inertJson(jsonSchema, place.path) as JsonSchema,
    ...(found.validator && { validator: found.validator }),
    problems: [],
  };
}

type Found = { jsonSchema: JsonSchema; validator?: StandardSchema<unknown, unknown> } | { fault: string };

function findSchema(given: unknown): Found {
  try {
    return lookFor(given);
  } catch (thrown) {
    return { fault: `the schema cannot be read: ${describeError(thrown).message}` };
  }
}

function lookFor(given: unknown): Found {
  if (isStandard(given)) return fromStandard(given);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return {
      fault: `a schema is a Standard Schema, { schema, jsonSchema } or a JSON Schema object, not ${shown(given)}`,
    };
  }
  if (isPair(given)) return { jsonSchema: given.jsonSchema, validator: given.schema };
  if ('~standard' in given || ('schema' in given && 'jsonSchema' in given)) return { fault: NO_VALIDATOR };
  if ('_def' in given) {
    return { fault: 'this schema object has no "~standard": use a version of its library that speaks Standard Schema' };
  }
  return { jsonSchema: given as JsonSchema };
}

const NO_VALIDATOR = 'a Standard Schema needs "~standard".validate, a function that says { value } or { issues }';

function fromStandard(schema: StandardSchema<unknown, unknown>): Found {
  const standard = schema['~standard'];
  const advice = 'pass { schema, jsonSchema } with its JSON Schema beside it';
  if (typeof standard.jsonSchema?.input !== 'function') {
    return { fault: `the ${standard.vendor} schema cannot say its JSON Schema (no "~standard".jsonSchema): ${advice}` };
  }
  try {
    // The input side: what a model or a caller must write, before defaults and transforms.
    return { jsonSchema: standard.jsonSchema.input({ target: DRAFT }), validator: schema };
  } catch (thrown) {
    return { fault: `the ${standard.vendor} schema has no JSON Schema (${describeError(thrown).message}): ${advice}` };
  }
}

/** The draft that descriptors are written in goes without saying; another stays and is read as such. */
function withoutDraft(schema: JsonSchema): JsonSchema {
  const { $schema, ...rest } = schema;
  return typeof $schema === 'string' && !$schema.includes('2020-12') ? schema : rest;
}

function isStandard(given: unknown): given is StandardSchema<unknown, unknown> {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null || !('~standard' in given))
    return false;
  const standard: unknown = given['~standard'];
  return typeof standard === 'object' && standard !== null && typeof Object(standard).validate === 'function';
}

function isPair(given: object): given is SchemaPair<unknown, unknown> {
  return 'schema' in given && 'jsonSchema' in given && isStandard(given.schema);
}

function kindOf(schema: JsonSchema): string {
  return schema.type === undefined ? 'a schema without "type"' : `of type ${shown(schema.type)}`;
}

function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  return JSON.stringify(value) ?? String(value);
}
