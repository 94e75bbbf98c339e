import { createLoopDetector, type LoopVerdict } from './loop-detection.js';

/** One call of a turn, as far as repetition goes. */
export interface WatchedCall {
  readonly name: string;
  readonly args: unknown;
  /** Of its tool: `polling` may ask the same again, what is not `readOnly` changes something. */
  readonly annotations?: { readonly polling?: boolean; readonly readOnly?: boolean } | undefined;
}

/** Tools that end a thread: in a loop each iteration may well end the same way. */
const ENDINGS: ReadonlySet<string> = new Set(['exit_loop', 'complete_task', 'transfer_to_agent']);

/** Watches the turns of one agent for repetition: of one run, or, within a loop, of all its threads there. */
export class LoopWatch {
  readonly #detector = createLoopDetector();
  #turns = 0;
  /** Changes that this agent made, and those that others of its loop had made when it last began. */
  #own = 0;
  #seen = 0;

  constructor(private readonly loop?: LoopCarry) {}

  /** A thread of it begins. Where others have changed something since the last one, the same call is no repetition. */
  begin(): void {
    const changes = (this.loop?.changes ?? 0) - this.#own;
    if (changes !== this.#seen) this.#detector.reset();
    this.#seen = changes;
  }

  /** One turn, before its calls run. `text`: what was said beside them. O(1) per call, whatever came before. */
  turn(text: string | undefined, calls: Iterable<WatchedCall>): LoopVerdict {
    const turn = ++this.#turns;
    let worst: LoopVerdict = text === undefined ? 'ok' : this.#detector.text(text, turn);
    for (const { name, args, annotations } of calls) {
      if (annotations?.polling === true) continue;
      if (this.loop !== undefined) {
        if (ENDINGS.has(name)) continue;
        if (annotations?.readOnly !== true) this.#changed(this.loop);
      }
      const verdict = this.#detector.toolCall(name, args, turn);
      if (verdict === 'stop' || worst === 'ok') worst = verdict;
    }
    return worst;
  }

  #changed(loop: LoopCarry): void {
    loop.changes++;
    this.#own++;
  }
}

/** What a loop knows of its agents from one iteration to the next. */
export class LoopCarry {
  /** Calls of all its agents that were not read-only. */
  changes = 0;
  readonly #watches = new Map<object, LoopWatch>();

  watchOf(agent: object): LoopWatch {
    let watch = this.#watches.get(agent);
    if (watch === undefined) {
      watch = new LoopWatch(this);
      this.#watches.set(agent, watch);
    }
    return watch;
  }
}

interface Watched {
  readonly agent: { readonly behaviour: string };
  readonly parent: Watched | undefined;
  loopCarry: LoopCarry | undefined;
}

/** Whether it is part of a loop: what it says there once and for all, it may say again in the next iteration. */
export function isInLoop({ parent }: Watched): boolean {
  for (let above = parent; above !== undefined; above = above.parent) if (above.agent.behaviour === 'loop') return true;
  return false;
}

/** What watches a thread that begins: within a loop, what has watched its agent there before. */
export function beginLoopWatch({ agent, parent }: Watched): LoopWatch {
  for (let above = parent; above !== undefined; above = above.parent) {
    if (above.agent.behaviour !== 'loop') continue;
    above.loopCarry ??= new LoopCarry();
    const watch = above.loopCarry.watchOf(agent);
    watch.begin();
    return watch;
  }
  return new LoopWatch();
}
