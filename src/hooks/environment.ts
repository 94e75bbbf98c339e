import { delimiter, isAbsolute, relative, sep } from 'node:path';

/** No key and no token is among them, and nothing that makes a shell run or read something first. */
const HANDED_ON =
  process.platform === 'win32'
    ? /^(PATHEXT|SYSTEMROOT|SYSTEMDRIVE|COMSPEC|WINDIR|TEMP|TMP|USERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH)$/i
    : /^(HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TERM|TMPDIR)$/;
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin';

/** The variables that a command hook is given: a few of ours, by name, `TROUPE_PROJECT_DIR`, and what is configured for it. */
export function hookEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  { projectDir, more }: { projectDir: string; more: Readonly<Record<string, string>> },
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(ours)) {
    // A value that begins like this is a function that bash would take over.
    if (value !== undefined && HANDED_ON.test(name) && !value.startsWith('()')) given[name] = value;
  }
  return { ...given, PATH: searchPath(ours.PATH, projectDir), TROUPE_PROJECT_DIR: projectDir, ...more };
}

/** Without what is relative or lies in the project: there an agent may put a program of any name. */
function searchPath(path: string | undefined, projectDir: string): string {
  const isInside = (entry: string) => {
    const way = relative(projectDir, entry);
    return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way));
  };
  const kept = (path ?? '').split(delimiter).filter((entry) => isAbsolute(entry) && !isInside(entry));
  return kept.length > 0 ? kept.join(delimiter) : USUAL_PATH;
}
