import { resolve } from 'node:path';
import { Command, CommanderError } from 'commander';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { reportError } from './report-error.js';
import type { ServeCommand } from './serve.js';
import type { StudioCommand } from './studio.js';

export interface ProgramOptions {
  /** Without the interpreter and the script. */
  args: readonly string[];
  io: CommandIo;
  version: string;
}

/** Runs one command line and returns its exit code. Each command is loaded when it is used: `--help` needs none of them. */
export async function runProgram({ args, io, version }: ProgramOptions): Promise<number> {
  let code: number = exitCodes.completed;
  const program = createProgram({ io, version, done: (result) => (code = result) });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? exitCodes.completed : exitCodes.badUse;
    return reportError(thrown, io);
  }
}

function createProgram({
  io,
  version,
  done,
}: {
  io: CommandIo;
  version: string;
  done: (code: number) => void;
}): Command {
  const program = new Command('troupe')
    .description('Runs teams of AI agents.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
      outputError: (text, write) => write(usageSentence(text, args(program))),
    })
    .addHelpText(
      'after',
      example('troupe init demo && cd demo && troupe run team.yaml "What is this project?"') + exitCodeHelp,
    );

  const command = (usage: string, description: string, sample: string): Command =>
    program
      .command(usage)
      .description(description)
      .helpOption('-h, --help', 'print this help')
      .addHelpText('after', example(sample));

  withRunOptions(
    command(
      'run <file> [prompt]',
      'Run a team or an agent.',
      'troupe run team.yaml "Compare the three proposals" --max-budget-usd 0.50',
    ),
    'show the run in a local web page, and keep that open until Ctrl-C',
  )
    .option('-m, --model <model>', 'the model of every agent in this run, as gemini/gemini-flash-latest')
    .option('--store <dir>', 'the directory that keeps the session (default: .troupe)')
    .option('--ephemeral', 'keep nothing')
    .addHelpText('after', runHelp)
    .action(async (file: string, prompt: string | undefined, options: RunFlags) => {
      const { runCommand } = await import('./run.js');
      const { runParts } = await import('./parts.js');
      done(await runCommand({ ...options, file, prompt }, io, await runParts(io)));
    });

  withRunOptions(
    command(
      'chat <file>',
      'Talk with a team or an agent: many exchanges with one session.',
      'troupe chat team.yaml --mode plan',
    ),
    'show the session in a local web page as long as the chat goes on',
  )
    .option('-m, --model <model>', 'the model of every agent, as gemini/gemini-flash-latest')
    .option('--session <id>', 'a stored session to go on with')
    .option('--store <dir>', 'the directory that keeps the session (default: .troupe)')
    .option('--ephemeral', 'keep nothing')
    .addHelpText('after', chatHelp)
    .action(async (file: string, options: RunFlags & { session?: string }) => {
      const { chatCommand } = await import('./chat.js');
      const { runParts } = await import('./parts.js');
      done(await chatCommand({ ...options, file }, io, await runParts(io)));
    });

  command('serve <file>', 'Serve a team to other programs.', 'troupe serve team.yaml --a2a --port 4000')
    .option('--a2a', 'over A2A: agents of other frameworks can call the team')
    .option('--port <number>', 'the port to listen on (default: any that is free)')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1; any other needs a token)')
    .option('--token-env <name>', 'the environment variable that holds the token which callers must show')
    .option('--push-origin <origin>', 'where callers may have news sent; may be given more than once', collect)
    .option('--public-url <url>', 'the address that callers use, where it is another')
    .option('--script <file>', 'answer every model call from a script (YAML or JSON): no key, no network')
    .option('--root <folder>', 'the folder that workspace tools may read (default: the current one)')
    .option('--store <dir>', 'the directory that keeps the sessions (default: .troupe)')
    .option('--json', 'print where it listens as JSON')
    .action(async (file: string, options: Omit<ServeCommand, 'file'>) => {
      const { serveCommand } = await import('./serve.js');
      const { runParts } = await import('./parts.js');
      const { serveA2a } = await import('../surfaces/a2a.js');
      done(await serveCommand({ ...options, file }, io, { ...(await runParts(io)), serveA2a }));
    });

  command('studio [file]', 'Look at sessions in a local web page.', 'troupe studio team.yaml')
    .option('--port <number>', 'the port to listen on (default: any that is free)')
    .option('--script <file>', 'answer every model call from a script (YAML or JSON): no key, no network')
    .option('--root <folder>', 'the folder that workspace tools may read (default: the current one)')
    .option('--store <dir>', 'a directory of sessions (default: .troupe); may be given more than once', collect)
    .option('--connect <url>', 'the address of another Studio, to be shown too; may be given more than once', collect)
    .option('--json', 'print where it is as JSON')
    .action(async (file: string | undefined, options: Omit<StudioCommand, 'file'>) => {
      const { studioCommand } = await import('./studio.js');
      const { runParts } = await import('./parts.js');
      done(await studioCommand({ ...options, file }, io, await runParts(io)));
    });

  command(
    'check <file>',
    'Say what would go wrong, and the most model calls a run can make and cost, without running.',
    'troupe check team.yaml --json',
  )
    .option('--models <file>', 'prices of models (YAML or JSON), for the cost')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', checkHelp)
    .action(async (file: string, options: { json?: boolean; models?: string }) => {
      const { checkCommand } = await import('./check.js');
      const { checkParts } = await import('./parts.js');
      done(await checkCommand({ ...options, file }, io, checkParts(file, io, options.models)));
    });

  command(
    'models [file]',
    'Say which models a team or a models file names, whether they can be asked, and what they cost.',
    'troupe models team.yaml --models models.yaml',
  )
    .option('--models <file>', 'aliases, prices and fallbacks of models (YAML or JSON)')
    .option('--json', 'print the report as JSON')
    .action(async (file: string | undefined, options: { json?: boolean; models?: string }) => {
      const { modelsCommand } = await import('./models.js');
      const { modelsParts } = await import('./parts.js');
      done(await modelsCommand(options, io, modelsParts(file, io, options.models)));
    });

  command(
    'graph <file>',
    'Draw a team, or the state machines that run it.',
    'troupe graph team.yaml --format svg > team.svg',
  )
    .option(
      '-f, --format <format>',
      'mermaid, dot, svg, or xstate (JSON that opens in the editor of Stately)',
      'mermaid',
    )
    .option('--states', 'the machines of sessions, tool calls and questions, and of the compositions in the file')
    .option('--machine <name>', 'one of these machines only, as session or parallel')
    .option('--run <events>', 'lay a run over the team: its events as JSON lines, as run --json prints them')
    .action(async (file: string, options: { format: string; states?: boolean; machine?: string; run?: string }) => {
      const { graphCommand } = await import('./graph.js');
      const { loadDefinition, readBackends } = await import('./parts.js');
      const { definition } = await loadDefinition(file, io);
      done(await graphCommand(await readBackends(definition), options, io));
    });

  const policy = command(
    'policy',
    'Check policy files, or say what they decide about a call.',
    'troupe policy check policy.toml',
  );
  const policyCommand = (usage: string, description: string, sample: string) =>
    policy
      .command(usage)
      .description(description)
      .helpOption('-h, --help', 'print this help')
      .addHelpText('after', example(sample));

  policyCommand('check <files...>', 'Say every fault of policy files.', 'troupe policy check policy.toml')
    .option('--json', 'print the report as JSON')
    .action(async (files: string[], options: { json?: boolean }) => {
      const { policyCheckCommand } = await import('./policy.js');
      done(await policyCheckCommand({ ...options, files }, io));
    });

  policyCommand(
    'explain <tool> <json>',
    'Say what would be decided about a call, by which rule, and why.',
    `troupe policy explain run_shell_command '{"command":"git push"}' --policy policy.toml`,
  )
    .option('--policy <file>', 'a file of rules; may be given more than once', collect)
    .option('--mode <mode>', 'permission mode: default, auto_edit, autonomous, plan or dont_ask')
    .option('--principal <path>', 'the agent that calls, or its path, as lead/reviewer')
    .option('--led-by <path>', 'a leader above it that acts through it; may be given more than once', collect)
    .option('--mcp <server>', 'the MCP server that the tool belongs to')
    .option('--json', 'print { outcome, rule, tier, reason } as JSON')
    .action(async (tool: string, args: string, options: ExplainFlags) => {
      const { policyExplainCommand } = await import('./policy.js');
      const { policyParts } = await import('./parts.js');
      done(await policyExplainCommand({ ...options, tool, args }, io, policyParts(io)));
    });

  const sessions = command(
    'sessions',
    'List, show, resume, fork, rewind, export, repair or delete stored sessions.',
    'troupe sessions list --store .troupe',
  );
  const sessionsCommand = (usage: string, description: string, sample: string) =>
    sessions
      .command(usage)
      .description(description)
      .option('--store <dir>', 'the directory that keeps them (default: .troupe)')
      .helpOption('-h, --help', 'print this help')
      .addHelpText('after', example(sample));
  const stored = async (dir: string | undefined) => {
    const { openStore } = await import('./store-place.js');
    return openStore(dir, io);
  };

  sessionsCommand('list', 'List stored sessions, newest first.', 'troupe sessions list --json')
    .option('--agent <name>', 'those of one agent or team')
    .option('--json', 'print a list as JSON')
    .action(async (options: StoreFlags & { agent?: string }) => {
      const { sessionsListCommand } = await import('./sessions.js');
      done(await sessionsListCommand(options, io, await stored(options.store)));
    });

  sessionsCommand('show <id>', 'Say what happened in a session.', 'troupe sessions show 0f3a')
    .option('--json', 'print what it is, its state and its events as one JSON object')
    .action(async (id: string, options: StoreFlags) => {
      const { sessionsShowCommand } = await import('./sessions.js');
      done(await sessionsShowCommand({ ...options, id }, io, await stored(options.store)));
    });

  withRunOptions(
    sessionsCommand(
      'resume <id> [file]',
      'Go on with a run where its log breaks off.',
      'troupe sessions resume 0f3a team.yaml',
    ),
    'show the run in a local web page, and keep that open until Ctrl-C',
  )
    .option('--repair', 'take what cannot be read out of a damaged log first')
    .option('-m, --model <model>', 'the model of every agent from here on')
    .action(async (id: string, file: string | undefined, options: RunFlags & { repair?: boolean }) => {
      const { sessionsResumeCommand } = await import('./sessions-resume.js');
      const { runParts } = await import('./parts.js');
      const made = { store: await stored(options.store), parts: await runParts(io) };
      done(await sessionsResumeCommand({ ...options, id, file }, io, made));
    });

  sessionsCommand('fork <id>', 'Make a session that goes its own way from there.', 'troupe sessions fork 0f3a --at 12')
    .option('--at <seq>', 'the position (default: the end); moved back to where nothing is open')
    .option('--json', 'print { sessionId, at }')
    .action(async (id: string, options: StoreFlags & { at?: string }) => {
      const { sessionsForkCommand } = await import('./sessions-resume.js');
      const { runParts } = await import('./parts.js');
      const made = { store: await stored(options.store), parts: await runParts(io) };
      done(await sessionsForkCommand({ ...options, id }, io, made));
    });

  sessionsCommand('rewind <id>', 'Take a session back: cut off what came later.', 'troupe sessions rewind 0f3a --to 12')
    .requiredOption('--to <seq>', 'the last event that stays')
    .option('--restore-files [dir]', 'put files that were edited since back, below that folder (default: this one)')
    .option('--json', 'print { id, to, files, restored, left }')
    .action(async (id: string, options: StoreFlags & { to: string; restoreFiles?: string | true }) => {
      const { sessionsRewindCommand } = await import('./sessions-resume.js');
      const { runParts } = await import('./parts.js');
      const made = { store: await stored(options.store), parts: await runParts(io) };
      done(await sessionsRewindCommand({ ...options, id }, io, made));
    });

  sessionsCommand('export <id>', 'Write its events as JSON lines.', 'troupe sessions export 0f3a > run.jsonl')
    .option('-o, --output <file>', 'into a file that is not there yet, not to stdout')
    .action(async (id: string, options: StoreFlags & { output?: string }) => {
      const { sessionsExportCommand } = await import('./sessions.js');
      done(await sessionsExportCommand({ ...options, id }, io, await stored(options.store)));
    });

  sessionsCommand(
    'repair <id>',
    'Take what cannot be read out of its log, so that it can be written on.',
    'troupe sessions repair 0f3a',
  )
    .option('--json', 'print what was taken out as JSON')
    .action(async (id: string, options: StoreFlags) => {
      const { sessionsRepairCommand } = await import('./sessions.js');
      done(await sessionsRepairCommand({ ...options, id }, io, await stored(options.store)));
    });

  sessionsCommand('delete [ids...]', 'Delete sessions and all that hangs on them.', 'troupe sessions delete 0f3a 1b2c')
    .option('--older-than <age>', 'all whose last event is older, as 30d, 12h or 8w')
    .option('--json', 'print the ids as JSON')
    .action(async (ids: string[], options: StoreFlags & { olderThan?: string }) => {
      const { sessionsDeleteCommand } = await import('./sessions.js');
      done(await sessionsDeleteCommand({ ...options, ids }, io, await stored(options.store)));
    });

  command('replay <session>', 'Play a stored session again as it was; nothing runs.', 'troupe replay 0f3a --speed 4')
    .option('--speed <times>', 'how many times as fast; 0: at once (default: 1, without a terminal 0)')
    .option('--to <file>', 'write what the models said as a script (JSON), for --script; nothing is played')
    .option('--store <dir>', 'the directory that keeps it (default: .troupe)')
    .option('--json', 'print the events as JSON lines on stdout, and nothing else there')
    .action(async (session: string, options: StoreFlags & { speed?: string; to?: string }) => {
      const { replayCommand } = await import('./replay.js');
      const { wait } = await import('./wait.js');
      done(await replayCommand({ ...options, session }, io, { store: await stored(options.store), wait }));
    });

  command('init [folder]', 'Make a project that runs offline at once.', 'troupe init demo').action(
    async (folder: string | undefined) => {
      const { initCommand } = await import('./init.js');
      done(await initCommand(folder ?? '.', io));
    },
  );

  command(
    'trust [folder]',
    'Show what a folder would bring to a run, and trust it or trust it no more.',
    'troupe trust . --yes',
  )
    .option('-y, --yes', 'trust it, as it stands')
    .option('--remove', 'trust it no more')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', trustHelp)
    .action(async (folder: string | undefined, options: { yes?: boolean; remove?: boolean; json?: boolean }) => {
      const { trustCommand } = await import('./trust.js');
      const { trustParts } = await import('./parts.js');
      done(await trustCommand({ ...options, folder: folder && resolve(io.cwd, folder) }, io, trustParts(io)));
    });

  const hooks = command('hooks', 'Show the hooks of this folder and of yours.', 'troupe hooks list');
  hooks
    .command('list')
    .description('List the command hooks that a run here has, and those that are not trusted.')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', example('troupe hooks list --json'))
    .option('--json', 'print the list as JSON')
    .action(async (options: { json?: boolean }) => {
      const { hooksListCommand } = await import('./hooks.js');
      const { trustParts } = await import('./parts.js');
      done(await hooksListCommand(options, io, await trustParts(io).openProject({ folder: io.cwd })));
    });

  command('doctor', 'Say what is installed, which keys are set, and what the terminal can do.', 'troupe doctor')
    .option('--executors', 'say what each executor supports, in place of the rest')
    .option('--json', 'print the report as JSON')
    .action(async (options: { executors?: boolean; json?: boolean }) => {
      const { doctorCommand, installedVersion } = await import('./doctor.js');
      done(await doctorCommand(options, io, { nodeVersion: process.versions.node, packageVersion: installedVersion }));
    });

  return program;
}

/** What every command takes that runs a team; `studio` says how long its page is there. */
const withRunOptions = (command: Command, studio: string): Command =>
  command
    .option('--mode <mode>', 'permission mode: default, auto_edit, autonomous, plan or dont_ask')
    .option('--policy <file>', 'a file of rules (file#sha256=… pins it); may be given more than once', collect)
    .option('--script <file>', 'answer every model call from a script (YAML or JSON): no key, no network')
    .option('--models <file>', 'aliases, prices and fallbacks of models (YAML or JSON)')
    .option('--max-budget-usd <amount>', 'end a run before its session costs more')
    .option('--root <folder>', 'the folder that workspace tools work in (default: the current one)')
    .option('--studio', studio)
    .option('--port <number>', 'the port of Studio (default: any that is free)')
    .option(
      '--extension <folder>',
      'an extension that takes part, once it is trusted; may be given more than once',
      collect,
    )
    .option('--trust', 'trust what the folder and extensions bring (hooks, agents, policy, MCP servers), this once')
    .option('--json', 'print the events as JSON lines on stdout, and nothing else there')
    .option('-y, --yes', 'say yes to every tool that asks for confirmation')
    .option('--no', 'say no to every tool that asks for confirmation');

interface RunFlags {
  policy?: string[];
  model?: string;
  mode?: string;
  script?: string;
  models?: string;
  maxBudgetUsd?: string;
  root?: string;
  extension?: string[];
  store?: string;
  ephemeral?: boolean;
  studio?: boolean;
  port?: string;
  trust?: boolean;
  json?: boolean;
  yes?: boolean;
  no?: boolean;
}

interface StoreFlags {
  store?: string;
  json?: boolean;
}

interface ExplainFlags {
  policy?: string[];
  mode?: string;
  principal?: string;
  ledBy?: string[];
  mcp?: string;
  json?: boolean;
}

const collect = (value: string, before: string[] = []): string[] => [...before, value];

function example(text: string): string {
  return `\nExample:\n  ${text}`;
}

const exitCodeHelp = `

Exit codes: 0 completed, 1 failed, 2 bad input or use, 3 a limit was reached, 4 refused by the model, 130 aborted.`;

const runHelp = `
The result goes to stdout, progress to stderr: a live tree when both are terminals, plain lines otherwise.
Without a prompt, or with "-", the prompt is read from stdin.
Questions are asked when stdin and stderr are terminals; otherwise they are denied, and the agent is told so: the exit
code is still that of the run. --yes and --no answer confirmations of tools; other questions are then cancelled where
nobody can be asked.
Ctrl-C aborts the run, a second one ends the process at once. A reader that leaves early (| head -1) changes nothing:
the run completes, and the exit code is its own.${exitCodeHelp}`;

const chatHelp = `
A line is a message; /help lists what else there is (/plan, /mode, /model, /fork, /rewind, /exit). While a run is on, what
is typed steers it. Ctrl-C stops the run, a second one ends the process at once.
Without a terminal every line of stdin is a message, and a run that does not complete ends the chat.
The exit code is that of the last run.${exitCodeHelp}`;

const trustHelp = `
What a folder brings in .troupe (agents, skills, hooks.yaml, settings.yaml with MCP servers, policy.toml), or as an
extension (a folder with troupe-extension.json), counts only when the
folder is trusted, and while each thing is as it was then: what is new or changed is asked about again. Without a
terminal and without --yes nothing is changed. Trust is kept in ~/.troupe/trust.json.`;

const checkHelp = `
The worst case follows from the limits alone. An agent: maxTurns (a root run 100, a sub-agent 15, where it sets none),
one more with graceTurn. sequential, parallel: the sum. loop: maxIterations times the sum. transfer: (maxTransfers + 1)
times the costliest member. hierarchical: the leader, and every child once in each of its turns. All of it at most
maxLlmCalls. Retries of failed calls are not counted. Its cost is told where every agent has a price (--models) or a
maxBudgetUsd.
Exit codes: 0 no problems, 2 problems, or a file that cannot be read.`;

/** Commander's own message as one sentence, and what to do. */
function usageSentence(text: string, command: string): string {
  const sentence = text
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim();
  return `troupe: ${sentence}; see troupe ${command === '' ? '' : `${command} `}--help\n`;
}

function args(program: Command): string {
  const name = program.args[0] ?? '';
  return program.commands.some((command) => command.name() === name) ? name : '';
}
