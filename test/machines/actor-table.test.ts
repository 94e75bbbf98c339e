import { expect, test } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { dropActorTable } from '../../machines/actor-table.js';

type Started = { _register(sessionId: string, actor: unknown): string };

const child = createMachine({
  initial: 'alive',
  states: { alive: { on: { end: 'over' } }, over: { type: 'final' } },
});
const parent = createMachine({
  initial: 'with',
  states: {
    with: { invoke: { src: child, systemId: 'child', id: 'child', onDone: 'between' } },
    between: { on: { again: 'with' } },
  },
});

test('actors are still found by their systemId, for as long as they live, and the id is free after that', () => {
  const actor = createActor(parent);
  dropActorTable(actor);
  actor.start();
  const first = actor.system.get('child');
  expect(first).toBe(actor.getSnapshot().children.child);
  first?.send({ type: 'end' });
  expect(actor.system.get('child')).toBeUndefined();
  actor.send({ type: 'again' });
  expect(actor.system.get('child')).not.toBe(first);
  expect(actor.system.get('child')?.getSnapshot().value).toBe('alive');
});

test('no actor is entered in the table of its system', () => {
  const actor = createActor(parent);
  const { _register } = actor.system as unknown as Started;
  const entered: string[] = [];
  (actor.system as unknown as Started)._register = (sessionId, one) => {
    entered.push(sessionId);
    return _register(sessionId, one);
  };
  dropActorTable(actor);
  actor.start();
  actor.getSnapshot().children.child?.send({ type: 'end' });
  expect(entered).toEqual([]);
});
