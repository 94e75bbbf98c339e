import type { JsonSchema } from '../../contracts/index.js';
import { objectRoot } from './schema-merge.js';
import { inlineRefs } from './schema-refs.js';

/**
 * A tool's arguments for chat completions: an object at the root, references resolved. A recursive schema keeps its
 * references, which are understood there. The original is not touched. Throws `INVALID_ARGUMENT`, naming `where`.
 */
export function toOpenAiParameters(schema: JsonSchema, where: string): JsonSchema {
  const inlined = inlineRefs(schema, where);
  if (!inlined.isRecursive) return objectRoot(inlined.schema);
  // A root that is a reference or a choice is written out once; what it contains again inside stays open.
  if (schema.type !== 'object') return objectRoot(inlined.schema);
  const { $schema, $id, ...kept } = structuredClone(schema) as Record<string, unknown>;
  return kept;
}

/**
 * The `response_format` for an answer that must fit `schema`; nothing where the root is no object, which it cannot
 * say. Strict only for schemas that keep strict mode's rules: closed objects, every property required.
 */
export function toResponseFormat(schema: JsonSchema): Record<string, unknown> | undefined {
  const { schema: inlined, isRecursive } = inlineRefs(schema, 'the output schema');
  if (inlined.type !== 'object') return undefined;
  const json = isRecursive ? toOpenAiParameters(schema, 'the output schema') : inlined;
  return {
    type: 'json_schema',
    json_schema: { name: 'output', schema: json, strict: !isRecursive && fitsStrictMode(json) },
  };
}

const STRICT_KEYWORDS = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
  'enum',
  'const',
  'title',
  'description',
]);

function fitsStrictMode(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const schema = value as Record<string, unknown>;
  if (!Object.keys(schema).every((keyword) => STRICT_KEYWORDS.has(keyword))) return false;
  if (schema.items !== undefined && !fitsStrictMode(schema.items)) return false;
  if (Array.isArray(schema.anyOf) && !schema.anyOf.every(fitsStrictMode)) return false;
  if (schema.properties === undefined && schema.type !== 'object') return true;
  const properties = (schema.properties ?? {}) as Record<string, unknown>;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return (
    schema.additionalProperties === false &&
    Object.entries(properties).every(([name, property]) => required.has(name) && fitsStrictMode(property))
  );
}
