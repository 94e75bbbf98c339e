import { litStates, type StateValue } from '../../drawing/lit-states.js';

export interface ArrowEnds {
  readonly from: string;
  readonly to: string;
}

/** The id of a state's box in a picture, from its path. */
export const boxOf = (ref: string): string =>
  ref
    .split('.')
    .map((name) => name.replace(/[^A-Za-z0-9_]/g, '_'))
    .join('__');

/** Whether a value reads as one of XState's. */
export function isStateValue(value: unknown, depth = 0): value is StateValue {
  if (typeof value === 'string') return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth > 20) return false;
  return Object.values(value).every((inner) => inner === undefined || isStateValue(inner, depth + 1));
}

/**
 * Of the arrows of a picture those that may have led from one value to the next: out of a state that was active, also out
 * of "any of these" around it, into one that is; into the innermost that there is an arrow to.
 */
export function lastTransition(
  machine: string,
  before: StateValue,
  now: StateValue,
  arrows: readonly ArrowEnds[],
): ArrowEnds[] {
  const was = litStates(machine, before).map(boxOf);
  const is = litStates(machine, now).map(boxOf);
  const left = was.filter((box) => !is.includes(box));
  const entered = is.filter((box) => !was.includes(box));
  const from = new Set([...(left.length > 0 ? left : was), ...was.map((box) => `${box}__anywhere`)]);
  for (const box of [...(entered.length > 0 ? entered : is)].reverse()) {
    const found = arrows.filter((arrow) => arrow.to === box && from.has(arrow.from));
    if (found.length > 0) return found;
  }
  return [];
}
