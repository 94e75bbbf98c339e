/**
 * What a YAML or JSON document says, with the line of everything: plain data whose aliases are expanded, whose numbers
 * are finite and which has no key `__proto__`. Lines count from 1 in the file.
 */
export type RawNode = RawScalar | RawList | RawMap;

export interface RawScalar {
  readonly kind: 'scalar';
  readonly line: number;
  readonly value: string | number | boolean | null;
}

export interface RawList {
  readonly kind: 'list';
  readonly line: number;
  readonly items: readonly RawNode[];
}

export interface RawMap {
  readonly kind: 'map';
  readonly line: number;
  readonly entries: ReadonlyMap<string, RawEntry>;
}

export interface RawEntry {
  /** Of the key. */
  readonly line: number;
  readonly value: RawNode;
}

/** The same as a JSON value, shared with nobody. */
export function toPlain(node: RawNode): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(toPlain);
  return Object.fromEntries([...node.entries].map(([key, { value }]) => [key, toPlain(value)]));
}

/** A node in a sentence: `"abc"`, `7`, `a list`, `nothing`. */
export function describeRaw(node: RawNode): string {
  if (node.kind === 'list') return 'a list';
  if (node.kind === 'map') return 'a map';
  if (node.value === null) return 'nothing';
  const said = JSON.stringify(node.value);
  return said.length > 60 ? `${said.slice(0, 57)}…` : said;
}

/** `max_turns` for `maxTurns`: files may use either. */
export function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The entry of a key given in camelCase, in either spelling. */
export function entryOf(map: RawMap, key: string): { spelled: string; entry: RawEntry } | undefined {
  for (const spelled of [key, snakeCase(key)]) {
    const entry = map.entries.get(spelled);
    if (entry !== undefined) return { spelled, entry };
  }
  return undefined;
}

/**
 * `file:line:key` of what `steps` lead to from `map`, as far as they lead; keys are given in camelCase and told as they
 * are spelled. A key that is not there is told with the line of the map that lacks it.
 */
export function placeOf(file: string, map: RawMap, steps: readonly (string | number)[], prefix = ''): string {
  let at: { line: number; value: RawNode } = { line: map.line, value: map };
  let path = prefix;
  for (const step of steps) {
    const { value } = at;
    const item = typeof step === 'number' && value.kind === 'list' ? value.items[step] : undefined;
    const found = typeof step === 'string' && value.kind === 'map' ? entryOf(value, step) : undefined;
    path += typeof step === 'number' ? `[${step}]` : `${path === '' ? '' : '.'}${found?.spelled ?? snakeCase(step)}`;
    if (item !== undefined) at = { line: item.line, value: item };
    else if (found !== undefined) at = found.entry;
    else break;
  }
  const { line } = at;
  return path === '' ? `${file}:${line}` : `${file}:${line}:${path}`;
}
