import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Bag, SessionMetadata } from '../../contracts/index.js';
import { type FilePort, replaceFile } from './file-port.js';
import { livingOf } from './living.js';
import type { StateEntry } from './scan-log.js';

/** Keys that the sessions of an application, or of a user of it, have in common. */
export interface SharedState {
  /** As of this moment, with what is on its way into the files. */
  read(owner: SessionMetadata): Bag;
  /** Sets keys for all; those without a prefix are left aside. Resolves once others can read them. */
  write(owner: SessionMetadata, changes: ReadonlyMap<string, StateEntry>, isLate?: boolean): Promise<void>;
  /** Whether there is no file of what an application, or a user of it, shares. */
  isMissing(of: 'app' | 'user', owner: SessionMetadata): Promise<boolean>;
  /** Sees to it that the application has a file, if an empty one. */
  begin(owner: SessionMetadata): Promise<void>;
}

const isShared = (key: string) => key.startsWith('app:') || key.startsWith('user:');

/** The keys of a session's changes that are shared with others. */
export function sharedPart(changes: ReadonlyMap<string, StateEntry>): Map<string, StateEntry> {
  return new Map([...changes].filter(([key]) => isShared(key)));
}

type Entries = Record<string, StateEntry>;

export function createSharedState(files: FilePort, root: string): SharedState {
  const directory = join(root, 'shared');
  const known = new Map<string, Shelf>();

  const shelfOf = (...owner: (string | undefined)[]): Shelf => {
    const name = createHash('sha256').update(JSON.stringify(owner)).digest('hex').slice(0, 32);
    const shelf = known.get(name) ?? new Shelf(files, directory, join(directory, `${name}.json`));
    known.set(name, shelf);
    return shelf;
  };
  const ofApp = ({ appName }: SessionMetadata) => shelfOf('app', appName);
  const ofUser = ({ appName, userId }: SessionMetadata) => shelfOf('user', appName, userId);

  return {
    read: (owner) => ({ ...ofApp(owner).values(), ...ofUser(owner).values() }),
    async write(owner, changes, isLate = false) {
      const [app, user] = [new Map<string, StateEntry>(), new Map<string, StateEntry>()];
      for (const [key, entry] of changes) {
        if (key.startsWith('app:')) app.set(key, entry);
        else if (key.startsWith('user:')) user.set(key, entry);
      }
      await Promise.all([
        app.size > 0 ? ofApp(owner).write(app, isLate) : undefined,
        user.size > 0 ? ofUser(owner).write(user, isLate) : undefined,
      ]);
    },
    isMissing: (of, owner) => (of === 'app' ? ofApp(owner) : ofUser(owner)).isMissing(),
    begin: (owner) => ofApp(owner).write(new Map(), true),
  };
}

/** One file of shared keys, and what this process knows of it. */
class Shelf {
  readonly #files: FilePort;
  readonly #directory: string;
  readonly #path: string;
  #entries: Entries = {};
  #values: Bag = {};
  #seen = '';
  /** Changes on their way into the file, and the promise of that. */
  #waiting: { changes: Map<string, StateEntry>; isLate: boolean }[] = [];
  #writing: Promise<void> | undefined;

  constructor(files: FilePort, directory: string, path: string) {
    this.#files = files;
    this.#directory = directory;
    this.#path = path;
  }

  values(): Bag {
    if (this.#writing === undefined) this.#refresh();
    return this.#values;
  }

  async isMissing(): Promise<boolean> {
    try {
      await this.#files.factsAt(this.#path);
      return false;
    } catch {
      // It was there and is gone: what it said is not what counts.
      if (this.#writing !== undefined) return false;
      this.#entries = {};
      this.#values = {};
      this.#seen = '';
      return true;
    }
  }

  write(changes: Map<string, StateEntry>, isLate: boolean): Promise<void> {
    this.values();
    this.#apply(changes, isLate);
    this.#waiting.push({ changes, isLate });
    this.#writing ??= Promise.resolve()
      .then(() => this.#writeAll())
      .finally(() => {
        this.#writing = undefined;
      });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#files.mkdir(this.#directory, true);
      const turn = await turnAt(this.#files, this.#path);
      try {
        const changes = this.#waiting;
        this.#waiting = [];
        this.#refresh();
        for (const { changes: one, isLate } of changes) this.#apply(one, isLate);
        await replaceFile(
          this.#files,
          this.#path,
          Buffer.from(`${JSON.stringify({ format: 1, entries: this.#entries })}\n`),
        );
        // What was written is what is known: the next look reads it once more, and finds the same.
        this.#refresh();
        for (const { changes: one, isLate } of this.#waiting) this.#apply(one, isLate);
      } finally {
        turn.close();
      }
    }
  }

  /** Late changes, found in a log after a crash, do not undo what others wrote since. */
  #apply(changes: ReadonlyMap<string, StateEntry>, isLate: boolean): void {
    for (const [key, entry] of changes) {
      const before = this.#entries[key];
      if (isLate && before !== undefined && before.timestamp >= entry.timestamp) continue;
      this.#entries[key] = entry;
      this.#values[key] = entry.value;
    }
  }

  #refresh(): void {
    const changed = this.#files.readIfChanged(this.#path, this.#seen);
    if (changed === undefined) return;
    this.#seen = changed.seen;
    try {
      const { entries } = JSON.parse(changed.text) as { entries?: Entries };
      this.#entries = entries ?? {};
    } catch {
      // Not ours, or damaged: the logs have what it said, and the next change writes it anew.
      return;
    }
    this.#values = {};
    for (const [key, { value }] of Object.entries(this.#entries)) this.#values[key] = value;
  }
}

const TURN_RETRY_MS = 2;

/** One process at a time reads, changes and writes a file. */
async function turnAt(files: FilePort, path: string): Promise<{ close(): void }> {
  const name = createHash('sha256').update(`shared ${path}`).digest('hex').slice(0, 24);
  for (;;) {
    const turn = await livingOf(files).hold(name);
    if (turn !== undefined) return turn;
    await new Promise((resolve) => setTimeout(resolve, TURN_RETRY_MS));
  }
}
