/** A set of characters, as ranges of UTF-16 units. */
export type CharSet = readonly (readonly [from: number, to: number])[];

/** A pattern as far as its repetitions matter: assertions are empty. */
export type PatternNode =
  | { readonly kind: 'empty' }
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'sequence' | 'choice'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly least: number; readonly most: number };

const LAST = 0xffff;
const ANY: CharSet = [[0, LAST]];
const ANY_OF_LINE: CharSet = [
  [0, 9],
  [11, LAST],
];
const EMPTY: PatternNode = { kind: 'empty' };
const DIGITS: CharSet = [[48, 57]];
const WORDS: CharSet = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
];
const SPACES: CharSet = [
  [9, 13],
  [32, 32],
];
const CLASSES: Readonly<Record<string, CharSet>> = {
  d: DIGITS,
  D: inverted(DIGITS),
  w: WORDS,
  W: inverted(WORDS),
  s: SPACES,
  S: inverted(SPACES),
};
const CONTROLS: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, f: 12, v: 11, a: 7 };

/** Reads a pattern whose syntax RE2 has accepted. What is not understood is taken for any character. */
export function readPattern(source: string): PatternNode {
  const ignoresCase = /\(\?[a-zA-Z]*i/.test(source);
  const dot = /\(\?[a-zA-Z]*s/.test(source) ? ANY : ANY_OF_LINE;
  let at = 0;

  const choice = (): PatternNode => {
    const nodes = [sequence()];
    while (source[at] === '|') {
      at++;
      nodes.push(sequence());
    }
    return nodes.length === 1 ? (nodes[0] as PatternNode) : { kind: 'choice', nodes };
  };
  const sequence = (): PatternNode => {
    const nodes: PatternNode[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') nodes.push(repeated(atom()));
    return { kind: 'sequence', nodes };
  };
  const repeated = (node: PatternNode): PatternNode => {
    const [written, least, comma, most] = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})/.exec(source.slice(at, at + 12)) ?? [];
    if (written === undefined) return node;
    at += written.length;
    if (source[at] === '?') at++;
    if (written === '*') return { kind: 'repeat', node, least: 0, most: Infinity };
    if (written === '+') return { kind: 'repeat', node, least: 1, most: Infinity };
    if (written === '?') return { kind: 'repeat', node, least: 0, most: 1 };
    const from = Number(least);
    return { kind: 'repeat', node, least: from, most: comma === '' ? from : most === '' ? Infinity : Number(most) };
  };
  const set = (ranges: CharSet): PatternNode => ({ kind: 'set', set: ignoresCase ? withBothCases(ranges) : ranges });
  const atom = (): PatternNode => {
    const char = source[at++] as string;
    switch (char) {
      case '(': {
        const flags = /^\?(?:P?<\w+>|[a-zA-Z-]*:|[a-zA-Z-]*(?=\)))/.exec(source.slice(at));
        at += flags?.[0].length ?? 0;
        const node = choice();
        at++;
        return node;
      }
      case '[':
        return set(bracket());
      case '\\':
        return afterBackslash();
      case '.':
        return set(dot);
      case '^':
      case '$':
        return EMPTY;
      default:
        return set(single(char.charCodeAt(0)));
    }
  };
  const afterBackslash = (): PatternNode => {
    if (source[at] === 'Q') {
      const end = source.indexOf('\\E', at);
      const text = source.slice(at + 1, end < 0 ? undefined : end);
      at = end < 0 ? source.length : end + 2;
      return { kind: 'sequence', nodes: [...text].map((char) => set(single(char.charCodeAt(0)))) };
    }
    if (/[bBAzZE]/.test(source[at] ?? '')) {
      at++;
      return EMPTY;
    }
    return set(escaped());
  };
  const escaped = (): CharSet => {
    const char = source[at++] ?? '';
    const known = CLASSES[char];
    if (known !== undefined) return known;
    if (char === 'p' || char === 'P') {
      at += /^(?:\{[^}]*\}|.)/.exec(source.slice(at))?.[0].length ?? 0;
      return ANY;
    }
    if (char === 'x') {
      const [written = '', braced, plain] = /^(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))/.exec(source.slice(at)) ?? [];
      at += written.length;
      return single(Math.min(LAST, Number.parseInt(braced ?? plain ?? '0', 16)));
    }
    const octal = /^[0-7]{1,3}/.exec(source.slice(at - 1))?.[0];
    if (octal !== undefined) {
      at += octal.length - 1;
      return single(Number.parseInt(octal, 8));
    }
    return single(CONTROLS[char] ?? char.charCodeAt(0));
  };
  const bracket = (): CharSet => {
    const isInverted = source[at] === '^';
    if (isInverted) at++;
    const ranges: (readonly [number, number])[] = [];
    for (let first = true; at < source.length && (first || source[at] !== ']'); first = false) {
      const named = /^\[:\^?\w+:\]/.exec(source.slice(at));
      if (named !== null) {
        at += named[0].length;
        ranges.push([0, LAST]);
        continue;
      }
      const from = member();
      if (source[at] === '-' && source[at + 1] !== ']' && from.length === 1) {
        at++;
        const to = member();
        ranges.push([from[0]?.[0] ?? 0, to[0]?.[1] ?? LAST]);
      } else ranges.push(...from);
    }
    at++;
    return isInverted ? inverted(ranges) : ranges;
  };
  const member = (): CharSet => {
    const char = source[at++] as string;
    return char === '\\' ? escaped() : single(char.charCodeAt(0));
  };
  return choice();
}

const single = (code: number): CharSet => [[code, code]];

function inverted(set: CharSet): CharSet {
  const ranges: [number, number][] = [];
  let next = 0;
  for (const [from, to] of [...set].sort(([a], [b]) => a - b)) {
    if (from > next) ranges.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= LAST) ranges.push([next, LAST]);
  return ranges;
}

function withBothCases(set: CharSet): CharSet {
  const shifted = (from: number, to: number, by: number) =>
    set.flatMap(([a, b]): [number, number][] => {
      const start = Math.max(a, from);
      const end = Math.min(b, to);
      return start <= end ? [[start + by, end + by]] : [];
    });
  return [...set, ...shifted(65, 90, 32), ...shifted(97, 122, -32)];
}
