import type { Bag, ModelChoice } from '../contracts/index.js';
import type { RunRecord } from './thread.js';

/** How a run came to its model. */
export interface RunRoute {
  readonly choice: ModelChoice | undefined;
  /** For `_meta.routing`. */
  readonly routing: Bag;
}

/** What was decided about the models of one run, and holds until its end. */
export interface RunModels {
  route: RunRoute | undefined;
  /** Models that a person let stand in: the wanted one → the other. */
  readonly accepted: Map<string, string>;
  /** The model asked last. */
  last: string | undefined;
}

export const runModels = (run: RunRecord): RunModels => {
  run.models ??= { route: undefined, accepted: new Map(), last: undefined };
  return run.models;
};
