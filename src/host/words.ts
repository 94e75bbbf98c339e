import type { AgentEvent, Bag, SteerData } from '../contracts/index.js';
import { holdsLargeMedia, withoutLargeMedia } from '../kernel/kept-media.js';
import { artifactsOf, keptParts } from './kept-media.js';
import { notice } from './session-tree.js';
import type { RunStop, Thread } from './thread.js';

/** What a person said to a running agent, until an agent takes it. The id is the same for all that it was said to. */
export interface Words {
  readonly steerId: string;
  readonly message: NonNullable<SteerData['message']>;
  /** They are as the hooks of `on_user_message` left them. */
  readonly isReviewed?: true;
}

/** Logged when words are taken in, for whoever goes on with the session should its process end before they are heard. */
const STEER = 'steer';
/** Logged when a caller or a limit stops a thread, for the same reason. */
const STOP = 'stop';

/**
 * Keeps words for a thread, in its log first, or once the hooks that may change or withhold them were asked: those see
 * them before anybody else, the log included. Words that it has already are not kept twice.
 */
export function keepWords(thread: Thread, words: Words): void {
  // Whatever ended a moment ago hears nothing: who goes on in its place does.
  if (thread.end !== undefined && thread.parent !== undefined) return keepWords(thread.parent, words);
  if (hasWords(thread, words)) return;
  thread.steers.push(words);
  const { host } = thread.tree;
  if (host.hookPoints.has('on_user_message')) host.lifecycle?.reviewWords(thread, words);
  else noteWords(thread, words);
}

/** Logs words that wait. */
export function noteWords(thread: Thread, words: Words): void {
  if (thread.tree.handle === undefined) return;
  const { message } = words;
  if (typeof message === 'string' || !holdsLargeMedia(message) || artifactsOf(thread.tree) === undefined) {
    return note(thread, STEER, { ...words });
  }
  // Until the media is kept, what was said beside it is there, and that something is missing.
  note(thread, STEER, { ...words, message: withoutLargeMedia(message) });
  void keptParts(thread, message).then((kept) => {
    // Heard meanwhile: the message that says so has it.
    if (hasWords(thread, words)) note(thread, STEER, { ...words, message: kept });
  });
}

/** Takes over what was said to one above. What it has heard already is left for another. */
export function takeWords(thread: Thread, from: Thread): void {
  const { heard } = thread;
  const taken = heard === undefined ? from.steers : from.steers.filter(({ steerId }) => !heard.has(steerId));
  from.steers = from.steers.filter((words) => !taken.includes(words));
  for (const words of taken) if (!hasWords(thread, words)) thread.steers.push(words);
}

export const hasWords = ({ steers }: Thread, { steerId }: Words): boolean =>
  steers.some((one) => one.steerId === steerId);

/** What a caller, or a limit, stops stays stopped, also where the process ends before the thread has. */
export function noteStop(thread: Thread, stop: RunStop, source: 'user' | 'host' = 'user'): void {
  if (thread.tree.handle === undefined || thread.run === undefined || thread.run.stop !== undefined) return;
  if (thread.end === undefined) note(thread, STOP, { ...stop }, source);
}

/** In the log alone: whoever reads along is shown words where they take effect, and a stop by the end that it leads to. */
function note(thread: Thread, kind: string, data: Bag, source: 'user' | 'host' = 'user'): void {
  const draft = { type: 'custom', kind, data, source } as const;
  const { merge, host } = thread.tree;
  if (host.hookPoints.has('on_event')) void merge.publish(thread, draft);
  else merge.record(thread, draft);
}

export const tellUntaken = (thread: Thread, { steerId }: Words): void =>
  notice(thread, 'THREAD_ENDED', 'warning', 'the run ended before anybody could take what was said to it', { steerId });

/** Follows in a log which words of a thread wait. Returns the id of those that the event takes away. */
export function foldWords(waiting: Words[], event: AgentEvent): string | undefined {
  if (event.type === 'message') return idIn(event._meta);
  if (event.type !== 'custom') return undefined;
  const data = (event.data ?? {}) as Bag;
  if (event.kind === 'notice') return idIn(data);
  if (event.kind === STEER && event.source === 'user' && data.message !== undefined) {
    const words = data as unknown as Words;
    const place = waiting.findIndex(({ steerId }) => steerId === words.steerId);
    if (place < 0) waiting.push(words);
    else waiting[place] = words;
  }
  return undefined;
}

/** The stop that an event of a log tells of. */
export const stopIn = ({ kind, source, data }: AgentEvent<'custom'>): RunStop | undefined =>
  kind === STOP && (source === 'user' || source === 'host') ? (data as RunStop) : undefined;

const idIn = (bag: Bag | undefined): string | undefined => (typeof bag?.steerId === 'string' ? bag.steerId : undefined);
