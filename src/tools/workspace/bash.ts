import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { WorkspaceRefusal } from './refusal.js';

const USUAL_PLACES = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'];
/** Bare: no file of anybody's is read first. */
const BARE = ['--noprofile', '--norc', '-c'];

/** The path of bash: `given`, or the first that there is of the usual places and of `path`. */
export async function findBash(given: string | undefined, path: string): Promise<string> {
  if (process.platform === 'win32') throw absent('Commands need a POSIX system; this one is Windows.');
  const places =
    given === undefined ? [...USUAL_PLACES, ...path.split(delimiter).map((entry) => join(entry, 'bash'))] : [given];
  for (const place of places) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return place;
  }
  throw absent('Commands are run by bash, which is not installed here.');
}

const absent = (sentence: string) => new WorkspaceRefusal('execution_failed', `${sentence} Nothing was run.`);

/**
 * What to spawn so that bash runs `text`, character for character, and no process of it may take more than so much
 * memory. The bounds are set by a first bash, which then becomes the one that runs the text.
 */
export function bashCommand(bash: string, text: string, { maxMemoryMb }: { maxMemoryMb: number }) {
  // On Linux the data of a process: programs such as Node reserve far more address space than they ever use.
  const bound = `ulimit -${process.platform === 'linux' ? 'd' : 'v'} ${maxMemoryMb * 1024}`;
  const script = `ulimit -c 0; ${bound} 2>/dev/null; exec "$0" ${BARE.join(' ')} "$1"`;
  return { command: bash, args: [...BARE, script, bash, text] };
}
