import { type CharSet, type PatternNode, readPattern } from './pattern-syntax.js';

const MOST_POSITIONS = 300;
const MOST_COPIES = 3;

/**
 * Whether a text can match a repetition of the pattern in a number of ways that doubles with its length: `(a+)+`,
 * `(a|a)*`, `(\w*\s*)*`. An engine that tries one way after the other does not come back from those. Patterns too large
 * to be looked at count as dangerous.
 */
export function isAmbiguous(source: string): boolean {
  const automaton = createAutomaton();
  const whole = automaton.add(readPattern(source));
  if (whole === undefined || automaton.isTooLarge()) return true;
  return automaton.hasDoubleEdge() || hasTwoWays(automaton.sets, automaton.follow);
}

/** Positions that a part begins and ends with, and whether it may be empty. */
interface Part {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly isEmpty: boolean;
}

const NOTHING: Part = { first: [], last: [], isEmpty: true };

/** One position per character of the pattern, and which may follow which. */
function createAutomaton() {
  const sets: CharSet[] = [];
  const follow: Set<number>[] = [];
  let hasDouble = false;

  /** Within a repetition, an edge that is there already is a second way to go on. */
  const connect = (from: Part, to: Part, repeats: boolean) => {
    for (const a of from.last) {
      for (const b of to.first) {
        const edges = follow[a] as Set<number>;
        if (repeats && edges.has(b)) hasDouble = true;
        edges.add(b);
      }
    }
  };
  const inTurn = (one: Part, other: Part): Part => {
    connect(one, other, false);
    return {
      first: one.isEmpty ? [...one.first, ...other.first] : one.first,
      last: other.isEmpty ? [...one.last, ...other.last] : other.last,
      isEmpty: one.isEmpty && other.isEmpty,
    };
  };
  const again = (part: Part): Part => {
    connect(part, part, true);
    return part;
  };
  const add = (node: PatternNode): Part => {
    if (sets.length > MOST_POSITIONS) return NOTHING;
    switch (node.kind) {
      case 'empty':
        return NOTHING;
      case 'set': {
        follow.push(new Set());
        const at = sets.push(node.set) - 1;
        return { first: [at], last: [at], isEmpty: false };
      }
      case 'sequence':
        return node.nodes.reduce((part, one) => inTurn(part, add(one)), NOTHING);
      case 'choice': {
        const parts = node.nodes.map(add);
        return {
          first: parts.flatMap(({ first }) => first),
          last: parts.flatMap(({ last }) => last),
          isEmpty: parts.some(({ isEmpty }) => isEmpty),
        };
      }
      case 'repeat':
        return repeat(node);
      default:
        return node satisfies never;
    }
  };
  const repeat = ({ node, least, most }: PatternNode & { kind: 'repeat' }): Part => {
    if (most === 0) return NOTHING;
    // As bad as without a bound: `(.*a){20}`.
    if (most > MOST_COPIES && most < Infinity && (most !== least || lengthOf(node) === undefined)) {
      return repeat({ kind: 'repeat', node, least, most: Infinity });
    }
    if (most === 1) return { ...add(node), ...(least === 0 && { isEmpty: true }) };
    let part = NOTHING;
    for (let copy = 0; copy < Math.min(least, MOST_COPIES); copy++) part = inTurn(part, add(node));
    if (most === least) return part;
    if (most === Infinity && least === 1) return again(part);
    return inTurn(part, { ...again(add(node)), isEmpty: true });
  };
  return {
    sets,
    follow,
    add,
    hasDoubleEdge: () => hasDouble,
    isTooLarge: () => sets.length > MOST_POSITIONS,
  };
}

/** Characters of everything that it matches. Undefined when that differs. */
function lengthOf(node: PatternNode): number | undefined {
  switch (node.kind) {
    case 'empty':
      return 0;
    case 'set':
      return 1;
    case 'repeat': {
      const length = lengthOf(node.node);
      return node.least === node.most && length !== undefined ? length * node.least : undefined;
    }
    case 'sequence':
    case 'choice': {
      const lengths = node.nodes.map(lengthOf);
      if (lengths.includes(undefined)) return undefined;
      if (node.kind === 'sequence') return lengths.reduce<number>((sum, one) => sum + (one ?? 0), 0);
      return new Set(lengths).size === 1 ? lengths[0] : undefined;
    }
    default:
      return node satisfies never;
  }
}

/**
 * Two runs over one text that part and meet again where they began: a strongly connected set of pairs of positions
 * that holds a pair of equals and a pair of others.
 */
function hasTwoWays(sets: readonly CharSet[], follow: readonly Set<number>[]): boolean {
  const size = sets.length;
  const next = (pair: number): number[] => {
    const pairs: number[] = [];
    for (const a of follow[Math.floor(pair / size)] ?? []) {
      for (const b of follow[pair % size] ?? []) {
        if (a === b || overlap(sets[a] ?? [], sets[b] ?? [])) pairs.push(a * size + b);
      }
    }
    return pairs;
  };
  const roots = sets.map((_, at) => at * size + at);
  return someComponent(roots, next, (pairs) => {
    const isEqual = (pair: number) => Math.floor(pair / size) === pair % size;
    return pairs.some(isEqual) && !pairs.every(isEqual);
  });
}

const overlap = (one: CharSet, other: CharSet) => one.some(([a, b]) => other.some(([c, d]) => a <= d && c <= b));

/** Tarjan's strongly connected components of what the roots lead to, without recursion. */
function someComponent(
  roots: readonly number[],
  next: (node: number) => number[],
  test: (component: readonly number[]) => boolean,
): boolean {
  const indices = new Map<number, number>();
  const lows = new Map<number, number>();
  const open: number[] = [];
  const isOpen = new Set<number>();
  const lower = (node: number, to: number) => lows.set(node, Math.min(lows.get(node) ?? to, to));
  for (const root of roots) {
    if (indices.has(root)) continue;
    const path: { node: number; left: number[] }[] = [];
    const enter = (node: number) => {
      indices.set(node, indices.size);
      lows.set(node, indices.get(node) as number);
      open.push(node);
      isOpen.add(node);
      path.push({ node, left: next(node) });
    };
    enter(root);
    for (let frame = path.at(-1); frame !== undefined; frame = path.at(-1)) {
      const child = frame.left.pop();
      if (child !== undefined) {
        if (!indices.has(child)) enter(child);
        else if (isOpen.has(child)) lower(frame.node, indices.get(child) as number);
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent !== undefined) lower(parent.node, lows.get(frame.node) as number);
      if (lows.get(frame.node) !== indices.get(frame.node)) continue;
      const component = open.splice(open.indexOf(frame.node));
      for (const node of component) isOpen.delete(node);
      if (test(component)) return true;
    }
  }
  return false;
}
