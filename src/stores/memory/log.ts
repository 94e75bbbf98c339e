import type { AgentEvent, Bag } from '../../contracts/index.js';

/** The events of one session in `seq` order, and what follows from them. */
export interface MemoryLog {
  readonly count: number;
  readonly lastSeq: number;
  readonly reservedSeq: number;
  readonly lastUpdateTime: string;
  /** The session's own keys. */
  readonly state: Bag;
  /** False for one that is there already. */
  append(event: AgentEvent): boolean;
  reserve(toSeq: number): void;
  truncate(toSeq: number): void;
  /** A log with the past of this one up to `at`, by reference: it takes no time and no memory, whatever its length. */
  fork(at: number): MemoryLog;
  /** From the start to where the log ends when reading gets there. */
  read(): Generator<AgentEvent>;
  all(): AgentEvent[];
}

export const createMemoryLog = (): MemoryLog => new Log();

/** The first `count` events of a list that is only ever added to. */
interface Past {
  readonly events: readonly AgentEvent[];
  readonly count: number;
}

const NEVER = new Date(0).toISOString();
const NO_PAST: readonly Past[] = [];

class Log implements MemoryLog {
  /** Shared with the logs that this one was forked from, oldest first. */
  #past: readonly Past[];
  #pastCount: number;
  #events: AgentEvent[] = [];
  /** Forks see so many of `#events`: a change among those is made to a copy. */
  #shared = 0;
  /** Undefined where it has to be read from the events. */
  #own: Bag | undefined;
  reservedSeq: number;

  constructor(past: readonly Past[] = NO_PAST, pastCount = 0) {
    this.#past = past;
    this.#pastCount = pastCount;
    this.reservedSeq = this.lastSeq;
  }

  get count(): number {
    return this.#pastCount + this.#events.length;
  }

  get lastSeq(): number {
    return this.#at(this.count - 1)?.seq ?? 0;
  }

  get lastUpdateTime(): string {
    return this.#at(this.count - 1)?.timestamp ?? NEVER;
  }

  get state(): Bag {
    if (this.#own === undefined) {
      this.#own = {};
      for (const event of this.read()) this.#keepState(event);
    }
    return this.#own;
  }

  append(event: AgentEvent): boolean {
    const events = this.#events;
    let at = events.length;
    // A whole message comes after later events of other threads; its place is that of its last increment.
    while (at > 0 && (events[at - 1] as AgentEvent).seq > event.seq) at--;
    const before = at > 0 ? events[at - 1] : this.#at(this.#pastCount - 1);
    if (before?.id === event.id) return false;
    if (at === 0 && before !== undefined && before.seq >= event.seq) {
      this.#copyPast();
      return this.append(event);
    }
    if (at === events.length) events.push(event);
    else {
      this.#unshare(at);
      this.#events.splice(at, 0, event);
    }
    if (event.seq > this.reservedSeq) this.reservedSeq = event.seq;
    if (event.type === 'session_update' && this.#own !== undefined) this.#keepState(event);
    return true;
  }

  reserve(toSeq: number): void {
    if (toSeq > this.reservedSeq) this.reservedSeq = toSeq;
  }

  truncate(toSeq: number): void {
    const keep = this.#countTo(toSeq);
    if (keep === this.count) return;
    if (keep < this.#pastCount) this.#past = pastTo(this.#past, keep);
    this.#pastCount = Math.min(keep, this.#pastCount);
    this.#unshare(keep - this.#pastCount);
    this.#events.length = keep - this.#pastCount;
    this.#own = undefined;
  }

  fork(at: number): MemoryLog {
    const count = this.#countTo(at);
    const own = count - this.#pastCount;
    if (own <= 0) return new Log(pastTo(this.#past, count), count);
    this.#shared = Math.max(this.#shared, own);
    return new Log([...this.#past, { events: this.#events, count: own }], count);
  }

  *read(): Generator<AgentEvent> {
    let lastSeq = 0;
    for (;;) {
      const from = this.#countTo(lastSeq);
      const upTo = this.count;
      if (from === upTo) return;
      // What is added below the end meanwhile moves the rest: places hold for one event at a time.
      for (let at = from; at < this.count; at++) {
        const event = this.#at(at) as AgentEvent;
        if (event.seq <= lastSeq) continue;
        lastSeq = event.seq;
        yield event;
      }
    }
  }

  all(): AgentEvent[] {
    return [...this.read()];
  }

  #at(index: number): AgentEvent | undefined {
    if (index >= this.#pastCount) return this.#events[index - this.#pastCount];
    let left = index;
    for (const { events, count } of this.#past) {
      if (left < count) return events[left];
      left -= count;
    }
    return undefined;
  }

  /** How many events have a `seq` up to this one. */
  #countTo(seq: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#at(middle) as AgentEvent).seq <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #unshare(from: number): void {
    if (from >= this.#shared) return;
    this.#events = this.#events.slice();
    this.#shared = 0;
  }

  /** An event that belongs into the past of a fork: it gets a past of its own. */
  #copyPast(): void {
    this.#events = this.all();
    this.#past = NO_PAST;
    this.#pastCount = 0;
    this.#shared = 0;
  }

  #keepState(event: AgentEvent): void {
    if (event.type !== 'session_update' || event.threadId !== undefined) return;
    for (const [key, value] of Object.entries(event.stateDelta ?? {})) {
      if (!/^(app|user|temp):/.test(key)) (this.#own as Bag)[key] = value;
    }
  }
}

/** The first `count` events of a past. */
function pastTo(past: readonly Past[], count: number): readonly Past[] {
  const kept: Past[] = [];
  let left = count;
  for (const part of past) {
    if (left === 0) break;
    const taken = Math.min(left, part.count);
    kept.push({ events: part.events, count: taken });
    left -= taken;
  }
  return kept;
}
