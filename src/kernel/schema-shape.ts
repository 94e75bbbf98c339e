/** One keyword that is not as it must be; `at` is its place, such as `.properties.x.type`. */
export interface SchemaFault {
  at: string;
  message: string;
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
const SCHEMA_KEYS = [
  'items',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'additionalProperties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'additionalItems',
];
const SCHEMA_LIST_KEYS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SCHEMA_MAP_KEYS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const NUMBER_KEYS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const COUNT_KEYS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];

const BOUNDS = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const;

type Keywords = Record<string, unknown>;

/**
 * What would keep a schema from being compiled, found without a compiler: keywords of the wrong shape, unknown types,
 * patterns that are no regular expression, references that lead nowhere. `schema` is plain JSON.
 */
export function schemaFaults(schema: unknown): SchemaFault[] {
  const faults: SchemaFault[] = [];
  if (isKeywords(schema)) visit(schema, '', schema, faults);
  else faults.push({ at: '', message: 'a schema is an object' });
  return faults;
}

/** Whether every value that the schema accepts is an object, as far as its keywords say. */
export function describesObjects(schema: unknown, root: unknown = schema, following: readonly string[] = []): boolean {
  if (!isKeywords(schema)) return false;
  if (schema.type !== undefined) return schema.type === 'object';
  const all = (list: unknown) =>
    Array.isArray(list) && list.length > 0 && list.every((one) => describesObjects(one, root, following));
  if (all(schema.anyOf) || all(schema.oneOf)) return true;
  if (Array.isArray(schema.allOf) && schema.allOf.some((one) => describesObjects(one, root, following))) return true;
  const target = schema.$ref;
  if (typeof target === 'string' && !following.includes(target)) {
    return describesObjects(resolveLocal(root, target), root, [...following, target]);
  }
  return isKeywords(schema.properties);
}

function visit(schema: unknown, at: string, root: Keywords, faults: SchemaFault[]): void {
  const say = (key: string, message: string) => faults.push({ at: `${at}.${key}`, message });
  if (typeof schema === 'boolean') return;
  if (!isKeywords(schema)) {
    faults.push({ at, message: 'must be a schema: an object or a boolean' });
    return;
  }
  for (const type of schema.type === undefined ? [] : [schema.type].flat()) {
    if (!TYPES.includes(type as string))
      say('type', `unknown type ${JSON.stringify(type)}; known: ${TYPES.join(', ')}`);
  }
  const { required } = schema;
  if (required !== undefined) {
    if (!isListOf(required, (one) => typeof one === 'string')) say('required', 'must be a list of property names');
    else if (new Set(required).size < required.length) say('required', 'names a property twice');
  }
  if (schema.enum !== undefined && !(Array.isArray(schema.enum) && schema.enum.length > 0)) {
    say('enum', 'must be a list of values, at least one');
  }
  for (const key of NUMBER_KEYS) {
    if (schema[key] !== undefined && typeof schema[key] !== 'number') say(key, 'must be a number');
  }
  for (const key of COUNT_KEYS) {
    const count = schema[key];
    if (count !== undefined && !(Number.isInteger(count) && Number(count) >= 0))
      say(key, 'must be a whole number from 0');
  }
  for (const [least, most] of BOUNDS) {
    const [from, to] = [schema[least], schema[most]];
    if (typeof from === 'number' && typeof to === 'number' && from > to) {
      say(least, `is above ${most}: nothing is from ${from} and at most ${to}`);
    }
  }
  if (schema.pattern !== undefined && !isPattern(schema.pattern)) say('pattern', 'is no regular expression');
  if (schema.$ref !== undefined) visitReference(schema.$ref, root, (message) => say('$ref', message));
  const visitList = (list: readonly unknown[], key: string) => {
    for (const [index, one] of list.entries()) visit(one, `${at}.${key}[${index}]`, root, faults);
  };
  for (const key of SCHEMA_KEYS) {
    const inner = schema[key];
    // Before 2020-12 `items` may be a list of schemas.
    if (key === 'items' && Array.isArray(inner)) visitList(inner, key);
    else if (inner !== undefined) visit(inner, `${at}.${key}`, root, faults);
  }
  for (const key of SCHEMA_LIST_KEYS) {
    const list = schema[key];
    if (list === undefined) continue;
    if (!Array.isArray(list) || list.length === 0) say(key, 'must be a list of schemas, at least one');
    else visitList(list, key);
  }
  for (const key of SCHEMA_MAP_KEYS) {
    const map = schema[key];
    if (map === undefined) continue;
    if (!isKeywords(map)) say(key, 'must be an object of schemas');
    else for (const [name, one] of Object.entries(map)) visit(one, `${at}.${key}.${name}`, root, faults);
  }
}

function visitReference(target: unknown, root: Keywords, say: (message: string) => void): void {
  if (typeof target !== 'string') say('must be a text');
  else if (isLocal(target)) {
    if (resolveLocal(root, target) === undefined) say(`${target} leads nowhere in this schema`);
    else if (isCircle(root, target)) say(`${target} leads only to itself`);
  } else if (!namesParts(root)) {
    say(`${target} leads out of this schema, and nothing is fetched: put what it names under $defs`);
  }
}

/** Whether something in it has a name of its own that a reference may lead to; which, is left to the compiler. */
const namesParts = (root: Keywords): boolean => /"\$(id|anchor|dynamicAnchor)":/.test(JSON.stringify(root));

const isLocal = (target: string): boolean => target === '#' || target.startsWith('#/');

/** Whether following a reference, and the one that it leads to, and so on, never comes to a schema. */
function isCircle(root: Keywords, target: string): boolean {
  const seen = new Set<unknown>();
  for (let next: unknown = target; typeof next === 'string' && isLocal(next); ) {
    if (seen.has(next)) return true;
    seen.add(next);
    const found = resolveLocal(root, next);
    next = isKeywords(found) ? found.$ref : undefined;
  }
  return false;
}

function resolveLocal(root: unknown, target: string): unknown {
  if (target === '#') return root;
  let current: unknown = root;
  for (const step of target.slice(2).split('/')) {
    const key = decode(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Keywords)[key];
  }
  return current;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function isPattern(pattern: unknown): boolean {
  if (typeof pattern !== 'string') return false;
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

function isListOf(value: unknown, test: (one: unknown) => boolean): value is unknown[] {
  return Array.isArray(value) && value.every(test);
}

function isKeywords(value: unknown): value is Keywords {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
