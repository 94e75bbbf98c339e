// Reads what the workspace tools say to a model: lists, and a last line of notes in brackets.
import type { LeftOut } from '../facts.js';

export interface ListedFile {
  readonly path: string;
  readonly bytes: number | undefined;
  /** Absent for a binary, very large or unreadable file. */
  readonly lines: number | undefined;
}

export interface FoundLine {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** The lines of an answer, and its notes apart. */
function split(text: string): { lines: string[]; notes: string } {
  const lines = text.split('\n').filter((line) => line !== '');
  const last = lines.at(-1) ?? '';
  return /^\[.*\.\]$/.test(last) ? { lines: lines.slice(0, -1), notes: last.slice(1, -1) } : { lines, notes: '' };
}

const number = (text: string | undefined) => (text === undefined ? undefined : Number(text.replaceAll(',', '')));

/** A path with characters that would break a line is quoted. */
function unquoted(path: string): string {
  if (!path.startsWith('"')) return path;
  try {
    return String(JSON.parse(path));
  } catch {
    return path;
  }
}

/** What `glob` with `stats` found. */
export function listedFiles(text: string): ListedFile[] {
  return split(text).lines.map((line) => {
    const measured = /^(.*) {2}(?:([\d,]+) lines?, )?([\d,]+) bytes?$/.exec(line);
    const [, path = line, lines, bytes] = measured ?? [];
    return { path: unquoted(path), lines: number(lines), bytes: number(bytes) };
  });
}

/** The folders that `list_directory` names. */
export function listedFolders(text: string): string[] {
  return split(text).lines.flatMap((line) => (line.endsWith('/') ? [unquoted(line.slice(0, -1))] : []));
}

/** What `search_text` found. */
export function foundLines(text: string): FoundLine[] {
  return split(text).lines.flatMap((line) => {
    const match = /^("(?:[^"\\]|\\.)*"|.*?):(\d+): (.*)$/.exec(line);
    const [, path, at, found] = match ?? [];
    return path === undefined || found === undefined ? [] : [{ path: unquoted(path), line: Number(at), text: found }];
  });
}

/** Why an answer is not the whole of it, as the tool puts it. */
export function stoppedBy(text: string): string | undefined {
  return /Stopped early: (.*?)\.(?: |$)/.exec(split(text).notes)?.[1];
}

/** What an answer says that it left out. */
export function leftOutOf(text: string): Omit<LeftOut, 'stopped'> {
  const { notes } = split(text);
  const count = (pattern: RegExp) => number(pattern.exec(notes)?.[1]) ?? 0;
  return {
    ignored: count(/([\d,]+) entr(?:y|ies) ignored/),
    links: count(/([\d,]+) symbolic links?/),
    unreadable: count(/([\d,]+) files? or folders? that could not be read/),
    tooDeep: count(/([\d,]+) folders? nested/),
  };
}
