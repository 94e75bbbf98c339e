import type { Clock, ToolContext } from '../../contracts/index.js';
import { type Deadline, startDeadline } from './deadline.js';
import { McpFailure } from './failure.js';

/** What ends a call before its server does. */
export interface CallLimits {
  /** Fires when the call is aborted, or its time is used up; the reason is an `McpFailure`. */
  readonly signal: AbortSignal;
  /** Stands still while a person is asked. */
  readonly deadline: Deadline;
  /** The work's outcome, or the reason as soon as the signal fires. */
  orOver<T>(work: Promise<T>): Promise<T>;
  end(): void;
}

/** `limitMs` undefined: only the host limits the call. */
export function startLimits(call: Pick<ToolContext, 'signal'>, clock: Clock, limitMs: number | undefined): CallLimits {
  const over = new AbortController();
  const onAbort = () => over.abort(new McpFailure('was told to stop: the call was cancelled'));
  if (call.signal.aborted) onAbort();
  call.signal.addEventListener('abort', onAbort, { once: true });
  const deadline = startDeadline(clock, limitMs, () =>
    over.abort(new McpFailure(`did not answer within ${limitMs} ms`)),
  );
  return {
    signal: over.signal,
    deadline,
    orOver: (work) =>
      new Promise((resolve, reject) => {
        const stop = () => reject(over.signal.reason);
        if (over.signal.aborted) stop();
        over.signal.addEventListener('abort', stop, { once: true });
        void work.then(resolve, reject).finally(() => over.signal.removeEventListener('abort', stop));
      }),
    end() {
      deadline.end();
      call.signal.removeEventListener('abort', onAbort);
    },
  };
}
