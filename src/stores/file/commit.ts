import { type FilePort, syncDirectory } from './file-port.js';

/** Something that has lines to write. */
export interface Writer {
  /** Takes what waits and writes it; resolves with what has to be synced, nothing where it failed. Never rejects. */
  commit(): Promise<Written | undefined>;
}

export interface Written {
  readonly fd: number;
  /** Of whose log, which file that is, and what was written where in it: from the first byte that is not durable. */
  readonly id: string;
  readonly ino: number;
  readonly at: number;
  readonly bytes: Buffer;
  /** Directories that have got a name in them which is not durable. */
  readonly directories: readonly string[];
  /** What was written is durable, or (`thrown`) may not be. */
  done(thrown?: unknown): void;
}

export interface Committer {
  /** There is something to write. Several that ask in one round of the event loop, or during a sync, share the next. */
  ask(writer: Writer): void;
}

/** Makes each file durable by a sync of its own, all at the same time. */
export const syncEach =
  (files: FilePort) =>
  async (written: readonly Written[]): Promise<void> => {
    const directories = new Set(written.flatMap((one) => one.directories));
    const named = Promise.all([...directories].map((path) => syncDirectory(files, path)));
    const syncOne = async (one: Written) => {
      try {
        await files.datasync(one.fd);
        if (one.directories.length > 0) await named;
        one.done();
      } catch (thrown) {
        one.done(thrown);
      }
    };
    await Promise.all(written.map(syncOne));
  };

/** Groups what many sessions write: one round writes all that waits, then makes it durable at once. */
export function createCommitter(sync: (written: readonly Written[]) => Promise<void>): Committer {
  const waiting = new Set<Writer>();
  let isRunning = false;

  async function run(): Promise<void> {
    while (waiting.size > 0) {
      const round = [...waiting];
      waiting.clear();
      const written = (await Promise.all(round.map((writer) => writer.commit()))).filter((one) => one !== undefined);
      if (written.length > 0) await sync(written);
      // Whoever was told goes on, and asks again before the next round begins.
      await new Promise((resolve) => setImmediate(resolve));
    }
    isRunning = false;
  }

  return {
    ask(writer) {
      waiting.add(writer);
      if (isRunning) return;
      isRunning = true;
      setImmediate(() => void run());
    },
  };
}
