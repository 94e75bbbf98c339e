import { resolve } from 'node:path';
import type { AgentDefinition, ModelInterface, SessionProvider, ToolDefinition, Toolset } from '../contracts/index.js';
import type { Project, ProjectOptions } from '../define/project/project.js';
import type { Host, HostOptions, Run, RunOptions } from '../host/types.js';
import { TroupeError, throwProblems } from '../kernel/errors.js';
import type { PolicyRuleSet } from '../kernel/policy-rules.js';
import { chooseModel, withModelHint } from './choose-model.js';
import type { CommandIo } from './command-io.js';
import type { PreviewCall } from './edit-call.js';
import { exitCodeOf } from './exit-codes.js';
import { type Follow, followRun } from './follow-run.js';
import type { ModelSettings } from './models-file.js';
import { visibleLine } from './plain-text.js';
import { readPolicyFiles, userPolicyFile } from './policy-files.js';
import { portOf } from './port-option.js';
import { projectFor } from './project-trust.js';
import type { Prompter } from './question-form.js';
import { inputOf, readPrompt } from './read-prompt.js';
import { badUse } from './report-error.js';
import { watchSignals } from './signal-watch.js';
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
  /** Of Studio; without it any that is free. */
  port?: string | undefined;
  /** Folders of extensions, as they were typed. */
  extension?: readonly string[] | undefined;
  /** All that the folder, and extensions, bring counts, for this run. */
  trust?: boolean | undefined;
  /** A stored session to go on with, where it broke off; there is no prompt then. */
  resume?: { id: string; repair: boolean } | undefined;
}

export interface LoadedDefinition {
  definition: AgentDefinition;
  script?: string | undefined;
  notices: readonly string[];
  /** Absolute. */
  extensions?: readonly string[];
}

/** What the command is made of, so that it can be tested without a model. */
export interface RunParts {
  /** `file` as it was typed. */
  loadDefinition(file: string): Promise<LoadedDefinition>;
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
  const begin = () => (command.resume === undefined ? readPrompt(command.prompt, io) : Promise.resolve(''));
  return withTeam(command, io, parts, begin, async (team, prompt) => {
    const run = await startRun(team, prompt, command);
    team.follow.signals.stopRun = () => run.abort('interrupted');
    const { reason } = await followRun(run, command, io, team.follow);
    if (command.studio === true) {
      team.follow.signals.off();
      void io.stderr.write('the run has ended; Studio stays open until Ctrl-C\n');
      await untilSignal(io);
    }
    return exitCodeOf(reason);
  });
}

/** What a command works with: its team on a host of its own. */
export interface Team {
  host: Host;
  definition: AgentDefinition;
  isScripted: boolean;
  /** What the command line says about every run. */
  options: RunOptions;
  follow: Follow;
}

/** Everything up to the run: `begin` comes first, `use` when there is a host. The host is closed behind it. */
export async function withTeam<Begun>(
  command: Omit<RunCommand, 'prompt' | 'resume'>,
  io: CommandIo,
  parts: RunParts,
  begin: () => Promise<Begun>,
  use: (team: Team, begun: Begun) => Promise<number>,
): Promise<number> {
  const { maxBudgetUsd, port } = checkOptions(command);
  const signals = watchSignals(io);
  try {
    const begun = await begin();
    const canAsk = io.stdin.isTTY === true && io.stderr.isTTY;
    const named = parts.isFile(command.file) ? await parts.loadDefinition(command.file) : undefined;
    const extensions = [
      ...(command.extension ?? []).map((folder) => resolve(io.cwd, folder)),
      ...(named?.extensions ?? []),
    ];
    const project = await projectFor(
      { folder: io.cwd, ...(extensions.length > 0 && { extensions }) },
      { trust: command.trust === true, prompter: canAsk ? parts.prompter : undefined },
      io,
      parts,
    );
    const { loaded, file } = await definitionOf(command.file, { named, project }, io, parts);
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
      tools: [...tools, ...(await project.tools()), ...(await serverTools(project, parts))],
      policy,
      // A file that was named is trusted for this run, and so are the skills that it names.
      trust: project.trusted || named !== undefined,
      ...(project.hooks.length > 0 && { hooks: project.hooks }),
      ...(userFile === undefined ? {} : { userPolicyFile: userFile }),
      store: parts.openStore(command.store, file),
      elicitation: canAsk || answersItself || command.studio === true ? 'respond' : 'deny',
      agents: [loaded.definition],
    });
    try {
      if (command.studio === true) {
        const { url } = await host.inspectServer({ port });
        void io.stderr.write(`Studio is at ${url}\n`);
      }
      const isScripted = scripted !== undefined;
      return await use(
        {
          host,
          definition: loaded.definition,
          isScripted,
          options: runOptions(loaded.definition, { command, maxBudgetUsd, isScripted }),
          follow: { prompter: canAsk ? parts.prompter : undefined, preview: previewWith(tools), signals },
        },
        begun,
      );
    } finally {
      signals.stopRun = undefined;
      await host.close();
    }
  } finally {
    signals.off();
  }
}

/** The definition in a file, or the agent of that name that the folder or the user brings; and the file that it is in. */
async function definitionOf(
  given: string,
  { named, project }: { named: LoadedDefinition | undefined; project: Project },
  io: CommandIo,
  parts: RunParts,
): Promise<{ loaded: LoadedDefinition; file: string }> {
  if (named !== undefined) return { loaded: named, file: resolve(io.cwd, given) };
  const found = project.items.find(({ kind, name }) => kind === 'agent' && name === given);
  if (found?.kind !== 'agent') return { loaded: await parts.loadDefinition(given), file: resolve(io.cwd, given) };
  return { loaded: await project.agent(given), file: found.file };
}

async function serverTools({ mcpServers }: Project, parts: RunParts): Promise<readonly Toolset[]> {
  return Object.keys(mcpServers).length === 0 ? [] : [await parts.mcpTools(mcpServers)];
}

function runOptions(
  definition: AgentDefinition,
  {
    command: { model: asked, script, mode },
    maxBudgetUsd,
    isScripted,
  }: { command: Pick<RunCommand, 'model' | 'script' | 'mode'>; maxBudgetUsd: number | undefined; isScripted: boolean },
): RunOptions {
  const model = chooseModel({ definition, asked, script, isScripted });
  return {
    ...(mode === undefined ? {} : { permissionMode: mode }),
    ...(model === undefined ? {} : { model }),
    ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd }),
  };
}

async function startRun(
  { host, definition, options, isScripted }: Team,
  prompt: string,
  { resume, ephemeral }: RunCommand,
): Promise<Run> {
  try {
    if (resume !== undefined)
      return await host.resume(resume.id, { ...options, agent: definition, repair: resume.repair });
    return host.run(definition, inputOf(prompt, definition.descriptor), {
      ...options,
      ...(ephemeral === true ? { ephemeral: true } : {}),
    });
  } catch (thrown) {
    throw withModelHint(resume === undefined ? thrown : withRepairHint(thrown), { isScripted });
  }
}

/** A log that has to be repaired first: by the option of the command line. */
function withRepairHint(thrown: unknown): unknown {
  if (!(thrown instanceof TroupeError) || thrown.code !== 'SESSION_DAMAGED') return thrown;
  return new TroupeError({
    code: thrown.code,
    message: thrown.message.replace('{ repair: true }', '--repair'),
    cause: thrown,
  });
}

/** What does not load stops the run before it begins. */
async function readPolicies({ policy = [] }: Pick<RunCommand, 'policy'>, io: CommandIo): Promise<PolicyRuleSet[]> {
  const { sets, problems } = await readPolicyFiles(policy, io);
  throwProblems(problems, 'POLICY_INVALID');
  return sets;
}

/** Of the workspace's own tools; of others nothing is known here. */
function previewWith(tools: readonly ToolDefinition[]): PreviewCall {
  const { signal } = new AbortController();
  return async (name, args) =>
    (await tools.find((tool) => tool.name === name)?.preview?.(args as never, { signal })) ?? {};
}

/** Wrong use where there is no such permission mode. */
export function assertMode(mode: string): void {
  if (![...modes, ...foreignModes].includes(mode)) throw badUse(`no mode "${mode}": choose one of ${modes.join(', ')}`);
}

function checkOptions(command: Omit<RunCommand, 'prompt'>): { maxBudgetUsd: number | undefined; port: number } {
  if (command.yes === true && command.no === true) throw badUse('--yes and --no exclude each other: give one of them');
  if (command.ephemeral === true && command.store !== undefined)
    throw badUse('--store and --ephemeral exclude each other: give one of them');
  if (command.mode !== undefined) assertMode(command.mode);
  if (command.port !== undefined && command.studio !== true)
    throw badUse('--port is the port of Studio: give --studio with it');
  return { maxBudgetUsd: budgetOf(command.maxBudgetUsd), port: portOf(command.port) };
}

function budgetOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const budget = Number(given);
  if (given.trim() === '' || !Number.isFinite(budget) || budget <= 0)
    throw badUse(`--max-budget-usd takes an amount above 0, as 0.50, not "${given}"`);
  return budget;
}
