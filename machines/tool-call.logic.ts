import type { ActorLogic, Snapshot } from 'xstate';
import { type ToolCallSignal, type ToolCallState, toolCallStates } from './tool-call.machine.js';

export interface ToolCallInput {
  readonly requestId: string;
  /** The registered name. */
  readonly name: string;
}

export type ToolCallSnapshot = Snapshot<{ state: ToolCallState }> & {
  readonly value: ToolCallState;
  readonly context: ToolCallInput;
  readonly input: ToolCallInput;
};

export interface ToolCallLogic extends ActorLogic<ToolCallSnapshot, ToolCallSignal, ToolCallInput> {}

/** A tool call as an actor: its snapshot says where it stands. It does nothing by itself; the host's gate moves it. */
export const toolCallLogic: ToolCallLogic = {
  getInitialSnapshot: (_, input) => ({
    status: 'active',
    output: undefined,
    error: undefined,
    value: 'validating',
    context: input,
    input,
  }),
  transition(snapshot, signal) {
    const next = toolCallStates[snapshot.value].on?.[signal.type];
    if (next === undefined) return snapshot;
    if (toolCallStates[next].type !== 'final') return { ...snapshot, value: next } as ToolCallSnapshot;
    return { ...snapshot, value: next, status: 'done', output: { state: next } } as ToolCallSnapshot;
  },
  getPersistedSnapshot: (snapshot) => snapshot,
  restoreSnapshot: (snapshot) => snapshot as ToolCallSnapshot,
};
