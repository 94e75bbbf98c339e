/** A state as XState tells it in `snapshot.value`. */
export type StateValue = string | { readonly [key: string]: StateValue | undefined };

/** The `data-ref`s of all states that are active, outermost first: what a page gives the class `lit`. */
export function litStates(machineId: string, value: StateValue): string[] {
  return [machineId, ...inside(machineId, value)];
}

function inside(above: string, value: StateValue): string[] {
  if (typeof value === 'string') return [`${above}.${value}`];
  return Object.entries(value).flatMap(([key, inner]) => {
    const ref = `${above}.${key}`;
    return inner === undefined ? [ref] : [ref, ...inside(ref, inner)];
  });
}
