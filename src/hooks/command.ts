import { resolve } from 'node:path';
import type { HookCall, HookDefinition, HookPayload, HookPoint, HookResult, Sandbox } from '../contracts/index.js';
import { type Problem, throwProblems } from '../kernel/errors.js';
import { HOOK_POINTS } from '../kernel/hook-points.js';
import { cutText, didYouMean } from '../kernel/text.js';
import { hookEnvironment } from './environment.js';
import { resultOfProcess } from './output.js';
import { type EndProcesses, runHookProcess } from './process.js';

export interface CommandHookOptions<P extends HookPoint = HookPoint> {
  point: P;
  /** A line for the shell; with `args` a program that is started without one. */
  command: string;
  args?: readonly string[];
  /** Default 60,000. Then it blocks at `before_tool` and `before_model`, and is a warning elsewhere. */
  timeoutMs?: number;
  /** What it is called in messages. Default: the command. */
  name?: string;
  /** The folder that it starts in, and that it is told as `TROUPE_PROJECT_DIR`. Default: the current one. */
  projectDir?: string;
  /** Variables beside the few that are handed on. */
  env?: Readonly<Record<string, string>>;
  /** It never runs without it. */
  sandbox?: Sandbox;
}

const TIMEOUT_MS = 60_000;
const KEYS = ['point', 'command', 'args', 'timeoutMs', 'name', 'projectDir', 'env', 'sandbox'];

export type CommandHook = <const P extends HookPoint>(options: CommandHookOptions<P>) => HookDefinition<P>;

/** Makes command hooks whose processes are ended by `endProcesses`. */
export const createCommandHook =
  (endProcesses: EndProcesses): CommandHook =>
  (options) =>
    commandHook(options, endProcesses);

/**
 * A hook that is a process: what it is told comes as JSON on stdin, what it answers is JSON on stdout. Exit code 0:
 * proceed, as the output says (none is consent); 1: a warning; 2 and above: blocked, with stderr as the reason. Output
 * that is not understood blocks at `before_tool` and `before_model`, and is shown elsewhere. It gets no keys and no
 * tokens, and nothing that it started outlives the call. Throws `INVALID_OPTION` with every fault of its options.
 */
function commandHook<const P extends HookPoint>(
  options: CommandHookOptions<P>,
  endProcesses: EndProcesses,
): HookDefinition<P> {
  throwProblems(faultsOf(options ?? {}), 'INVALID_OPTION');
  const { point, command, args, timeoutMs = TIMEOUT_MS, projectDir = '.', env = {}, sandbox } = options;
  const root = resolve(projectDir);
  const name = options.name ?? cutText([command, ...(args ?? [])].join(' '), 80);
  const program = args === undefined ? shellOf(command) : { command, args };

  async function run(payload: HookPayload<P>, call?: HookCall): Promise<HookResult> {
    const own = call === undefined ? AbortSignal.timeout(timeoutMs) : undefined;
    const signal = own ?? (call as HookCall).signal;
    if (sandbox !== undefined && !(await sandbox.available())) {
      throw new Error('it runs in a sandbox only, and there is none here');
    }
    const end = await runHookProcess({
      ...(sandbox === undefined ? program : sandbox.wrap(program.command, program.args, { root })),
      cwd: root,
      env: hookEnvironment(process.env, { projectDir: root, more: env }),
      input: `${inputOf(point, payload)}\n`,
      signal,
      endProcesses,
    });
    if (signal.aborted) throw new Error(own === undefined ? signal.reason.message : 'it did not answer in its time');
    return resultOfProcess(point, name, end);
  }
  return { point, name, timeoutMs, run: run as HookDefinition<P>['run'] };
}

const shellOf = (line: string) =>
  process.platform === 'win32'
    ? { command: 'cmd.exe', args: ['/d', '/s', '/c', line] }
    : { command: '/bin/sh', args: ['-c', line] };

/** What the process reads: what every hook is told, and its point. */
function inputOf(point: HookPoint, payload: object): string {
  return JSON.stringify({ point, ...payload }, (key, value: unknown) =>
    key === 'signal' && value instanceof AbortSignal ? undefined : value,
  );
}

function faultsOf(options: CommandHookOptions): Problem[] {
  const problems: Problem[] = [];
  const say = (path: string, message: string) =>
    problems.push({ code: 'INVALID_OPTION', path: `commandHook.${path}`, message });
  const { point, command, args, timeoutMs, env, projectDir, sandbox } = options as {
    [Key in keyof CommandHookOptions]: unknown;
  };
  for (const key of Object.keys(options)) {
    if (!KEYS.includes(key)) say(key, `is unknown${didYouMean(key, KEYS)}; known: ${KEYS.join(', ')}`);
  }
  if (!(HOOK_POINTS as readonly unknown[]).includes(point)) {
    say(
      'point',
      `no hook point "${String(point)}"${didYouMean(String(point), HOOK_POINTS)}; points: ${HOOK_POINTS.join(', ')}`,
    );
  }
  if (typeof command !== 'string' || command.trim() === '' || command.includes('\0'))
    say('command', 'must be a text, and not an empty one');
  if (args !== undefined && !(Array.isArray(args) && args.every((one) => typeof one === 'string')))
    say('args', 'must be a list of texts');
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs < 2 ** 31)) {
    say('timeoutMs', 'must be a number of milliseconds above 0');
  }
  if (projectDir !== undefined && typeof projectDir !== 'string') say('projectDir', 'must be the path of a folder');
  const isEnv = typeof env === 'object' && env !== null && Object.values(env).every((one) => typeof one === 'string');
  if (env !== undefined && !isEnv) say('env', 'must be an object of texts');
  if (sandbox !== undefined && typeof (sandbox as Partial<Sandbox> | null)?.wrap !== 'function')
    say('sandbox', 'must be a sandbox, as bubblewrap() makes it');
  return problems;
}
