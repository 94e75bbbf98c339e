import { resolve } from 'node:path';
import type { ToolDefinition } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { glob } from './workspace/glob.js';
import { listDirectory } from './workspace/list-directory.js';
import { readFile } from './workspace/read-file.js';
import { readOnlyTool } from './workspace/read-only-tool.js';
import { searchText } from './workspace/search-text.js';

/**
 * `read_file`, `list_directory`, `glob` and `search_text` over the files below `root`, in this order. All are
 * read-only. No call reads outside `root`, whatever its path says and wherever links lead; hard links are not seen
 * through. `root` (absolute, or relative to the current directory at this call) need not exist yet.
 * Results carry text for the model and `data` for programs, and say what they left out; what cannot be done is an
 * error result. Throws `INVALID_OPTION` when `root` is no path.
 */
export function workspaceTools({ root }: { root: string }): ToolDefinition[] {
  if (typeof root !== 'string' || root === '' || root.includes('\0')) {
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `workspaceTools: root is ${JSON.stringify(root) ?? 'absent'}; give the path of a folder`,
    });
  }
  const absolute = resolve(root);
  return [
    readOnlyTool(absolute, readFile),
    readOnlyTool(absolute, listDirectory),
    readOnlyTool(absolute, glob),
    readOnlyTool(absolute, searchText),
  ];
}
