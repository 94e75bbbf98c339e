import { existsSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import type { AgentDefinition } from '../contracts/index.js';
import { loadAgentFile } from '../define/files/load.js';
import { loadScriptFile } from '../define/files/script.js';
import { openProject, type ProjectOptions, trustProject } from '../define/project/project.js';
import type { ModelPrices } from '../define/worst-case.js';
import { systemClock } from '../kernel/clock.js';
import { TroupeError } from '../kernel/errors.js';
import { scriptedModel } from '../models/scripted.js';
import { readUserFile } from '../policy/user-file.js';
import { workspaceTools } from '../tools/workspace.js';
import type { CheckParts } from './check.js';
import { createClackPrompter } from './clack-prompter.js';
import type { CommandIo } from './command-io.js';
import type { ModelsParts } from './models.js';
import { loadModelsFile } from './models-file.js';
import type { PolicyParts } from './policy.js';
import { userPolicyFile } from './policy-files.js';
import type { RunParts } from './run.js';
import { openStore, withFile } from './store-place.js';
import type { TrustParts } from './trust.js';

/** What the commands are made of outside of tests. */
export async function runParts(io: CommandIo): Promise<RunParts> {
  const { createHost } = await import('../index.js');
  return {
    loadDefinition: (path) => loadDefinition(path, io),
    loadModel: async (path) => scriptedModel(await loadScriptFile(path)),
    loadModels: (path) => loadModelsFile(resolve(io.cwd, path), path),
    workspaceTools: (root) => workspaceTools({ root }),
    openStore: (dir, file) => withFile(openStore(dir, io), file),
    createHost,
    openProject: (options) => openProject({ ...options, hostTools: hostToolNames(io) }),
    trustProject,
    isFile: (file) => existsSync(resolve(io.cwd, file)),
    mcpTools: async (servers) => (await import('../tools/mcp.js')).mcpTools({ servers: servers as never }),
    prompter: (signal) => createClackPrompter({ input: io.stdin, output: process.stderr, env: io.env, signal }),
  };
}

export const trustParts = (io: CommandIo): TrustParts => ({
  openProject: (options) => openProject({ ...options, hostTools: hostToolNames(io) }),
  trustProject,
  prompter: (signal) => createClackPrompter({ input: io.stdin, output: process.stderr, env: io.env, signal }),
});

/** `models`: a file of prices, as it was typed. */
export function checkParts(file: string, io: CommandIo, models?: string): CheckParts {
  return {
    async loadDefinition() {
      const loaded = await loadDefinition(file, io);
      return { ...loaded, definition: await readBackends(loaded.definition) };
    },
    async inventory() {
      const { builtins } = await import('../builtins.js');
      const inventory = { hostTools: hostToolNames(io), executors: Object.keys(builtins.executors) };
      if (models === undefined) return inventory;
      const known = builtins.models(await loadModelsFile(resolve(io.cwd, models), models), systemClock);
      const prices: ModelPrices = (model) =>
        known.reachable(model).map((choice) => (typeof choice === 'string' ? known.price(choice) : undefined));
      // Nothing is reached from no choice at all.
      return { ...inventory, prices: (model) => (prices(model).length === 0 ? [undefined] : prices(model)) };
    },
  };
}

export function modelsParts(file: string | undefined, io: CommandIo, models?: string): ModelsParts {
  return {
    loadDefinition: async () => (file === undefined ? undefined : (await loadDefinition(file, io)).definition),
    async list(names) {
      const { builtins } = await import('../builtins.js');
      const settings = models === undefined ? {} : await loadModelsFile(resolve(io.cwd, models), models);
      return builtins.models(settings, systemClock).list(names);
    },
  };
}

/** Tools of the host that are for the structure of a team. */
const STRUCTURAL = ['exit_loop', 'complete_task', 'ask_user', 'transfer_to_agent', 'exit_plan_mode'];

export function policyParts(io: CommandIo, more: Pick<ProjectOptions, 'userFolder' | 'trust'> = {}): PolicyParts {
  const tools = workspaceTools({ root: io.cwd });
  return {
    annotationsOf: (tool) =>
      tool === 'activate_skill'
        ? { readOnly: true, category: 'read' }
        : tools.find(({ name }) => name === tool)?.descriptor.annotations,
    plainArgs: (tool, args) => tools.find(({ name }) => name === tool)?.plainArgs?.(args as never),
    isStructural: (tool) => STRUCTURAL.includes(tool),
    async standing() {
      const { policy } = await openProject({ folder: io.cwd, ...more, hostTools: hostToolNames(io) });
      const saved = userPolicyFile(io);
      return saved === undefined ? policy : [...policy, readUserFile(saved)];
    },
  };
}

/**
 * A definition with what stands in its backends, as far as it is known without asking anybody: a tree of ADK is what it
 * becomes here. Throws `INVALID_DEFINITION` for a backend that is none.
 */
export async function readBackends(definition: AgentDefinition): Promise<AgentDefinition> {
  const [{ builtins }, { createBackends }] = await Promise.all([
    import('../builtins.js'),
    import('../host/backends.js'),
  ]);
  try {
    return createBackends(builtins.backends).read(definition).definition;
  } catch (thrown) {
    if (!(thrown instanceof TroupeError) || thrown.problems.length > 0) throw thrown;
    const { code, message } = thrown;
    throw new TroupeError({ code, message, problems: [{ code, path: definition.name, message }], cause: thrown });
  }
}

/** The definition of a file. Naming it is trusting it: it may be code; files that it names may not. */
export async function loadDefinition(file: string, io: CommandIo): ReturnType<typeof loadAgentFile> {
  // As short as it was typed: this is how the file is called in every message.
  const path = isAbsolute(file) ? file : relative('', resolve(io.cwd, file)) || '.';
  const { write } = process.stdout;
  // What code prints while it is read is no part of what the command prints.
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof write;
  try {
    return await loadAgentFile(path, { hostTools: hostToolNames(io) });
  } finally {
    process.stdout.write = write;
  }
}

function hostToolNames(io: CommandIo): string[] {
  return workspaceTools({ root: io.cwd }).map(({ name }) => name);
}
