import type { AnyStateMachine } from 'xstate';

/** Any JSON object. */
export type PlainConfig = { [key: string]: unknown };

/**
 * The config that a machine was made from, as plain JSON: what names actions, guards and actors stays, functions go.
 * It can be given to `createMachine` again, and opens in Stately's editor.
 */
export function plainConfig(machine: AnyStateMachine): PlainConfig {
  return plainOf(machine.config) as PlainConfig;
}

/** One machine as it is; several as the regions of one. */
export function configOfAll(machines: readonly AnyStateMachine[]): PlainConfig {
  const [only] = machines;
  if (only !== undefined && machines.length === 1) return plainConfig(only);
  const states = Object.fromEntries(machines.map((machine) => [machine.id, plainConfig(machine)]));
  return { id: 'machines', type: 'parallel', states };
}

function plainOf(value: unknown): unknown {
  if (typeof value === 'function') return value.name === '' ? undefined : { type: value.name };
  if (Array.isArray(value)) return value.map(plainOf).filter((item) => item !== undefined);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, inner]) => {
    // What is computed at run time: it has no name that a reader would know.
    if (typeof inner === 'function' && computed.has(key)) return [];
    const plain = plainOf(inner);
    return plain === undefined ? [] : [[key, plain] as const];
  });
  return Object.fromEntries(entries);
}

const computed = new Set(['context', 'input', 'output', 'params']);
