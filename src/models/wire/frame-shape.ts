/** What a frame may hold at a place: null counts as absent everywhere. What is not named is not looked at. */
export type Shape = 'text' | 'any' | { readonly list: Shape } | { readonly fields: Readonly<Record<string, Shape>> };

/**
 * Where a frame is not what its reader takes it for (`choices[0].delta is a number`); undefined: nowhere. Fields that are
 * named and null are taken out of it, as the clients of providers trip over them.
 */
export function frameFault(frame: unknown, shape: Shape): string | undefined {
  const fault = faultIn(frame, shape, '');
  return fault?.startsWith(' ') ? `it${fault}` : fault?.replace(/^\./, '');
}

function faultIn(value: unknown, shape: Shape, where: string): string | undefined {
  if (shape === 'any') return undefined;
  if (shape === 'text') return typeof value === 'string' ? undefined : `${where} is ${kindOf(value)}`;
  if ('list' in shape) {
    if (!Array.isArray(value)) return `${where} is ${kindOf(value)}`;
    return firstFault(value.entries(), (at, one) => faultIn(one, shape.list, `${where}[${at}]`));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${where} is ${kindOf(value)}`;
  const record = value as Record<string, unknown>;
  return firstFault(Object.entries(shape.fields), (name, field) => {
    if (record[name] === null) delete record[name];
    return record[name] === undefined ? undefined : faultIn(record[name], field, `${where}.${name}`);
  });
}

function firstFault<K, V>(
  entries: Iterable<[K, V]>,
  look: (key: K, value: V) => string | undefined,
): string | undefined {
  for (const [key, value] of entries) {
    const fault = look(key, value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const kindOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`;
