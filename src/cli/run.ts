import { isAbsolute, join, resolve } from 'node:path';
import type { AgentEvent } from '../contracts/events.js';
import type { AgentDefinition, ModelInterface, SessionProvider, ToolDefinition, Toolset } from '../contracts/index.js';
import type { Project, ProjectOptions } from '../define/project/project.js';
import type { Host, HostOptions, Run, RunResult } from '../host/types.js';
import { throwProblems } from '../kernel/errors.js';
import type { PolicyRuleSet } from '../kernel/policy-rules.js';
import { createRunModel } from '../kernel/run-model.js';
import { chooseModel, withModelHint } from './choose-model.js';
import { type CommandIo, showCursor } from './command-io.js';
import type { PreviewCall } from './edit-call.js';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import type { ModelSettings } from './models-file.js';
import { visibleLine, visibleLines } from './plain-text.js';
import { readPolicyFiles } from './policy-files.js';
import { projectFor } from './project-trust.js';
import { createQuestionDesk } from './question-desk.js';
import type { Prompter } from './question-form.js';
import { inputOf, readPrompt } from './read-prompt.js';
import { badUse } from './report-error.js';
import { createRunProgress, type RunProgress } from './run-progress.js';
import type { TrustParts } from './trust.js';
import { untilSignal } from './until-signal.js';

export interface RunCommand {
  file: string;
  /** `-`, or absent with piped stdin: all of stdin. */
  prompt?: string | undefined;
  model?: string | undefined;
  mode?: string | undefined;
  json?: boolean | undefined;
  yes?: boolean | undefined;
  no?: boolean | undefined;
  script?: string | undefined;
  models?: string | undefined;
  maxBudgetUsd?: string | undefined;
  root?: string | undefined;
  /** Files of rules, of the tier `user`. */
  policy?: readonly string[] | undefined;
  /** Directory of the sessions. */
  store?: string | undefined;
  ephemeral?: boolean | undefined;
  /** Serves Studio beside the run, and after it until a signal. */
  studio?: boolean | undefined;
  /** All that the folder brings counts, for this run. */
  trust?: boolean | undefined;
  /** A stored session to go on with, where it broke off; there is no prompt then. */
  resume?: { id: string; repair: boolean } | undefined;
}

/** What the command is made of, so that it can be tested without a model. */
export interface RunParts {
  /** `file` as it was typed. */
  loadDefinition(
    file: string,
  ): Promise<{ definition: AgentDefinition; script?: string | undefined; notices: readonly string[] }>;
  loadModel(scriptPath: string): Promise<ModelInterface>;
  /** `path` as it was typed. */
  loadModels(path: string): Promise<ModelSettings>;
  workspaceTools(root: string): readonly ToolDefinition[];
  /** `file`: what new sessions are told to be of. */
  openStore(dir: string | undefined, file?: string): SessionProvider;
  createHost(options: HostOptions): Host;
  /** What the folder of the run and the user bring to it. */
  openProject(options: ProjectOptions): Promise<Project>;
  trustProject: TrustParts['trustProject'];
  /** The file is one, or the name of an agent that was found. */
  isFile(file: string): boolean;
  mcpTools(servers: Project['mcpServers']): Promise<Toolset>;
  prompter(signal: AbortSignal): Promise<Prompter>;
}

const modes = ['default', 'auto_edit', 'autonomous', 'plan', 'dont_ask'];
const foreignModes = ['autoEdit', 'acceptEdits', 'yolo', 'bypassPermissions', 'dontAsk'];

/**
 * Runs a team and returns the exit code: the reason that the run ended with. Its result goes to stdout, what happens
 * on the way to stderr; `--json` puts the events on stdout instead. A reader of stdout that leaves early changes nothing.
 * Questions are asked when stdin and stderr are terminals; otherwise they are denied.
 */
export async function runCommand(command: RunCommand, io: CommandIo, parts: RunParts): Promise<number> {
  const maxBudgetUsd = checkOptions(command);
  let stopRun: (() => void) | undefined;
  const signals = watchSignals(io, () => stopRun);
  try {
    const prompt = command.resume === undefined ? await readPrompt(command.prompt, io) : '';
    const canAsk = io.stdin.isTTY === true && io.stderr.isTTY;
    const project = await projectFor(
      { folder: io.cwd },
      { trust: command.trust === true, prompter: canAsk ? parts.prompter : undefined },
      io,
      parts,
    );
    const { loaded, file } = await definitionOf(command.file, project, io, parts);
    for (const notice of loaded.notices) void io.stderr.write(`troupe: ${visibleLine(notice)}\n`);
    const scriptPath = command.script === undefined ? loaded.script : resolve(io.cwd, command.script);
    const scripted = scriptPath === undefined ? undefined : await parts.loadModel(scriptPath);
    const settings = command.models === undefined ? {} : await parts.loadModels(command.models);
    const userFile = userPolicyFile(io);
    const policy = [...(await readPolicies(command, io)), ...project.policy];
    const tools = parts.workspaceTools(resolve(io.cwd, command.root ?? '.'));
    const answersItself = command.yes === true || command.no === true;
    const host = parts.createHost({
      ...settings,
      ...(scripted === undefined ? {} : { models: { scripted } }),
      tools: [...tools, ...(await serverTools(project, parts))],
      policy,
      trust: project.trusted,
      ...(project.hooks.length > 0 && { hooks: project.hooks }),
      ...(userFile === undefined ? {} : { userPolicyFile: userFile }),
      store: parts.openStore(command.store, file),
      elicitation: canAsk || answersItself || command.studio === true ? 'respond' : 'deny',
      agents: [loaded.definition],
    });
    try {
      if (command.studio === true) {
        const { url } = await host.inspectServer();
        void io.stderr.write(`Studio is at ${url}\n`);
      }
      const run = await startRun(host, loaded.definition, prompt, {
        command,
        maxBudgetUsd,
        isScripted: scripted !== undefined,
      });
      stopRun = () => run.abort('interrupted');
      const code = await followRun(run, command, io, {
        prompter: canAsk ? parts.prompter : undefined,
        preview: previewWith(tools),
        signals,
      });
      if (command.studio === true) {
        signals.off();
        void io.stderr.write('the run has ended; Studio stays open until Ctrl-C\n');
        await untilSignal(io);
      }
      return code;
    } finally {
      stopRun = undefined;
      await host.close();
    }
  } finally {
    signals.off();
  }
}

/** The definition in a file, or the agent of that name that the folder or the user brings; and the file that it is in. */
async function definitionOf(
  named: string,
  project: Project,
  io: CommandIo,
  parts: RunParts,
): Promise<{ loaded: Awaited<ReturnType<RunParts['loadDefinition']>>; file: string }> {
  const found = parts.isFile(named)
    ? undefined
    : project.items.find(({ kind, name }) => kind === 'agent' && name === named);
  if (found?.kind !== 'agent') return { loaded: await parts.loadDefinition(named), file: resolve(io.cwd, named) };
  return { loaded: await project.agent(named), file: found.file };
}

async function serverTools({ mcpServers }: Project, parts: RunParts): Promise<readonly Toolset[]> {
  return Object.keys(mcpServers).length === 0 ? [] : [await parts.mcpTools(mcpServers)];
}

async function startRun(
  host: Host,
  definition: AgentDefinition,
  prompt: string,
  { command, maxBudgetUsd, isScripted }: { command: RunCommand; maxBudgetUsd: number | undefined; isScripted: boolean },
): Promise<Run> {
  const { model: asked, script, mode, resume } = command;
  const model = chooseModel({ definition, asked, script, isScripted });
  const options = {
    ...(mode === undefined ? {} : { permissionMode: mode }),
    ...(model === undefined ? {} : { model }),
    ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd }),
  };
  try {
    if (resume !== undefined)
      return await host.resume(resume.id, { ...options, agent: definition, repair: resume.repair });
    return host.run(definition, inputOf(prompt, definition.descriptor), {
      ...options,
      ...(command.ephemeral === true ? { ephemeral: true } : {}),
    });
  } catch (thrown) {
    throw withModelHint(thrown, { isScripted });
  }
}

/** What does not load stops the run before it begins. */
async function readPolicies({ policy = [] }: RunCommand, io: CommandIo): Promise<PolicyRuleSet[]> {
  const { sets, problems } = await readPolicyFiles(policy, io);
  throwProblems(problems, 'POLICY_INVALID');
  return sets;
}

/** Where "always and save" writes: in the user's own folder, never in the project's. */
function userPolicyFile({ env }: CommandIo): string | undefined {
  const config = env.XDG_CONFIG_HOME || (env.HOME && join(env.HOME, '.config'));
  return config === undefined || !isAbsolute(config) ? undefined : join(config, 'troupe', 'policy.toml');
}

/** Of the workspace's own tools; of others nothing is known here. */
function previewWith(tools: readonly ToolDefinition[]): PreviewCall {
  const { signal } = new AbortController();
  return async (name, args) =>
    (await tools.find((tool) => tool.name === name)?.preview?.(args as never, { signal })) ?? {};
}

interface Follow {
  preview: PreviewCall;
  prompter: RunParts['prompter'] | undefined;
  signals: SignalWatch;
}

async function followRun(
  run: Run,
  command: RunCommand,
  io: CommandIo,
  { prompter, preview, signals }: Follow,
): Promise<number> {
  const { model: view, fold } = createRunModel();
  const progress = createRunProgress(view, io, { json: command.json === true });
  signals.onFirst = () => progress.say('stopping the run; once more ends it at once');
  const desk = createQuestionDesk({
    run,
    confirmations: command.yes === true ? 'yes' : command.no === true ? 'no' : 'ask',
    prompter,
    preview,
    screen: progress,
    isAnsweredElsewhere: command.studio === true,
    onInterrupt: () => signals.raise(),
  });
  // Wrong use rejects both the iterator and the result: one of them is enough to hear of it.
  run.result.catch(() => {});
  try {
    for await (const event of run) {
      fold(event);
      desk.see(event);
      const behind = progress.show(event);
      if (behind !== undefined) await behind;
    }
  } finally {
    await desk.close().finally(() => progress.end());
  }
  const result = await run.result;
  if (command.json !== true) await showResult(result, progress, io);
  return exitCodeOf(result.reason);
}

/** The text on stdout: as it is for a file or a program, neutralised for a terminal. */
async function showResult(result: RunResult, progress: RunProgress, io: CommandIo): Promise<void> {
  if (result.text !== '') {
    const text = io.stdout.isTTY ? visibleLines(result.text) : result.text;
    await io.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  }
  if (!result.ok) progress.say(endSentence(result));
}

function endSentence({ reason, data }: RunResult): string {
  const { code, message, limit, used } = data as AgentEvent<'stream_end'>['data'] & object;
  if (reason === 'failed')
    return `the run failed${code === undefined ? '' : ` with ${code}`}${message === undefined ? '' : `: ${message}`}`;
  if (reason === 'aborted') return 'the run was aborted';
  if (reason === 'refusal') return 'the model refused';
  return `the run ended with ${reason}${limit === undefined ? '' : ` (limit ${limit}${used === undefined ? '' : `, used ${used}`})`}`;
}

function checkOptions(command: RunCommand): number | undefined {
  if (command.yes === true && command.no === true) throw badUse('--yes and --no exclude each other: give one of them');
  if (command.ephemeral === true && command.store !== undefined)
    throw badUse('--store and --ephemeral exclude each other: give one of them');
  if (command.mode !== undefined && ![...modes, ...foreignModes].includes(command.mode))
    throw badUse(`no mode "${command.mode}": choose one of ${modes.join(', ')}`);
  if (command.maxBudgetUsd === undefined) return undefined;
  const budget = Number(command.maxBudgetUsd);
  if (command.maxBudgetUsd.trim() === '' || !Number.isFinite(budget) || budget <= 0)
    throw badUse(`--max-budget-usd takes an amount above 0, as 0.50, not "${command.maxBudgetUsd}"`);
  return budget;
}

interface SignalWatch {
  /** Called at the first signal while a run is on. */
  onFirst: () => void;
  /** As if the signal had come: Ctrl-C in a form does not raise one. */
  raise(): void;
  off(): void;
}

/** The first signal aborts the run, the second ends the process at once; so does the first while no run is on. */
function watchSignals(io: CommandIo, stopRun: () => (() => void) | undefined): SignalWatch {
  let raised = false;
  const watch: SignalWatch = {
    onFirst: () => {},
    raise() {
      const stop = stopRun();
      if (raised || stop === undefined) {
        if (io.stderr.isTTY) io.stderr.write(showCursor);
        io.exitNow(exitCodes.aborted);
        return;
      }
      raised = true;
      watch.onFirst();
      stop();
    },
    off() {
      for (const takeOff of handlers) takeOff();
    },
  };
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => io.onSignal(signal, () => watch.raise()));
  return watch;
}
