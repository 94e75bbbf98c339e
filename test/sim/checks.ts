import type { AgentEvent, SessionProvider } from '../../src/contracts/index.js';
import { textOf } from '../../src/kernel/content.js';
import { validateLog } from '../../src/testing/index.js';
import type { Plan } from './plan.js';
import { lineFor } from './trace.js';
import { SESSION, type Shared } from './world.js';

/** What must hold once a run has ended, of its log, its consumer and the world: what does not, in words. */
export async function findProblems(
  plan: Plan,
  shared: Shared,
  durable: SessionProvider,
  sessionId: string,
  reason: string,
): Promise<string[]> {
  const log: AgentEvent[] = [];
  for await (const event of (await durable.load(sessionId)).events) log.push(event);
  const isFork = sessionId !== SESSION;
  // What was forked or taken back may have ended before: then the notice of that is the last.
  const last =
    isFork || shared.isRewound
      ? log.findLast(({ type, threadId }) => type === 'stream_end' && threadId === undefined)
      : log.at(-1);
  const problems = [
    ...validateLog(log, { finished: true }),
    ...(last?.type === 'stream_end' && last.reason === reason
      ? []
      : [`it ended ${reason}, and the log with ${last && lineFor(last)}`]),
    ...effects(plan, shared, log, sessionId),
    ...words(shared, log, isFork),
    ...spending(plan, log),
    ...(isFork ? [] : lost(shared, log)),
  ];
  if (shared.mustAbort && !isFork && reason !== 'aborted') problems.push(`it was stopped, and ended ${reason}`);
  return isFork ? problems.map((problem) => `in a fork: ${problem}`) : problems;
}

/** What was said to an agent it has heard, or the caller is told that nobody did; and none of it twice. */
function words({ said, storeFailed }: Shared, log: readonly AgentEvent[], isFork: boolean): string[] {
  if (storeFailed) return [];
  const problems: string[] = [];
  const waiting = new Map<string, string>();
  const texts = new Set<string>();
  const heard = new Map<string, number>();
  for (const event of log) {
    if (event.type === 'message' && event._meta?.steered === true) {
      const id = String(event._meta.steerId);
      const key = `${event.threadId} ${id}`;
      heard.set(key, (heard.get(key) ?? 0) + 1);
      waiting.delete(id);
      texts.add(textOf(event.content));
    }
    if (event.type !== 'custom') continue;
    const { steerId, message } = (event.data ?? {}) as { steerId?: string; message?: string };
    if (event.kind === 'steer' && steerId !== undefined) waiting.set(steerId, String(message));
    if (event.kind === 'steer') texts.add(String(message));
    if (event.kind === 'notice' && steerId !== undefined) waiting.delete(steerId);
  }
  for (const [id, text] of waiting) problems.push(`"${text}" (${id}) was taken in and nobody has heard it`);
  for (const [key, times] of heard) if (times > 1) problems.push(`${key} was heard ${times} times`);
  if (isFork) return problems;
  for (const text of said) if (text !== '' && !texts.has(text)) problems.push(`"${text}" was said and is in no log`);
  return problems;
}

/** No more than the budget was spent. */
function spending({ budgetUsd }: Plan, log: readonly AgentEvent[]): string[] {
  if (budgetUsd === undefined) return [];
  let usd = 0;
  for (const event of log) if (event.type === 'usage') usd += event.cost?.usd ?? 0;
  return usd > budgetUsd + 1e-9 ? [`${usd} USD were spent of ${budgetUsd}`] : [];
}

/** Nothing that changes something happened twice, or unasked. */
function effects(plan: Plan, { began }: Shared, log: readonly AgentEvent[], sessionId: string): string[] {
  const problems: string[] = [];
  const about = new Map<string, { kind: string; requestId: string }>();
  const allowed = new Set<string>();
  const again = new Map<string, number>();
  for (const event of log) {
    if (event.type === 'elicitation_request') {
      about.set(event.requestId, { kind: event.kind, requestId: String(event.context?.toolRequestId) });
    }
    if (event.type !== 'elicitation_response' || event.action !== 'accept') continue;
    const asked = about.get(event.requestId);
    if (asked?.kind === 'tool_confirmation') allowed.add(asked.requestId);
    if (asked?.kind === 'tool_recovery' && event.content?.outcome === 'run_again') {
      again.set(asked.requestId, (again.get(asked.requestId) ?? 0) + 1);
    }
  }
  for (const [key, count] of began) {
    const [tool, session, requestId = ''] = key.split(' ');
    if (session !== sessionId || (tool !== 'pay' && tool !== 'put' && tool !== 'wait')) continue;
    if (plan.permissionMode === 'default' && !allowed.has(requestId)) problems.push(`${key} ran unasked`);
    if (tool !== 'put' && count > 1 + (again.get(requestId) ?? 0)) problems.push(`${key} ran ${count} times`);
  }
  return problems;
}

/** What the consumer was given is in the log, save for what is for display only; and no position was given out twice. */
function lost({ seen, storeFailed, cut }: Shared, log: readonly AgentEvent[]): string[] {
  const problems: string[] = [];
  const logged = new Set(log.map(({ id }) => id));
  const bySeq = new Map<number, string>();
  for (const event of seen) {
    const before = bySeq.get(event.seq);
    if (!storeFailed && before !== undefined && before !== event.id)
      problems.push(`${lineFor(event)}: its seq was given to another event`);
    bySeq.set(event.seq, event.id);
    if (event.type === 'tool_update' || event.type === 'message') continue;
    // A question or a call that is shown once more after a crash is in the log as what it was first.
    if (event.type === 'tool_request' || event.type === 'elicitation_request') continue;
    if (!storeFailed && !logged.has(event.id) && !cut.has(event.id))
      problems.push(`${lineFor(event)} was given to the consumer and is not in the log`);
  }
  return problems;
}
