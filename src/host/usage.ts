import type { AgentEventDraft } from '../contracts/index.js';
import { amountsIn } from '../kernel/usage.js';
import { addCost, addTokens, tokensIn } from './limits.js';
import type { PaidCall } from './model-budget.js';
import { publish } from './session-tree.js';
import type { RunRecord, Thread } from './thread.js';

/** The usage of one call: priced where its model has a price, counted here and above, and published. */
export function takeUsage(
  thread: Thread,
  said: AgentEventDraft<'usage'>,
  paid: PaidCall | undefined,
): undefined | Promise<void> {
  const draft = amountsIn(said);
  if (draft.cost === undefined) {
    const usd = thread.tree.host.models.cost(draft.model, draft);
    if (usd !== undefined) draft.cost = { usd };
  }
  if (paid !== undefined) paid.note(draft);
  else if (thread.tree.budget !== undefined) addTokens(thread, tokensIn(draft, false) ?? 0);
  (thread.run as RunRecord).tally.add(draft);
  addCost(thread, draft.cost?.usd);
  return publish(thread, draft);
}
