import { type CommandHook, createCommandHook } from '../hooks/command.js';
import { endProcesses } from '../tools/workspace/process-tree.js';

/**
 * A hook that is a process: what it is told comes as JSON on stdin, what it answers is JSON on stdout. Exit code 0:
 * proceed, as the output says (none is consent); 1: a warning; 2 and above: blocked, with stderr as the reason. It gets
 * no keys and no tokens. When it ends, is late, or its run is stopped, all that it started ends too: SIGTERM, then
 * SIGKILL. Throws `INVALID_OPTION` with every fault of its options.
 */
export const commandHook: CommandHook = createCommandHook(endProcesses);
