/** A place in a value that does not survive `JSON.parse(JSON.stringify(value))` unchanged. */
export interface JsonFault {
  /** `.properties.x[2]`, or the empty string for the value itself. */
  at: string;
  message: string;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** Every such place, in reading order. Empty: the value is plain JSON. */
export function jsonFaults(value: unknown): JsonFault[] {
  const faults: JsonFault[] = [];
  collect(value, '', [], faults);
  return faults;
}

/** A copy that shares nothing with `value`, which must be plain JSON. Own keys named `__proto__` stay plain keys. */
export function copyJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function collect(value: unknown, at: string, above: readonly object[], faults: JsonFault[]): void {
  const say = (message: string) => faults.push({ at, message });
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value)) say(`${value} is no JSON number`);
      return;
    case 'object':
      break;
    default:
      say(`${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`} is no JSON value`);
      return;
  }
  if (value === null) return;
  if (above.includes(value)) {
    say('contains itself');
    return;
  }
  const path = [...above, value];
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) collect(value[index], `${at}[${index}]`, path, faults);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    say(`a ${value.constructor?.name || 'class instance'} is no plain object`);
    return;
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    say('an object with toJSON() is no plain object');
    return;
  }
  if (Object.getOwnPropertySymbols(value).length > 0) say('keys that are symbols are lost in JSON');
  for (const [key, inner] of Object.entries(value)) {
    collect(inner, IDENTIFIER.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`, path, faults);
  }
}
