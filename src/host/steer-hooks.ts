import type { ContentPart, HookResult } from '../contracts/index.js';
import { toParts } from '../kernel/content.js';
import { askHooks, tellHooks } from './fire-hook.js';
import { copyOf } from './run-hooks.js';
import { threadsFrom } from './session-tree.js';
import type { Thread } from './thread.js';
import { noteWords, type Words } from './words.js';

const POINT = 'on_user_message';

/** What hooks are asked about words, once for all who were given them. */
interface Review {
  readonly asked: Promise<HookResult | undefined>;
  /** What hooks have to say to the person is shown where the words take effect. */
  isTold: boolean;
}

/** By the words, and by what a hook made of them. */
const reviews = new WeakMap<Words, Review>();

/** Asks the hooks about words as soon as they are there, so that they reach the log: a process may end before they are heard. */
export function reviewWords(thread: Thread, words: Words): void {
  if (!words.isReviewed) reviewOf(thread, words);
}

/** Words of a person are a user's message wherever they come. Nothing when there is nothing to ask about. */
export function reviewSteers(thread: Thread): undefined | Promise<void> {
  if (!thread.tree.host.hookPoints.has(POINT)) return undefined;
  const waiting = nextUnreviewed(thread);
  return waiting && reviewAll(thread, waiting);
}

/** Those of the compositions above go to whoever begins next. */
function nextUnreviewed(thread: Thread): Words | undefined {
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) {
    if (at !== thread && at.agent.behaviour === 'turn') return undefined;
    const words = at.steers.find((one) => reviews.get(one)?.isTold === false || !one.isReviewed);
    if (words !== undefined) return words;
  }
  return undefined;
}

async function reviewAll(thread: Thread, first: Words): Promise<void> {
  for (let words: Words | undefined = first; words !== undefined; words = nextUnreviewed(thread)) {
    const review = reviewOf(thread, words);
    const said = await review.asked;
    if (review.isTold) continue;
    review.isTold = true;
    if (said !== undefined) tellHooks(thread, POINT, said);
  }
}

function reviewOf(thread: Thread, words: Words): Review {
  const known = reviews.get(words);
  if (known !== undefined) return known;
  const asked = ask(thread, words).then((said) => {
    const reviewed: Words = { ...words, message: (said && saidInstead(said)) ?? words.message, isReviewed: true };
    reviews.set(reviewed, review);
    replace(thread, words, reviewed);
    return said;
  });
  const review: Review = { asked, isTold: false };
  reviews.set(words, review);
  return review;
}

async function ask(thread: Thread, { message }: Words): Promise<HookResult | undefined> {
  return askHooks(thread, POINT, { content: copyOf(toParts(message)) });
}

/** Wherever the words wait by now, what became of them does, and is in the log. */
function replace({ tree }: Thread, words: Words, reviewed: Words): void {
  if (tree.isClosed) return;
  for (const thread of threadsFrom(tree.root)) {
    const place = thread.steers.indexOf(words);
    if (place < 0) continue;
    thread.steers[place] = reviewed;
    noteWords(thread, reviewed);
  }
}

/** Whoever waits for words goes on with something: what was withheld leaves its place. */
function saidInstead({ action, modifications, reason }: HookResult): ContentPart[] | undefined {
  if (action === 'proceed') return modifications?.content as ContentPart[] | undefined;
  return toParts(`[a message was withheld by a hook: ${reason ?? 'no reason given'}]`);
}
