import type { Bag, Reducer, StateView } from '../contracts/index.js';
import { TroupeError } from './errors.js';
import { inertJson, sameJson } from './json-value.js';
import type { StateDeclaration } from './state-declaration.js';
import { emptyState, reduceState } from './state-reducer.js';
import { didYouMean } from './text.js';

export { mergeDeclarations, type StateDeclaration } from './state-declaration.js';

/** One write: what was given to `set`. With a reducer it is a contribution, without one the new value. */
export interface StateUpdate {
  readonly key: string;
  readonly value: unknown;
}

/** What one branch wrote, under the name by which a conflict tells of it. */
export interface StateBranch {
  readonly name: string;
  readonly updates: readonly StateUpdate[];
}

export interface StateConflict {
  readonly key: string;
  /** All branches that wrote the key, in spawn order. */
  readonly branches: string[];
}

/**
 * The declared record as one thread sees it. Values are frozen copies: changing one in place throws, and nothing that
 * is written later reaches a reader of the past.
 */
export interface StateScope {
  /** Undefined for a key that holds nothing. Throws `UNKNOWN_STATE_KEY`. */
  get(key: string): unknown;
  /** Throws `UNKNOWN_STATE_KEY`, or `INVALID_INPUT` for what is no JSON or does not fit the reducer; then nothing changed. */
  set(key: string, value: unknown): void;
  /** The whole record, frozen; the same object until the next write. Keys that hold nothing are absent. */
  values(): Readonly<Bag>;
  /** A scope that starts from the record as it is at this moment. O(1), whatever the size of the record. */
  fork(): StateScope;
  /** A scope of the same keys that holds `values` and has written `updates`: one that was before, from its log. */
  restored(values: Readonly<Bag>, updates: readonly StateUpdate[]): StateScope;
  /** This scope's own writes in order, those committed into it included. Never what it was forked with. */
  updates(): readonly StateUpdate[];
  /** Key → current value, for the keys that `updates()` names. */
  delta(): Bag;
  /** Applies another scope's updates here, in order; all of them or, when one throws, none. */
  commit(updates: readonly StateUpdate[]): void;
  /** Forgets the own writes and keeps the values: what was written is accounted for. */
  settle(): void;
  /** Takes over what others wrote meanwhile to the keys of the application and of the user; no write of this scope's own. */
  refresh(stored: Readonly<Bag>): void;
  /** Whether several writers of the key are folded by a declared reducer. Throws `UNKNOWN_STATE_KEY`. */
  isReduced(key: string): boolean;
}

/** The writes of one tool call: its own reads see them, nobody else until `scope.commit(call.updates())`. */
export interface CallState {
  readonly view: StateView;
  updates(): readonly StateUpdate[];
}

type Reducers = Map<string, Reducer | undefined>;

/**
 * The root scope of a tree. `values` (of a stored session) go before the declared `initial`s; those of keys that are
 * not declared are left out. Without either, `append` starts at `[]`, `sum` at 0, and any other key holds nothing.
 * Throws `INVALID_DEFINITION` for a key named `__proto__`, `INVALID_INPUT` for a value that is no JSON or does not fit
 * its reducer.
 */
export function createStateScope(options: {
  declaration: StateDeclaration;
  values?: Readonly<Bag> | undefined;
  /** Any key may be written: the first write declares it. */
  isOpen?: boolean;
}): StateScope {
  const { declaration, values = {}, isOpen = false } = options;
  const reducers: Reducers = isOpen ? new OpenReducers() : new Map<string, Reducer | undefined>();
  const record: Bag = {};
  for (const [key, { initial, reducer }] of Object.entries(declaration)) {
    if (key === '__proto__') {
      throw new TroupeError({ code: 'INVALID_DEFINITION', message: 'a state key cannot be named "__proto__"' });
    }
    reducers.set(key, reducer);
    const stored = Object.hasOwn(values, key) ? values[key] : undefined;
    const start = stored !== undefined ? stored : initial !== undefined ? initial : emptyState(reducer);
    if (start === undefined) continue;
    record[key] = inertJson(start, `the value of state key "${key}"`);
    // A start that no write could be added to is refused here, not at the first write.
    if (reducer === 'append' || reducer === 'sum') reduceState(key, reducer, record[key], [emptyState(reducer)]);
  }
  if (isOpen) {
    for (const [key, value] of Object.entries(values)) {
      if (!Object.hasOwn(record, key) && key !== '__proto__')
        record[key] = inertJson(value, `the value of state key "${key}"`);
    }
  }
  return scopeOf(reducers, Object.freeze(record));
}

/** Knows every key but one that no record can have. */
class OpenReducers extends Map<string, Reducer | undefined> {
  override has(key: string): boolean {
    return key !== '__proto__';
  }
}

/** Kept beside the session: others write it, too. */
const isShared = (key: string): boolean => key.startsWith('app:') || key.startsWith('user:');

function scopeOf(reducers: Reducers, start: Readonly<Bag>, written: readonly StateUpdate[] = []): StateScope {
  // Shared with every scope on either side of a fork: frozen, and replaced by a write.
  let record = start;
  let own: StateUpdate[] = [...written];
  const read = (key: string) => (Object.hasOwn(record, key) ? record[key] : undefined);

  const commit = (updates: readonly StateUpdate[]) => {
    if (updates.length === 0) return;
    const taken = updates.map(({ key, value }): StateUpdate => {
      assertDeclared(reducers, key);
      return { key, value: inertJson(value, `state key "${key}"`) };
    });
    const next: Bag = { ...record };
    for (const [key, list] of valuesByKey(taken)) next[key] = reduceState(key, reducers.get(key), read(key), list);
    record = Object.freeze(next);
    for (const update of taken) own.push(update);
  };

  return {
    get(key) {
      assertDeclared(reducers, key);
      return read(key);
    },
    set: (key, value) => commit([{ key, value }]),
    values: () => record,
    fork: () => scopeOf(reducers, record),
    restored(values, updates) {
      const kept: Bag = {};
      for (const [key, value] of Object.entries(values)) {
        if (reducers.has(key)) kept[key] = inertJson(value, `the value of state key "${key}"`);
      }
      return scopeOf(
        reducers,
        Object.freeze(kept),
        updates.filter(({ key }) => reducers.has(key)),
      );
    },
    updates: () => own.slice(),
    delta: () => Object.fromEntries(own.map(({ key }) => [key, read(key)])),
    commit,
    settle() {
      own = [];
    },
    refresh(stored) {
      const next: Bag = {};
      for (const key of new Set([...reducers.keys(), ...Object.keys(record)])) {
        if (!isShared(key) || !Object.hasOwn(stored, key) || sameJson(stored[key], read(key))) continue;
        next[key] = inertJson(stored[key], `the value of state key "${key}"`);
      }
      if (Object.keys(next).length > 0) record = Object.freeze({ ...record, ...next });
    },
    isReduced(key) {
      assertDeclared(reducers, key);
      return reducers.get(key) !== undefined;
    },
  };
}

/** A buffer for one tool call on top of `scope` as it is now: what others commit meanwhile does not reach its reads. */
export function createCallState(scope: StateScope): CallState {
  const { get, set, values, updates } = scope.fork();
  return { view: { get, set, values }, updates };
}

/**
 * Applies what parallel branches wrote, `branches` in spawn order, however they finished. A key with a reducer takes
 * all updates in that order. Without one, two branches that ended with different values are a conflict; equal values
 * are not. With any conflict nothing is applied. Throws as `commit` does, and then changes nothing either.
 */
export function mergeBranches(scope: StateScope, branches: readonly StateBranch[]): { conflicts: StateConflict[] } {
  const written = new Map<string, { value: unknown; branches: string[]; differs: boolean }>();
  const applied: StateUpdate[] = [];
  for (const { name, updates } of branches) {
    for (const [key, values] of valuesByKey(updates)) {
      if (scope.isReduced(key)) continue;
      const value = values.at(-1);
      const before = written.get(key);
      if (before === undefined) written.set(key, { value, branches: [name], differs: false });
      else {
        before.branches.push(name);
        before.differs ||= !sameJson(before.value, value);
      }
    }
    for (const update of updates) if (scope.isReduced(update.key)) applied.push(update);
  }
  const conflicts: StateConflict[] = [];
  for (const [key, { value, branches: names, differs }] of written) {
    if (differs) conflicts.push({ key, branches: names });
    else applied.push({ key, value });
  }
  if (conflicts.length === 0) scope.commit(applied);
  return { conflicts };
}

function valuesByKey(updates: readonly StateUpdate[]): Map<string, unknown[]> {
  const byKey = new Map<string, unknown[]>();
  for (const { key, value } of updates) {
    const values = byKey.get(key);
    if (values === undefined) byKey.set(key, [value]);
    else values.push(value);
  }
  return byKey;
}

const MOST_NAMED = 10;

function assertDeclared(reducers: Reducers, key: string): void {
  if (reducers.has(key)) return;
  const names = [...reducers.keys()];
  const listed = names.slice(0, MOST_NAMED).join(', ') + (names.length > MOST_NAMED ? ' …' : '');
  const message = `state key "${key}" is not declared${didYouMean(key, names)}; declared: ${listed || 'none'}`;
  throw new TroupeError({ code: 'UNKNOWN_STATE_KEY', message });
}
