import type { RawMap, RawNode } from './raw.js';

/** What one answer of a script may hold. */
export const ENTRY_KEYS = [
  'thought',
  'text',
  'refusal',
  'content',
  'toolCalls',
  'usage',
  'finishReason',
  'error',
  'delayMs',
];

const ENTRY_MARKS = [...ENTRY_KEYS, 'tool_calls', 'finish_reason', 'delay_ms'];

/** Said of a file that was taken for an agent or a team. */
export const IS_SCRIPT =
  'is a script for the scripted model, and no agent or team: give it with --script, beside the file of a team, or name it there as "script"';

/** Whether what a file holds is a script for the scripted model: answers in a list, or by agent. */
export function isScript(root: RawNode | undefined): boolean {
  if (root?.kind === 'map') return hasAny(root, ['byAgent', 'by_agent']) && !hasAny(root, ['name', 'pattern']);
  if (root?.kind !== 'list' || root.items.length === 0) return false;
  return root.items.every((item) => item.kind === 'map' && !hasAny(item, ['name']) && hasAny(item, ENTRY_MARKS));
}

const hasAny = ({ entries }: RawMap, keys: readonly string[]): boolean => keys.some((key) => entries.has(key));
