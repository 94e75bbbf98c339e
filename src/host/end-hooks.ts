import { toParts } from '../kernel/content.js';
import { tellModel } from './begin-hooks.js';
import { endNow, forceInTime, goOn } from './end-run.js';
import { askHooks, tellHooks, warn } from './fire-hook.js';
import { hooksOf, treeHooksOf } from './hook-state.js';
import type { EndReport } from './host-core.js';
import { lastTextOf } from './last-text.js';
import { askAbout, copyOf, promptOf, unlessCut } from './run-hooks.js';
import { CONTEXT_CLEARED, enter, leave, publish } from './session-tree.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';

/** Whether hooks are asked before a run ends; then it ends, or goes on, once they have answered. */
export function endWithHooks(thread: Thread, end: RunEnd, report: EndReport): boolean {
  const run = thread.run as RunRecord;
  const { hookPoints } = thread.tree.host;
  const hooks = hooksOf(run);
  if (hooks.phase !== 'open') return true;
  const isObserved = thread.parent === undefined && hookPoints.has('after_run');
  const isJudged = hookPoints.has('after_agent') && end.reason === 'completed' && run.stop === undefined;
  const isToldOf = thread.tree.hooks?.telling !== undefined && run.stop === undefined;
  if (!isObserved && !isToldOf && (!isJudged || hooks.isAnswered)) return false;
  hooks.phase = 'ending';
  enter(thread.tree);
  void conclude(thread, run, end, report).finally(() => leave(thread.tree));
  return true;
}

async function conclude(thread: Thread, run: RunRecord, end: RunEnd, report: EndReport): Promise<void> {
  const hooks = hooksOf(run);
  if (end.reason === 'completed' && !hooks.isAnswered && (await isSentBack(thread, run, end))) return;
  if (thread.run !== run) return;
  await untilTold(thread, run);
  if (thread.run !== run) return;
  const final = end.reason === 'completed' ? (run.stop ?? end) : end;
  hooks.phase = 'final';
  if (thread.parent === undefined) {
    const { reason, data } = final;
    const fired = askHooks(thread, 'after_run', {
      reason,
      ...(data.result !== undefined && { result: copyOf(data.result) }),
    });
    if (fired !== undefined) {
      // Who is told to stop does not wait for ever for who only watches.
      if (run.stop !== undefined) forceInTime(thread.tree);
      const said = await unlessCut(run, fired);
      if (thread.run !== run) return;
      if (said !== undefined) tellHooks(thread, 'after_run', { ...said, continue: true });
      await untilTold(thread, run);
    }
  }
  if (thread.run === run) endNow(thread, final, report);
}

/** Notices that wait for their hooks come before the end. */
async function untilTold(thread: Thread, run: RunRecord): Promise<void> {
  for (let { telling } = treeHooksOf(thread); telling !== undefined; telling = treeHooksOf(thread).telling) {
    if (
      run.stop !== undefined ||
      (await unlessCut(
        run,
        telling.then(() => true),
      )) === undefined
    )
      return;
  }
}

/** `after_agent`: the context may be forgotten, and what a hook blocks goes back to the agent once. */
async function isSentBack(thread: Thread, run: RunRecord, { data }: RunEnd): Promise<boolean> {
  const hooks = hooksOf(run);
  const said = await askAbout(thread, run, 'after_agent', {
    prompt: copyOf(promptOf(run)),
    response: copyOf(data.result ?? lastTextOf(run)),
    stopHookActive: hooks.wasSentBack,
  });
  if (said === undefined || run.stop !== undefined || thread.run !== run) return false;
  if (said.modifications?.clearContext === true) clearContext(thread, run);
  if (said.action === 'proceed') return false;
  const reason = said.reason ?? 'a hook does not take this answer';
  if (hooks.wasSentBack) return false;
  const isHandedOn = data.handoffTarget !== undefined || data.escalateReason !== undefined;
  if (thread.agent.behaviour !== 'turn' || isHandedOn) {
    warn(thread, 'after_agent', 'HOOK_NOT_APPLIED', `${thread.agentId} cannot be sent back to work: ${reason}`);
    return false;
  }
  hooks.wasSentBack = true;
  hooks.phase = 'open';
  tellModel(thread, reason);
  run.inbox.push({ kind: 'message', content: toParts(reason) });
  run.ending = undefined;
  goOn(thread);
  return true;
}

function clearContext(thread: Thread, run: RunRecord): void {
  if (thread.agent.behaviour !== 'turn' || thread.executor?.keepsContext === true) {
    const text = `the context of ${thread.agentId} is not kept here and cannot be cleared`;
    return warn(thread, 'after_agent', 'HOOK_NOT_APPLIED', text);
  }
  publish(thread, { type: 'custom', kind: CONTEXT_CLEARED, source: 'host' });
  thread.preloaded = 0;
  run.historyFrom = 0;
  thread.compactAgainAt = 0;
  if (thread.parent === undefined) treeHooksOf(thread).source = 'clear';
}
