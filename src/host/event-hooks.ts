import type { AgentEvent, Bag, HookResult } from '../contracts/index.js';
import type { EventGate } from '../kernel/event-merge.js';
import { changedEvent } from '../kernel/hook-points.js';
import { jsonFault } from '../kernel/json-value.js';
import { narrowEvent } from '../kernel/narrow.js';
import { aboutHooks, broken, hookPayload, tellHooks } from './fire-hook.js';
import { livingAt } from './run-hooks.js';
import { enter, leave } from './session-tree.js';
import type { Thread, Tree } from './thread.js';

/**
 * Every event of a tree passes its `on_event` hooks, in order, before anybody sees it. An event is changed, never taken
 * out; what hooks have to say of it stands behind it, the same fault once.
 */
export function eventGate(tree: Tree): EventGate<Thread> {
  const told = new Set<string>();
  const apply = (event: AgentEvent, thread: Thread, said: HookResult): AgentEvent => {
    const changed = eventIn(event, said);
    const fault = typeof changed === 'string' ? changed : undefined;
    const toTell = onlyNew(said, fault, told);
    if (toTell !== undefined) {
      queueMicrotask(() => {
        const at = livingAt(thread);
        if (at !== undefined) tellHooks(at, 'on_event', toTell);
      });
    }
    return typeof changed === 'string' ? event : changed;
  };
  return {
    onHeld: (isHeld) => (isHeld ? enter(tree) : leave(tree)),
    pass(event, thread) {
      if (event.type === 'custom' && aboutHooks.has(Object(event.data))) return event;
      const said = askNow(thread, event);
      return said instanceof Promise ? said.then((later) => apply(event, thread, later)) : apply(event, thread, said);
    },
  };
}

function askNow(thread: Thread, event: AgentEvent): HookResult | Promise<HookResult> {
  const { hooks } = thread.tree.host;
  if (hooks === undefined) return { action: 'proceed' };
  try {
    // A copy: whatever a hook does to it, the event is changed by what it answers.
    const payload = hookPayload(thread, { event: structuredClone(event) });
    const said = hooks.fireNow === undefined ? hooks.fire('on_event', payload) : hooks.fireNow('on_event', payload);
    return said instanceof Promise ? said.catch(broken) : said;
  } catch (thrown) {
    return broken(thrown);
  }
}

/** The event as the hooks would have it, or why it stays as it is. */
function eventIn(event: AgentEvent, { action, reason, modifications }: HookResult): AgentEvent | string {
  if (action !== 'proceed') return `an event cannot be blocked (${reason ?? 'no reason given'})`;
  if (modifications?.event === undefined) return event;
  const changed = changedEvent(event, modifications.event as Bag);
  const fault = jsonFault(changed);
  if (fault !== undefined) return `the changed ${event.type}${fault}`;
  const narrowed = narrowEvent(changed);
  return narrowed.kind === 'invalid' ? `the changed ${event.type} is none: ${narrowed.reason}` : changed;
}

/** What is to be told of an answer; undefined when that is nothing. Faults would come with every event: each is told once. */
function onlyNew(said: HookResult, fault: string | undefined, told: Set<string>): HookResult | undefined {
  const { systemMessage, _meta } = said;
  const isNew = (text: string) => !told.has(text) && told.add(text) !== undefined;
  const faults = [
    ...(Array.isArray(_meta?.faults) ? _meta.faults.map(String) : []),
    ...(fault === undefined ? [] : [fault]),
  ];
  const notices = Array.isArray(_meta?.notices) ? _meta.notices : [];
  const toTell = {
    faults: faults.filter(isNew),
    notices: notices.filter((one) => isNew(String(Object(one).text))),
  };
  const isSilent = systemMessage === undefined && toTell.faults.length + toTell.notices.length === 0;
  return isSilent && said.continue !== false ? undefined : { ...said, _meta: toTell };
}
