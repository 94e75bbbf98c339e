import { expect, test } from 'vitest';
import { createActor, fromCallback, initialTransition, transition } from 'xstate';
import { asLogic } from '../../machines/agent-logic.js';
import { type ElicitationEvent, elicitationMachine } from '../../machines/elicitation.machine.js';
import { settle } from '../support/team.js';
import { reachOf } from './reach.js';

const events: ElicitationEvent[] = [{ type: 'elicitation.answered' }, { type: 'elicitation.cancelled' }];
const input = (expiresAt: number | null) => ({ address: 's', requestId: 'q', expiresAt });

test('a question waits for its answer, with a deadline only where it has one', () => {
  const [open] = initialTransition(elicitationMachine, input(null));
  expect(open.value).toBe('asked');
  expect(Object.keys(open.children)).toEqual([]);
  const [timed] = initialTransition(elicitationMachine, input(1_000));
  expect(timed.value).toBe('askedUntil');
  expect(Object.keys(timed.children)).toHaveLength(1);
});

test('it ends answered or cancelled, and then it has ended', () => {
  for (const expiresAt of [null, 1_000]) {
    for (const event of events) {
      const [asked] = initialTransition(elicitationMachine, input(expiresAt));
      const [done] = transition(elicitationMachine, asked, event);
      expect(done).toMatchObject({
        status: 'done',
        value: event.type === 'elicitation.answered' ? 'answered' : 'cancelled',
      });
    }
  }
});

test('every state is reached, and every transition is taken', () => {
  const reaches = [null, 1_000].map((expiresAt) =>
    reachOf(elicitationMachine, { input: input(expiresAt), events, same: ({ value }) => String(value) }),
  );
  const reached = [...new Set(reaches.flatMap((one) => one.states.reached))].sort();
  expect(reached).toEqual(reaches[0]!.states.declared);
  const taken = [...new Set(reaches.flatMap((one) => one.transitions.taken))].sort();
  // `always` is taken on the way in, without an event.
  expect(taken).toEqual(reaches[0]!.transitions.declared);
});

test('its deadline is there while it is open, ends with it, and begins again when it is taken up', async () => {
  const log: string[] = [];
  const deadline = asLogic(
    fromCallback<{ type: 'none' }, { expiresAt: number | null }>(({ input: given }) => {
      log.push(`until ${given.expiresAt}`);
      return () => void log.push('over');
    }),
  );
  const machine = elicitationMachine.provide({ actors: { deadline: deadline as never } });
  const first = createActor(machine, { input: input(1_000) }).start();
  const snapshot = JSON.parse(JSON.stringify(first.getPersistedSnapshot()));
  first.send({ type: 'elicitation.answered' });
  expect(log).toEqual(['until 1000', 'over']);
  const second = createActor(machine, { snapshot, input: input(1_000) }).start();
  await settle(1);
  second.send({ type: 'elicitation.cancelled' });
  expect(log).toEqual(['until 1000', 'over', 'until 1000', 'over']);
});
