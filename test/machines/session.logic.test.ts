import { expect, test } from 'vitest';
import { type AnyActorLogic, type AnyActorRef, type AnyMachineSnapshot, createActor } from 'xstate';
import { asLogic, createEffectLogic, type EffectInput } from '../../machines/agent-logic.js';
import { elicitationMachine } from '../../machines/elicitation.machine.js';
import type { SessionEvent, SessionInput } from '../../machines/session.events.js';
import { quickSession } from '../../machines/session.logic.js';
import { sessionMachine } from '../../machines/session.machine.js';
import { fc } from '../support/fast-check.js';

const message: SessionEvent = { type: 'session.message' };
const needsTools: SessionEvent = { type: 'turn.needsTools' };
const settled: SessionEvent = { type: 'calls.settled' };
const continued: SessionEvent = { type: 'turn.continued' };
const ended = (endsSession = false): SessionEvent => ({ type: 'turn.ended', reason: 'completed', endsSession });
const asked: SessionEvent = { type: 'question.asked', requestId: 'q', expiresAt: null };
const answered: SessionEvent = { type: 'question.settled', requestId: 'q', answered: true };
const abort: SessionEvent = { type: 'session.abort' };

const input = (more: Partial<SessionInput> = {}): SessionInput => ({
  address: 's',
  oneRun: false,
  behaviour: 'turn',
  leads: false,
  plan: null,
  ...more,
});

/** The session's machine, its effects such that they tell what becomes of them, with what, and what they are ordered. */
function wired(told: string[]) {
  const effect = (name: string) =>
    createEffectLogic<{ type: string }, { type: string }, EffectInput>((given) => {
      told.push(`${name} began with ${JSON.stringify(given)}`);
      return { order: ({ type }) => told.push(`${name} ${type}`), dispose: () => told.push(`${name} stopped`) };
    });
  return sessionMachine.provide({
    actors: {
      turn: asLogic(effect('turn')),
      team: effect('team'),
      calls: asLogic(effect('calls')),
      delegation: asLogic(effect('delegation')),
      question: elicitationMachine.provide({ actors: { deadline: asLogic(effect('deadline')) } }),
    } as never,
  });
}

/** What can be seen of a session, from outside, after each event. */
function lived(logic: (machine: ReturnType<typeof wired>) => AnyActorLogic, given: SessionInput, all: SessionEvent[]) {
  const told: string[] = [];
  const actor = createActor(logic(wired(told)), { input: given });
  const seen: unknown[] = [];
  const look = () => {
    const snapshot = actor.getSnapshot() as AnyMachineSnapshot;
    const { value, status, context, output, children, tags } = snapshot;
    seen.push([
      { value, status, context, output, tags: [...tags], matches: snapshot.matches('running') },
      Object.entries(children as Record<string, AnyActorRef>).map(([id, child]) => [
        id,
        child.getSnapshot().status,
        child.src,
      ]),
      JSON.parse(JSON.stringify(actor.getPersistedSnapshot())),
      told.splice(0),
    ]);
  };
  actor.subscribe({ next: () => seen.push('next'), complete: () => seen.push('complete') });
  look();
  actor.start();
  for (const event of all) {
    look();
    if (actor.getSnapshot().status !== 'active') break;
    actor.send(event);
  }
  look();
  return seen;
}

const events = fc.array(
  fc.constantFrom<SessionEvent>(
    message,
    message,
    needsTools,
    settled,
    continued,
    ended(),
    ended(true),
    asked,
    answered,
    abort,
    { type: 'turn.needsAnswers' },
    { type: 'session.close', reason: 'completed' },
  ),
  { maxLength: 12 },
);

test('whatever comes to a session, it lives as its machine says: states, snapshots, and what is started and stopped', () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom('turn', 'team'),
      events,
      (oneRun, leads, behaviour, all) => {
        const given = input({ oneRun, leads, behaviour, plan: { count: 2 } });
        // What no host does: the same question twice, or one settled that nobody asked.
        const isOpen = (at: number) => {
          const before = all.slice(0, at).filter((event) => event === asked || event === answered);
          return before.at(-1) === asked;
        };
        const possible = all.filter(
          (event, at) => (event !== asked || !isOpen(at)) && (event !== answered || isOpen(at)),
        );
        expect(lived(quickSession, given, possible)).toEqual(lived((machine) => machine, given, possible));
      },
    ),
    { numRuns: 400, seed: 7 },
  );
});

test('a session that was taken up from a snapshot goes on in the same steps', () => {
  const first = createActor(quickSession(wired([])), { input: input() }).start();
  for (const event of [message, needsTools]) first.send(event);
  const snapshot = JSON.parse(JSON.stringify(first.getPersistedSnapshot()));
  const told: string[] = [];
  const second = createActor(quickSession(wired(told)), { snapshot } as never).start();
  for (const event of [settled, continued, ended(true)]) second.send(event);
  expect(second.getSnapshot()).toMatchObject({ value: 'ended', status: 'done', output: { reason: 'completed' } });
  expect(told.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    'calls began',
    'calls stopped',
    'turn began',
    'turn stopped',
    'turn began',
    'turn stopped',
  ]);
});

test('the everyday steps of a session cost its machine nothing', () => {
  const machine = wired([]);
  let computed = 0;
  const { transition } = machine;
  machine.transition = (...args: Parameters<typeof transition>) => {
    computed++;
    return transition(...args);
  };
  const actor = createActor(quickSession(machine), { input: input() }).start();
  for (const event of [message, needsTools, settled, continued, ended(), message, ended(true)]) actor.send(event);
  expect(actor.getSnapshot().status).toBe('done');
  expect(computed).toBe(0);
});

test('the machine takes every step itself while somebody inspects, and only then', () => {
  const audience = { isThere: false };
  const microsteps: string[] = [];
  const actor = createActor(quickSession(wired([]), audience), {
    input: input(),
    inspect: (event) => {
      if (event.type === '@xstate.microstep') microsteps.push(event.event.type);
    },
  }).start();
  actor.send(message);
  actor.send(ended());
  expect(microsteps).toEqual([]);
  audience.isThere = true;
  actor.send(message);
  actor.send(needsTools);
  expect(microsteps).toEqual(['session.message', 'turn.needsTools']);
  audience.isThere = false;
  actor.send(settled);
  expect(microsteps).toHaveLength(2);
  expect(actor.getSnapshot().value).toBe('running');
});
