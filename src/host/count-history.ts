import { sentMessages } from './kept-media.js';
import { beginWork, endWork } from './limits.js';
import type { CountedHistory, Thread } from './thread.js';

/** By how much a history must have grown or shrunk until it is counted anew. */
const GROWTH = 1.25;
/** The house's own model calls are made for agents of our own loop; what others send, and where, is theirs. */
const OWN_LOOP: ReadonlySet<string> = new Set(['local', 'openrouter']);
export const isOwnLoop = (executor: string): boolean => OWN_LOOP.has(executor);

export function isCountDue(counted: CountedHistory | undefined, estimated: number): boolean {
  if (counted === undefined) return true;
  if (!counted.isKnown) return false;
  return estimated > counted.estimated * GROWTH || estimated < counted.estimated / GROWTH;
}

/**
 * Has the provider of a thread's model count what its history would be, where it offers that; a failure leaves the
 * estimate, until the history has grown. No turn, no model call, and free: only a permit is taken. Never rejects.
 */
export async function countHistory(
  thread: Thread,
  { start, estimated }: { start: number; estimated: number },
  signal: () => AbortSignal,
): Promise<void> {
  const { tree, agent } = thread;
  const { models } = tree.host;
  thread.counted = { estimated, ratio: thread.counted?.ratio ?? 1, isKnown: false };
  if (estimated === 0 || !isOwnLoop(agent.driver.descriptor.executor)) return;
  const choice = tree.settings.model ?? agent.driver.model;
  try {
    const { provider, model } = await models.resolve(choice, { agent: thread.agentId, purpose: 'turn' });
    if (model.countTokens === undefined || signal().aborted) return;
    thread.counted = { ...thread.counted, isKnown: true };
    const messages = await sentMessages(thread, thread.history.outgoing(start));
    const tokens = await inFlight(thread, provider, signal, () => model.countTokens?.({ messages, signal: signal() }));
    if (typeof tokens !== 'number' || !(tokens > 0 && Number.isFinite(tokens))) return;
    thread.counted = { estimated, ratio: tokens / estimated, isKnown: true };
  } catch {
    // What a provider cannot count now is estimated.
  }
}

async function inFlight<T>(
  thread: Thread,
  provider: string,
  signal: () => AbortSignal,
  ask: () => T,
): Promise<Awaited<T>> {
  const { permits } = thread.tree.host;
  const release = permits.isFree(provider) ? undefined : await permits.take(provider, signal());
  beginWork(thread);
  try {
    return await ask();
  } finally {
    endWork(thread);
    release?.();
  }
}
