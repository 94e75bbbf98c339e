import type { ModelPrice } from '../contracts/index.js';
import { affordableOutput, mostOf } from '../kernel/price.js';
import { budgetOf, tokensOf } from './limits.js';
import type { Thread } from './thread.js';

/** The worst that one model call can come to. */
export interface Need {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Undefined: the provider alone knows, so that all that is left is kept for it. */
  readonly price: ModelPrice | undefined;
}

/** Less than this is no answer. */
const LEAST_OUTPUT_TOKENS = 16;
/** Sums of amounts are not exact. */
const TINY_USD = 1e-9;

/** What is open at one session with a limit. */
export interface BudgetAccount {
  reservedUsd: number;
  reservedTokens: number;
  open: number;
}

export interface Reservation {
  /** The most tokens that the answer may have; what the need said, or less. */
  readonly outputTokens: number;
  readonly parts: readonly { readonly thread: Thread; readonly usd: number; readonly tokens: number }[];
}

/** A limit that has nothing left. */
export interface Exhausted {
  readonly exhausted: Thread;
  readonly limit: 'maxBudgetUsd' | 'maxTokens';
}

interface Waiter {
  readonly thread: Thread;
  readonly need: Need;
  readonly settle: (outcome: Reservation | Exhausted | undefined) => void;
  /** The session whose open reservations it waits for. */
  at: Thread;
}

type Verdict = { readonly granted: Reservation } | Exhausted | { readonly waitsAt: Thread };

/**
 * The budgets of one tree. Every call reserves its worst case in each session above it that has a limit, and gives it
 * back when it is over: calls side by side can spend no more together than each limit allows. One that does not fit
 * waits while others are open there, in order of arrival; then it gets what is left, as a shorter answer.
 */
export class TreeBudget {
  #waiting: Waiter[] = [];

  /** At once where it can be said; undefined when `signal` fired first. */
  reserve(
    thread: Thread,
    need: Need,
    signal: () => AbortSignal,
  ): Reservation | Exhausted | Promise<Reservation | Exhausted | undefined> {
    const verdict = judge(thread, need, new Set(this.#waiting.map(({ at }) => at)));
    if (!('waitsAt' in verdict)) return this.#take(verdict);
    const cut = signal();
    if (cut.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiter);
        resolve(undefined);
        // Others may have stood behind it.
        this.#serve();
      };
      const waiter: Waiter = {
        thread,
        need,
        at: verdict.waitsAt,
        settle(outcome) {
          cut.removeEventListener('abort', leave);
          resolve(outcome);
        },
      };
      this.#waiting.push(waiter);
      cut.addEventListener('abort', leave, { once: true });
    });
  }

  /** Gives back what a call had reserved; what it spent has been counted before. */
  release({ parts }: Reservation): void {
    for (const { thread, usd, tokens } of parts) {
      const account = thread.account as BudgetAccount;
      account.open--;
      account.reservedUsd = account.open === 0 ? 0 : account.reservedUsd - usd;
      account.reservedTokens = account.open === 0 ? 0 : account.reservedTokens - tokens;
    }
    this.#serve();
  }

  #serve(): void {
    if (this.#waiting.length === 0) return;
    const held = new Set<Thread>();
    const left: Waiter[] = [];
    for (const waiter of this.#waiting) {
      const verdict = judge(waiter.thread, waiter.need, held);
      if ('waitsAt' in verdict) {
        waiter.at = verdict.waitsAt;
        held.add(verdict.waitsAt);
        left.push(waiter);
      } else waiter.settle(this.#take(verdict));
    }
    this.#waiting = left;
  }

  #take(verdict: Exclude<Verdict, { waitsAt: Thread }>): Reservation | Exhausted {
    if (!('granted' in verdict)) return verdict;
    for (const { thread, usd, tokens } of verdict.granted.parts) {
      thread.account ??= { reservedUsd: 0, reservedTokens: 0, open: 0 };
      thread.account.open++;
      thread.account.reservedUsd += usd;
      thread.account.reservedTokens += tokens;
    }
    return verdict.granted;
  }
}

/** Sessions from a thread up that have a limit. */
function limitedFrom(from: Thread): Thread[] {
  const limited: Thread[] = [];
  for (let at: Thread | undefined = from; at !== undefined; at = at.parent) {
    if (Number.isFinite(budgetOf(at)) || Number.isFinite(tokensOf(at))) limited.push(at);
  }
  return limited;
}

function judge(from: Thread, need: Need, held: ReadonlySet<Thread>): Verdict {
  const limited = limitedFrom(from);
  const least = Math.min(LEAST_OUTPUT_TOKENS, need.outputTokens);
  let output = need.outputTokens;
  for (const thread of limited) {
    if ((thread.account?.open ?? 0) > 0) continue;
    const forTokens = leftTokens(thread) - need.inputTokens;
    const forUsd = outputFor(need, leftUsd(thread));
    output = Math.min(output, forTokens, forUsd);
    if (output < least) return { exhausted: thread, limit: forUsd < least ? 'maxBudgetUsd' : 'maxTokens' };
  }
  const tokens = need.inputTokens + output;
  for (const thread of limited) {
    const isOpen = (thread.account?.open ?? 0) > 0;
    if (held.has(thread) || (isOpen && !fits(thread, need, output, tokens))) return { waitsAt: thread };
  }
  return {
    granted: {
      outputTokens: output,
      parts: limited.map((thread) => ({ thread, usd: mostIn(thread, need, output), tokens })),
    },
  };
}

function fits(thread: Thread, need: Need, output: number, tokens: number): boolean {
  if (tokens > leftTokens(thread)) return false;
  if (leftUsd(thread) === Number.POSITIVE_INFINITY) return true;
  // What only the provider can price is alone.
  return need.price !== undefined && mostOf(need.price, need.inputTokens, output) <= leftUsd(thread) + TINY_USD;
}

function outputFor({ price, inputTokens }: Need, usd: number): number {
  if (usd === Number.POSITIVE_INFINITY) return usd;
  if (price === undefined) return usd > 0 ? Number.POSITIVE_INFINITY : -1;
  return affordableOutput(price, inputTokens, usd + TINY_USD);
}

function mostIn(thread: Thread, { price, inputTokens }: Need, output: number): number {
  if (!Number.isFinite(budgetOf(thread))) return 0;
  return price === undefined ? leftUsd(thread) : mostOf(price, inputTokens, output);
}

const leftUsd = (thread: Thread): number => budgetOf(thread) - thread.spentUsd - (thread.account?.reservedUsd ?? 0);
const leftTokens = (thread: Thread): number =>
  tokensOf(thread) - thread.spentTokens - (thread.account?.reservedTokens ?? 0);
