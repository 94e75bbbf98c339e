import type { JsonSchema } from '../../contracts/index.js';
import { inertJson } from '../../kernel/json-value.js';
import { schemaCompileFault } from '../../kernel/schema.js';
import { schemaFaults } from '../../kernel/schema-shape.js';

/** A schema of a server, as it can be used. */
export interface ReadParameters {
  /** What the model is shown. */
  readonly shown: JsonSchema;
  /** What arguments are held against; `{ type: 'object' }` where the schema cannot be compiled. */
  readonly checked: JsonSchema;
  /** Why arguments are not checked; undefined: they are. */
  readonly fault: string | undefined;
}

type Node = Record<string, unknown>;

const ANY_OBJECT: JsonSchema = { type: 'object' };
const LONGEST_SCHEMA = 256 * 1_024;
const DEEPEST = 64;
/** Keywords whose value is a schema or a list of them, and those whose value holds schemas by name. */
const SCHEMAS = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'contains',
  'additionalProperties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'not',
  'if',
  'then',
  'else',
  'allOf',
  'anyOf',
  'oneOf',
]);
const BY_NAME = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads the input schema of a tool in its own draft. What no model adapter could take either (references that lead
 * nowhere, keywords of the wrong shape) is shown with its top-level properties only. Never throws.
 */
export async function readParameters(given: unknown): Promise<ReadParameters> {
  const fault = sizeFault(given);
  if (fault !== undefined) return { shown: ANY_OBJECT, checked: ANY_OBJECT, fault };
  const schema = given as Node;
  const checked = withoutPatterns(schema) as JsonSchema;
  const uncompiled = schema.type === 'object' ? await schemaCompileFault(checked) : 'its type is not "object"';
  const isShowable = uncompiled === undefined && schemaFaults(schema).length === 0 && refsAreLocal(schema);
  return {
    shown: inertJson(isShowable ? schema : outlineOf(schema), 'the schema') as JsonSchema,
    checked: uncompiled === undefined ? checked : ANY_OBJECT,
    fault: uncompiled,
  };
}

/** The output schema of a tool; undefined: there is none that could be used. */
export async function readOutput(given: unknown): Promise<JsonSchema | undefined> {
  if (!isNode(given) || sizeFault(given) !== undefined) return undefined;
  const checked = withoutPatterns(given) as JsonSchema;
  return (await schemaCompileFault(checked)) === undefined ? checked : undefined;
}

export function sizeFault(schema: unknown): string | undefined {
  if (!isNode(schema)) return 'it is no object';
  if (depthOf(schema, 0) > DEEPEST) return `it is nested deeper than ${DEEPEST} levels`;
  const { length } = JSON.stringify(schema);
  return length > LONGEST_SCHEMA ? `it is longer than ${LONGEST_SCHEMA / 1_024} KB` : undefined;
}

function depthOf(value: unknown, above: number): number {
  if (typeof value !== 'object' || value === null || above > DEEPEST) return above;
  let deepest = above;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, above + 1));
  return deepest;
}

/**
 * A copy that checks no regular expression: one that takes exponential time would hold up the whole process, and the
 * server that wrote them checks them anyway.
 */
export function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isNode(schema)) return schema;
  const copied: Node = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'pattern' || keyword === 'patternProperties') continue;
    if (SCHEMAS.has(keyword)) copied[keyword] = withoutPatterns(value);
    else if (BY_NAME.has(keyword) && isNode(value)) copied[keyword] = namedWithoutPatterns(value);
    else if (keyword !== '__proto__') copied[keyword] = value;
  }
  // What the patterns would have let in must not be turned away by the rest.
  if ('patternProperties' in schema) {
    delete copied.additionalProperties;
    delete copied.unevaluatedProperties;
  }
  return copied;
}

const namedWithoutPatterns = (schemas: Node): Node =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutPatterns(schema)]));

/** Whether every reference is a pointer inside the schema that ends at a schema, not at itself. */
function refsAreLocal(root: Node): boolean {
  const follow = (ref: unknown): unknown => {
    if (typeof ref !== 'string' || !(ref === '#' || ref.startsWith('#/'))) return undefined;
    let at: unknown = root;
    for (const step of ref.split('/').slice(1)) {
      const key = decoded(step);
      at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined;
    }
    return at;
  };
  const ends = (node: Node): boolean => {
    const seen = new Set<unknown>();
    for (let at: unknown = node; ; ) {
      if (at === true) return true;
      if (!isNode(at) || seen.has(at)) return false;
      if (at.$ref === undefined) return true;
      seen.add(at);
      at = follow(at.$ref);
    }
  };
  const visit = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.every(visit);
    if (!isNode(value)) return true;
    if (value.$dynamicRef !== undefined || value.$recursiveRef !== undefined) return false;
    return (value.$ref === undefined || ends(value)) && Object.values(value).every(visit);
  };
  return visit(root);
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array']);

/** The names, types and descriptions of the top-level properties of a schema that is good for nothing else. */
function outlineOf(schema: Node): JsonSchema {
  if (!isNode(schema.properties)) return ANY_OBJECT;
  const properties = Object.entries(schema.properties).map(([name, property]) => {
    const { type, description } = isNode(property) ? property : {};
    const outline = {
      ...(typeof type === 'string' && TYPES.has(type) && { type }),
      ...(typeof description === 'string' && { description }),
    };
    return [name, outline] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties) };
}
