import type { JsonSchema } from '../../contracts/index.js';

type Node = Record<string, unknown>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);
const isList = (value: unknown): value is unknown[] => Array.isArray(value);

/** Both at once, as near as one schema can say it: properties and `required` add up, otherwise `inner` wins. */
export function mergeSchemas(outer: JsonSchema, inner: JsonSchema): JsonSchema {
  const merged: Node = { ...outer, ...inner };
  if (isNode(outer.properties) && isNode(inner.properties)) {
    merged.properties = mergeProperties(outer.properties, inner.properties);
  }
  if (isList(outer.required) && isList(inner.required))
    merged.required = [...new Set([...outer.required, ...inner.required])];
  for (const keyword of ['anyOf', 'oneOf']) {
    // Two choices that hold at once have no form of their own: the first stays.
    if (isList(outer[keyword]) && isList(inner[keyword])) merged[keyword] = outer[keyword];
  }
  return merged;
}

function mergeProperties(outer: Node, inner: Node): Node {
  const merged: Node = { ...outer };
  for (const [name, property] of Object.entries(inner)) {
    const known = merged[name];
    merged[name] = isNode(known) && isNode(property) ? mergeSchemas(known, property) : property;
  }
  return merged;
}

/** `allOf` folded into the schema around it. */
export function foldAllOf(schema: JsonSchema): JsonSchema {
  if (!isList(schema.allOf)) return schema;
  const { allOf, ...rest } = schema;
  return allOf.filter(isNode).reduce<JsonSchema>((merged, part) => mergeSchemas(foldAllOf(part), merged), rest);
}

/**
 * The schema of a tool's arguments with an object at its root, which providers insist on: choices at the root become
 * one object with all their properties, required only where every choice requires them.
 */
export function objectRoot(schema: JsonSchema): JsonSchema {
  const folded = foldAllOf(schema);
  const choices = [...choicesOf(folded.anyOf), ...choicesOf(folded.oneOf)];
  const { anyOf, oneOf, not, enum: _enum, const: _const, nullable, ...rest } = folded;
  const root: Node = { ...rest, type: 'object' };
  const own = isNode(folded.properties) ? folded.properties : {};
  const ofChoices = choices.map((choice) => (isNode(choice.properties) ? choice.properties : {}));
  root.properties = Object.assign({}, ...ofChoices, own) as Node;
  if (choices.length > 0) {
    const everywhere = choices.map((choice) => new Set(isList(choice.required) ? choice.required : []));
    const shared = [...(everywhere[0] ?? [])].filter((name) => everywhere.every((required) => required.has(name)));
    root.required = [...new Set([...(isList(folded.required) ? folded.required : []), ...shared])];
    // Closed by one choice, the properties of the others would be refused.
    delete root.additionalProperties;
  }
  if (isList(root.required) && root.required.length === 0) delete root.required;
  return root;
}

const choicesOf = (value: unknown): JsonSchema[] => (isList(value) ? value.filter(isNode).map(foldAllOf) : []);
