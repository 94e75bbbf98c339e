import { enter, leave } from './session-tree.js';
import type { Thread } from './thread.js';

/** Something under way that moves its tree by itself, save while it waits: for a person, or for what counts itself. */
export interface Activity {
  readonly thread: Thread;
  isActive: boolean;
  waits: number;
}

export function beginActivity(activity: Activity): void {
  if (activity.isActive) return;
  activity.isActive = true;
  if (activity.waits === 0) enter(activity.thread.tree);
}

/** Twice does nothing: whatever ends it first, an answer or the end of the work, counts. */
export function endActivity(activity: Activity): void {
  if (!activity.isActive) return;
  activity.isActive = false;
  if (activity.waits === 0) leave(activity.thread.tree);
}

export function beginWait(activity: Activity): void {
  if (activity.waits++ === 0 && activity.isActive) leave(activity.thread.tree);
}

export function endWait(activity: Activity): void {
  if (--activity.waits === 0 && activity.isActive) enter(activity.thread.tree);
}
