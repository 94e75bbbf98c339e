import type { Bag } from '../contracts/index.js';
import { type LogThread, type Report, say, sayThread } from './log-thread.js';

/** Pairs of one kind over the whole log: exactly one answer per request, on the same thread. */
export interface LogRequests {
  ask(thread: LogThread, event: Bag, report: Report): void;
  answer(thread: LogThread, event: Bag, report: Report): void;
  isOpen(requestId: unknown): boolean;
}

/** `openOf` is where a thread keeps its open ones; `named`: the answer repeats the name that the request has. */
export function createLogRequests(options: {
  openOf: (thread: LogThread) => Set<string>;
  named: boolean;
}): LogRequests {
  const { openOf, named } = options;
  const asked = new Map<unknown, { readonly thread: LogThread; readonly name: unknown; answered: boolean }>();
  return {
    ask(thread, { requestId, name, type }, report) {
      if (typeof requestId !== 'string') report(`${say(type)} needs a requestId`);
      else if (asked.has(requestId)) report(`${say(type)} with the requestId ${say(requestId)} comes twice`);
      else {
        asked.set(requestId, { thread, name, answered: false });
        openOf(thread).add(requestId);
      }
    },
    answer(thread, { requestId, name, type }, report) {
      const request = asked.get(requestId);
      if (request === undefined) {
        report(`${say(type)} for ${say(requestId)}, which was never requested`);
        return;
      }
      if (request.thread !== thread) {
        report(`${say(type)} for ${say(requestId)}, which ${sayThread(request.thread.threadId)} requested`);
      }
      if (request.answered) report(`a second ${say(type)} for ${say(requestId)} (exactly one per request)`);
      if (named && request.name !== name) {
        report(`${say(type)} for ${say(requestId)} names ${say(name)}, its request ${say(request.name)}`);
      }
      request.answered = true;
      openOf(request.thread).delete(requestId as string);
    },
    isOpen: (requestId) => asked.get(requestId)?.answered === false,
  };
}
