import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';

const MOST_FILES = 5_000;
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_LEVELS = 32;

export type FolderDigest = { readonly hash: string; readonly files: number } | { readonly fault: string };

/**
 * One digest of all that is in a folder, `.git` left out: names and contents, and where links lead. A folder is not to be
 * trusted that could change without its digest: one with a link out of it, or with more than 5,000 files or 64 MB. Never
 * rejects.
 */
export async function digestOfFolder(folder: string): Promise<FolderDigest> {
  const hash = createHash('sha256');
  let files = 0;
  let bytes = 0;
  const add = (kind: string, text: string) => hash.update(`${kind}${Buffer.byteLength(text)}:${text}`);

  async function visit(root: string, path: string, level: number): Promise<string | undefined> {
    if (level > MOST_LEVELS) return `has folders nested deeper than ${MOST_LEVELS} levels`;
    for (const name of (await readdir(join(root, path))).sort()) {
      if (path === '' && name === '.git') continue;
      const inner = path === '' ? name : `${path}/${name}`;
      const absolute = join(root, inner);
      const stats = await lstat(absolute);
      if (stats.isSymbolicLink()) {
        const end = await realpath(absolute).catch(() => undefined);
        if (end === undefined || !`${end}${sep}`.startsWith(`${root}${sep}`))
          return `holds a link that leads out of it: ${JSON.stringify(inner)}`;
        if (`${end}${sep}`.startsWith(join(root, '.git') + sep))
          return `holds a link into .git, which is not looked at: ${JSON.stringify(inner)}`;
        add('l', inner).update(await readlink(absolute));
      } else if (stats.isDirectory()) {
        add('d', inner);
        const fault = await visit(root, inner, level + 1);
        if (fault !== undefined) return fault;
      } else if (stats.isFile()) {
        bytes += stats.size;
        if (++files > MOST_FILES || bytes > MOST_BYTES)
          return `is too large to be looked at: at most ${MOST_FILES} files and ${MOST_BYTES / 1024 / 1024} MB`;
        add('f', inner).update(`${stats.size}:`);
        for await (const chunk of createReadStream(absolute)) hash.update(chunk as Buffer);
      } else return `holds what is neither a file nor a folder: ${JSON.stringify(inner)}`;
    }
    return undefined;
  }

  try {
    const fault = await visit(await realpath(folder), '', 1);
    return fault === undefined ? { hash: hash.digest('hex'), files } : { fault };
  } catch (thrown) {
    return { fault: `cannot be read (${String((thrown as NodeJS.ErrnoException).code ?? thrown)})` };
  }
}
