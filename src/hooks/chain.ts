import type {
  AnyHookDefinition,
  Bag,
  Clock,
  HookPayloadBase,
  HookResult,
  LifecycleInterceptor,
} from '../contracts/index.js';
import { systemClock } from '../kernel/clock.js';
import { describeError } from '../kernel/errors.js';
import { GUARD_POINTS, OBSERVER_POINTS } from '../kernel/hook-points.js';
import { createLateTimer, type Schedule } from '../kernel/late-timer.js';
import { isRecord, modificationFault } from './forms.js';
import { Call } from './hook-call.js';
import { Outcome } from './outcome.js';

const TIMEOUT_MS = 60_000;
/** What a hook has under way when the host is closed ends within this. */
const CLOSE_MS = 2_000;

type Payload = HookPayloadBase & Bag;
type Source = AnyHookDefinition | LifecycleInterceptor;

/** What one hook said, or how it failed to say anything that can be understood. */
type Said = { result: HookResult | undefined } | { fault: string };

interface Link {
  /** In a sentence. */
  readonly label: string;
  readonly points: ReadonlySet<string>;
  readonly timeoutMs: number;
  call(point: string, payload: Payload, call: Call): unknown;
}

const PROCEED: HookResult = Object.freeze({ action: 'proceed' });

/**
 * Hooks in configuration order; each sees what the one before made of the payload. Any block blocks and ends the
 * chain; `ask` (raise an allow to a question, at `before_tool`) stands unless a later hook blocks. Texts of
 * `additionalContext` and `systemMessage` join, tools that are selected are the union, of any other modification the
 * last counts. Where nothing can be changed hooks run in parallel. A hook that throws, answers nonsense or does not
 * answer in its time (a minute) blocks at `before_tool` and `before_model`; elsewhere it is passed over and its fault
 * stands in `_meta.faults`. Nothing when there are no hooks.
 */
export function createHookChain(
  sources: readonly Source[],
  { clock = systemClock }: { clock?: Clock } = {},
): LifecycleInterceptor | undefined {
  return sources.length === 0 ? undefined : new HookChain(sources, clock);
}

class HookChain implements LifecycleInterceptor {
  readonly #links: readonly Link[];
  readonly #points: ReadonlySet<string>;
  readonly #schedule: Schedule;
  readonly #sources: readonly Source[];
  /** What ends the wait for each call that is not answered. */
  readonly #timers = new Set<() => void>();
  /** Calls that have read their signal and are not answered. */
  readonly #open = new Set<Call>();

  constructor(sources: readonly Source[], clock: Clock) {
    this.#sources = sources;
    this.#links = sources.map(toLink);
    this.#points = new Set(this.#links.flatMap((link) => [...link.points]));
    this.#schedule = createLateTimer(clock);
  }

  supportedHookPoints(): readonly string[] {
    return [...this.#points];
  }

  async fire(point: string, payload: Payload): Promise<HookResult> {
    return this.fireNow(point, payload);
  }

  fireNow(point: string, payload: Payload): HookResult | Promise<HookResult> {
    if (!this.#points.has(point)) return PROCEED;
    const links = this.#links.filter((link) => link.points.has(point));
    const outcome = new Outcome(point, payload);
    return OBSERVER_POINTS.has(point) ? this.#tellAll(links, outcome) : this.#askInOrder(links, outcome, 0);
  }

  cancel(sessionId: string, threadId: string | undefined, reason: string): void {
    for (const call of [...this.#open])
      if (call.isOf(sessionId, threadId)) call.abort(`the run is being stopped: ${reason}`);
  }

  async close(): Promise<void> {
    const open = [...this.#open];
    for (const call of open) call.abort('the host is being closed');
    if (open.length > 0) await within(CLOSE_MS, Promise.allSettled(open.map(({ answer }) => answer)));
    // Nobody waits any more for what still has not answered.
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await Promise.all(this.#sources.map((source) => ('close' in source ? source.close?.() : undefined)));
  }

  #askInOrder(links: readonly Link[], outcome: Outcome, from: number): HookResult | Promise<HookResult> {
    for (let at = from; at < links.length; at++) {
      const said = this.#call(links[at] as Link, outcome.point, outcome.payload);
      if (said instanceof Promise) return said.then((later) => this.#goOn(links, outcome, at, later));
      if (this.#take(outcome, said)) break;
    }
    return outcome.toResult();
  }

  #goOn(links: readonly Link[], outcome: Outcome, at: number, said: Said): HookResult | Promise<HookResult> {
    return this.#take(outcome, said) ? outcome.toResult() : this.#askInOrder(links, outcome, at + 1);
  }

  /** They begin together; what they say counts in configuration order. */
  async #tellAll(links: readonly Link[], outcome: Outcome): Promise<HookResult> {
    const { point, payload } = outcome;
    const all = await Promise.all(links.map((link) => this.#call(link, point, payload)));
    for (const said of all) this.#take(outcome, said);
    return outcome.toResult();
  }

  /** True: it blocks, nobody else is asked. */
  #take(outcome: Outcome, said: Said): boolean {
    if ('result' in said) return said.result !== undefined && outcome.take(said.result);
    if (GUARD_POINTS.has(outcome.point)) return outcome.take({ action: 'block', reason: said.fault });
    outcome.faults.push(said.fault);
    return false;
  }

  #call(link: Link, point: string, payload: Payload): Said | Promise<Said> {
    const call = new Call(this.#open, payload);
    try {
      const said = link.call(point, payload, call);
      if (isThenable(said)) return this.#inTime(point, link, Promise.resolve(said), call);
      call.end();
      return read(point, link.label, said);
    } catch (thrown) {
      call.end();
      return failed(link.label, thrown);
    }
  }

  /** Resolves an answer, or its fault once the time is over. */
  #inTime(point: string, { label, timeoutMs }: Link, answer: Promise<unknown>, call: Call): Promise<Said> {
    return new Promise((resolve) => {
      const settle = (said: Said) => {
        cancel();
        this.#timers.delete(cancel);
        resolve(said);
      };
      call.answer = answer.finally(() => call.end());
      const cancel = this.#schedule(() => {
        const fault = `${label} did not answer within ${timeoutMs / 1000} s`;
        call.abort(fault);
        settle({ fault });
      }, timeoutMs);
      this.#timers.add(cancel);
      call.answer.then(
        (said) => settle(read(point, label, said)),
        (thrown) => settle(failed(label, thrown)),
      );
    });
  }
}

function toLink(source: Source): Link {
  if (!('point' in source)) {
    return {
      label: 'the hook',
      points: new Set(source.supportedHookPoints()),
      timeoutMs: TIMEOUT_MS,
      call: (point, payload) => source.fire(point, payload),
    };
  }
  return {
    label: source.name === undefined ? 'the hook' : `the hook "${source.name}"`,
    points: new Set([source.point]),
    timeoutMs: source.timeoutMs ?? TIMEOUT_MS,
    call: (_, payload, call) => source.run(payload as never, call),
  };
}

async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  let cancel: () => void = () => {};
  const late = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, limitMs);
    cancel = () => clearTimeout(timer);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    cancel();
  }
}

const failed = (label: string, thrown: unknown): Said => ({
  fault: `${label} failed: ${describeError(thrown).message}`,
});

/** Nothing is consent; anything else must have the form of an answer. */
function read(point: string, label: string, said: unknown): Said {
  if (said === undefined || said === null) return { result: undefined };
  if (!isRecord(said) || (typeof said.action !== 'string' && said.continue !== false)) {
    return { fault: `${label} answered with something that is not { action, reason?, modifications? }` };
  }
  const { modifications } = said;
  if (modifications !== undefined) {
    if (!isRecord(modifications)) return { fault: `${label} has modifications that are not an object` };
    const fault = modificationFault(point, modifications);
    if (fault !== undefined) return { fault: `${label} ${fault}` };
  }
  return {
    result: { ...(said as unknown as HookResult), action: typeof said.action === 'string' ? said.action : 'block' },
  };
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
