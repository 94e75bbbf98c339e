import { beginWithHooks } from './begin-hooks.js';
import { endWithHooks } from './end-hooks.js';
import { eventGate } from './event-hooks.js';
import { askHooks } from './fire-hook.js';
import type { HostCore, Lifecycle } from './host-core.js';
import { publishNotice } from './notice-hooks.js';
import { askIfUnasked, resumeWithHooks } from './resume-hooks.js';
import { reviewSteers, reviewWords } from './steer-hooks.js';

const POINTS = [
  ...['session_start', 'on_user_message', 'before_run', 'before_agent', 'after_agent', 'after_run', 'session_end'],
  ...['notification', 'on_event'],
];

/** Nothing where no hook listens to any of its points: then there is no work for it. */
export const createLifecycle = (hookPoints: HostCore['hookPoints']): Lifecycle | undefined =>
  POINTS.some((point) => hookPoints.has(point)) ? lifecycle : undefined;

/** It keeps nothing: what hooks made of a run or of a session is kept there. */
const lifecycle: Lifecycle = {
  begin: (thread, opening) => beginWithHooks(thread, opening, reviewSteers),
  end: endWithHooks,
  reviewWords,
  resume: resumeWithHooks,
  beforeTurn: (thread) => askIfUnasked(thread) ?? reviewSteers(thread),
  notice: publishNotice,
  sessionEnded({ root, endReason, hooks }) {
    // What never began does not end.
    if (hooks?.hasBegun !== true) return undefined;
    return askHooks(root, 'session_end', { reason: endReason })?.then(() => {});
  },
  gateOf: (tree) => (tree.host.hookPoints.has('on_event') ? eventGate(tree) : undefined),
};
