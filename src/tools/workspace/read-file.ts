import type { ToolResultData } from '../../contracts/index.js';
import { BinaryFile, type Line, readLines } from './lines.js';
import { type OpenFile, openFileInside } from './open-inside.js';
import { locate } from './place.js';
import { answer, type ReadOnlyTool } from './read-only-tool.js';
import { quoted, refused } from './refusal.js';
import { count } from './shown-text.js';

const MAX_LINES = 2_000;
const MAX_LINE_LENGTH = 2_000;
const MAX_TEXT_BYTES = 128 * 1024;
/** Beyond this the rest of a file is not counted. */
const MAX_SCANNED_BYTES = 64 * 1024 * 1024;

interface ReadFileArgs {
  path: string;
  offset?: number;
  limit?: number;
}

export const readFile: ReadOnlyTool<ReadFileArgs> = {
  name: 'read_file',
  displayName: 'Read file',
  description:
    `Reads a text file of the workspace: up to ${MAX_LINES} lines or ${MAX_TEXT_BYTES / 1024} KB at once, ` +
    `lines cut at ${MAX_LINE_LENGTH} characters. Says what was left out and where to read on.`,
  category: 'read',
  properties: {
    path: { type: 'string', minLength: 1, description: 'The file, relative to the root of the workspace.' },
    offset: { type: 'integer', minimum: 1, description: 'The first line to read, counted from 1. Default 1.' },
    limit: { type: 'integer', minimum: 1, maximum: MAX_LINES, description: `How many lines. Default ${MAX_LINES}.` },
  },
  required: ['path'],
  describe: ({ path, offset }) => ({ title: `Read ${path}`, path, ...(offset === undefined ? {} : { line: offset }) }),
  async run(workspace, args, signal) {
    const place = await locate(workspace, args.path);
    const file = await openFileInside(workspace, place.absolute, args.path);
    try {
      return await readWindow(file, place.path, args, signal);
    } catch (thrown) {
      if (!(thrown instanceof BinaryFile)) throw thrown;
      const sentence = `${quoted(args.path)} is a binary file (${count(file.size, 'byte')}); it cannot be read as text.`;
      return { ...refused('execution_failed', sentence), data: { path: place.path, bytes: file.size, binary: true } };
    } finally {
      await file.handle.close();
    }
  },
};

async function readWindow(
  file: OpenFile,
  path: string,
  { offset = 1, limit = MAX_LINES }: ReadFileArgs,
  signal: AbortSignal,
): Promise<ToolResultData> {
  const taken: Line[] = [];
  let bytes = 0;
  let total = 0;
  let full = false;
  const lines = readLines(file.handle, { signal, maxLineLength: MAX_LINE_LENGTH, maxBytes: MAX_SCANNED_BYTES });
  let step = await lines.next();
  for (; !step.done; step = await lines.next()) {
    for (const line of step.value) {
      total++;
      if (full || total < offset) continue;
      bytes += Buffer.byteLength(line.text) + 1;
      full = taken.length >= limit || (bytes > MAX_TEXT_BYTES && taken.length > 0);
      if (!full) taken.push(line);
    }
  }
  return present(path, file.size, { taken, total, counted: !step.value, offset });
}

interface Window {
  taken: readonly Line[];
  total: number;
  /** False: the file goes on beyond `total` lines. */
  counted: boolean;
  offset: number;
}

function present(path: string, bytes: number, { taken, total, counted, offset }: Window): ToolResultData {
  const last = offset + taken.length - 1;
  const text = taken.map((line) => (line.omitted > 0 ? `${line.text}…` : line.text)).join('\n');
  const truncated = total > last || !counted;
  const all = `${counted ? '' : 'more than '}${count(total, 'line')}`;
  const notes: string[] = [];
  if (total === 0) notes.push('The file is empty.');
  else if (taken.length === 0) notes.push(`The file has ${all}; there is nothing from line ${offset} on.`);
  else if (truncated || offset > 1) notes.push(`Lines ${offset} to ${last}; the file has ${all}.`);
  if (taken.length > 0 && truncated) notes.push(`Read on with offset ${last + 1}.`);
  const cutLines = taken.filter((line) => line.omitted > 0).length;
  if (cutLines > 0) notes.push(`${count(cutLines, 'line was', 'lines were')} cut at ${MAX_LINE_LENGTH} characters.`);
  if (text.includes('\ufffd')) notes.push('Bytes that are not valid UTF-8 are shown as U+FFFD.');
  return answer(text, notes, {
    path,
    bytes,
    firstLine: offset,
    lastLine: last,
    ...(counted ? { totalLines: total } : {}),
    lineEnds: lineEnds(taken),
    truncated: truncated || cutLines > 0,
  });
}

function lineEnds(lines: readonly Line[]): 'lf' | 'crlf' | 'mixed' {
  const crlf = lines.filter((line) => line.crlf).length;
  if (crlf === 0) return 'lf';
  // The last line of a file may have no end at all.
  return crlf >= lines.length - 1 ? 'crlf' : 'mixed';
}
