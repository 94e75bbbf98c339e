import type { Executor, StateView, TurnEnd } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { inertJson, jsonFault } from '../kernel/json-value.js';
import { createCallState } from '../kernel/state.js';
import { ownInput } from './own-input.js';
import { resultsOf } from './results.js';
import { commitUpdates } from './state-updates.js';
import type { Thread } from './thread.js';

/** What such a function is given. */
interface FunctionContext {
  readonly input: unknown;
  readonly results: Readonly<Record<string, unknown>>;
  readonly state: StateView;
  readonly signal: AbortSignal;
}

/**
 * Runs a plain function in an agent's place. What it returns is the output; a function that returns nothing passes on
 * what it was given. What it wrote counts once it has returned.
 */
export function functionExecutor(thread: Thread): Executor {
  const run = thread.agent.definition.backend as (context: FunctionContext) => unknown;
  return {
    async turn(_, turn): Promise<TurnEnd> {
      const state = createCallState(thread.state);
      const given =
        thread.parent?.crew?.graph === undefined ? ownInput(thread) : thread.parent.crew.graph.given[thread.index];
      const output = await run({
        input: given,
        results: thread.parent === undefined ? {} : resultsOf(thread.parent),
        state: state.view,
        signal: turn.signal,
      });
      if (turn.aborted) return { reason: 'aborted' };
      const fault = output === undefined ? undefined : jsonFault(output);
      if (fault !== undefined) {
        const { name } = thread.agent.definition;
        throw new TroupeError({
          code: 'OUTPUT_INVALID',
          message: `what "${name}" returned${fault}; an output is JSON`,
        });
      }
      const updates = state.updates();
      if (updates.length > 0) commitUpdates(thread, updates);
      return { reason: 'completed', data: { result: output === undefined ? given : inertJson(output, 'the output') } };
    },
  };
}
