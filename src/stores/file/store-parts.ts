import type { Committer } from './commit.js';
import type { FilePort } from './file-port.js';
import type { FileHandle } from './handle.js';
import type { Locks } from './lock.js';
import type { SessionFiles } from './session-files.js';
import type { SharedState } from './shared-state.js';

/** What a person may want to know about a store and nobody has to act on. */
export interface StoreNotice {
  code: string;
  sessionId?: string;
  text: string;
}

/** What the sessions of one store have in common. */
export interface StoreParts {
  readonly files: FilePort;
  readonly locks: Locks;
  readonly committer: Committer;
  readonly shared: SharedState;
  /** The handles that write, by session. */
  readonly writers: Map<string, FileHandle>;
  readonly onNotice: (notice: StoreNotice) => void;
  /** Up to which `seq` the shared keys of a session are known to be shared. */
  sharedUpTo(paths: SessionFiles): Promise<number>;
}
