import { sameJson } from '../../kernel/json-value.js';
import { toPlain } from './raw.js';
import type { Section } from './section.js';

export interface Condition {
  readonly holds: (context: { readonly state: Readonly<Record<string, unknown>>; readonly last: unknown }) => boolean;
  /** The state key that it asks for. */
  readonly state: string | undefined;
}

/**
 * `until: { state: done, equals: true }` or `until: { last: review.ok, equals: true }`: the end of a loop, or the guard
 * of an edge, as data. `last` is a field of the last child's output, dots lead further in; what is not there equals nothing.
 */
export function readCondition(section: Section, key: string): Condition | undefined {
  const inner = section.section(key);
  if (inner === undefined) return undefined;
  inner.refuseOthers(['state', 'last', 'equals']);
  const [state, last, wanted] = [inner.text('state'), inner.text('last'), inner.raw('equals')];
  if (inner.has('state') === inner.has('last')) {
    return section.say(key, 'needs either state, the name of a state key, or last, a field of the last output');
  }
  if (wanted === undefined) return inner.say('equals', 'is missing');
  const value = toPlain(wanted);
  if (state !== undefined) {
    return { state, holds: (context) => Object.hasOwn(context.state, state) && sameJson(context.state[state], value) };
  }
  if (last === undefined) return undefined;
  const path = last.split('.');
  return { state: undefined, holds: (context) => sameJson(fieldOf(context.last, path), value) };
}

/** Undefined, which equals no JSON value, where the path leads nowhere. */
function fieldOf(value: unknown, path: readonly string[]): unknown {
  let found: unknown = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}
