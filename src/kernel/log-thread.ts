import type { Bag } from '../contracts/index.js';
import { cutText } from './text.js';
import { createUsageTally, type UsageTally } from './usage.js';

/** Takes one broken rule, in words, of the event at hand. */
export type Report = (rule: string) => void;

/** An object whose fields may be anything. */
export const isBag = (value: unknown): value is Bag =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value in a message: quoted when it is text, cut when it is long. */
export function say(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cutText(value, 80));
  return typeof value === 'number' || typeof value === 'boolean' || value == null
    ? String(value)
    : typeof value === 'object'
      ? 'an object'
      : `a ${typeof value}`;
}

export const sayThread = (threadId: unknown) => (threadId === undefined ? 'the root' : `thread ${say(threadId)}`);

/** What the rules remember of one thread. */
export interface LogThread {
  readonly threadId: string | undefined;
  readonly parent: LogThread | undefined;
  readonly agentName: unknown;
  /** `announced`: nothing of its own yet. `ended`: after its `stream_end`. `completed`: after its `agent_completed`. */
  phase: 'announced' | 'open' | 'ended' | 'completed';
  readonly openCalls: Set<string>;
  readonly openQuestions: Set<string>;
  readonly liveChildren: Set<string>;
  readonly ordinals: Set<number>;
  message: { readonly messageId: string; readonly role: unknown } | undefined;
  readonly closedMessages: Set<string>;
  /** Usage of the run, that of its ended descendants included. */
  tally: UsageTally;
  runId: unknown;
}

export function createLogThread(threadId?: string, parent?: LogThread, agentName?: unknown): LogThread {
  return {
    threadId,
    parent,
    agentName,
    phase: 'announced',
    openCalls: new Set(),
    openQuestions: new Set(),
    liveChildren: new Set(),
    ordinals: new Set(),
    message: undefined,
    closedMessages: new Set(),
    tally: createUsageTally(),
    runId: undefined,
  };
}

/** One increment of a message: in one piece with the others of its `messageId`, and of one role. */
export function takeMessage(thread: LogThread, { messageId, role, _meta }: Bag, report: Report): void {
  if (typeof messageId !== 'string') {
    report('a message needs a messageId');
    return;
  }
  // What an observer is given in place of a message in flight starts it again.
  if (isBag(_meta) && _meta.replace === true) thread.closedMessages.delete(messageId);
  const current = thread.message;
  if (current?.messageId !== messageId) {
    if (thread.closedMessages.has(messageId)) {
      report(`message ${say(messageId)} goes on after another began (increments of one message are contiguous)`);
    }
    beginMessage(thread, messageId, role);
  } else if (current.role === undefined) {
    thread.message = { messageId, role };
  } else if (current.role !== role) {
    report(`message ${say(messageId)} changes its role from ${say(current.role)} to ${say(role)}`);
  }
}

/** A call stands in a model's message, so one of another message closes what was said before. */
export function takeCallPlace(thread: LogThread, { messageId }: Bag): void {
  if (typeof messageId !== 'string' || thread.message?.messageId === messageId) return;
  if (!thread.closedMessages.has(messageId)) beginMessage(thread, messageId, undefined);
}

function beginMessage(thread: LogThread, messageId: string, role: unknown): void {
  closeMessage(thread);
  thread.message = { messageId, role };
}

export function closeMessage(thread: LogThread): void {
  if (thread.message !== undefined) thread.closedMessages.add(thread.message.messageId);
  thread.message = undefined;
}

/** What must not be open when a thread ends; each is told once. `when` begins the sentence. */
export function reportOpen(when: string, thread: LogThread, report: Report): void {
  for (const requestId of thread.openCalls) report(`${when} while tool_request ${say(requestId)} has no tool_response`);
  for (const requestId of thread.openQuestions) {
    report(`${when} while elicitation_request ${say(requestId)} has no elicitation_response`);
  }
  for (const child of thread.liveChildren) report(`${when} while its child ${say(child)} has no agent_completed`);
  thread.openCalls.clear();
  thread.openQuestions.clear();
  thread.liveChildren.clear();
}

const FIELDS = ['inputTokens', 'outputTokens', 'cachedTokens', 'thoughtTokens'] as const;
const COST_TOLERANCE = 1e-9;

/** `usage` and `cost` of a `stream_end`, where it says them, against the sums over the thread's run. */
export function checkTotals(tally: UsageTally, { usage, cost }: Bag, report: Report): void {
  if (usage !== undefined) {
    const said: Bag = isBag(usage) ? usage : {};
    const sums = tally.totals();
    for (const field of FIELDS) {
      if (said[field] === sums[field]) continue;
      report(`stream_end says ${field} ${say(said[field])}, the usage of its run sums to ${say(sums[field])}`);
    }
  }
  if (cost === undefined) return;
  const said: Bag = isBag(cost) ? cost : {};
  const sum = tally.cost();
  const usd = typeof said.usd === 'number' ? said.usd : Number.NaN;
  if (sum === undefined || !(Math.abs(usd - sum.usd) <= COST_TOLERANCE * Math.max(1, sum.usd))) {
    report(`stream_end says a cost of ${say(said.usd)} USD, the usage of its run sums to ${say(sum?.usd)}`);
  } else if ((said.incomplete === true) !== (sum.incomplete === true)) {
    const unpriced = `${tally.unpriced} of ${tally.calls} usage events of its run have no price`;
    report(`stream_end says cost.incomplete ${say(said.incomplete)}, ${unpriced}`);
  }
}
