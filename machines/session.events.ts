import type { EffectInput } from './agent-logic.js';

/** What makes a session; all of it JSON. */
export interface SessionInput extends EffectInput {
  /** Made for one run: ends with it. */
  readonly oneRun: boolean;
  /** Name of the logic that carries a run: `turn`, or a composition's pattern. */
  readonly behaviour: string;
  /** It leads children that it calls as tools. */
  readonly leads: boolean;
  /** Options of a composition, given on to its logic; null where there is none. */
  readonly plan: unknown;
}

/** What a turn, a composition or a delegation is started with. */
export interface BehaviourInput extends EffectInput {
  readonly plan: unknown;
}

export interface SessionContext extends SessionInput {
  /** Open questions. */
  readonly questions: number;
  /** What is under way while questions are open. */
  readonly behind: 'turn' | 'calls' | 'nothing';
}

/** Commands come from above, in the imperative; signals from below, in the past tense. */
export type SessionEvent =
  | { type: 'session.message' }
  | { type: 'session.abort' }
  | { type: 'session.close'; reason: string }
  | { type: 'turn.needsTools' }
  | { type: 'turn.needsAnswers' }
  | { type: 'turn.continued' }
  | { type: 'turn.ended'; reason: string; endsSession: boolean }
  | { type: 'calls.settled' }
  | { type: 'question.asked'; requestId: string; expiresAt: number | null }
  | { type: 'question.settled'; requestId: string; answered: boolean };

/** The order to a turn, a batch of calls, a composition: end what runs, then report `turn.ended`. */
export type StopOrder = { type: 'run.stop' };

/** How a session ended. */
export interface SessionOutput {
  readonly reason: string;
}
