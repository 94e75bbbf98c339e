import type { Sandbox } from '../../contracts/index.js';
import { type Problem, throwProblems } from '../../kernel/errors.js';
import { didYouMean } from '../../kernel/text.js';
import { serverPrefix } from './tool-names.js';

/** What is sent with every request; a function is asked before each, so that a token may be refreshed. */
export type McpHeaders =
  | Readonly<Record<string, string>>
  | ((context: McpHeadersContext) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** `status`: 401, when what it gave last was refused; the request is then sent once more with what it gives next. */
export interface McpHeadersContext {
  readonly status?: number;
}

interface McpAnyServer {
  /** What the server says of its own tools counts: `readOnlyHint` as read-only, `idempotentHint`. Default false. */
  trust?: boolean;
}

/** A server that the host starts, in a process group of its own, and speaks to over its standard input and output. */
export interface McpStdioServer extends McpAnyServer {
  /** Started as it is, without a shell. */
  command: string;
  args?: readonly string[];
  /** Beside PATH, HOME, the locale and the like; nothing else of our own environment is handed on. */
  env?: Readonly<Record<string, string>>;
  /** Default: the current folder. */
  cwd?: string;
}

/** A server that is spoken to over streamable HTTP. */
export interface McpHttpServer extends McpAnyServer {
  url: string;
  headers?: McpHeaders;
}

export interface McpToolsOptions {
  /** By the name that their tools carry: `mcp_<name>_<tool>`. */
  servers: Readonly<Record<string, McpStdioServer | McpHttpServer>>;
  /** From the start of a server to its list of tools. Default 30,000. */
  connectTimeoutMs?: number;
  /** Of one call; the time in which a person is asked does not count. Default: the host's `toolTimeoutMs`. */
  callTimeoutMs?: number;
  /** What servers that the host starts run in. Where it does not work, they are not started. */
  sandbox?: Sandbox;
}

export type ServerPlan = (
  | ({ readonly kind: 'stdio' } & Readonly<McpStdioServer>)
  | ({ readonly kind: 'http' } & Readonly<McpHttpServer>)
) & {
  readonly name: string;
  readonly prefix: string;
};

const STDIO_KEYS = ['command', 'args', 'env', 'cwd', 'trust'];
const HTTP_KEYS = ['url', 'headers', 'trust'];
const OPTION_KEYS = ['servers', 'connectTimeoutMs', 'callTimeoutMs', 'sandbox'];

/** The servers by name. Throws `INVALID_OPTION` with all that is wrong with the options. */
export function readOptions(options: McpToolsOptions): ServerPlan[] {
  const problems: Problem[] = [];
  const say = (path: string, message: string) => {
    problems.push({ code: 'INVALID_OPTION', path: `mcpTools.${path}`, message });
  };
  for (const key of Object.keys(options)) {
    if (!OPTION_KEYS.includes(key)) say(key, `is unknown${didYouMean(key, OPTION_KEYS)}`);
  }
  for (const key of ['connectTimeoutMs', 'callTimeoutMs'] as const) {
    const value: unknown = options[key];
    if (value !== undefined && !(Number.isFinite(value) && Number(value) > 0)) {
      say(key, 'must be a number of milliseconds above 0');
    }
  }
  const plans: ServerPlan[] = [];
  if (typeof options.servers !== 'object' || options.servers === null || Array.isArray(options.servers)) {
    say('servers', 'must be an object: { name: { command } or { url } }');
  } else {
    for (const [name, server] of Object.entries(options.servers)) {
      const plan = readServer(name, server, (key, message) => say(`servers.${name}${key}`, message));
      if (plan !== undefined) plans.push(plan);
    }
  }
  // Not by the locale: the order stands in requests, and is to be the same everywhere.
  plans.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const [index, { name, prefix }] of plans.entries()) {
    const clash = plans.slice(0, index).find((one) => prefix.startsWith(one.prefix) || one.prefix.startsWith(prefix));
    if (clash === undefined) continue;
    const both = `${clash.prefix}… and ${prefix}…`;
    say(`servers.${name}`, `its tools could not be told from those of "${clash.name}" (${both}); rename one`);
  }
  throwProblems(problems, 'INVALID_OPTION');
  return plans;
}

function readServer(
  name: string,
  server: McpStdioServer | McpHttpServer,
  say: (key: string, message: string) => void,
): ServerPlan | undefined {
  if (name.trim() === '') say('', 'a server needs a name');
  if (typeof server !== 'object' || server === null) {
    say('', 'must be { command, args, env, cwd } or { url, headers }');
    return undefined;
  }
  const hasCommand = 'command' in server && server.command !== undefined;
  const hasUrl = 'url' in server && server.url !== undefined;
  if (hasCommand === hasUrl) {
    say('', hasUrl ? 'has both a command and a url: give one' : 'needs a command, or a url');
    return undefined;
  }
  const known = hasCommand ? STDIO_KEYS : HTTP_KEYS;
  for (const key of Object.keys(server)) {
    if (!known.includes(key)) say(`.${key}`, `is unknown here${didYouMean(key, known)}; known: ${known.join(', ')}`);
  }
  if (server.trust !== undefined && typeof server.trust !== 'boolean') say('.trust', 'must be true or false');
  const prefix = serverPrefix(name);
  if (hasCommand) {
    checkStdio(server, say);
    return { kind: 'stdio', name, prefix, ...server };
  }
  const remote = server as McpHttpServer;
  checkHttp(remote, say);
  return { kind: 'http', name, prefix, ...remote };
}

function checkStdio({ command, args, env, cwd }: McpStdioServer, say: (key: string, message: string) => void): void {
  if (!isArgument(command) || command === '') say('.command', 'must be the name or the path of a program');
  if (args !== undefined && !(Array.isArray(args) && args.every(isArgument))) say('.args', 'must be a list of texts');
  if (env !== undefined && !isTexts(env)) say('.env', 'must be an object of texts');
  if (cwd !== undefined && (!isArgument(cwd) || cwd === '')) say('.cwd', 'must be the path of a folder');
}

function checkHttp({ url, headers }: McpHttpServer, say: (key: string, message: string) => void): void {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    say('.url', 'must be an address that begins with http:// or https://');
  } else if (parsed.username !== '' || parsed.password !== '') {
    say('.url', 'must hold no credentials: addresses are shown; give them as headers');
  }
  if (headers === undefined || typeof headers === 'function') return;
  if (!isTexts(headers)) return say('.headers', 'must be an object of texts, or a function that gives one');
  try {
    new Headers(headers);
  } catch {
    say('.headers', 'hold a name or a value that no header may have');
  }
}

const isArgument = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');

const isTexts = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isArgument);
