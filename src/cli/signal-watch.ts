import { type CommandIo, showCursor } from './command-io.js';
import { exitCodes } from './exit-codes.js';

export interface SignalWatch {
  /** Stops the run that is on; absent while none is. Each run has one of its own. */
  stopRun: (() => void) | undefined;
  /** Called at the first signal while a run is on. */
  onFirst: () => void;
  /** As if the signal had come: Ctrl-C in a form does not raise one. */
  raise(): void;
  off(): void;
}

/** The first signal stops the run, the second ends the process at once; so does the first while no run is on. */
export function watchSignals(io: Pick<CommandIo, 'stderr' | 'onSignal' | 'exitNow'>): SignalWatch {
  let stopped: (() => void) | undefined;
  const watch: SignalWatch = {
    stopRun: undefined,
    onFirst: () => {},
    raise() {
      const { stopRun } = watch;
      if (stopRun === undefined || stopRun === stopped) {
        if (io.stderr.isTTY) io.stderr.write(showCursor);
        io.exitNow(exitCodes.aborted);
        return;
      }
      stopped = stopRun;
      watch.onFirst();
      stopRun();
    },
    off() {
      for (const takeOff of handlers) takeOff();
    },
  };
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => io.onSignal(signal, () => watch.raise()));
  return watch;
}
