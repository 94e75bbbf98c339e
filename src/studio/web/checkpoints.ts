import { copyRunModel, createRunModel, type RunFold, type RunModel } from '../../kernel/run-model.js';

interface Checkpoint {
  /** The model holds every event up to and with this position. */
  readonly seq: number;
  readonly model: RunModel;
}

const MOST = 60;
/** Threads in all checkpoints together. */
const MOST_THREADS = 100_000;

/**
 * A run as it was at some moments, so that any other moment is a short way from one. When they become too many every
 * second one is dropped: a long run has as many as a short one, further apart.
 */
export class Checkpoints {
  #every: number;
  #since = 0;
  #kept: Checkpoint[] = [];

  constructor(every = 2_000) {
    this.#every = every;
  }

  /** To be told after each event was folded. */
  pass(seq: number, model: RunModel): void {
    if (++this.#since < this.#every) return;
    this.#since = 0;
    this.#kept.push({ seq, model: copyRunModel(model) });
    if (this.#kept.length <= MOST && this.#kept.length * model.threadCount <= MOST_THREADS) return;
    this.#kept = this.#kept.filter((_, at) => at % 2 === 1);
    this.#every *= 2;
  }

  /** A run to go on with: of the nearest moment up to `seq`. `after`: it holds the events up to that position. */
  before(seq: number): { readonly after: number; readonly run: RunFold } {
    const found = this.#kept.findLast((one) => one.seq <= seq);
    return { after: found?.seq ?? 0, run: createRunModel(found?.model) };
  }

  get count(): number {
    return this.#kept.length;
  }
}
