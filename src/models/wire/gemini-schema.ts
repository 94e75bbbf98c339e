import type { JsonSchema } from '../../contracts/index.js';
import { foldAllOf, mergeSchemas, objectRoot } from './schema-merge.js';
import { inlineRefs } from './schema-refs.js';

/** Gemini's own schema language, an OpenAPI subset: one `type` each, `nullable`, `enum` of texts only. */
export interface GeminiSchema {
  type?: 'STRING' | 'NUMBER' | 'INTEGER' | 'BOOLEAN' | 'OBJECT' | 'ARRAY';
  title?: string;
  description?: string;
  nullable?: boolean;
  enum?: string[];
  format?: string;
  anyOf?: GeminiSchema[];
  items?: GeminiSchema;
  properties?: Record<string, GeminiSchema>;
  required?: string[];
  minItems?: string;
  maxItems?: string;
  minLength?: string;
  maxLength?: string;
  minProperties?: string;
  maxProperties?: string;
  minimum?: number;
  maximum?: number;
  pattern?: string;
}

type Node = Record<string, unknown>;
type GeminiType = NonNullable<GeminiSchema['type']>;

const TYPES: Readonly<Record<string, GeminiType>> = {
  string: 'STRING',
  number: 'NUMBER',
  integer: 'INTEGER',
  boolean: 'BOOLEAN',
  object: 'OBJECT',
  array: 'ARRAY',
};

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  STRING: ['date-time', 'enum'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
};

/** Counts travel as texts (int64 in JSON). */
const COUNTS = {
  STRING: ['minLength', 'maxLength'],
  ARRAY: ['minItems', 'maxItems'],
  OBJECT: ['minProperties', 'maxProperties'],
} as const;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A JSON Schema in Gemini's form. What that cannot say is loosened, never tightened: the answer is validated against
 * the original, which is not touched. Throws `INVALID_ARGUMENT`, naming `where`, for references that cannot be resolved.
 */
export function toGeminiSchema(schema: JsonSchema, where: string): GeminiSchema {
  return convert(inlineRefs(schema, where).schema);
}

/** The parameters of a function, an object at the root; nothing when it takes none. */
export function toGeminiParameters(schema: JsonSchema, where: string): GeminiSchema | undefined {
  const root = objectRoot(inlineRefs(schema, where).schema);
  return Object.keys(root.properties as Node).length === 0 ? undefined : convert(root);
}

function convert(value: unknown): GeminiSchema {
  if (!isNode(value)) return anything();
  const schema = foldAllOf(value) as Node;
  const choices = [...listOf(schema.anyOf), ...listOf(schema.oneOf)];
  if (choices.length > 0) return convertChoices(schema, choices);
  if (Array.isArray(schema.type)) return convertTypes(schema, schema.type);
  if (Array.isArray(schema.enum) && schema.enum.includes(null)) {
    return { ...convert({ ...schema, enum: schema.enum.filter((item) => item !== null) }), nullable: true };
  }
  const type = typeOf(schema);
  if (type === undefined) {
    return {
      ...describe(schema),
      ...anything(),
      ...(schema.type === 'null' || schema.const === null ? { nullable: true } : {}),
    };
  }
  const converted: GeminiSchema = { type, ...describe(schema) };
  if (schema.nullable === true) converted.nullable = true;
  addValues(converted, schema, type);
  addLimits(converted, schema, type);
  if (type === 'OBJECT') addProperties(converted, schema);
  if (type === 'ARRAY') converted.items = convertItems(schema);
  return converted;
}

/** `anyOf` and `oneOf`: null becomes `nullable`, one choice that is left stands for itself. */
function convertChoices(schema: Node, choices: readonly unknown[]): GeminiSchema {
  const { anyOf, oneOf, description, title, nullable, default: _default, ...shared } = schema;
  const real = choices.filter((choice) => !isNullOnly(choice));
  const isNullable = nullable === true || real.length < choices.length;
  const around = { ...describe(schema), ...(isNullable ? { nullable: true } : {}) };
  const merged = real.map((choice) => (isNode(choice) ? mergeSchemas(shared, choice) : shared));
  if (merged.length === 1) return { ...convert(merged[0]), ...around };
  if (merged.length === 0) return { ...anything(), ...around };
  return { ...around, anyOf: merged.map(convert) };
}

/** A list of types: null becomes `nullable`, several become `anyOf`. */
function convertTypes(schema: Node, types: readonly unknown[]): GeminiSchema {
  const real = types.filter((type) => type !== 'null');
  const nullable = real.length < types.length || schema.nullable === true ? { nullable: true } : {};
  if (real.length === 1) return { ...convert({ ...schema, type: real[0] }), ...nullable };
  if (real.length === 0) return { ...describe(schema), ...anything(), ...nullable };
  const { description, title, nullable: _nullable, ...shared } = schema;
  return { ...describe(schema), ...nullable, anyOf: real.map((type) => convert({ ...shared, type })) };
}

function typeOf(schema: Node): GeminiType | undefined {
  if (typeof schema.type === 'string') return TYPES[schema.type.toLowerCase()];
  if (isNode(schema.properties) || Array.isArray(schema.required)) return 'OBJECT';
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'ARRAY';
  const values = Object.hasOwn(schema, 'const') ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : [];
  const types = new Set(values.map(typeOfValue));
  if (types.size === 2 && types.has('INTEGER') && types.has('NUMBER')) return 'NUMBER';
  return types.size === 1 ? [...types][0] : undefined;
}

function typeOfValue(value: unknown): GeminiType | undefined {
  if (Array.isArray(value)) return 'ARRAY';
  if (typeof value === 'number') return Number.isInteger(value) ? 'INTEGER' : 'NUMBER';
  return value === null ? undefined : TYPES[typeof value];
}

/** `enum` and `const` where they are texts; else they are told in the description. */
function addValues(converted: GeminiSchema, schema: Node, type: GeminiType): void {
  const values: unknown[] | undefined = Object.hasOwn(schema, 'const')
    ? [schema.const]
    : (schema.enum as unknown[] | undefined);
  if (!Array.isArray(values) || values.length === 0) return;
  if (type === 'STRING' && values.every((value): value is string => typeof value === 'string' && value !== '')) {
    converted.enum = [...values];
    return;
  }
  const told = `One of: ${values.map((value) => JSON.stringify(value)).join(', ')}.`;
  converted.description = converted.description === undefined ? told : `${converted.description} ${told}`;
}

function addLimits(converted: GeminiSchema, schema: Node, type: GeminiType): void {
  if (typeof schema.format === 'string' && FORMATS[type]?.includes(schema.format)) converted.format = schema.format;
  if (type === 'NUMBER' || type === 'INTEGER') {
    // An exclusive limit has no form of its own; the inclusive one is the looser.
    const minimum = schema.minimum ?? schema.exclusiveMinimum;
    const maximum = schema.maximum ?? schema.exclusiveMaximum;
    if (typeof minimum === 'number') converted.minimum = minimum;
    if (typeof maximum === 'number') converted.maximum = maximum;
  }
  if (type !== 'STRING' && type !== 'ARRAY' && type !== 'OBJECT') return;
  for (const keyword of COUNTS[type]) {
    const count = schema[keyword];
    if (typeof count === 'number') converted[keyword] = String(count);
  }
  // RE2 has neither lookaround nor back references.
  if (type === 'STRING' && typeof schema.pattern === 'string' && !/\(\?|\\[1-9k]/.test(schema.pattern)) {
    converted.pattern = schema.pattern;
  }
}

function addProperties(converted: GeminiSchema, schema: Node): void {
  const properties = isNode(schema.properties) ? schema.properties : {};
  const names = Object.keys(properties);
  if (names.length > 0) {
    converted.properties = Object.fromEntries(names.map((name) => [name, convert(properties[name])]));
  }
  // A required name without a property is refused.
  const required = listOf(schema.required).filter(
    (name): name is string => typeof name === 'string' && names.includes(name),
  );
  if (required.length > 0) converted.required = required;
}

function convertItems(schema: Node): GeminiSchema {
  const tuple = [...listOf(schema.prefixItems), ...listOf(schema.items)];
  const rest = isNode(schema.items) ? [schema.items] : [];
  if (tuple.length === 0) return convert(schema.items);
  const kinds = new Map([...tuple, ...rest].map((item) => [JSON.stringify(item), item]));
  const different = [...kinds.values()];
  return different.length === 1 ? convert(different[0]) : { anyOf: different.map(convert) };
}

/** Gemini wants a type everywhere: every type at once is the schema that takes anything. */
function anything(): GeminiSchema {
  return {
    nullable: true,
    anyOf: [
      { type: 'STRING' },
      { type: 'NUMBER' },
      { type: 'BOOLEAN' },
      { type: 'OBJECT' },
      { type: 'ARRAY', items: { type: 'STRING' } },
    ],
  };
}

function describe(schema: Node): Pick<GeminiSchema, 'title' | 'description'> {
  const words: Pick<GeminiSchema, 'title' | 'description'> = {};
  if (typeof schema.title === 'string') words.title = schema.title;
  if (typeof schema.description === 'string') words.description = schema.description;
  return words;
}

const isNullOnly = (value: unknown): boolean =>
  isNode(value) &&
  (value.type === 'null' ||
    value.const === null ||
    (Array.isArray(value.enum) && value.enum.length === 1 && value.enum[0] === null));

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
