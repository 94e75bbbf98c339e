import { describe, expect, test } from 'vitest';
import { type AnyMachineSnapshot, createActor, fromCallback, initialTransition, transition } from 'xstate';
import { asLogic } from '../../machines/agent-logic.js';
import { elicitationMachine } from '../../machines/elicitation.machine.js';
import type { SessionEvent, SessionInput } from '../../machines/session.events.js';
import { sessionMachine } from '../../machines/session.machine.js';
import { settle } from '../support/team.js';
import { reachOf } from './reach.js';

const input = (more: Partial<SessionInput> = {}): SessionInput => ({
  address: 's',
  oneRun: false,
  behaviour: 'turn',
  leads: false,
  plan: null,
  ...more,
});

const asked = (requestId = 'q'): SessionEvent => ({ type: 'question.asked', requestId, expiresAt: null });
const settled = (requestId = 'q', answered = true): SessionEvent => ({ type: 'question.settled', requestId, answered });
const ended = (endsSession = false, reason = 'completed'): SessionEvent => ({
  type: 'turn.ended',
  reason,
  endsSession,
});
const message: SessionEvent = { type: 'session.message' };
const abort: SessionEvent = { type: 'session.abort' };

/** Where a session stands after these events, and what is under way in it then. */
function standing(events: SessionEvent[], more?: Partial<SessionInput>) {
  let [snapshot] = initialTransition(sessionMachine, input(more));
  let effects: readonly { type: string }[] = [];
  for (const event of events) [snapshot, effects] = transition(sessionMachine, snapshot, event);
  return {
    state: snapshot.value,
    children: Object.keys(snapshot.children).sort(),
    effects: effects.map((effect) => effect.type),
    output: snapshot.output,
    context: snapshot.context,
  };
}

describe('where a session goes', () => {
  test('a message moves an idle session to running, and starts its turn', () => {
    expect(standing([])).toMatchObject({ state: 'idle', children: [] });
    expect(standing([message])).toMatchObject({
      state: 'running',
      children: ['turn'],
      effects: expect.arrayContaining(['xstate.spawnChild']),
    });
  });

  test('calls are awaited in place of the turn, and a turn follows the last of them', () => {
    expect(standing([message, { type: 'turn.needsTools' }])).toMatchObject({
      state: 'awaitingTool',
      children: ['calls'],
    });
    expect(standing([message, { type: 'turn.needsTools' }, { type: 'calls.settled' }])).toMatchObject({
      state: 'running',
      children: ['turn'],
    });
  });

  test('a turn that goes on is another turn', () => {
    expect(standing([message, { type: 'turn.continued' }])).toMatchObject({ state: 'running', children: ['turn'] });
  });

  test('a question outranks a call; after the last answer the session is where it would be without it', () => {
    const calling: SessionEvent[] = [message, { type: 'turn.needsTools' }];
    expect(standing([...calling, asked()])).toMatchObject({
      state: 'awaitingElicitation',
      children: ['calls', 'question:q'],
    });
    expect(standing([...calling, asked(), settled()])).toMatchObject({ state: 'awaitingTool', children: ['calls'] });
    expect(standing([...calling, asked('a'), asked('b'), settled('a')])).toMatchObject({
      state: 'awaitingElicitation',
      children: ['calls', 'question:b'],
    });
    expect(standing([...calling, asked(), { type: 'calls.settled' }])).toMatchObject({
      state: 'awaitingElicitation',
      children: ['question:q'],
    });
    expect(standing([...calling, asked(), { type: 'calls.settled' }, settled()])).toMatchObject({
      state: 'running',
      children: ['turn'],
    });
    expect(standing([message, asked(), settled()])).toMatchObject({ state: 'running', children: ['turn'] });
  });

  test('a turn may ask for calls, for answers, or go on, while a question is open', () => {
    expect(standing([message, asked(), { type: 'turn.needsTools' }])).toMatchObject({
      state: 'awaitingElicitation',
      children: ['calls', 'question:q'],
    });
    expect(standing([message, asked(), { type: 'turn.needsTools' }, settled()])).toMatchObject({
      state: 'awaitingTool',
    });
    expect(standing([message, asked(), { type: 'turn.needsAnswers' }])).toMatchObject({
      state: 'awaitingElicitation',
      children: ['question:q'],
    });
    expect(standing([message, asked(), { type: 'turn.needsAnswers' }, settled()])).toMatchObject({
      state: 'running',
      children: ['turn'],
    });
    expect(standing([message, asked(), { type: 'turn.continued' }])).toMatchObject({
      state: 'awaitingElicitation',
      children: ['question:q', 'turn'],
    });
    expect(standing([message, asked(), { type: 'turn.continued' }, settled()])).toMatchObject({
      state: 'running',
      children: ['turn'],
    });
  });

  test('an abort waits, stopping, for what runs to end; then the session is idle', () => {
    for (const before of [[message], [message, { type: 'turn.needsTools' } as const], [message, asked()]]) {
      expect(standing([...before, abort]).state).toBe('stopping');
      expect(standing([...before, abort, message]).state).toBe('stopping');
      const settling = before.length > 1 && before[1]?.type === 'question.asked' ? [settled('q', false)] : [];
      expect(standing([...before, abort, ...settling, ended(false, 'aborted')])).toMatchObject({
        state: 'idle',
        children: [],
      });
    }
  });

  test('what is told to stop is what is under way', () => {
    const told = (events: SessionEvent[]) => {
      let [snapshot] = initialTransition(sessionMachine, input());
      for (const event of events) [snapshot] = transition(sessionMachine, snapshot, event);
      const [, effects] = transition(sessionMachine, snapshot, abort);
      return effects.flatMap((effect) =>
        effect.type === 'xstate.sendTo' ? [(effect.params as { to: { id: string } }).to.id] : [],
      );
    };
    expect(told([message])).toEqual(['turn']);
    expect(told([message, { type: 'turn.needsTools' }])).toEqual(['calls']);
    expect(told([message, asked()])).toEqual(['turn']);
    expect(told([message, { type: 'turn.needsTools' }, asked()])).toEqual(['calls']);
    expect(told([message, asked(), { type: 'turn.needsAnswers' }])).toEqual([]);
  });

  test('a session ends by being closed, with its only run, or with a run that ends it; its output says how', () => {
    expect(standing([{ type: 'session.close', reason: 'completed' }])).toMatchObject({
      state: 'ended',
      output: { reason: 'completed' },
    });
    expect(standing([message, ended(false, 'failed')], { oneRun: true })).toMatchObject({
      state: 'ended',
      output: { reason: 'failed' },
    });
    expect(standing([message, abort, ended(true, 'aborted')])).toMatchObject({
      state: 'ended',
      output: { reason: 'aborted' },
    });
    expect(standing([message, ended(true, 'max_budget')])).toMatchObject({
      state: 'ended',
      output: { reason: 'max_budget' },
    });
    expect(standing([message, ended()])).toMatchObject({ state: 'idle', output: undefined });
  });

  test('a leader has its children beside its turns, for as long as it lives', () => {
    const lead = { leads: true };
    expect(standing([message], lead).children).toEqual(['delegation', 'turn']);
    expect(standing([message, ended()], lead).children).toEqual(['delegation']);
  });

  test('what a session is not in the state for changes nothing', () => {
    const strangers: [SessionEvent[], SessionEvent[]][] = [
      [[], [{ type: 'turn.needsTools' }, { type: 'calls.settled' }, asked(), settled(), abort]],
      [[message], [message, { type: 'session.close', reason: 'x' }, { type: 'calls.settled' }, settled()]],
      [
        [message, { type: 'turn.needsTools' }],
        [message, { type: 'turn.continued' }, settled()],
      ],
    ];
    for (const [before, events] of strangers) {
      const { state, children } = standing(before);
      for (const event of events) expect(standing([...before, event])).toMatchObject({ state, children });
    }
  });
});

/** What may come to a session: reports of what is under way; the host settles only what is open, and ends no run with a question open. */
function possible({ children, context }: AnyMachineSnapshot): SessionEvent[] {
  const isOpen = (requestId: string) => children[`question:${requestId}`] !== undefined;
  const events: SessionEvent[] = [message, abort, { type: 'session.close', reason: 'completed' }];
  if (children.turn !== undefined) {
    events.push({ type: 'turn.needsTools' }, { type: 'turn.continued' });
    if (context.questions > 0) events.push({ type: 'turn.needsAnswers' });
  }
  if (children.calls !== undefined) events.push({ type: 'calls.settled' });
  if (context.questions === 0) events.push(ended(false), ended(true));
  for (const requestId of ['q1', 'q2']) events.push(isOpen(requestId) ? settled(requestId) : asked(requestId));
  return events;
}

const reach = (more?: Partial<SessionInput>) =>
  reachOf(sessionMachine, {
    input: input(more),
    events: possible,
    same: ({ value, context, children }) =>
      JSON.stringify([value, context.questions, context.behind, Object.keys(children).sort()]),
  });

test('every state is reached, and every transition is taken', () => {
  const { states, transitions } = reach();
  expect(states.reached).toEqual(states.declared);
  expect(states.declared).toEqual(['awaitingElicitation', 'awaitingTool', 'ended', 'idle', 'running', 'stopping']);
  expect(transitions.taken).toEqual(transitions.declared);
});

test('wherever a session is, nothing is under way in it when it is idle or has ended', () => {
  for (const { from, event, to } of reach().steps) {
    const calling = Object.keys(to.children).filter((id) => id === 'turn' || id === 'calls');
    if (to.value === 'idle') expect(calling).toEqual([]);
    if (to.value === 'running') expect(calling).toEqual(['turn']);
    if (to.value === 'awaitingTool') expect(calling).toEqual(['calls']);
    // From any state but the last a run that ends leads out of it.
    if (event.type === 'turn.ended')
      expect(from.status === 'active' ? ['idle', 'ended'] : ['ended']).toContain(to.value);
  }
});

test('a session can be taken up from a snapshot of any state, and goes on from there', async () => {
  const started: string[] = [];
  const effect = (name: string) =>
    asLogic(
      fromCallback(() => {
        started.push(name);
      }),
    );
  const machine = sessionMachine.provide({
    actors: {
      turn: effect('turn') as never,
      calls: effect('calls') as never,
      delegation: effect('delegation') as never,
      question: elicitationMachine.provide({ actors: { deadline: effect('deadline') as never } }),
    },
  });
  const ways: [SessionEvent[], string, SessionEvent[], string][] = [
    [[], 'idle', [message], 'running'],
    [[message], 'running', [{ type: 'turn.needsTools' }], 'awaitingTool'],
    [[message, { type: 'turn.needsTools' }], 'awaitingTool', [{ type: 'calls.settled' }], 'running'],
    [[message, asked()], 'awaitingElicitation', [settled()], 'running'],
    [[message, { type: 'turn.needsTools' }, asked()], 'awaitingElicitation', [settled()], 'awaitingTool'],
    [[message, abort], 'stopping', [ended(false, 'aborted')], 'idle'],
  ];
  for (const [before, state, onwards, target] of ways) {
    const first = createActor(machine, { input: input() }).start();
    for (const event of before) first.send(event);
    const snapshot = JSON.parse(JSON.stringify(first.getPersistedSnapshot()));
    first.stop();
    started.length = 0;
    const second = createActor(machine, { snapshot, input: input() }).start();
    await settle(1);
    expect(second.getSnapshot().value).toBe(state);
    // What was under way is under way again: it may run twice.
    const underWay = Object.keys(snapshot.children).filter((id) => id === 'turn' || id === 'calls');
    expect(started.filter((name) => name !== 'deadline')).toEqual(underWay);
    for (const event of onwards) second.send(event);
    expect(second.getSnapshot().value).toBe(target);
    second.stop();
  }
});

test('a machine that was not wired says which logic is missing', () => {
  const actor = createActor(sessionMachine, { input: input() });
  const errors: string[] = [];
  actor.subscribe({ error: (error) => errors.push(String(error)) });
  actor.start();
  actor.send(message);
  expect(errors).toEqual(['Error: actor "turn" was not provided']);
});
