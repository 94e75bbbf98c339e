import type { ElicitationResponse } from '../../contracts/index.js';
import { type Question, type QuestionDraft, reopen } from '../questions.js';
import type { Thread } from '../thread.js';
import type { QuestionPast } from './past.js';

/** A question from before the process ended, until what asked it asks again. */
export interface Restored {
  readonly requestId: string;
  readonly past: QuestionPast;
  /** Open; undefined where it was answered before. */
  question: Question | undefined;
  answer: ElicitationResponse | undefined;
  /** Told of the answer, once somebody has asked again. */
  take: ((response: ElicitationResponse) => void) | undefined;
}

/** What a tree that is taken up in the middle of a run has beside any other. */
export interface Recovery {
  /** Nothing goes on yet: whoever took the session up is still to read it. */
  isHeld: boolean;
  /** Resolves when it goes on. */
  readonly begun: Promise<void>;
  /** At once where it goes on already. */
  onBegin(task: () => void): void;
  begin(): void;
  /** Opens (or keeps the answer of) what `asker`, a call or a thread, asked. */
  restore(thread: Thread, asker: object, past: QuestionPast): Restored;
  /** What `asker` asked before, when it now asks the same; each is given once. */
  claim(asker: object, draft: QuestionDraft): Restored | undefined;
  /** Whether `asker` has asked for approval before, and has not been given that yet. */
  hasApproval(asker: object): boolean;
}

export function createRecovery(): Recovery {
  const restored = new Map<object, Restored[]>();
  const tasks: (() => void)[] = [];
  let go!: () => void;
  const begun = new Promise<void>((resolve) => {
    go = resolve;
  });
  const recovery: Recovery = {
    isHeld: true,
    begun,
    onBegin(task) {
      if (recovery.isHeld) tasks.push(task);
      else task();
    },
    begin() {
      if (!recovery.isHeld) return;
      recovery.isHeld = false;
      for (const task of tasks.splice(0)) task();
      go();
    },
    restore(thread, asker, past) {
      const { requestId } = past.request;
      const one: Restored = { requestId, past, question: undefined, answer: undefined, take: undefined };
      restored.set(asker, [...(restored.get(asker) ?? []), one]);
      if (past.response !== undefined) one.answer = answerIn(past);
      else {
        one.question = reopen(thread, past.request, (response) => {
          one.answer = response;
          one.take?.(response);
        });
      }
      return one;
    },
    claim(asker, draft) {
      const own = restored.get(asker);
      const at = own?.findIndex(({ past }) => isSame(past, draft)) ?? -1;
      return at < 0 ? undefined : own?.splice(at, 1)[0];
    },
    hasApproval: (asker) => restored.get(asker)?.some(({ past }) => past.request.kind === 'tool_confirmation') === true,
  };
  return recovery;
}

/** An approval is for exactly one action; anything else is known by its words. */
function isSame({ request, response }: QuestionPast, draft: QuestionDraft): boolean {
  if (request.kind !== draft.kind) return false;
  // A credential is in no log.
  if (draft.kind === 'auth_required' && response !== undefined) return false;
  if (draft.kind === 'tool_confirmation') {
    const [then = {}, now = {}] = [request.context, draft.context];
    if (then.actionHash !== now.actionHash) return false;
    // An answer is about what was shown. A question that is open is asked as it was, and looked at when it is answered.
    return response === undefined || (then.diff === now.diff && then.problem === now.problem);
  }
  // What the model failed with this time is no other question.
  if (draft.kind === 'model_fallback') return request.context?.failed === draft.context?.failed;
  return draft.kind === 'tool_recovery' || request.message === draft.message;
}

function answerIn({ request, response }: QuestionPast): ElicitationResponse {
  const { action, content, _meta } = response ?? { action: 'cancel' };
  return {
    requestId: request.requestId,
    action,
    ...(content !== undefined && { content }),
    ...(_meta !== undefined && { _meta }),
  };
}
