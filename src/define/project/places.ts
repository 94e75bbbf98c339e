import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { readTextFile } from '../files/read-text.js';

/** Who a file comes from. A user's own files, and extensions that a user installed, are trusted; a project's are asked about. */
export type Origin = 'built-in' | 'user' | 'project' | `ext:${string}`;

/** A folder with `agents/`, `hooks.yaml`, `settings.yaml` and `policy.toml`. */
export interface Place {
  readonly origin: Origin;
  /** Absolute. */
  readonly folder: string;
  /** What it makes of values that its hooks are declared with. */
  readonly variables?: (value: unknown) => unknown;
  /** What it makes of its servers. */
  readonly server?: ServerReading;
}

/** How a server that is written so is started, and what is to be said about it. */
export type ServerReading = (written: Record<string, unknown>) => {
  config: Record<string, unknown>;
  warnings: readonly string[];
  problems: readonly string[];
};

/** One digest of several texts, whatever stands in them. */
export function digestOf(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${Buffer.byteLength(text)}:`).update(text);
  return hash.digest('hex');
}

/** The names in a folder, in order; none where it is not there. Rejects when it cannot be read. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR'].includes((thrown as NodeJS.ErrnoException).code ?? '')) return [];
    throw thrown;
  }
}

const WORDS = /[\s"'=;&|()<>`]+/;
const PROJECT_DIR = /^\$\{?TROUPE_PROJECT_DIR\}?[/\\]?/;

/** Names and digests of the files of a project that a command line names: with another script it is another hook. */
export async function filesNamedIn(line: readonly string[], projectDir: string): Promise<string[]> {
  const named: string[] = [];
  for (const word of new Set(line.flatMap((one) => one.split(WORDS)))) {
    if (word === '') continue;
    const path = isAbsolute(word) ? word : join(projectDir, word.replace(PROJECT_DIR, ''));
    const way = relative(projectDir, path);
    if (way === '' || way.startsWith(`..${sep}`) || way === '..' || isAbsolute(way)) continue;
    const file = await readTextFile(path);
    if (!('fault' in file)) named.push(way, file.hash);
  }
  return named;
}

/** Extensions that a user has installed, by the names of their folders. */
export async function extensionsIn(userFolder: string): Promise<{ path: string; name: string }[]> {
  const folder = join(userFolder, 'extensions');
  const names = (await namesIn(folder)).filter((name) => /^[A-Za-z0-9][\w-]*$/.test(name));
  return names.map((name) => ({ path: join(folder, name), name }));
}
