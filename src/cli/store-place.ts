import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type FileStore, fileStore, type StoreNotice } from '../stores/file.js';
import type { CommandIo } from './command-io.js';
import { visibleLine } from './plain-text.js';
import { badUse } from './report-error.js';

/** Where the command line keeps sessions, unless told otherwise. */
export const DEFAULT_STORE = '.troupe';

/** The store of a command, by its `--store`. What it skips or mends is said on stderr. Throws `BAD_USE` for a file. */
export function openStore(given: string | undefined, io: Pick<CommandIo, 'cwd' | 'stderr'>): FileStore {
  const dir = resolve(io.cwd, given ?? DEFAULT_STORE);
  if (statSync(dir, { throwIfNoEntry: false })?.isFile() === true)
    throw badUse(`--store takes a folder; "${given ?? DEFAULT_STORE}" is a file`);
  const said = new Set<string>();
  const onNotice = ({ text }: StoreNotice) => {
    // Each time that sessions are listed the same files are left out.
    if (said.has(text)) return;
    said.add(text);
    void io.stderr.write(`troupe: ${visibleLine(text)}\n`);
  };
  return fileStore({ dir, onNotice });
}

/** A store whose new sessions know the file that they are of, so that they can be resumed without naming it. */
export function withFile(store: FileStore, file: string | undefined): FileStore {
  if (file === undefined) return store;
  return { ...store, create: (agentName, metadata) => store.create(agentName, { ...metadata, file }) };
}
