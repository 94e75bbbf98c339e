import type { Reducer } from '../contracts/index.js';
import type { Problem } from './errors.js';
import { jsonFault, sameJson } from './json-value.js';
import { emptyState, reduceState } from './state-reducer.js';
import { cutText } from './text.js';

/** The state keys of one tree. A key without a reducer is overwritten. */
export type StateDeclaration = Readonly<
  Record<string, { readonly initial?: unknown; readonly reducer?: Reducer | undefined }>
>;

type Entry = StateDeclaration[string];

/**
 * One declaration for a whole tree, out of those of its agents (outermost first; `path` is named in problems).
 * Nested declarations of a key must agree: the same reducer, an equal `initial`. An entry with neither, which is what
 * an `outputKey` declares, agrees with any other. Each disagreement, each `initial` that is no JSON or does not fit
 * its reducer, each unknown reducer and each impossible name is one problem; the first entry then stands.
 */
export function mergeDeclarations(sources: readonly { path: string; declaration: StateDeclaration }[]): {
  declaration: StateDeclaration;
  problems: Problem[];
} {
  const merged = new Map<string, { entry: Entry; path: string }>();
  const problems: Problem[] = [];
  for (const { path, declaration } of sources) {
    for (const [key, entry] of Object.entries(declaration)) {
      const fault = entryFault(key, entry);
      const before = merged.get(key);
      if (fault !== undefined) problems.push({ code: 'INVALID_DEFINITION', path, message: fault });
      else if (before === undefined || isBare(before.entry)) merged.set(key, { entry, path });
      else if (!isBare(entry)) {
        const difference = differ(key, entry, before.entry, before.path);
        if (difference !== undefined) problems.push({ code: 'INVALID_DEFINITION', path, message: difference });
      }
    }
  }
  return { declaration: Object.fromEntries([...merged].map(([key, { entry }]) => [key, entry])), problems };
}

const isBare = ({ initial, reducer }: Entry) => initial === undefined && reducer === undefined;

function entryFault(key: string, { initial, reducer }: Entry): string | undefined {
  if (key === '__proto__') return 'a state key cannot be named "__proto__"';
  const fault = initial === undefined ? undefined : jsonFault(initial);
  if (fault !== undefined) return `state key "${key}": initial${fault}; only JSON values can be kept`;
  if (typeof reducer === 'function' || reducer === undefined) return undefined;
  try {
    reduceState(key, reducer, initial, [emptyState(reducer)]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function differ(key: string, entry: Entry, before: Entry, beforePath: string): string | undefined {
  if (entry.reducer !== before.reducer) {
    const [here, there] = [sayReducer(entry.reducer), sayReducer(before.reducer)];
    const both = here === there ? 'another reducer function' : here;
    return `state key "${key}" is declared with ${both}, in ${beforePath} with ${there}`;
  }
  const [here, there] = [startOf(entry), startOf(before)];
  if (sameJson(here, there)) return undefined;
  return `state key "${key}" starts as ${sayValue(here)}, in ${beforePath} as ${sayValue(there)}`;
}

const startOf = ({ initial, reducer }: Entry) => (initial !== undefined ? initial : emptyState(reducer));

function sayReducer(reducer: Reducer | undefined): string {
  if (reducer === undefined) return 'no reducer';
  return typeof reducer === 'function' ? 'a reducer function' : `the reducer ${reducer}`;
}

const sayValue = (value: unknown) => (value === undefined ? 'nothing' : cutText(JSON.stringify(value), 80));
