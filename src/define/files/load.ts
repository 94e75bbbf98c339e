import type { AgentDefinition } from '../../contracts/index.js';
import { TroupeError, throwProblems } from '../../kernel/errors.js';
import { buildDefinition } from './build.js';
import { inFileOrder } from './problem-order.js';
import { createReader } from './reader.js';
import { checkTree } from './tree-check.js';

export interface LoadOptions {
  /** Names of the tools that the host has. With them the tools of foreign agents are kept to those there are. */
  hostTools?: readonly string[];
  /** Default: the named file may be code, files named in files may not. True: those too. False: no code at all. */
  allowCode?: boolean;
}

export interface LoadedAgent {
  definition: AgentDefinition;
  /** Absolute path of the script that the named file names. */
  script?: string;
  /** Every file that was read, the named one first, as it can be opened from the current directory. */
  files: string[];
  /** Absolute folders of extensions that the files want to be there. Nothing of them was read. */
  extensions: string[];
  /** What was read otherwise than it is written, one sentence each, with its place. */
  notices: string[];
}

/**
 * Reads an agent or a team: Markdown with front matter (also as Claude Code and Gemini CLI write it), YAML, JSON, or
 * code with a definition as its default export. Reading runs nothing but such code, and that only when it is named.
 * Keys may be written in snake_case or camelCase. Children are paths relative to the file that names them, or inline.
 * Every definition carries `metadata.filePath`, relative to the folder of the named file, and `metadata.hash` (SHA-256).
 * Throws one `INVALID_DEFINITION` with every problem of all files, each at `file:line:key`.
 */
export async function loadAgentFile(path: string, options: LoadOptions = {}): Promise<LoadedAgent> {
  const { allowCode, hostTools } = options;
  const reader = createReader({ hostTools, code: { first: allowCode !== false, named: allowCode === true } });
  const node = await reader.first(path);
  const treeProblems = node === undefined ? [] : checkTree(node);
  reader.problems.push(...treeProblems);
  const definition = node && buildDefinition(node, reader.problems, { teams: treeProblems.length === 0 });
  throwProblems(inFileOrder(reader.problems));
  if (definition === undefined)
    throw new TroupeError({ code: 'INVALID_DEFINITION', message: `${path} holds no agent` });
  const { script } = definition;
  return {
    definition,
    ...(script !== undefined && { script }),
    files: [...reader.files],
    extensions: [...reader.extensions],
    notices: reader.notices,
  };
}
