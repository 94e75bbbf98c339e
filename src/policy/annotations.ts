import type { ToolAnnotations } from '../contracts/index.js';

/** Ours, by what is left of a name without case, dashes and the `Hint` of other tools. */
const NAMES: ReadonlyMap<string, string> = new Map(
  ['readOnly', 'destructive', 'longRunning', 'idempotent', 'polling', 'category', 'openWorld'].map((name) => [
    name.toLowerCase(),
    name,
  ]),
);

const ours = (name: string) => NAMES.get(name.toLowerCase().replace(/[-_\s]|hint$/g, '')) ?? name;

/** What a rule asks of a tool's annotations: pairs of our name and value. A list of names wants each to be true. */
export function readAnnotations(written: Partial<ToolAnnotations> | readonly string[]): [string, unknown][] {
  return Array.isArray(written)
    ? written.map((name: string) => [ours(name), true])
    : Object.entries(written).map(([name, value]) => [ours(name), value]);
}
