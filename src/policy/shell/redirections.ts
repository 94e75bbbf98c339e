import type { Redirect } from 'unbash';
import { readWord } from './words.js';

const NO_FILE = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/stdin']);
/** Names that bash opens a connection for. */
const SOCKETS = ['/dev/tcp/', '/dev/udp/'];

/** Whether a redirection writes to a file, or may open a connection. */
export function reachesOut({ operator, target }: Redirect): boolean {
  if (target === undefined) return true;
  const { value, head } = readWord(target);
  switch (operator) {
    case '<':
      return SOCKETS.some((name) => head.startsWith(name) || (value === undefined && name.startsWith(head)));
    case '<&':
    case '>&':
      // A number, or `-`: another name for what is open. `<&-x` is `<&-` and a word of the command.
      if (value !== undefined && /^(?:\d+-?|-)$/.test(value)) return false;
      return operator === '<&' || !NO_FILE.has(value ?? '');
    default:
      return !NO_FILE.has(value ?? '');
  }
}
