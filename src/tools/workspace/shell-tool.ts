import type { Sandbox, ToolContext, ToolDefinition } from '../../contracts/index.js';
import { cutText } from '../../kernel/text.js';
import { bashCommand, findBash } from './bash.js';
import { pacedProgress } from './paced-progress.js';
import { openWorkspace } from './place.js';
import { quoted, refused, WorkspaceRefusal } from './refusal.js';
import { type CommandEnd, runCommand } from './run-command.js';
import { shellEnvironment } from './shell-environment.js';
import type { ShellBounds } from './shell-options.js';
import { presentCommand } from './shell-result.js';
import { descriptorOf, type ToolText } from './tool-text.js';

export interface ShellSetting {
  readonly root: string;
  readonly bounds: ShellBounds;
  readonly sandbox: Sandbox | undefined;
}

interface ShellArgs {
  command: string;
  timeout_ms?: number;
  description?: string;
}

const PROGRESS = { everyMs: 200, maxChars: 4 * 1024 };
const MAX_TITLE = 80;
/** Characters; a command that goes on printing is stopped there. */
const MAX_OUTPUT = 256 * 1024 * 1024;
/** Linux takes no longer argument. */
const MAX_COMMAND_BYTES = 120 * 1024;
/** For the end of what does not end by itself. */
const SPARE_MS = 10_000;

function textOf({ timeoutMs, maxTimeoutMs, maxOutputChars }: ShellBounds): ToolText {
  return {
    name: 'run_shell_command',
    displayName: 'Run command',
    description:
      'Runs a command line in bash, in the root of the workspace, with nothing on its standard input. Its output is ' +
      `given back, the beginning and the end of it where it is longer than ${maxOutputChars} characters. What it leaves ` +
      'running in the background is ended with it.',
    properties: {
      command: { type: 'string', minLength: 1, description: 'The command line, as bash takes it.' },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        maximum: maxTimeoutMs,
        description: `When it is ended, in milliseconds. Default ${timeoutMs}.`,
      },
      description: { type: 'string', description: 'What it is for, in one sentence, for the person who is asked.' },
    },
    required: ['command'],
  };
}

/** `run_shell_command`. It throws for nothing that a call can bring about. */
export function shellTool(setting: ShellSetting): ToolDefinition {
  const { bounds, sandbox } = setting;
  const annotations = { category: 'execute', destructive: true, longRunning: true } as const;
  const text = textOf(bounds);
  return {
    kind: 'tool',
    name: text.name,
    descriptor: descriptorOf(text, sandbox === undefined ? annotations : { ...annotations, sandboxed: true }),
    // The command's own end comes first, and tells more.
    timeoutMs: bounds.maxTimeoutMs + 2 * bounds.graceMs + SPARE_MS,
    // What the model says of its command is no title: it need not be true.
    describe: ({ command }: ShellArgs) => ({ title: `Run ${quoted(shortened(command))}` }),
    execute: async (args: ShellArgs, context: Pick<ToolContext, 'signal' | 'progress'>) => {
      const { signal } = context;
      try {
        signal.throwIfAborted();
        const timeoutMs = args.timeout_ms ?? bounds.timeoutMs;
        return presentCommand(await run(setting, args.command, timeoutMs, context), { bounds, timeoutMs });
      } catch (thrown) {
        if (signal.aborted) return refused('cancelled', 'The call was cancelled.');
        if (thrown instanceof WorkspaceRefusal) return refused(thrown.errorType, thrown.message);
        throw thrown;
      }
    },
  };
}

const shortened = (command: string): string => {
  const kept = cutText(command, MAX_TITLE);
  return kept.length < command.length ? `${kept}…` : kept;
};

async function run(
  { root, bounds, sandbox }: ShellSetting,
  command: string,
  timeoutMs: number,
  { signal, progress }: Pick<ToolContext, 'signal' | 'progress'>,
): Promise<CommandEnd> {
  checkText(command);
  const workspace = await openWorkspace(root);
  const env = shellEnvironment(process.env, { root: workspace.root, more: bounds.env });
  const bash = await findBash(bounds.bash, env.PATH ?? '');
  if (sandbox !== undefined && !(await sandbox.available())) {
    throw new WorkspaceRefusal('execution_failed', 'The sandbox does not work on this system. Nothing was run.');
  }
  const bare = bashCommand(bash, command, bounds);
  const { command: program, args } = sandbox?.wrap(bare.command, bare.args, { root: workspace.root }) ?? bare;
  signal.throwIfAborted();
  const paced = pacedProgress((text) => progress({ content: [{ type: 'text', text }] }), PROGRESS);
  try {
    return await runCommand({
      command: program,
      args,
      cwd: workspace.root,
      env,
      timeoutMs,
      graceMs: bounds.graceMs,
      capacity: bounds.maxOutputChars,
      maxOutput: MAX_OUTPUT,
      signal,
      onOutput: paced.add,
    });
  } finally {
    paced.stop();
  }
}

/** What bash would be given as something else than it was judged as is not run. */
function checkText(command: string): void {
  if (command.includes('\0') || /\p{Surrogate}/u.test(command)) {
    throw new WorkspaceRefusal('invalid_tool_params', 'The command holds a character that no command line can hold.');
  }
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
    throw new WorkspaceRefusal(
      'invalid_tool_params',
      `The command is longer than ${MAX_COMMAND_BYTES / 1024} KB. Write it to a file and run that.`,
    );
  }
}
