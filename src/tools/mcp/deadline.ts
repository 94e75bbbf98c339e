import type { Clock } from '../../contracts/index.js';

/** A limit on time that stands still while it is paused. */
export interface Deadline {
  pause(): void;
  resume(): void;
  /** Nothing of it is left after that. */
  end(): void;
}

/** Calls `onOver` once `limitMs` are used up; undefined: never. */
export function startDeadline(clock: Clock, limitMs: number | undefined, onOver: () => void): Deadline {
  let leftMs = limitMs ?? Number.POSITIVE_INFINITY;
  let since = 0;
  let pauses = 0;
  let cancel: (() => void) | undefined;
  let isOver = limitMs === undefined;

  function start(): void {
    if (isOver) return;
    since = clock.now();
    cancel = clock.schedule(() => {
      isOver = true;
      cancel = undefined;
      onOver();
    }, leftMs);
  }

  function stop(): void {
    if (cancel === undefined) return;
    cancel();
    cancel = undefined;
    leftMs = Math.max(0, leftMs - (clock.now() - since));
  }

  start();
  return {
    pause() {
      if (pauses++ === 0) stop();
    },
    resume() {
      if (--pauses === 0) start();
    },
    end() {
      isOver = true;
      stop();
    },
  };
}
