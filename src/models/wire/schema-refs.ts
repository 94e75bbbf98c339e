import type { JsonSchema } from '../../contracts/index.js';
import { ModelError } from '../../kernel/errors.js';
import { mergeSchemas } from './schema-merge.js';

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = [
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
];
const LIST = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items'];
const BY_NAME = ['properties', 'patternProperties', 'dependentSchemas'];
const DROPPED = new Set([
  '$ref',
  '$dynamicRef',
  '$defs',
  'definitions',
  '$schema',
  '$id',
  '$anchor',
  '$dynamicAnchor',
  '$comment',
  '$vocabulary',
]);

/** Beyond this many sub-schemas the rest is left open: references that branch grow exponentially. */
const MOST_NODES = 20_000;

type Node = Record<string, unknown>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A copy without `$ref` and without definitions; what stands beside a `$ref` wins over what it points to. Where a
 * schema contains itself, the inner one is left open (its type and a description), and `isRecursive` is true.
 * Throws `INVALID_ARGUMENT`, naming `where`, for a reference that leads nowhere, elsewhere, or only to itself.
 */
export function inlineRefs(schema: JsonSchema, where: string): { schema: JsonSchema; isRecursive: boolean } {
  let isRecursive = false;
  let nodes = 0;

  function copy(value: unknown, above: readonly Node[]): unknown {
    if (!isNode(value)) return value;
    if (++nodes > MOST_NODES) return {};
    const { target, beside } = follow(value, schema, where);
    if (above.includes(target)) {
      isRecursive = true;
      return { ...openInner(target), ...beside };
    }
    const path = [...above, target];
    const result: Node = {};
    for (const [keyword, inner] of Object.entries(mergeSchemas(target, beside))) {
      if (!DROPPED.has(keyword)) result[keyword] = copyKeyword(keyword, inner, path);
    }
    return result;
  }

  function copyKeyword(keyword: string, inner: unknown, path: readonly Node[]): unknown {
    if (Array.isArray(inner)) return LIST.includes(keyword) ? inner.map((item) => copy(item, path)) : inner;
    if (!isNode(inner)) return inner;
    if (ONE.includes(keyword)) return copy(inner, path);
    if (!BY_NAME.includes(keyword)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, item]) => [name, copy(item, path)]));
  }

  return { schema: copy(schema, []) as JsonSchema, isRecursive };
}

/** The schema that a node stands for, and the keywords beside its references, the outermost winning. */
function follow(node: Node, root: JsonSchema, where: string): { target: Node; beside: Node } {
  let beside: Node = {};
  const seen: Node[] = [];
  let target = node;
  for (;;) {
    const ref = target.$ref ?? target.$dynamicRef;
    if (typeof ref !== 'string') return { target, beside };
    if (seen.includes(target)) throw unresolved(where, ref, 'leads only to itself');
    seen.push(target);
    const { $ref, $dynamicRef, ...siblings } = target;
    beside = { ...siblings, ...beside };
    target = lookUp(ref, root, where);
  }
}

function lookUp(ref: string, root: JsonSchema, where: string): Node {
  const hash = ref.indexOf('#');
  const base = hash === -1 ? ref : ref.slice(0, hash);
  const fragment = hash === -1 ? '' : ref.slice(hash + 1);
  const start = base === '' ? (root as Node) : find(root, (node) => node.$id === base || node.id === base);
  if (start === undefined) throw unresolved(where, ref, 'points outside of the schema');
  const target =
    fragment === '' || fragment.startsWith('/')
      ? walk(start, fragment)
      : find(start, (node) => node.$anchor === fragment || node.$dynamicAnchor === fragment);
  if (!isNode(target)) {
    if (target === true) return {};
    throw unresolved(where, ref, 'leads nowhere');
  }
  return target;
}

function walk(start: Node, pointer: string): unknown {
  let at: unknown = start;
  for (const step of pointer.split('/').slice(1)) {
    const key = decode(step).replaceAll('~1', '/').replaceAll('~0', '~');
    at = (isNode(at) || Array.isArray(at)) && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined;
  }
  return at;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function find(value: unknown, fits: (node: Node) => boolean): Node | undefined {
  if (isNode(value) && fits(value)) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const inner of Object.values(value)) {
    const found = find(inner, fits);
    if (found !== undefined) return found;
  }
  return undefined;
}

function openInner(target: Node): Node {
  const open: Node = { description: target.description ?? 'Has the same shape as the schema around it.' };
  if (target.type !== undefined) open.type = target.type;
  else if (isNode(target.properties)) open.type = 'object';
  return open;
}

const unresolved = (where: string, ref: string, why: string): ModelError =>
  new ModelError({ code: 'INVALID_ARGUMENT', message: `${where}: the reference "${ref}" ${why}` });
