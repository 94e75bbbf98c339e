import { createLoopDetector, type LoopVerdict } from '../kernel/loop-detection.js';
import { publish } from './session-tree.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';

const ADVICE =
  'You repeat yourself: the same calls, or the same words, again and again. Do something else, or answer with what you have.';

/**
 * Looks at what a turn asked for and said, when the run is to go on. The model is told once that it goes round in
 * circles (the words stand behind the answers to its calls); if it goes on, the end that this makes of its run.
 * O(1) per call, whatever the length of the run.
 */
export function watchLoops(thread: Thread, run: RunRecord, spoke: boolean): RunEnd | undefined {
  run.loops ??= createLoopDetector();
  const { loops, turns } = run;
  let worst: LoopVerdict = spoke ? loops.text(run.lastText, turns) : 'ok';
  for (const call of run.calls) {
    // Asking the same again is what polling is.
    if (call.entry?.descriptor.annotations?.polling === true) continue;
    const verdict = loops.toolCall(call.name, call.args, turns);
    if (verdict === 'stop' || worst === 'ok') worst = verdict;
  }
  if (worst === 'ok') return undefined;
  if (worst === 'warn') {
    publish(thread, {
      type: 'message',
      messageId: thread.tree.host.stamp.nextId(),
      role: 'developer',
      content: [{ type: 'text', text: ADVICE }],
      source: 'host',
    });
    thread.tree.merge.completeMessage(thread);
    return undefined;
  }
  const code = 'LOOP_DETECTED';
  const message = 'the agent repeated itself, was told so, and went on';
  publish(thread, { type: 'error', code, message, fatal: false });
  return { reason: 'failed', data: { code, message } };
}
