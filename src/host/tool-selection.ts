import type { HookResult } from '../contracts/index.js';
import { hooksOf } from './hook-state.js';
import { shortName } from './session-tree.js';
import type { RunRecord, Thread } from './thread.js';
import type { Call } from './tool-call.js';

/** What `before_tool_selection` hooks leave of the tools counts for the calls too. Names become those that the model says. */
export function takeSelection(thread: Thread, run: RunRecord, said: HookResult): HookResult {
  const { modifications } = said;
  if (said.action !== 'proceed' || modifications === undefined) return said;
  const { toolMode, allowedTools } = modifications;
  if (toolMode === 'none') {
    hooksOf(run).selected = new Set();
    return { ...said, modifications: { toolMode } };
  }
  if (!Array.isArray(allowedTools)) return said;
  const names = allowedTools.map((name) => shortName(String(name), thread.agentId));
  hooksOf(run).selected = new Set(names);
  return { ...said, modifications: { ...modifications, allowedTools: names } };
}

/** Whether the hooks have left a tool out for this turn. Calls that a result asks for are not the model's choice. */
export function isLeftOut({ run, name, thread, parent }: Call): boolean {
  const selected = run.hooks?.selected;
  return selected !== undefined && parent === undefined && !selected.has(shortName(name, thread.agentId));
}
