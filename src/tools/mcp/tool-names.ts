import { createHash } from 'node:crypto';

const LONGEST_NAME = 64;
/** What is left of a name behind it still tells the tools of a server apart. */
const LONGEST_SERVER = 36;
const HASH_LENGTH = 8;

/**
 * What the names of all tools of a server begin with: `mcp_<server>_`. A name with other characters than letters,
 * digits and `_ . : -`, or a longer one than 36, is cut and marked with its hash. Depends on the name alone.
 */
export function serverPrefix(server: string): string {
  const plain = server.replace(/[^A-Za-z0-9_.:-]/gu, '_');
  return `mcp_${plain === server && plain.length <= LONGEST_SERVER ? plain : marked(plain, LONGEST_SERVER, server)}_`;
}

/**
 * The registered name of a tool: `mcp_<server>_<tool>`, at most 64 characters. Where it has to be cut, or holds what no
 * name may hold, it ends in a hash of the server's and the tool's own names: the same after a restart, whatever other
 * tools there are, and in whatever order servers connect.
 */
export function registeredName(server: string, tool: string): string {
  const prefix = serverPrefix(server);
  const plain = tool.replace(/[^A-Za-z0-9_.:/-]/gu, '_');
  const room = LONGEST_NAME - prefix.length;
  return plain === tool && plain.length <= room ? prefix + plain : prefix + marked(plain, room, server, tool);
}

function marked(text: string, room: number, ...origin: string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(origin)).digest('hex').slice(0, HASH_LENGTH);
  return `${text.slice(0, room - HASH_LENGTH - 1)}_${hash}`;
}
