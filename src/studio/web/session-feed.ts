import type { AgentEvent } from '../../contracts/index.js';
import { createRunModel, type RunFold, type RunModel } from '../../kernel/run-model.js';
import type { MachineStep, SessionPlan, StreamMessages } from '../wire.js';
import { fetchLog, fetchPlan, fetchSteps, openStream, Refusal } from './api.js';
import { Checkpoints } from './checkpoints.js';
import { EventSegments, SEGMENT, type Segment } from './event-segments.js';
import { Lanes } from './lanes.js';
import { StepHistory } from './step-history.js';
import { isToldIn, Transcript } from './transcript.js';

/** Characters of JSON that are kept of one session. */
const MOST_CHARACTERS = 48_000_000;
/** A longer one does not fit into an address. */
const LONGEST_ID = 4_000;

export type FeedState = 'loading' | 'live' | 'lost' | 'failed';

/** One session as the page knows it: its whole log, then what happens. Tells of changes at most once per frame. */
export class SessionFeed {
  state: FeedState = 'loading';
  fault: string | undefined;
  plan: SessionPlan | undefined;
  /** Grows with every change. */
  version = 0;
  /** Grows when all was thrown away and loaded anew. */
  generation = 0;
  run: RunFold = createRunModel();
  segments = new EventSegments(MOST_CHARACTERS);
  checkpoints = new Checkpoints();
  lanes = new Lanes();
  steps = new StepHistory();
  /** Names of agents that run their own tools out of the host's sight. */
  readonly opaque = new Set<string>();
  readonly #listeners = new Set<() => void>();
  readonly #loading = new Map<Segment, Promise<void>>();
  #stop: () => void = () => {};
  #frame = 0;
  #isClosed = false;
  /** How many views show steps of machines. */
  #stepViews = 0;
  #isListening = false;
  #past: { readonly generation: number; seq: number; readonly run: RunFold } | undefined;

  constructor(
    readonly host: string,
    readonly session: string,
  ) {
    document.addEventListener('visibilitychange', this.#look);
    void this.#load();
  }

  /** A page that nobody sees hears nothing: a browser keeps few connections to one server, for all its pages together. */
  readonly #look = (): void => {
    if (!this.#isListening) return;
    if (document.visibilityState === 'visible') return this.#listenAnew();
    this.#stop();
    this.steps.hearsNoMore(this.segments.lastSeq);
  };

  get model(): RunModel {
    return this.run.model;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly getVersion = (): number => this.version;

  close(): void {
    this.#isClosed = true;
    document.removeEventListener('visibilitychange', this.#look);
    this.#stop();
    cancelAnimationFrame(this.#frame);
  }

  /** The run as it was after the event at a position; undefined while what is needed for it is being fetched. */
  modelAt(seq: number): RunModel | undefined {
    const { after, run } = this.#startFor(seq);
    let at = after;
    for (let index = Math.max(0, this.segments.indexOf(after + 1)); ; index++) {
      const segment = this.segments.segments[index];
      if (segment === undefined || segment.firstSeq > seq) break;
      if (segment.events === undefined) {
        this.fetch(segment);
        return undefined;
      }
      for (const event of segment.events) {
        if (event.seq <= at) continue;
        if (event.seq > seq) break;
        run.fold(event);
        at = event.seq;
      }
    }
    this.#past = { generation: this.generation, seq, run };
    return run.model;
  }

  /** The last event up to a position, where it is at hand. */
  eventAt(seq: number): AgentEvent | undefined {
    const segment = this.segments.segments[this.segments.indexOf(seq)];
    if (segment !== undefined && segment.events === undefined) this.fetch(segment);
    return segment?.events?.findLast((event) => event.seq <= seq);
  }

  /** What a thread said up to a position, of what is at hand. */
  transcriptOf(threadId: string, upTo: number): Transcript {
    const transcript = new Transcript();
    for (const { events, firstSeq } of this.segments.segments) {
      if (firstSeq > upTo) break;
      for (const event of events ?? []) {
        if (event.seq > upTo) break;
        if (isToldIn(event, threadId)) transcript.add(event);
      }
    }
    return transcript;
  }

  /** Brings back a segment that was let go. */
  fetch(segment: Segment): void {
    if (segment.events !== undefined || this.#loading.has(segment)) return;
    const loading = this.#fetch(segment)
      .catch((thrown: unknown) => this.#fail(thrown))
      .finally(() => this.#loading.delete(segment));
    this.#loading.set(segment, loading);
  }

  /** From here on steps of machines are heard, until what is returned is called. */
  hearSteps(): () => void {
    this.#stepViews++;
    if (this.#stepViews === 1 && this.#isListening) this.#listenAnew();
    return () => {
      this.#stepViews--;
      if (this.#stepViews === 0 && this.#isListening && !this.#isClosed) this.#listenAnew();
    };
  }

  /** Fetches what the log tells of the steps of a thread's machines. */
  async tellSteps(threadId: string): Promise<void> {
    const { steps } = this;
    if (threadId.length > LONGEST_ID) return;
    try {
      steps.tell(threadId, await fetchSteps(this.host, this.session, threadId));
      if (steps === this.steps) this.#changed();
    } catch {
      // Those that are heard are shown without them.
    }
  }

  #startFor(seq: number): { readonly after: number; readonly run: RunFold } {
    const past = this.#past;
    const near = this.checkpoints.before(seq);
    if (past !== undefined && past.generation === this.generation && past.seq <= seq && past.seq >= near.after)
      return { after: past.seq, run: past.run };
    return near;
  }

  async #fetch(segment: Segment): Promise<void> {
    const events: AgentEvent[] = [];
    let characters = 0;
    for (let after: number | undefined = segment.firstSeq - 1; after !== undefined; ) {
      const page: Awaited<ReturnType<typeof fetchLog>> = await fetchLog(this.host, this.session, after, SEGMENT);
      const wanted = page.value.events.filter(({ seq }) => seq <= segment.lastSeq);
      events.push(...wanted);
      characters += page.characters * (wanted.length / Math.max(1, page.value.events.length));
      after = wanted.length < page.value.events.length ? undefined : page.value.next;
    }
    this.segments.restore(segment, events, characters);
    this.#changed();
  }

  async #load(): Promise<void> {
    const { generation } = this;
    const isStale = () => this.#isClosed || generation !== this.generation;
    try {
      fetchPlan(this.host, this.session).then(
        (plan) => {
          this.plan = plan;
          this.#changed();
        },
        () => {},
      );
      let after: number | undefined = 0;
      while (after !== undefined) {
        const page: Awaited<ReturnType<typeof fetchLog>> = await fetchLog(this.host, this.session, after);
        if (isStale()) return;
        this.#take(page.value.events, page.characters);
        after = page.value.next;
      }
      this.#listen();
    } catch (thrown) {
      if (!isStale()) this.#fail(thrown);
    }
  }

  #listenAnew(): void {
    this.#stop();
    this.steps.hearsNoMore(this.segments.lastSeq);
    this.#listen();
  }

  #listen(): void {
    this.#isListening = true;
    if (document.visibilityState !== 'visible') return;
    const { host, session } = this;
    const hearsSteps = this.#stepViews > 0;
    this.#stop = openStream(
      { host, session, hearsSteps, after: () => this.segments.lastSeq },
      {
        connected: (isConnected) => {
          this.state = isConnected ? 'live' : 'lost';
          if (!isConnected) this.steps.hearsNoMore(this.segments.lastSeq);
          this.#changed();
        },
        message: (name, data, characters) => {
          if (name === 'resync') this.#startAnew(data as { message?: unknown });
          else if (name === 'events') this.#take(data as readonly AgentEvent[], characters);
          else {
            if (name === 'hears') this.steps.hearsFrom((data as StreamMessages['hears']).lastSeq);
            else for (const step of data as readonly MachineStep[]) this.steps.add(step);
            this.#changed();
          }
        },
      },
    );
  }

  #startAnew({ message }: { message?: unknown }): void {
    this.#stop();
    this.#isListening = false;
    this.generation++;
    this.run = createRunModel();
    this.segments = new EventSegments(MOST_CHARACTERS);
    this.checkpoints = new Checkpoints();
    this.lanes = new Lanes();
    this.steps = new StepHistory();
    if (typeof message === 'string') return this.#fail(new Error(message));
    this.state = 'loading';
    this.#changed();
    void this.#load();
  }

  #take(events: readonly AgentEvent[], characters: number): void {
    const each = characters / Math.max(1, events.length);
    for (const event of events) {
      if (!this.segments.add(event, each)) {
        if (event.type !== 'message' || !this.segments.insert(event, each)) continue;
        // What was made of the events up to now lacks it.
        this.generation++;
      }
      this.run.fold(event);
      this.lanes.add(event);
      this.checkpoints.pass(event.seq, this.run.model);
      if (event.type === 'custom' && event.kind === 'notice') this.#note(event);
    }
    this.#changed();
  }

  #note({ data, threadId }: AgentEvent<'custom'>): void {
    if ((data as { code?: unknown } | undefined)?.code !== 'OPAQUE_AGENT') return;
    const thread = this.model.threads[threadId ?? ''];
    if (thread !== undefined) this.opaque.add(thread.agentName);
  }

  #fail(thrown: unknown): void {
    this.state = 'failed';
    this.fault = thrown instanceof Refusal || thrown instanceof Error ? thrown.message : String(thrown);
    this.#changed();
  }

  #changed(): void {
    if (this.#frame !== 0 || this.#isClosed) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.version++;
      for (const listener of this.#listeners) listener();
    });
  }
}
