import { answerOf, askAgent, contextIn, refusalOf, tellContext, tellModel } from './begin-hooks.js';
import { stopRun } from './end-run.js';
import { fireHook } from './fire-hook.js';
import { hooksOf, treeHooksOf } from './hook-state.js';
import type { Recovery } from './recovery/recovery.js';
import type { RunRecord, Thread } from './thread.js';

/**
 * A run that its session is taken up in. For the root `session_start` is told so, once it goes on; a thread that had not
 * had a turn may have been cut off before its hooks agreed, and they are asked.
 */
export function resumeWithHooks(thread: Thread): void {
  const run = thread.run as RunRecord;
  const { hookPoints } = thread.tree.host;
  const isRoot = thread.parent === undefined;
  const isAsked = hookPoints.has('before_agent') || (isRoot && hookPoints.has('before_run'));
  hooksOf(run).isUnasked = isAsked && run.turns === 0 && thread.agent.behaviour === 'turn';
  if (!isRoot) return;
  const session = treeHooksOf(thread);
  session.hasBegun = true;
  session.source = undefined;
  if (hookPoints.has('session_start')) {
    (thread.tree.recovery as Recovery).onBegin(() => void startSession(thread, run));
  }
}

async function startSession(thread: Thread, run: RunRecord): Promise<void> {
  const said = await fireHook(thread, 'session_start', { source: 'resume' });
  if (said === undefined || thread.run !== run || run.stop !== undefined) return;
  if (said.action !== 'proceed') return stopRun(thread, refusalOf(thread, said));
  const context = contextIn(said);
  if (context === undefined) return;
  if (thread.agent.behaviour === 'turn') tellModel(thread, context);
  else treeHooksOf(thread).context = context;
}

/** Before the first turn of a run that was taken up. Nothing: there is nothing to ask. */
export function askIfUnasked(thread: Thread): undefined | Promise<void> {
  const { run } = thread;
  if (run?.hooks?.isUnasked !== true) return undefined;
  run.hooks.isUnasked = false;
  return ask(thread, run);
}

async function ask(thread: Thread, run: RunRecord): Promise<void> {
  const context: string[] = [];
  const outcome = await askAgent(thread, run, context);
  if (thread.run !== run || run.stop !== undefined) return;
  if (outcome === undefined) tellContext(thread, run, context);
  else
    run.stop =
      'blocked' in outcome ? refusalOf(thread, outcome.blocked) : await answerOf(thread, run, outcome.response);
}
