import type { JsonSchema } from '../../contracts/index.js';

const COUNTS: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);
const SAME: ReadonlySet<string> = new Set(['title', 'description', 'enum', 'default', 'minimum', 'maximum', 'pattern']);

type Node = Record<string, unknown>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Gemini's schema language (`type: 'STRING'`, `nullable`, counts as texts) as JSON Schema; what is JSON Schema stays as it is. */
export function toJsonSchema(schema: unknown): JsonSchema {
  if (!isNode(schema)) return {};
  return (isGemini(schema) ? convert(schema) : JSON.parse(JSON.stringify(schema))) as JsonSchema;
}

/** Its types are written in capitals. */
function isGemini(schema: Node): boolean {
  const { type } = schema;
  if (typeof type === 'string') return type !== type.toLowerCase();
  const inner = [
    schema.items,
    ...(Array.isArray(schema.anyOf) ? schema.anyOf : []),
    ...Object.values(schema.properties ?? {}),
  ];
  return inner.some((one) => isNode(one) && isGemini(one));
}

function convert(schema: Node): Node {
  const made: Node = {};
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || value === null) continue;
    if (SAME.has(key)) made[key] = value;
    else if (COUNTS.has(key)) made[key] = Number(value);
    else if (key === 'required' && Array.isArray(value) && value.length > 0) made[key] = value;
    else if (key === 'items' && isNode(value)) made[key] = convert(value);
    else if (key === 'anyOf' && Array.isArray(value)) made[key] = value.filter(isNode).map(convert);
    else if (key === 'properties' && isNode(value)) {
      made[key] = Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, isNode(one) ? convert(one) : {}]),
      );
    }
  }
  return withType(made, schema);
}

function withType(made: Node, { type, nullable }: Node): Node {
  const plain = typeof type === 'string' && type !== 'TYPE_UNSPECIFIED' ? type.toLowerCase() : undefined;
  if (nullable !== true) return plain === undefined ? made : { type: plain, ...made };
  if (Array.isArray(made.anyOf)) return { ...made, anyOf: [...made.anyOf, { type: 'null' }] };
  if (Array.isArray(made.enum)) return { ...made, type: [plain ?? 'string', 'null'], enum: [...made.enum, null] };
  return plain === undefined ? made : { ...made, type: [plain, 'null'] };
}
