import type { AgentEvent, ElicitationAnswer } from '../contracts/index.js';
import type { Run } from '../host/types.js';
import { TroupeError } from '../kernel/errors.js';
import type { PreviewCall } from './edit-call.js';
import { askQuestion, FormStopped, type Prompter } from './question-form.js';
import type { RunProgress } from './run-progress.js';

/** `ask`: in the terminal. `yes` and `no` answer tool confirmations; without a prompter other questions are cancelled. */
export type ConfirmationPolicy = 'ask' | 'yes' | 'no';

export interface QuestionDesk {
  /** Takes note of an event: a question is put in the queue, one that was answered elsewhere or expired is withdrawn. */
  see(event: AgentEvent): void;
  /** Withdraws what is open; resolves when nothing is asked any more. Rejects when asking itself broke. */
  close(): Promise<void>;
}

export interface QuestionDeskOptions {
  run: Pick<Run, 'respond'>;
  confirmations: ConfirmationPolicy;
  /** Absent: there is nobody to ask. */
  prompter: ((signal: AbortSignal) => Promise<Prompter>) | undefined;
  /** True: without a prompter questions wait for whoever else may answer them. */
  isAnsweredElsewhere?: boolean;
  preview?: PreviewCall | undefined;
  /** Stands aside while a question is shown. */
  screen: Pick<RunProgress, 'pause' | 'resume'>;
  /** Ctrl-C while a question was shown, or asking broke (then `close` says why). */
  onInterrupt: () => void;
}

interface Waiting {
  event: AgentEvent<'elicitation_request'>;
  withdraw: AbortController;
  /** What was wrong with the answer before. */
  fault?: string | undefined;
}

/** Answers the questions of a whole tree, one after another, in the order they were asked. */
export function createQuestionDesk(options: QuestionDeskOptions): QuestionDesk {
  const { run, confirmations, prompter, screen, preview } = options;
  const queue: Waiting[] = [];
  /** Answered, and the response has not been seen yet. */
  const sent = new Map<string, AgentEvent<'elicitation_request'>>();
  let current: Waiting | undefined;
  let working: Promise<void> | undefined;
  let closed = false;
  let broken: { thrown: unknown } | undefined;

  const respond = (requestId: string, answer: ElicitationAnswer): string | undefined => {
    try {
      run.respond(requestId, answer);
    } catch (thrown) {
      if (!(thrown instanceof TroupeError)) throw thrown;
      // Answered elsewhere, or expired, in the meantime: nothing to do.
      if (thrown.code === 'INVALID_ANSWER') return thrown.message;
    }
    return undefined;
  };

  const ask = async ({ event, withdraw, fault: before }: Waiting, form: Prompter): Promise<void> => {
    let fault = before;
    do {
      const question = { request: event, agentName: event.agentId ?? 'agent', fault, preview };
      const answer = await askQuestion(question, form);
      if (withdraw.signal.aborted) return;
      sent.set(event.requestId, event);
      fault = respond(event.requestId, answer);
    } while (fault !== undefined);
  };

  const put = (event: AgentEvent<'elicitation_request'>, fault?: string): void => {
    queue.push({ event, withdraw: new AbortController(), fault });
    start();
  };

  /** An answer that came before the host could check it is refused by a notice; the question is still open. */
  const askAgain = (event: AgentEvent<'custom'>): void => {
    const { code, text } = (event.data ?? {}) as { code?: unknown; text?: unknown };
    if (event.kind !== 'notice' || code !== 'ANSWER_REFUSED' || typeof text !== 'string') return;
    for (const [requestId, request] of sent) {
      if (!text.includes(`${requestId} `)) continue;
      sent.delete(requestId);
      put(request, text);
    }
  };

  const work = async (): Promise<void> => {
    screen.pause();
    for (current = queue.shift(); current !== undefined; current = queue.shift()) {
      try {
        if (prompter !== undefined) await ask(current, await prompter(current.withdraw.signal));
      } catch (thrown) {
        if (!(thrown instanceof FormStopped)) broken ??= { thrown };
        if (thrown instanceof FormStopped && thrown.why !== 'interrupted') continue;
        // The run is being stopped: what else it wanted to know matters no more.
        closed = true;
        queue.length = 0;
        options.onInterrupt();
      }
    }
    screen.resume();
  };

  const start = (): void => {
    working ??= work().finally(() => {
      working = undefined;
      if (queue.length > 0 && !closed) start();
    });
  };

  return {
    see(event) {
      if (event.type === 'custom' && !closed) askAgain(event);
      if (event.type === 'elicitation_response') {
        sent.delete(event.requestId);
        const index = queue.findIndex((waiting) => waiting.event.requestId === event.requestId);
        if (index >= 0) queue.splice(index, 1);
        if (current?.event.requestId === event.requestId) current.withdraw.abort();
      }
      if (event.type !== 'elicitation_request' || closed) return;
      if (event.kind === 'tool_confirmation' && confirmations !== 'ask')
        respond(event.requestId, { action: confirmations === 'yes' ? 'accept' : 'decline' });
      else if (prompter !== undefined) put(event);
      else if (options.isAnsweredElsewhere !== true) respond(event.requestId, { action: 'cancel' });
    },
    async close() {
      closed = true;
      queue.length = 0;
      current?.withdraw.abort();
      await working;
      if (broken !== undefined) throw broken.thrown;
    },
  };
}
