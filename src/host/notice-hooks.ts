import type { AgentEventDraft, Bag } from '../contracts/index.js';
import { askHooks, tellHooks } from './fire-hook.js';
import { treeHooksOf } from './hook-state.js';
import { livingAt } from './run-hooks.js';
import { enter, leave, publish } from './session-tree.js';
import type { Thread } from './thread.js';

/** Publishes a notice as its hooks would have it, once they have answered. Its run ends after that, unless it is stopped. */
export function publishNotice(thread: Thread, draft: AgentEventDraft<'custom'>): void {
  const { code, text, ...details } = Object(draft.data) as Bag;
  const fired = askHooks(thread, 'notification', { type: String(code), message: String(text), details });
  if (fired === undefined) return void publish(thread, draft);
  const { tree } = thread;
  const session = treeHooksOf(thread);
  enter(tree);
  const told = fired.then((said) => {
    const { suppress, message = text } = said.modifications ?? {};
    const at = livingAt(thread);
    if (at !== undefined) {
      tellHooks(at, 'notification', said);
      const isShown = said.action === 'proceed' && suppress !== true;
      if (isShown) publish(at, { ...draft, data: { ...Object(draft.data), text: message } });
    }
    leave(tree);
  });
  const telling: Promise<void> = Promise.all([session.telling, told]).then(() => {
    if (session.telling === telling) session.telling = undefined;
  });
  session.telling = telling;
}
