import { beginLoopWatch, isInLoop, type WatchedCall } from '../kernel/loop-watch.js';
import { lastTextOf } from './last-text.js';
import { publish } from './session-tree.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';
import type { Call } from './tool-call.js';

const ADVICE =
  'You repeat yourself: the same calls, or the same words, again and again. Do something else, or answer with what you have.';

export const LOOP_DETECTED = 'LOOP_DETECTED';

export const loopEnd = (message: string): RunEnd => ({ reason: 'failed', data: { code: LOOP_DETECTED, message } });

/**
 * Looks at what a turn asked for and said, when the run is to go on. The model is told once that it goes round in
 * circles (the words stand behind the answers to its calls); if it goes on, the end that this makes of its run.
 * O(1) per call, whatever the length of the run.
 */
export function watchLoops(thread: Thread, run: RunRecord, spoke: boolean): RunEnd | undefined {
  run.loops ??= beginLoopWatch(thread);
  const worst = run.loops.turn(spoke ? lastTextOf(run) : undefined, run.calls.map(watched));
  if (worst === 'ok') return undefined;
  if (worst === 'warn') {
    advise(thread);
    return undefined;
  }
  return detected(thread);
}

/**
 * The same for a turn that only said something. Outside of a loop that is the end of the run; in one an agent may say
 * the same in every iteration: it is told so at once, and goes on (`again`).
 */
export function watchWords(thread: Thread, run: RunRecord): RunEnd | 'again' | undefined {
  if (!isInLoop(thread)) return undefined;
  run.loops ??= beginLoopWatch(thread);
  const worst = run.loops.turn(lastTextOf(run), []);
  if (worst === 'ok') return undefined;
  if (worst === 'stop') return detected(thread);
  advise(thread);
  return 'again';
}

function advise(thread: Thread): void {
  publish(thread, {
    type: 'message',
    messageId: thread.tree.host.stamp.nextId(),
    role: 'developer',
    content: [{ type: 'text', text: ADVICE }],
    source: 'host',
  });
  thread.tree.merge.completeMessage(thread);
}

function detected(thread: Thread): RunEnd {
  const message = 'the agent repeated itself, was told so, and went on';
  publish(thread, { type: 'error', code: LOOP_DETECTED, message, fatal: false });
  return loopEnd(message);
}

const watched = ({ name, args, entry }: Call): WatchedCall => ({
  name,
  args,
  annotations: entry?.descriptor.annotations,
});
