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
import { createLateTimer } from '../kernel/late-timer.js';

/** Points at which a hook that fails blocks: a guard that cannot be understood has not agreed. */
const GUARDS: ReadonlySet<string> = new Set(['before_tool', 'before_model']);
const TIMEOUT_MS = 60_000;

type Payload = HookPayloadBase & Bag;
type Source = AnyHookDefinition | LifecycleInterceptor;

/** What one hook said, or how it failed to say anything that can be understood. */
type Said = { result: HookResult | undefined } | { fault: string };

interface Link {
  readonly points: ReadonlySet<string>;
  call(point: string, payload: Payload): unknown;
}

const PROCEED: HookResult = Object.freeze({ action: 'proceed' });

/**
 * Hooks in configuration order; each sees what the one before made of the payload. Any block blocks and ends the
 * chain; `ask` (raise an allow to a question) stands unless a later hook blocks. Texts of `additionalContext` and
 * `systemMessage` join, of any other modification the last counts. A hook that throws, answers nonsense or does not
 * answer within a minute blocks at `before_tool` and `before_model`; elsewhere it is passed over and its fault stands
 * in `_meta.faults`. Nothing when there are no hooks.
 */
export function createHookChain(
  sources: readonly Source[],
  { clock = systemClock }: { clock?: Clock } = {},
): LifecycleInterceptor | undefined {
  if (sources.length === 0) return undefined;
  const links = sources.map(toLink);
  const inTime = createDeadline(clock);
  const points = new Set(links.flatMap((link) => [...link.points]));
  return {
    supportedHookPoints: () => [...points],
    async fire(point, payload) {
      if (!points.has(point)) return PROCEED;
      const outcome = new Outcome(payload);
      for (const link of links) {
        if (!link.points.has(point)) continue;
        const called = callHook(link, point, outcome.payload, inTime);
        const said = called instanceof Promise ? await called : called;
        if ('result' in said) {
          if (said.result !== undefined && outcome.take(said.result)) break;
        } else if (GUARDS.has(point)) {
          outcome.take({ action: 'block', reason: said.fault });
          break;
        } else outcome.faults.push(said.fault);
      }
      return outcome.toResult();
    },
  };
}

function toLink(source: Source): Link {
  if (!('point' in source)) {
    return {
      points: new Set(source.supportedHookPoints()),
      call: (point, payload) => source.fire(point, payload),
    };
  }
  return { points: new Set([source.point]), call: (_, payload) => source.run(payload as never) };
}

/** What the hooks of one point have said so far. */
class Outcome {
  payload: Payload;
  readonly faults: string[] = [];
  #action = 'proceed';
  #reason: string | undefined;
  #modifications: Bag | undefined;
  #messages: string[] = [];

  constructor(payload: Payload) {
    this.payload = payload;
  }

  /** True: it blocks, nobody else is asked. */
  take({ action, reason, modifications, systemMessage }: HookResult): boolean {
    if (systemMessage !== undefined) this.#messages.push(systemMessage);
    if (action !== 'proceed') {
      const blocks = action !== 'ask';
      if (blocks || this.#action === 'proceed') this.#reason = reason;
      this.#action = blocks ? 'block' : 'ask';
      if (blocks) return true;
    }
    if (modifications !== undefined) {
      const before = this.#modifications?.additionalContext;
      const { additionalContext: said } = modifications;
      this.#modifications = { ...this.#modifications, ...modifications };
      if (typeof before === 'string' && typeof said === 'string') {
        this.#modifications.additionalContext = `${before}\n\n${said}`;
      }
      this.payload = { ...this.payload, ...modifications };
    }
    return false;
  }

  toResult(): HookResult {
    const result: HookResult = { action: this.#action };
    if (this.#reason !== undefined) result.reason = this.#reason;
    if (this.#modifications !== undefined && this.#action !== 'block') result.modifications = this.#modifications;
    if (this.#messages.length > 0) result.systemMessage = this.#messages.join('\n');
    if (this.faults.length > 0) result._meta = { faults: this.faults };
    return result;
  }
}

function callHook(
  link: Link,
  point: string,
  payload: Payload,
  inTime: (answer: Promise<unknown>) => Promise<Said>,
): Said | Promise<Said> {
  try {
    const said = link.call(point, payload);
    return isThenable(said) ? inTime(Promise.resolve(said)) : read(said);
  } catch (thrown) {
    return failed(thrown);
  }
}

/** Resolves an answer, or its fault once the time is over. */
function createDeadline(clock: Clock): (answer: Promise<unknown>) => Promise<Said> {
  const schedule = createLateTimer(clock);
  return (answer) =>
    new Promise((resolve) => {
      const cancel = schedule(
        () => resolve({ fault: `the hook did not answer within ${TIMEOUT_MS / 1000} s` }),
        TIMEOUT_MS,
      );
      const settle = (said: Said) => {
        cancel();
        resolve(said);
      };
      answer.then(
        (said) => settle(read(said)),
        (thrown) => settle(failed(thrown)),
      );
    });
}

const failed = (thrown: unknown): Said => ({ fault: `the hook failed: ${describeError(thrown).message}` });

/** Nothing is consent; anything else must have the form of an answer. */
function read(said: unknown): Said {
  if (said === undefined || said === null) return { result: undefined };
  const { action, reason, modifications, systemMessage } = isRecord(said) ? said : {};
  if (typeof action !== 'string') {
    return { fault: 'the hook answered with something that is not { action, reason?, modifications? }' };
  }
  if (modifications !== undefined && !isRecord(modifications)) {
    return { fault: "the hook's modifications are not an object" };
  }
  return {
    result: {
      action,
      ...(typeof reason === 'string' && { reason }),
      ...(modifications !== undefined && { modifications }),
      ...(typeof systemMessage === 'string' && { systemMessage }),
    },
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
