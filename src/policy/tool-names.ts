import { nearest } from '../kernel/text.js';

/** The tool that runs commands of a shell. */
export const SHELL_TOOL = 'run_shell_command';

/** Tools of the host and of the workspace, by which a misspelt name is told. */
const OWN_TOOLS = [
  'read_file',
  'list_directory',
  'search_text',
  'write_file',
  'replace',
  'glob',
  SHELL_TOOL,
  'exit_loop',
  'complete_task',
  'ask_user',
  'transfer_to_agent',
  'exit_plan_mode',
  'activate_skill',
];
const FARTHEST = 3;
/** A shorter name is near to too many others. */
const SHORTEST = 6;

/** Tools of ours that run no command of a shell. */
export const runsNoCommand = (name: string): boolean => OWN_TOOLS.includes(name) && name !== SHELL_TOOL;

/**
 * What a name that is not known was probably meant to be: a tool of ours, or one of `others`, within 3 edits that are
 * few for its length. Nothing for a name that is known, or like none.
 */
export function meantTool(name: string, others: readonly string[] = []): string | undefined {
  const known = [...OWN_TOOLS, ...others];
  if (name.length < SHORTEST || name.includes('*') || known.includes(name)) return undefined;
  const [meant] = nearest(
    name,
    known.filter((one) => one.length >= SHORTEST),
    Math.min(FARTHEST, Math.floor(name.length / 4)),
  );
  return meant;
}

/** How the names of a server's tools begin, save that an odd or long name of a server is cut and marked in them. */
export const toolsOf = (server: string): string => `mcp_${server}_`;

/**
 * A pattern is a name, or a beginning with `*` behind it. `mcp_git_*` is all of the server `git`, however a long name was
 * cut, and nothing of a server `git_hub`; where `mcp_git_hub_*` could be either, it allows for the server of that name
 * only, and is strict with both.
 */
export function matchesName(pattern: string, name: string, server: string | undefined, isAllow: boolean): boolean {
  if (pattern === name || pattern === '*') return true;
  if (!pattern.endsWith('*')) return false;
  const beginning = pattern.slice(0, -1);
  if (server === undefined || !beginning.startsWith('mcp_')) return name.startsWith(beginning);
  const own = toolsOf(server);
  if (beginning === 'mcp_' || beginning === own) return true;
  if (beginning.endsWith('_') && (isAllow || own.startsWith(beginning))) return false;
  return name.startsWith(beginning);
}

/**
 * Whether a rule names a tool of a server as it would be called had its name not to be cut or marked. Only what is strict
 * may read names so: of `mcp_a_b_c` nobody knows whether the server is `a` or `a_b`.
 */
export function matchesOwnName(
  patterns: readonly string[],
  server: string | undefined,
  tool: string | undefined,
): boolean {
  if (server === undefined || tool === undefined) return false;
  const own = toolsOf(server) + tool;
  return patterns.some((pattern) => matchesName(pattern, own, server, false));
}
