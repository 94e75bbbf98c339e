import { TroupeError } from './errors.js';

const DEEPEST = 500;
/** What `inertJson` made: frozen all the way down, so that it need not be copied again. */
const inert = new WeakSet<object>();

/**
 * A frozen copy of a JSON value that nobody can reach into; what this function made before is returned as it is.
 * Own `__proto__` keys and properties that are `undefined` are dropped, -0 is 0.
 * Throws `INVALID_INPUT`, naming `where` and the place inside, for what JSON would lose: functions, cycles, class
 * instances, NaN and infinities, `undefined`, symbols, bigints, and nesting deeper than 500 levels.
 */
export function inertJson(value: unknown, where: string): unknown {
  return copy(value, where, new Set());
}

function copy(value: unknown, where: string, above: Set<object>): unknown {
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value !== 'object') throw notJson(where, sayWhat(value));
  if (inert.has(value)) return value;
  if (above.has(value)) throw notJson(where, 'a cycle');
  if (above.size >= DEEPEST) throw notJson(where, `nested deeper than ${DEEPEST} levels`);
  above.add(value);
  const copied = Array.isArray(value) ? copyArray(value, where, above) : copyObject(value, where, above);
  above.delete(value);
  inert.add(Object.freeze(copied));
  return copied;
}

function copyArray(list: readonly unknown[], where: string, above: Set<object>): unknown[] {
  return Array.from(list, (item, index) => copy(item, `${where}[${index}]`, above));
}

function copyObject(object: object, where: string, above: Set<object>): object {
  if (!isPlain(object)) throw notJson(where, sayWhat(object));
  const copied: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(object)) {
    if (key !== '__proto__' && value !== undefined) copied[key] = copy(value, `${where}.${key}`, above);
  }
  return copied;
}

function notJson(where: string, what: string): TroupeError {
  return new TroupeError({ code: 'INVALID_INPUT', message: `${where} is ${what}: only JSON values can be kept` });
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  // An object of another realm (a vm, a test runner) has another Object.prototype, whose own prototype is null too.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

function sayWhat(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    const made: unknown = Reflect.get(value, 'constructor');
    return `an instance of ${typeof made === 'function' ? made.name : 'a class'}`;
  }
  return typeof value === 'number' || value === undefined ? String(value) : `a ${typeof value}`;
}

/**
 * Where a value would change in `JSON.parse(JSON.stringify(value))`, in words (`.data.at is an instance of Date`);
 * nothing when it would not. A property that is `undefined` counts as absent.
 */
export function jsonFault(value: unknown): string | undefined {
  return faultIn(value, '', new Set());
}

function faultIn(value: unknown, where: string, above: Set<object>): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return undefined;
  if (typeof value !== 'object') return `${where} is ${sayWhat(value)}`;
  if (above.has(value)) return `${where} is a cycle`;
  if (above.size >= DEEPEST) return `${where} is nested deeper than ${DEEPEST} levels`;
  if (!Array.isArray(value) && !isPlain(value)) return `${where} is ${sayWhat(value)}`;
  if (typeof Reflect.get(value, 'toJSON') === 'function') return `${where} has a toJSON function`;
  above.add(value);
  const fault = Array.isArray(value) ? faultInArray(value, where, above) : faultInObject(value, where, above);
  above.delete(value);
  return fault;
}

function faultInArray(list: readonly unknown[], where: string, above: Set<object>): string | undefined {
  for (const [index, item] of list.entries()) {
    const fault = faultIn(item, `${where}[${index}]`, above);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultInObject(object: object, where: string, above: Set<object>): string | undefined {
  if (Object.getOwnPropertySymbols(object).length > 0) return `${where} has a symbol for a key`;
  for (const [key, value] of Object.entries(object)) {
    const fault = value === undefined ? undefined : faultIn(value, `${where}.${key}`, above);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Whether two JSON values are the same; the order of keys does not count, a property that is `undefined` is absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return Number.isNaN(a) && Number.isNaN(b);
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => sameJson(item, b[index]))
    );
  }
  const left = presentKeys(a);
  const right = presentKeys(b);
  return (
    left.length === right.length &&
    left.every((key) => Object.hasOwn(b, key) && sameJson(Reflect.get(a, key), Reflect.get(b, key)))
  );
}

function presentKeys(object: object): string[] {
  return Object.keys(object).filter((key) => Reflect.get(object, key) !== undefined);
}

/**
 * One text for all spellings of a JSON value: keys sorted by UTF-16 units, no white space.
 * Never throws: what JSON would lose is `null`, a cycle `"[cycle]"`.
 */
export function canonicalJson(value: unknown): string {
  return canonical(value, new Set());
}

function canonical(value: unknown, above: Set<object>): string {
  if (typeof value !== 'object' || value === null)
    return typeof value === 'bigint' ? 'null' : (JSON.stringify(value) ?? 'null');
  if (above.has(value) || above.size >= DEEPEST) return '"[cycle]"';
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return JSON.stringify(value);
  above.add(value);
  const text = Array.isArray(value)
    ? `[${Array.from(value, (item) => canonical(item, above)).join(',')}]`
    : `{${presentKeys(value)
        .sort()
        .map((key) => `${JSON.stringify(key)}:${canonical(Reflect.get(value, key), above)}`)
        .join(',')}}`;
  above.delete(value);
  return text;
}
