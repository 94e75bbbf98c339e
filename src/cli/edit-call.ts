import { extname } from 'node:path';
import type { ToolPreview } from '../contracts/index.js';
import type { Editable } from './editor.js';
import { prettyJson } from './plain-text.js';

/** What a call would change, worked out anew for other arguments; nothing where its tool cannot say. */
export type PreviewCall = (tool: string, args: unknown) => Promise<ToolPreview>;

type Args = Readonly<Record<string, unknown>>;

/** The text of an edit, which a person edits rather than JSON with the text in it. */
const TEXTS = ['content', 'new_string'] as const;

const textKey = (kind: unknown, args: Args) =>
  kind === 'edit' ? TEXTS.find((key) => typeof args[key] === 'string') : undefined;

/** The arguments of a call as a person edits them: the new text of an edit, a command line, or all of them as JSON. */
export function editableOf(kind: unknown, args: unknown): Editable {
  const given = (args ?? {}) as Args;
  const key = textKey(kind, given);
  if (key !== undefined) {
    return { text: given[key] as string, extension: typeof given.path === 'string' ? extname(given.path) : '.txt' };
  }
  if (kind === 'execute' && typeof given.command === 'string') return { text: `${given.command}\n`, extension: '.sh' };
  return { text: `${prettyJson(given)}\n`, extension: '.json' };
}

/** The arguments with what was edited in them, or why it can be none. */
export function readEdited(kind: unknown, args: unknown, text: string): { args: Args } | { fault: string } {
  const given = (args ?? {}) as Args;
  const key = textKey(kind, given);
  if (key !== undefined) return { args: { ...given, [key]: text } };
  if (kind === 'execute' && typeof given.command === 'string') {
    const command = text.replace(/\n$/, '');
    return command.trim() === '' ? { fault: 'there is no command left' } : { args: { ...given, command } };
  }
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return { args: read as Args };
    return { fault: 'the arguments of a call are a JSON object' };
  } catch (thrown) {
    return { fault: `it is no JSON: ${(thrown as Error).message}` };
  }
}
