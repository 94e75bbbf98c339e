import type { ContentPart, HookResult } from '../contracts/index.js';
import { toParts } from '../kernel/content.js';
import { fireHook } from './fire-hook.js';
import { copyOf } from './run-hooks.js';
import type { Thread } from './thread.js';
import type { Words } from './words.js';

const reviewed = new WeakSet<Words>();

/** Words of a person are a user's message wherever they come. Nothing when there is nothing to ask about. */
export function reviewSteers(thread: Thread): undefined | Promise<void> {
  if (!thread.tree.host.hookPoints.has('on_user_message')) return undefined;
  const waiting = nextUnreviewed(thread);
  return waiting && reviewAll(thread, waiting);
}

interface Waiting {
  readonly steers: Words[];
  readonly steer: Words;
}

/** Those of the compositions above go to whoever begins next. */
function nextUnreviewed(thread: Thread): Waiting | undefined {
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) {
    if (at !== thread && at.agent.behaviour === 'turn') return undefined;
    const steer = at.steers.find((one) => !reviewed.has(one));
    if (steer !== undefined) return { steers: at.steers, steer };
  }
  return undefined;
}

async function reviewAll(thread: Thread, first: Waiting): Promise<void> {
  for (let waiting: Waiting | undefined = first; waiting !== undefined; waiting = nextUnreviewed(thread)) {
    const { steers, steer } = waiting;
    reviewed.add(steer);
    const content = toParts(steer.message);
    const said = await fireHook(thread, 'on_user_message', { content: copyOf(content) });
    const message = said && saidInstead(said);
    const place = steers.indexOf(steer);
    if (message === undefined || place < 0) continue;
    const changed = { ...steer, message };
    reviewed.add(changed);
    steers[place] = changed;
  }
}

/** Whoever waits for words goes on with something: what was withheld leaves its place. */
function saidInstead({ action, modifications, reason }: HookResult): ContentPart[] | undefined {
  if (action === 'proceed') return modifications?.content as ContentPart[] | undefined;
  return toParts(`[a message was withheld by a hook: ${reason ?? 'no reason given'}]`);
}
