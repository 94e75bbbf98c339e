import { resolve } from 'node:path';
import type { Sandbox, ToolDefinition } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { didYouMean } from '../kernel/text.js';
import { editTool } from './workspace/edit-tool.js';
import { glob } from './workspace/glob.js';
import { listDirectory } from './workspace/list-directory.js';
import { readFile } from './workspace/read-file.js';
import { readOnlyTool } from './workspace/read-only-tool.js';
import { replace } from './workspace/replace.js';
import { searchText } from './workspace/search-text.js';
import { readShellOptions, type ShellOptions } from './workspace/shell-options.js';
import { shellTool } from './workspace/shell-tool.js';
import { writeFile } from './workspace/write-file.js';

export type { ShellOptions } from './workspace/shell-options.js';

/** The tools that only read. */
export const readOnlyWorkspaceTools = ['read_file', 'list_directory', 'glob', 'search_text'] as const;

const names = [...readOnlyWorkspaceTools, 'write_file', 'replace', 'run_shell_command'] as const;
export type WorkspaceToolName = (typeof names)[number];

export interface WorkspaceOptions {
  /** Absolute, or relative to the current directory at this call. It need not exist yet. */
  root: string;
  /** The tools to make. Default: all seven. */
  only?: readonly WorkspaceToolName[];
  /**
   * Names of files and folders, at any depth, that `write_file` and `replace` refuse to change, with what is below them.
   * Default: `.git` and `.troupe`. The shell is not bound by it.
   */
  protect?: readonly string[];
  /** Bounds of `run_shell_command`. */
  shell?: ShellOptions;
  /** What `run_shell_command` runs in. Where it does not work, no command is run. */
  sandbox?: Sandbox;
}

/**
 * `read_file`, `list_directory`, `glob`, `search_text`, `write_file`, `replace` and `run_shell_command` over the files
 * below `root`, in this order. Save for the shell no call reads or writes outside `root`, whatever its path says and
 * wherever links lead; hard links are not seen through when they are read, and are cut when they are written. A command
 * starts in `root` and, without a `sandbox`, may do all that the user may.
 * Results carry text for the model and `data` for programs, and say what they left out; what cannot be done is an
 * error result. Throws `INVALID_OPTION` for options that make no sense.
 */
export function workspaceTools(options: WorkspaceOptions): ToolDefinition[] {
  const { root, only = names, protect = ['.git', '.troupe'], sandbox } = options ?? {};
  if (typeof root !== 'string' || root === '' || root.includes('\0')) {
    throw invalid(`root is ${JSON.stringify(root) ?? 'absent'}; give the path of a folder`);
  }
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw invalid(`there is no tool "${unknown}"${didYouMean(unknown, names)}`);
  const shell = readShellOptions(options.shell ?? {});
  if (typeof shell === 'string') throw invalid(shell);
  const absolute = resolve(root);
  const editing = { root: absolute, protect };
  const makers: Record<WorkspaceToolName, () => ToolDefinition> = {
    read_file: () => readOnlyTool(absolute, readFile),
    list_directory: () => readOnlyTool(absolute, listDirectory),
    glob: () => readOnlyTool(absolute, glob),
    search_text: () => readOnlyTool(absolute, searchText),
    write_file: () => editTool(editing, writeFile),
    replace: () => editTool(editing, replace),
    run_shell_command: () => shellTool({ root: absolute, bounds: shell, sandbox }),
  };
  return names.filter((name) => only.includes(name)).map((name) => makers[name]());
}

const invalid = (message: string) => new TroupeError({ code: 'INVALID_OPTION', message: `workspaceTools: ${message}` });
