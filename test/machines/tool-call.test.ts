import { expect, test } from 'vitest';
import { createActor, initialTransition, transition } from 'xstate';
import { toolCallLogic } from '../../machines/tool-call.logic.js';
import {
  type ToolCallSignal,
  type ToolCallState,
  toolCallMachine,
  toolCallStates,
} from '../../machines/tool-call.machine.js';
import { reachOf } from './reach.js';

const input = { requestId: 'c1', name: 'desk.read' };
const signals: ToolCallSignal['type'][] = [
  'call.asked',
  'call.cleared',
  'call.began',
  'call.succeeded',
  'call.failed',
  'call.cancelled',
];
const states = Object.keys(toolCallStates) as ToolCallState[];
const finals: ToolCallState[] = ['success', 'error', 'cancelled'];

/** Shortest signals that lead to a state, by the table. */
function pathTo(target: ToolCallState): ToolCallSignal[] {
  const paths = new Map<ToolCallState, ToolCallSignal[]>([['validating', []]]);
  for (const [state, path] of paths) {
    for (const [type, next] of Object.entries(toolCallStates[state].on ?? {})) {
      if (!paths.has(next)) paths.set(next, [...path, { type } as ToolCallSignal]);
    }
  }
  return paths.get(target) as ToolCallSignal[];
}

function actorIn(state: ToolCallState) {
  const actor = createActor(toolCallLogic, { input }).start();
  for (const signal of pathTo(state)) actor.send(signal);
  return actor;
}

test('every state and every transition of the drawing is reached', () => {
  const reach = reachOf(toolCallMachine, {
    input: undefined,
    events: signals.map((type) => ({ type })),
    same: (snapshot) => String(snapshot.value),
  });
  expect(reach.states.reached).toEqual([...states].sort());
  expect(reach.transitions.taken).toEqual(reach.transitions.declared);
});

test('the logic that runs is the machine that is drawn: the same step from every state on every signal', () => {
  for (const state of states) {
    for (const type of signals) {
      const actor = actorIn(state);
      expect(actor.getSnapshot().value).toBe(state);
      let [drawn] = initialTransition(toolCallMachine);
      for (const signal of pathTo(state)) [drawn] = transition(toolCallMachine, drawn, signal);
      if (!finals.includes(state)) {
        actor.send({ type });
        [drawn] = transition(toolCallMachine, drawn, { type });
      }
      expect([state, type, actor.getSnapshot().value]).toEqual([state, type, drawn.value]);
    }
  }
});

test('nothing runs before it is cleared, and nothing is cleared twice', () => {
  const before = (state: ToolCallState) => toolCallStates[state].on ?? {};
  for (const state of states) {
    if (state !== 'scheduled') expect(before(state)['call.began']).toBeUndefined();
    if (!['validating', 'awaitingApproval'].includes(state)) expect(before(state)['call.cleared']).toBeUndefined();
  }
});

test('every state that is not final can be failed and cancelled', () => {
  for (const state of states) {
    const { on } = toolCallStates[state];
    if (finals.includes(state)) expect(on).toBeUndefined();
    else expect(on).toMatchObject({ 'call.failed': 'error', 'call.cancelled': 'cancelled' });
  }
});

test.each(finals)('%s ends the actor, its output says which', (state) => {
  const actor = actorIn(state);
  expect(actor.getSnapshot()).toMatchObject({ status: 'done', output: { state }, context: input });
});

test('a signal that does not fit changes nothing, not even the snapshot', () => {
  const actor = actorIn('validating');
  const snapshot = actor.getSnapshot();
  actor.send({ type: 'call.began' });
  actor.send({ type: 'xstate.unknown' } as never);
  expect(actor.getSnapshot()).toBe(snapshot);
});

test('a call that is stopped in any state goes on from where it was', () => {
  for (const state of states) {
    const stored = JSON.parse(JSON.stringify(actorIn(state).getPersistedSnapshot()));
    const restored = createActor(toolCallLogic, { input, snapshot: stored }).start();
    expect(restored.getSnapshot()).toMatchObject({ value: state, context: input });
    const [type, next] = Object.entries(toolCallStates[state].on ?? {})[0] ?? [];
    if (next === undefined) continue;
    restored.send({ type } as ToolCallSignal);
    expect(restored.getSnapshot().value).toBe(next);
  }
});
