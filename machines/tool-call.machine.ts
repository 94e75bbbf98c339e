import { createMachine } from 'xstate';

/** Where one tool call stands; signals of the gate move it. */
export type ToolCallState =
  | 'validating'
  | 'awaitingApproval'
  | 'scheduled'
  | 'executing'
  | 'success'
  | 'error'
  | 'cancelled';

export type ToolCallSignal =
  | { type: 'call.asked' }
  | { type: 'call.cleared' }
  | { type: 'call.began' }
  | { type: 'call.succeeded' }
  | { type: 'call.failed' }
  | { type: 'call.cancelled' };

interface StateNode {
  readonly type?: 'final';
  readonly on?: Readonly<Partial<Record<ToolCallSignal['type'], ToolCallState>>>;
}

/**
 * The one table of a tool call's life. `toolCallMachine` draws it, `tool-call.logic.ts` runs it: a machine actor
 * costs five times as much, and there is one call actor per call.
 */
export const toolCallStates: Readonly<Record<ToolCallState, StateNode>> = {
  validating: {
    on: {
      'call.asked': 'awaitingApproval',
      'call.cleared': 'scheduled',
      'call.failed': 'error',
      'call.cancelled': 'cancelled',
    },
  },
  awaitingApproval: {
    on: { 'call.cleared': 'scheduled', 'call.failed': 'error', 'call.cancelled': 'cancelled' },
  },
  scheduled: {
    on: {
      'call.began': 'executing',
      // The mode has changed while it waited for its turn.
      'call.asked': 'awaitingApproval',
      'call.succeeded': 'success',
      'call.failed': 'error',
      'call.cancelled': 'cancelled',
    },
  },
  executing: {
    on: { 'call.succeeded': 'success', 'call.failed': 'error', 'call.cancelled': 'cancelled' },
  },
  success: { type: 'final' },
  error: { type: 'final' },
  cancelled: { type: 'final' },
};

/** One tool call: validated, cleared by hooks, policy and perhaps a person, scheduled among its siblings, executed. */
export const toolCallMachine = createMachine({
  id: 'toolCall',
  types: {} as { events: ToolCallSignal },
  initial: 'validating',
  states: toolCallStates as Record<ToolCallState, object>,
});
