import type { Problem } from '../../kernel/errors.js';
import { nearest } from '../../kernel/text.js';
import {
  describeRaw,
  entryOf,
  placeOf,
  type RawEntry,
  type RawList,
  type RawMap,
  type RawNode,
  snakeCase,
  toPlain,
} from './raw.js';

/** Where what was found in one file goes. */
export interface Report {
  /** As it is shown. */
  readonly file: string;
  readonly problems: Problem[];
  readonly notices: string[];
}

/**
 * One map of a file, read key by key. Keys are asked for in camelCase and found in either spelling. A value of the
 * wrong type is reported with its place and read as absent. An entry that holds nothing is a problem too.
 */
export interface Section {
  readonly report: Report;
  readonly map: RawMap;
  /** `file:line:key`; without a key the place of the map. */
  place(...steps: readonly (string | number)[]): string;
  say(key: string, message: string, ...more: readonly (string | number)[]): undefined;
  has(key: string): boolean;
  text(key: string): string | undefined;
  flag(key: string): boolean | undefined;
  /** A whole number from `from`. */
  count(key: string, from?: number): number | undefined;
  /** A number from 0, or above 0; `most` is the largest that there may be. */
  amount(key: string, range?: { above?: 0; most?: number }): number | undefined;
  choice<const T extends string>(key: string, values: readonly T[]): T | undefined;
  texts(key: string): string[] | undefined;
  list(key: string): RawList | undefined;
  /** Any JSON value. */
  plain(key: string): unknown;
  section(key: string): Section | undefined;
  /** A map inside a list. */
  item(key: string, index: number): Section | undefined;
  /** A map whose keys are names of the author's and so have one spelling. */
  names(key: string): Section | undefined;
  /** The value as it stands, whatever it is. */
  raw(key: string): RawNode | undefined;
  /** The keys as they are spelled, in order. */
  keys(): string[];
  /** Each key that is none of `known` (camelCase) is a problem with a suggestion. */
  refuseOthers(known: readonly string[]): void;
}

/** `prefix` stands before the keys in places, for a map that is one of a list. */
export function openSection(report: Report, map: RawMap, prefix = ''): Section {
  return sectionOf({ report, map, above: [], root: map, prefix, exact: false });
}

interface Opening {
  report: Report;
  map: RawMap;
  /** The way from `root`, the map of the whole file, to `map`. */
  above: readonly (string | number)[];
  root: RawMap;
  prefix: string;
  exact: boolean;
}

function sectionOf({ report, map, above, root, prefix, exact }: Opening): Section {
  const place: Section['place'] = (...steps) => placeOf(report.file, root, [...above, ...steps], prefix);
  const say: Section['say'] = (key, message, ...more) => {
    report.problems.push({ code: 'INVALID_DEFINITION', path: place(key, ...more), message });
    return undefined;
  };
  const find = (key: string): RawEntry | undefined => {
    if (exact) return map.entries.get(key);
    const [camel, snake] = [map.entries.get(key), key === snakeCase(key) ? undefined : map.entries.get(snakeCase(key))];
    if (camel !== undefined && snake !== undefined) say(key, `stands twice, as ${key} and as ${snakeCase(key)}`);
    return camel ?? snake;
  };
  /** What `accepts` makes of the value, or a problem that says what was wanted. */
  const read = <T>(key: string, wanted: string, accepts: (node: RawNode) => T | undefined): T | undefined => {
    const entry = find(key);
    if (entry === undefined) return undefined;
    const value = accepts(entry.value);
    return value === undefined
      ? say(key, `must be ${wanted}, not ${describeRaw(entry.value)}${inQuotes(wanted, entry.value)}`)
      : value;
  };
  const open = (key: string, withNames: boolean): Section | undefined => {
    const inner = read(key, 'a map', (node) => (node.kind === 'map' ? node : undefined));
    return inner && sectionOf({ report, map: inner, above: [...above, key], root, prefix, exact: withNames });
  };
  return {
    report,
    map,
    place,
    say,
    has: (key) => entryOf(map, key) !== undefined,
    text: (key) => read(key, 'a text', (node) => (typeof scalar(node) === 'string' ? String(scalar(node)) : undefined)),
    flag: (key) =>
      read(key, 'true or false', (node) => (typeof scalar(node) === 'boolean' ? scalar(node) === true : undefined)),
    count: (key, from = 1) =>
      read(key, `a whole number from ${from}`, (node) => {
        const value = scalar(node);
        return typeof value === 'number' && Number.isSafeInteger(value) && value >= from ? value : undefined;
      }),
    amount: (key, { above, most = Number.MAX_VALUE } = {}) => {
      const least = above === undefined ? 'from 0' : 'above 0';
      return read(key, `a number ${least}${most === Number.MAX_VALUE ? '' : ` to ${most}`}`, (node) => {
        const value = scalar(node);
        const fits = typeof value === 'number' && value <= most && (above === undefined ? value >= 0 : value > 0);
        return fits ? value : undefined;
      });
    },
    choice: (key, values) => {
      const value = read(key, `one of ${values.join(', ')}`, (node) => {
        const given = scalar(node);
        return typeof given === 'string' ? given : undefined;
      });
      const known = values.find((one) => one === value);
      if (value === undefined || known !== undefined) return known;
      return say(key, `must be one of ${values.join(', ')}, not ${JSON.stringify(value)}${hint(value, values)}`);
    },
    texts: (key) => {
      const list = read(key, 'a list of texts', (node) => (node.kind === 'list' ? node : undefined));
      return list?.items.flatMap((item, index) => {
        const value = scalar(item);
        if (typeof value === 'string') return [value];
        say(key, `must be a text, not ${describeRaw(item)}`, index);
        return [];
      });
    },
    list: (key) => read(key, 'a list', (node) => (node.kind === 'list' ? node : undefined)),
    plain: (key) => {
      const entry = find(key);
      return entry && toPlain(entry.value);
    },
    section: (key) => open(key, false),
    item: (key, index) => {
      const list = find(key)?.value;
      const inner = list?.kind === 'list' ? list.items[index] : undefined;
      if (inner?.kind !== 'map') return undefined;
      return sectionOf({ report, map: inner, above: [...above, key, index], root, prefix, exact: false });
    },
    names: (key) => open(key, true),
    raw: (key) => find(key)?.value,
    keys: () => [...map.entries.keys()],
    refuseOthers: (known) => {
      const spellings = new Set(known.flatMap((key) => [key, snakeCase(key)]));
      for (const [key] of map.entries) {
        if (spellings.has(key)) continue;
        const style = /[A-Z]/.test(key) ? known : known.map(snakeCase);
        say(key, `is unknown${hint(key, style) || `; known: ${known.map(snakeCase).join(', ')}`}`);
      }
    },
  };
}

function scalar(node: RawNode): string | number | boolean | null | undefined {
  return node.kind === 'scalar' ? node.value : undefined;
}

function hint(given: string, known: readonly string[]): string {
  const [near] = nearest(given, known);
  return near === undefined ? '' : ` (did you mean "${near}"?)`;
}

/** `name: 7` and `name: yes` are common slips. */
function inQuotes(wanted: string, node: RawNode): string {
  const value = scalar(node);
  return wanted === 'a text' && (typeof value === 'number' || typeof value === 'boolean') ? '; put it in quotes' : '';
}
