import { delimiter, isAbsolute, relative, sep } from 'node:path';

const HANDED_ON = /^(PATH|HOME|LANG|LC_[A-Z]+|TERM|TMPDIR|USER|SHELL)$/;
const LOCALE = /^(LANG|LC_[A-Z]+)$/;
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * The variables that a command is given: a few of ours, by name, `TROUPE_PROJECT_DIR` and `more`. No key, no token, and
 * nothing that makes bash run or read something first (`BASH_ENV`, functions, `SHELLOPTS`) is among them.
 */
export function shellEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  { root, more }: { root: string; more: Readonly<Record<string, string>> },
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(ours)) {
    if (value === undefined || !HANDED_ON.test(name)) continue;
    if (LOCALE.test(name) && !isPlainLocale(value)) continue;
    given[name] = value;
  }
  return { ...given, PATH: searchPath(ours.PATH, root), TROUPE_PROJECT_DIR: root, ...more };
}

/**
 * Without what is relative or inside the workspace: there an agent may put a file called `ls`, and `ls` is to mean what
 * a policy takes it for.
 */
export function searchPath(path: string | undefined, root: string): string {
  const kept = (path ?? '').split(delimiter).filter((entry) => isAbsolute(entry) && !isBelow(root, entry));
  return kept.length > 0 ? kept.join(delimiter) : USUAL_PATH;
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way));
}

/**
 * Where a character may be several bytes and one of them may look like ASCII (GBK, Shift-JIS, Big5), bash would read
 * another text than the one that was judged.
 */
const isPlainLocale = (value: string): boolean => /^(C|POSIX|.*\.utf-?8(@.*)?)$/i.test(value) || value === '';
