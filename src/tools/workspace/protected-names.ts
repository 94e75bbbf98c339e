import { quoted, WorkspaceRefusal } from './refusal.js';

/**
 * Refuses a place (its path after symbolic links) that is one of these names or lies below one, at any depth. However
 * a file system lets a name be spelled counts as the name: capitals, characters that are not seen, a trailing dot or
 * space, a stream behind a colon, the short form with `~1`.
 */
export function refuseProtected(path: string, names: readonly string[], asked: string): void {
  for (const part of path.split('/')) {
    const hit = names.find((name) => isSpelling(part, name));
    if (hit === undefined) continue;
    throw new WorkspaceRefusal('execution_failed', `${quoted(asked)} lies in ${hit}, which is not to be changed.`);
  }
}

function isSpelling(part: string, name: string): boolean {
  const plain = plainly(part);
  const wanted = plainly(name);
  if (plain === wanted) return true;
  const short = /^(.+)~\d+$/.exec(plain)?.[1];
  return short !== undefined && wanted.replace(/[. ]/g, '').startsWith(short.slice(0, 6));
}

const plainly = (name: string): string =>
  name
    .normalize('NFC')
    .replace(/\p{Cf}/gu, '')
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '')
    .toLowerCase();
