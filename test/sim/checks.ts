import type { AgentEvent, SessionProvider } from '../../src/contracts/index.js';
import { validateLog } from '../../src/testing/index.js';
import type { Plan } from './plan.js';
import { lineFor } from './trace.js';
import type { Shared } from './world.js';

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
  const last = log.at(-1);
  return [
    ...validateLog(log, { finished: true }),
    ...(last?.type === 'stream_end' && last.reason === reason
      ? []
      : [`it ended ${reason}, and the log with ${last && lineFor(last)}`]),
    ...effects(plan, shared, log),
    ...lost(shared, log),
  ];
}

/** Nothing that changes something happened twice, or unasked. */
function effects(plan: Plan, { began }: Shared, log: readonly AgentEvent[]): string[] {
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
    const [tool, requestId = ''] = key.split(' ');
    if (tool !== 'pay' && tool !== 'put') continue;
    if (plan.permissionMode === 'default' && !allowed.has(requestId)) problems.push(`${key} ran unasked`);
    if (tool === 'pay' && count > 1 + (again.get(requestId) ?? 0)) problems.push(`${key} ran ${count} times`);
  }
  return problems;
}

/** What the consumer was given is in the log, save for what is for display only; and no position was given out twice. */
function lost({ seen, storeFailed }: Shared, log: readonly AgentEvent[]): string[] {
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
    if (!storeFailed && !logged.has(event.id))
      problems.push(`${lineFor(event)} was given to the consumer and is not in the log`);
  }
  return problems;
}
