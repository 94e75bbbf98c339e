import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, realpath, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { TroupeError } from '../../kernel/errors.js';

/** What a person has agreed to about one folder. */
export interface FolderTrust {
  /** ISO 8601. */
  readonly trustedAt: string;
  /** SHA-256 of what was acknowledged, by what it is called: `agent:reviewer`, `policy:.troupe/policy.toml`. */
  readonly acknowledged: Readonly<Record<string, string>>;
}

/** Where trust is kept: outside of every folder that it is about. */
export interface TrustStore {
  /** Undefined: the folder is not trusted. Rejects when what is kept cannot be relied on. */
  read(folder: string): Promise<FolderTrust | undefined>;
  /** Undefined: it is trusted no more. */
  write(folder: string, trust: FolderTrust | undefined): Promise<void>;
}

/** Where a user's own agents, hooks and trust are. */
export const userFolder = (): string => join(homedir(), '.troupe');

const VERSION = 1;

interface TrustFile {
  readonly version: number;
  readonly folders: Record<string, FolderTrust>;
}

/**
 * Trust in a file that only its user may read or write (0600), by the real path of the folder. A file that others may
 * write, or that is not understood, is refused (`TRUST_UNREADABLE`): nothing is trusted then.
 */
export function trustFile({ file = join(userFolder(), 'trust.json') }: { file?: string } = {}): TrustStore {
  const path = resolve(file);
  return {
    async read(folder) {
      const { folders } = await load(path);
      const key = await keyOf(folder);
      return Object.hasOwn(folders, key) ? folders[key] : undefined;
    },
    async write(folder, trust) {
      const { folders } = await load(path);
      const key = await keyOf(folder);
      const others = Object.entries(folders).filter(([one]) => one !== key);
      const all = trust === undefined ? others : [...others, [key, trust] as const];
      await save(path, { version: VERSION, folders: Object.fromEntries(all) });
    },
  };
}

/** A folder is what its name leads to: a link to a trusted folder is no second one. */
const keyOf = async (folder: string): Promise<string> => {
  const path = resolve(folder);
  return realpath(path).catch(() => path);
};

async function load(path: string): Promise<TrustFile> {
  let text: string;
  try {
    if (process.platform !== 'win32') {
      const { mode, uid } = await stat(path);
      if ((mode & 0o022) !== 0) throw unreadable(path, 'others may write it');
      if (process.getuid !== undefined && uid !== process.getuid() && uid !== 0)
        throw unreadable(path, 'it is of another user');
    }
    text = await readFile(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return { version: VERSION, folders: {} };
    throw thrown instanceof TroupeError ? thrown : unreadable(path, (thrown as Error).message);
  }
  try {
    const read: unknown = JSON.parse(text);
    if (isTrustFile(read)) return read;
  } catch {
    // Said below.
  }
  throw unreadable(path, 'it is not what troupe writes there');
}

function isTrustFile(value: unknown): value is TrustFile {
  if (!isRecord(value) || value.version !== VERSION || !isRecord(value.folders)) return false;
  return Object.values(value.folders).every(
    (one) =>
      isRecord(one) &&
      typeof one.trustedAt === 'string' &&
      isRecord(one.acknowledged) &&
      Object.values(one.acknowledged).every((hash) => typeof hash === 'string'),
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const unreadable = (path: string, why: string) =>
  new TroupeError({
    code: 'TRUST_UNREADABLE',
    message: `${path}: ${why}; put it right, or remove it and trust your folders anew`,
  });

async function save(path: string, content: TrustFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeFile(draft, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
    await chmod(draft, 0o600);
    await rename(draft, path);
  } catch (thrown) {
    await unlink(draft).catch(() => {});
    throw thrown;
  }
}
