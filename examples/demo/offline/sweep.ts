// Lists all files that match a pattern: at once where the tool gives them all, else folder by folder.
import type { LeftOut } from '../facts.js';
import { type Answered, answerTo } from './conversation.js';
import { type ListedFile, leftOutOf, listedFiles, listedFolders, stoppedBy } from './tool-text.js';

export interface ToolCall {
  readonly name: string;
  readonly args: object;
}

export interface Sweep {
  /** To be made next; none when the sweep is complete, or as complete as it gets. */
  readonly next: readonly ToolCall[];
  readonly files: readonly ListedFile[];
  readonly leftOut: LeftOut;
}

/** Listings are cheap, but a folder may hold a million files. */
const MAX_LISTINGS = 12;

/** What `done` says about the files at any depth whose names match, and what to ask next. */
export function sweep(done: readonly Answered[], names: string): Sweep {
  const files = new Map<string, ListedFile>();
  const leftOut: LeftOut = { ignored: 0, links: 0, unreadable: 0, tooDeep: 0, stopped: [] };
  const next: ToolCall[] = [];
  let listings = 0;
  let unlisted = 0;

  const list = (path: string, pattern: string): void => {
    const args = path === '.' ? { pattern, stats: true } : { pattern, path, stats: true };
    const answer = answerTo(done, 'glob', args);
    const isDeep = pattern.startsWith('**/');
    if (answer === undefined) {
      if (listings++ < MAX_LISTINGS) next.push({ name: 'glob', args });
      else unlisted++;
      return;
    }
    listings++;
    if (answer.failed) {
      leftOut.stopped.push(`${path}: ${answer.text}`);
      return;
    }
    for (const file of listedFiles(answer.text)) files.set(file.path, file);
    const stopped = stoppedBy(answer.text);
    if (stopped === undefined) {
      const own = leftOutOf(answer.text);
      for (const key of ['ignored', 'links', 'unreadable', 'tooDeep'] as const) leftOut[key] += own[key];
    } else if (!isDeep || listings >= MAX_LISTINGS) leftOut.stopped.push(`${path}: ${stopped}`);
    else listBelow(path, stopped);
  };

  const listBelow = (path: string, stopped: string): void => {
    const args = { path };
    const answer = answerTo(done, 'list_directory', args);
    if (answer === undefined) next.push({ name: 'list_directory', args });
    else if (answer.failed) leftOut.stopped.push(`${path}: ${stopped}`);
    else {
      list(path, names);
      for (const folder of listedFolders(answer.text)) list(path === '.' ? folder : `${path}/${folder}`, `**/${names}`);
    }
  };

  list('.', `**/${names}`);
  if (unlisted > 0) leftOut.stopped.push(`${unlisted} more folders: ${MAX_LISTINGS} listings were made`);
  return { next, files: [...files.values()], leftOut };
}
