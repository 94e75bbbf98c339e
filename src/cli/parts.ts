import { isAbsolute, relative, resolve } from 'node:path';
import { loadAgentFile } from '../define/files/load.js';
import { loadScriptFile } from '../define/files/script.js';
import { scriptedModel } from '../models/scripted.js';
import { readOnlyWorkspaceTools, workspaceTools } from '../tools/workspace.js';
import type { CheckParts } from './check.js';
import { createClackPrompter } from './clack-prompter.js';
import type { CommandIo } from './command-io.js';
import type { RunParts } from './run.js';

/** What the commands are made of outside of tests. */
export async function runParts(io: CommandIo): Promise<RunParts> {
  const { createHost } = await import('../index.js');
  return {
    loadDefinition: (path) => loadDefinition(path, io),
    loadModel: async (path) => scriptedModel(await loadScriptFile(path)),
    workspaceTools: (root) => workspaceTools({ root, only: readOnlyWorkspaceTools }),
    createHost,
    prompter: (signal) => createClackPrompter({ input: io.stdin, output: process.stderr, signal }),
  };
}

export function checkParts(file: string, io: CommandIo): CheckParts {
  return {
    loadDefinition: () => loadDefinition(file, io),
    async inventory() {
      const { builtins } = await import('../builtins.js');
      return { hostTools: hostToolNames(io), executors: Object.keys(builtins.executors) };
    },
  };
}

/** The definition of a file. Naming it is trusting it: it may be code; files that it names may not. */
export async function loadDefinition(file: string, io: CommandIo): ReturnType<typeof loadAgentFile> {
  // As short as it was typed: this is how the file is called in every message.
  const path = isAbsolute(file) ? file : relative('', resolve(io.cwd, file));
  return loadAgentFile(path, { hostTools: hostToolNames(io) });
}

function hostToolNames(io: CommandIo): string[] {
  return workspaceTools({ root: io.cwd, only: readOnlyWorkspaceTools }).map(({ name }) => name);
}
