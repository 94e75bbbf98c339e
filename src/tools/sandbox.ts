import { execFile } from 'node:child_process';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import { promisify } from 'node:util';
import type { Sandbox } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

export type { Sandbox, SandboxedCommand, SandboxOptions } from '../contracts/index.js';

export interface BubblewrapOptions {
  /** `none` (default): no network, not even that of this machine. `host`: all of it. */
  network?: 'none' | 'host';
  /** Absolute paths that may be written to beside the root. Each must exist. */
  writable?: readonly string[];
  /** Absolute paths that are not to be seen. Default: where tools keep keys and tokens in the home of the user. */
  hidden?: readonly string[];
  /** Absolute path of the program. Default: looked for. */
  bwrap?: string;
}

const USUAL_PLACES = ['/usr/bin', '/usr/local/bin', '/bin'];
const KEYS_OF_HOME = [
  ...['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.netrc', '.npmrc', '.pypirc', '.git-credentials'],
  ...['.config/gcloud', '.config/gh', '.config/git/credentials', '.config/op', '.local/share/keyrings'],
];
/** Sockets of services lie in /run, and who reaches that of a container engine is no longer confined. */
const KEPT_OF_RUN = ['/run/systemd/resolve', '/run/current-system', '/run/wrappers'];
const CHECK_MS = 5_000;

/**
 * A sandbox by bubblewrap (Linux): the command sees the whole file system read-only, save for the root of the workspace,
 * with temporary folders of its own, no service sockets, no keys of the user, no network and no other process; all of it
 * dies with this process. Throws `INVALID_OPTION` for a path that is not absolute.
 */
export function bubblewrap(options: BubblewrapOptions = {}): Sandbox {
  const { network = 'none', writable = [], hidden = KEYS_OF_HOME.map((name) => join(homedir(), name)) } = options;
  for (const path of [...writable, ...hidden, ...(options.bwrap === undefined ? [] : [options.bwrap])]) {
    if (!isAbsolute(path)) {
      throw new TroupeError({ code: 'INVALID_OPTION', message: `bubblewrap: "${path}" is not an absolute path` });
    }
  }
  let works: Promise<boolean> | undefined;

  const wrap: Sandbox['wrap'] = (command, args, { root }) => {
    const covers = hidden.flatMap(coverOf);
    const own = [root, ...writable].flatMap((path) => ['--bind', path, path]);
    const isOwn = (path: string) => [root, ...writable].some((folder) => isBelow(folder, path));
    return {
      command: findBwrap(options.bwrap) ?? 'bwrap',
      args: [
        ...['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
        ...(network === 'none' ? ['--unshare-net'] : []),
        ...['--cap-drop', 'ALL', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
        ...['--tmpfs', '/tmp', '--tmpfs', '/run', ...KEPT_OF_RUN.flatMap((path) => ['--ro-bind-try', path, path])],
        // What hides comes before what is shown of it, and after what it hides a part of.
        ...covers.flatMap(({ path, by }) => (isOwn(path) ? [] : by)),
        ...own,
        ...covers.flatMap(({ path, by }) => (isOwn(path) ? by : [])),
        ...['--setenv', 'TMPDIR', '/tmp', '--chdir', root, '--', command, ...args],
      ],
    };
  };

  async function check(): Promise<boolean> {
    if (process.platform !== 'linux' || findBwrap(options.bwrap) === undefined) return false;
    const { command, args } = wrap('/bin/sh', ['-c', ':'], { root: '/tmp' });
    return promisify(execFile)(command, [...args], { timeout: CHECK_MS }).then(
      () => true,
      () => false,
    );
  }

  return {
    wrap,
    async available() {
      works ??= check();
      const result = await works;
      // What was missing may be installed by the next time.
      if (!result) works = undefined;
      return result;
    },
  };
}

function findBwrap(given: string | undefined): string | undefined {
  const folders = [...USUAL_PLACES, ...(process.env.PATH ?? '').split(delimiter).filter((entry) => isAbsolute(entry))];
  return (given === undefined ? folders.map((folder) => join(folder, 'bwrap')) : [given]).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What hides a path where there is one: a folder becomes an empty one, a file has nothing in it. */
function coverOf(path: string): { path: string; by: string[] }[] {
  try {
    const real = realpathSync(path);
    return [{ path: real, by: statSync(real).isDirectory() ? ['--tmpfs', real] : ['--ro-bind', '/dev/null', real] }];
  } catch {
    return [];
  }
}

const isBelow = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
