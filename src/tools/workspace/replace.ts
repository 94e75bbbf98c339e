import { bytesOf, type EditTool } from './edit-tool.js';
import { type Found, findText, lineEndAt, linesOf, MAX_FOUND } from './find-text.js';
import { whyNotFound } from './not-found.js';
import { quoted, WorkspaceRefusal } from './refusal.js';
import { count } from './shown-text.js';

interface ReplaceArgs {
  path: string;
  old_string: string;
  new_string: string;
  expected_replacements?: number;
}

const MAX_SHOWN_LINES = 10;

export const replace: EditTool<ReplaceArgs> = {
  name: 'replace',
  displayName: 'Replace text',
  description:
    'Replaces a literal text (no regular expression) in a text file of the workspace. It must stand there exactly as ' +
    'often as expected, white space and all, else nothing is changed. Give enough of the lines around it to make it ' +
    'the only one. Line ends stay as they are in the file.',
  properties: {
    path: { type: 'string', minLength: 1, description: 'The file, relative to the root of the workspace.' },
    old_string: { type: 'string', minLength: 1, description: 'The text to replace, as it stands in the file.' },
    new_string: { type: 'string', description: 'What comes in its place; nothing to take the text away.' },
    expected_replacements: { type: 'integer', minimum: 1, description: 'How often the text stands there. Default 1.' },
  },
  required: ['path', 'old_string', 'new_string'],
  describe: ({ path }) => ({ title: `Edit ${path}`, path }),
  plan({ path, before }, args) {
    if (before === undefined) {
      throw new WorkspaceRefusal('file_not_found', `${quoted(path)} does not exist; write_file makes new files.`);
    }
    const { bytes } = before;
    if (bytes.includes(0)) {
      throw new WorkspaceRefusal('execution_failed', `${quoted(path)} is a binary file; it cannot be edited as text.`);
    }
    bytesOf(args.old_string, 'old_string');
    bytesOf(args.new_string, 'new_string');
    if (args.old_string === args.new_string) {
      throw new WorkspaceRefusal(
        'invalid_tool_params',
        'old_string and new_string are the same; nothing would change.',
      );
    }
    const { found, exact } = findText(bytes, args.old_string);
    checkCount(bytes, found, args);
    const lines = linesOf(bytes, found);
    return {
      after: replaced(bytes, found, args.new_string, exact),
      said: `Replaced ${count(found.length, 'occurrence')} in ${quoted(path)} (${shownLines(lines)}).`,
      data: { replacements: found.length, lines },
    };
  },
};

function checkCount(bytes: Buffer, found: readonly Found[], args: ReplaceArgs): void {
  const { path, expected_replacements: expected = 1 } = args;
  if (found.length > MAX_FOUND) {
    const often = `old_string stands more than ${count(MAX_FOUND, 'time')} in ${quoted(path)}`;
    throw new WorkspaceRefusal('edit_no_occurrence_found', `${often}; nothing was changed. Use write_file.`);
  }
  if (found.length === expected) return;
  if (found.length === 0) {
    const why = whyNotFound(bytes.toString('utf8'), args);
    throw new WorkspaceRefusal(
      'edit_no_occurrence_found',
      `old_string does not stand in ${quoted(path)}; nothing was changed. ${why}`,
    );
  }
  const times = `old_string stands ${count(found.length, 'time')} in ${quoted(path)}`;
  throw new WorkspaceRefusal(
    'edit_no_occurrence_found',
    `${times} (${shownLines(linesOf(bytes, found))}), not ${count(expected, 'time')}; nothing was changed. ` +
      `Give more of the text around it, or expected_replacements: ${found.length} to replace all.`,
  );
}

function shownLines(lines: readonly number[]): string {
  const distinct = [...new Set(lines)];
  const shown = distinct.slice(0, MAX_SHOWN_LINES).join(', ');
  const more = distinct.length > MAX_SHOWN_LINES ? ' …' : '';
  return `${distinct.length === 1 ? 'line' : 'lines'} ${shown}${more}`;
}

function replaced(bytes: Buffer, found: readonly Found[], newText: string, exact: boolean): Buffer {
  const forms = { '\n': Buffer.from(newText), '\r\n': Buffer.from(newText.replace(/\r?\n/g, '\r\n')) };
  const pieces: Buffer[] = [];
  let next = 0;
  for (const place of found) {
    pieces.push(bytes.subarray(next, place.from), forms[exact ? '\n' : lineEndAt(bytes, place)]);
    next = place.to;
  }
  return Buffer.concat([...pieces, bytes.subarray(next)]);
}
