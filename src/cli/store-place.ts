import { resolve } from 'node:path';
import { type FileStore, fileStore } from '../stores/file.js';
import type { CommandIo } from './command-io.js';
import { visibleLine } from './plain-text.js';

/** Where the command line keeps sessions, unless told otherwise. */
const DEFAULT_STORE = '.troupe';

/** The store of a command, by its `--store`. What it skips or mends is said on stderr. */
export const openStore = (dir: string | undefined, io: Pick<CommandIo, 'cwd' | 'stderr'>): FileStore =>
  fileStore({
    dir: resolve(io.cwd, dir ?? DEFAULT_STORE),
    onNotice: ({ text }) => void io.stderr.write(`troupe: ${visibleLine(text)}\n`),
  });

/** A store whose new sessions know the file that they are of, so that they can be resumed without naming it. */
export function withFile(store: FileStore, file: string | undefined): FileStore {
  if (file === undefined) return store;
  return { ...store, create: (agentName, metadata) => store.create(agentName, { ...metadata, file }) };
}
