import { expandBraces } from './brace-expansion.js';
import { WorkspaceRefusal } from './refusal.js';

/** A glob over paths whose parts are joined by `/`, relative to the folder that the glob is about. */
export interface GlobPattern {
  matches(path: string): boolean;
  /** False when nothing below this folder can match. */
  mayMatchBelow(folder: string): boolean;
}

type Token = { kind: 'literal'; text: string } | { kind: 'any' } | { kind: 'star' } | CharacterClass;
interface CharacterClass {
  kind: 'class';
  negated: boolean;
  ranges: [from: number, to: number][];
}
type Segment = '**' | readonly Token[];

const MAX_LENGTH = 1_000;
const MAX_ALTERNATIVES = 64;

/**
 * `*` any run of characters but `/` (names that begin with a dot too), `?` one character, `[a-z]` `[!a-z]` a class,
 * `{a,b}` alternatives, `**` as a whole part any number of folders, `\` takes the next character as it is. A final `/`
 * stands for everything below. Case matters.
 * Matching never backtracks over the whole pattern: a pattern is written by a model and may be hostile, so its cost is
 * bounded by the length of the pattern times the length of the path.
 * Throws `WorkspaceRefusal` for an empty, an absolute and a climbing pattern, and for one that is too large.
 */
export function compileGlob(pattern: string): GlobPattern {
  if (pattern.trim() === '') throw invalid('The pattern is empty.');
  if (pattern.length > MAX_LENGTH) throw invalid(`The pattern is longer than ${MAX_LENGTH} characters.`);
  const expanded = expandBraces(pattern, MAX_ALTERNATIVES);
  if (expanded === undefined) throw invalid(`The pattern has more than ${MAX_ALTERNATIVES} alternatives in braces.`);
  const alternatives = expanded.map(segmentsOf);
  return {
    matches: (path) => {
      const names = path.split('/');
      return alternatives.some((segments) => reach(segments, names).has(segments.length));
    },
    mayMatchBelow: (folder) => {
      const names = folder.split('/');
      return alternatives.some((segments) => [...reach(segments, names)].some((at) => at < segments.length));
    },
  };
}

function segmentsOf(pattern: string): Segment[] {
  if (pattern.startsWith('/')) throw invalid('The pattern must be relative: it may not begin with "/".');
  const parts = pattern
    .split('/')
    .filter((part, at, all) => (part !== '' && part !== '.') || (part === '' && at === all.length - 1));
  const last = parts.length - 1;
  if (parts.includes('..')) throw invalid('The pattern may not climb with "..".');
  return parts.map((part, at) => (part === '**' || (part === '' && at === last) ? '**' : tokensOf(part)));
}

/** The places in `segments` that may come next after `names`: like a state machine with all its states at once. */
function reach(segments: readonly Segment[], names: readonly string[]): Set<number> {
  let places = withSkips(segments, [0]);
  for (const name of names) {
    const next: number[] = [];
    for (const place of places) {
      const segment = segments[place];
      if (segment === '**') next.push(place);
      else if (segment !== undefined && matchesName(segment, name)) next.push(place + 1);
    }
    places = withSkips(segments, next);
    if (places.size === 0) break;
  }
  return places;
}

function withSkips(segments: readonly Segment[], places: readonly number[]): Set<number> {
  const all = new Set(places);
  for (const place of all) if (segments[place] === '**') all.add(place + 1);
  return all;
}

/** Goes back to the last star only, which is enough: an earlier star can give nothing that a later one cannot. */
function matchesName(tokens: readonly Token[], name: string): boolean {
  const characters = Array.from(name);
  let at = 0;
  let token = 0;
  let starToken = -1;
  let starAt = 0;
  while (at < characters.length) {
    const here = tokens[token];
    if (here?.kind === 'star') {
      starToken = token++;
      starAt = at;
    } else if (here !== undefined && accepts(here, characters[at] ?? '')) {
      token++;
      at++;
    } else if (starToken >= 0) {
      token = starToken + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  while (tokens[token]?.kind === 'star') token++;
  return token === tokens.length;
}

function accepts(token: Token, character: string): boolean {
  if (token.kind === 'literal') return token.text === character;
  if (token.kind !== 'class') return token.kind === 'any';
  const code = character.codePointAt(0) ?? 0;
  return token.ranges.some(([from, to]) => code >= from && code <= to) !== token.negated;
}

function tokensOf(part: string): Token[] {
  const characters = Array.from(part);
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    const classed = character === '[' ? classAt(characters, at) : undefined;
    if (classed !== undefined) {
      tokens.push(classed.token);
      at = classed.end;
    } else if (character === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else if (character === '?') {
      tokens.push({ kind: 'any' });
    } else {
      const escaped = character === '\\' && at + 1 < characters.length;
      tokens.push({ kind: 'literal', text: escaped ? (characters[++at] ?? '') : character });
    }
  }
  return tokens;
}

/** The class that begins at `start`, or nothing: a `[` that is never closed stands for itself. */
function classAt(characters: readonly string[], start: number): { token: CharacterClass; end: number } | undefined {
  let at = start + 1;
  const negated = characters[at] === '!' || characters[at] === '^';
  if (negated) at++;
  const ranges: [number, number][] = [];
  for (let first = true; at < characters.length; first = false, at++) {
    if (characters[at] === ']' && !first) return { token: { kind: 'class', negated, ranges }, end: at };
    const from = characters[at]?.codePointAt(0) ?? 0;
    const ends = characters[at + 1] === '-' && characters[at + 2] !== undefined && characters[at + 2] !== ']';
    ranges.push([from, ends ? (characters[at + 2]?.codePointAt(0) ?? from) : from]);
    if (ends) at += 2;
  }
  return undefined;
}

function invalid(sentence: string): WorkspaceRefusal {
  return new WorkspaceRefusal('execution_failed', sentence);
}
