import { join } from 'node:path';

/** Where the parts of one session lie. */
export interface SessionFiles {
  readonly directory: string;
  readonly log: string;
  readonly summary: string;
  readonly archive: string;
}

export const sessionsDirectory = (root: string): string => join(root, 'sessions');

export const sessionFiles = (root: string, id: string): SessionFiles => new Paths(root, id);

/** Put together when they are asked for: a session that is open for days asks seldom. */
class Paths implements SessionFiles {
  constructor(
    private readonly root: string,
    private readonly id: string,
  ) {}

  get directory(): string {
    return join(sessionsDirectory(this.root), this.id);
  }
  get log(): string {
    return join(this.directory, 'log.jsonl');
  }
  get summary(): string {
    return join(this.directory, 'summary.json');
  }
  get archive(): string {
    return join(this.directory, 'archive');
  }
}
