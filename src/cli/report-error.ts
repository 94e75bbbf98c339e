import { describeError, TroupeError } from '../kernel/errors.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLines } from './plain-text.js';

/** Wrong use of the command line: said as it is, exit code 2. */
export function badUse(message: string): TroupeError {
  return new TroupeError({ code: 'BAD_USE', message });
}

/** What the file system refuses: the name is wrong, or the place. */
const fileFaults = new Set(['ENOENT', 'EACCES', 'EPERM', 'EISDIR', 'ENOTDIR', 'EEXIST', 'EROFS']);

/** Says what went wrong, without a stack unless `DEBUG=troupe`, and returns the exit code. */
export function reportError(thrown: unknown, io: Pick<CommandIo, 'stderr' | 'env'>): number {
  const { code, message } = describeError(thrown);
  const expected = thrown instanceof TroupeError || fileFaults.has(code);
  const debug = (io.env.DEBUG ?? '').split(/[\s,]+/).includes('troupe');
  const hint = expected || debug ? '' : ' (DEBUG=troupe shows where it came from)';
  void io.stderr.write(`troupe: ${visibleLines(message)}${hint}\n`);
  if (debug && thrown instanceof Error && thrown.stack !== undefined) void io.stderr.write(`${thrown.stack}\n`);
  return expected ? exitCodes.badUse : exitCodes.failed;
}
