import type { Pool, PoolEffect } from '../../machines/child-pool.logic.js';
import type { StopOrder } from '../../machines/session.events.js';
import { toolCallLogic } from '../../machines/tool-call.logic.js';
import type { ToolResultData } from '../contracts/index.js';
import { beginActivity, endActivity } from './activity.js';
import { endRun } from './end-run.js';
import { publishFault } from './fault.js';
import { lastTextOf } from './last-text.js';
import { recoverCall } from './recovery/recover-call.js';
import { enter, leave, publish } from './session-tree.js';
import { commitUpdates } from './state-updates.js';
import type { RunRecord, Thread } from './thread.js';
import { type Call, cancelCalls, respond, whenDone } from './tool-call.js';
import { isOutdated, judge, judgeAgain, noteWait } from './tool-gate.js';
import { execute } from './tool-run.js';
import { announceTransfer } from './transfer-context.js';

/**
 * The calls of one turn. All are judged at once. Read-only calls, and calls of agents, run together; any other waits
 * for those before it and holds those after it, though while it waits for approval read-only ones pass. When all have
 * their response the session goes on, or the run ends where a call asked for that.
 */
export function beginCalls(thread: Thread, pool: Pool): PoolEffect<StopOrder> {
  const run = thread.run as RunRecord;
  const { calls } = run;
  let open = calls.length;
  let applied = 0;

  // The actors are made when the batch is stepped into, before anything of them can end.
  for (const call of calls) {
    if (call.stage === 'done') {
      open--;
      continue;
    }
    call.actor = pool.spawn(call.requestId, toolCallLogic, { requestId: call.requestId, name: call.name });
    whenDone(call, () => {
      open--;
      applyState();
      if (call.ending?.escalate !== undefined && open > 0) return endLoop();
      if (open === 0) settleBatch();
      else schedule();
    });
  }
  if (open === 0) {
    queueMicrotask(() => {
      applyState();
      settleBatch();
    });
  }
  for (const call of calls) if (call.stage !== 'done') void clear(call);

  async function clear(call: Call): Promise<void> {
    beginActivity(call);
    takeVerdict(call, await (call.past === undefined ? judge(call) : recoverCall(call)));
  }

  /** What waited while the mode, or what it would change, became another is judged once more when it would run. */
  async function clearAgain(call: Call): Promise<void> {
    beginActivity(call);
    call.stage = 'judging';
    takeVerdict(call, await judgeAgain(call));
  }

  function takeVerdict(call: Call, refusal: ToolResultData | undefined): void {
    // What goes on outside was taken up again, and runs.
    if (call.stage === 'done' || call.stage === 'running') return;
    if (refusal !== undefined) return respond(call, refusal);
    call.stage = 'ready';
    call.actor?.send({ type: 'call.cleared' });
    schedule();
    // It may be under way by now; else it waits for others.
    if (call.stage !== 'ready') return;
    noteWait(call);
    endActivity(call);
  }

  function schedule(): void {
    let isHeld = false;
    let onlyFree = false;
    let isFirst = true;
    for (const call of calls) {
      if (call.stage === 'done') continue;
      if (call.stage === 'ready' && !isHeld) {
        const mayRun = call.standing === 'free' || (!onlyFree && (call.standing === 'agent' || isFirst));
        if (mayRun) void (isOutdated(call) ? clearAgain(call) : execute(call));
      }
      isFirst = false;
      if (call.standing !== 'exclusive') continue;
      // One that is still being judged or asked about holds all but the free ones; one that may run holds all.
      if (call.stage === 'judging' || call.stage === 'asking') onlyFree = true;
      else isHeld = true;
    }
  }

  /** Nothing of the loop runs after it was ended: the other calls of this turn do not, either. */
  function endLoop(): void {
    cancelCalls(thread, 'the loop was ended');
  }

  /** Writes to the tree's state count in call order, however the calls finish. */
  function applyState(): void {
    for (; applied < calls.length; applied++) {
      const call = calls[applied] as Call;
      if (call.stage !== 'done') return;
      const { updates } = call;
      if (updates === undefined || updates.length === 0) continue;
      try {
        commitUpdates(thread, updates, { requestId: call.requestId });
      } catch (thrown) {
        publishFault(thread, `the state of ${call.name}`, thrown, 'STATE_FAILED');
      }
    }
  }

  function settleBatch(): void {
    if (thread.run !== run) return;
    if (run.stop !== undefined) return endRun(thread, run.stop);
    const noSpace = calls.find((call) => call.result?.errorType === 'no_space_left');
    if (noSpace !== undefined) return fail('NO_SPACE_LEFT', `${noSpace.name}: no space left on the device`);
    const ending = calls.find((call) => call.ending !== undefined)?.ending;
    if (ending === undefined) return goOn();
    if (ending.failure !== undefined) return fail(ending.failure.code, ending.failure.message);
    const escalate = calls.find((call) => call.ending?.escalate !== undefined)?.ending?.escalate;
    if (escalate !== undefined) {
      // What was completed before it, in the same turn, is its result.
      const { complete } = ending;
      return endRun(thread, {
        reason: 'completed',
        data: {
          ...(complete === undefined ? partial(run) : { result: complete.value }),
          escalateReason: escalate.reason ?? 'the goal is reached',
        },
      });
    }
    if (ending.handoff !== undefined) {
      const { target, reason } = ending.handoff;
      announceTransfer(thread, target, reason);
      return endRun(thread, {
        reason: 'completed',
        data: { ...partial(run), handoffTarget: target, ...(reason !== undefined && { handoffReason: reason }) },
      });
    }
    // It was held to the schema when it was given.
    endRun(thread, { reason: 'completed', data: { result: ending.complete?.value } });
  }

  /** What somebody outside has answered is durable before a model is told. */
  function goOn(): void {
    const { tree } = thread;
    const durable = tree.pendingWrites;
    const report = () => {
      if (thread.run === run) pool.report({ type: 'calls.settled' });
    };
    if (durable === undefined || !calls.some((call) => call.isOutside)) return report();
    enter(tree);
    void durable.then(() => {
      // Stopped meanwhile it has ended by that.
      if (run.stop === undefined) report();
      leave(tree);
    });
  }

  function fail(code: string, message: string): void {
    publish(thread, { type: 'error', code, message, fatal: false });
    endRun(thread, { reason: 'failed', data: { code, message } });
  }

  return {
    order() {
      cancelCalls(thread, run.stop?.data.reason ?? run.stop?.reason ?? 'the run is being stopped');
      // A batch whose calls were all answered already ends the run itself.
      if (open === 0) settleBatch();
    },
    childEnded() {},
    dispose() {},
  };
}

const partial = (run: RunRecord) => (lastTextOf(run) === '' ? {} : { result: lastTextOf(run) });
