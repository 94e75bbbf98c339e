import type { AgentEvent, AgentResponse } from '../contracts/index.js';
import type { MergeReader } from '../kernel/merge-reader.js';

/**
 * A stream that has taken effect before it is read. `leave` is told when it is left before its end, also when it was
 * never read: an async generator that was not started runs no `finally`, so this one is made by hand.
 */
export function readStream(
  open: () => MergeReader | undefined | Promise<MergeReader | undefined>,
  leave: () => void,
): AgentResponse['stream'] {
  let isOver = false;
  let reader: MergeReader | undefined;
  const stream: AgentResponse['stream'] = {
    async next() {
      if (isOver) return DONE;
      try {
        reader ??= await open();
      } catch (thrown) {
        isOver = true;
        throw thrown;
      }
      if (reader === undefined || isOver) {
        isOver = true;
        return DONE;
      }
      const step: IteratorResult<AgentEvent, void> = await reader.next();
      if (step.done) isOver = true;
      return step;
    },
    async return() {
      if (!isOver) {
        isOver = true;
        leave();
        reader?.close();
      }
      return DONE;
    },
    async throw(thrown) {
      await stream.return(undefined);
      throw thrown;
    },
    [Symbol.asyncIterator]: () => stream,
    [Symbol.asyncDispose]: async () => {
      await stream.return(undefined);
    },
  };
  return stream;
}

const DONE: IteratorReturnResult<void> = { done: true, value: undefined };
