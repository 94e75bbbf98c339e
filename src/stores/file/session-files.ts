import { join } from 'node:path';

/** Where the parts of one session lie. */
export interface SessionFiles {
  readonly directory: string;
  readonly log: string;
  readonly summary: string;
  readonly archive: string;
}

export const sessionsDirectory = (root: string): string => join(root, 'sessions');

export function sessionFiles(root: string, id: string): SessionFiles {
  const directory = join(sessionsDirectory(root), id);
  return {
    directory,
    log: join(directory, 'log.jsonl'),
    summary: join(directory, 'summary.json'),
    archive: join(directory, 'archive'),
  };
}
