import { expect, test } from 'vitest';
import { createActor, createMachine, fromCallback, fromPromise, fromTransition, setup } from 'xstate';
import { createChildPool, type Pool } from '../../machines/child-pool.logic.js';
import { settle } from '../support/team.js';

type Order = { type: 'go'; id: string } | { type: 'halt'; id: string };
interface Ended {
  id: string;
  output: unknown;
  error: unknown;
}

/** A pool whose children are made by `logicOf`, and what has happened in it. */
function open(logicOf: (id: string) => Parameters<Pool['spawn']>[1], options: Parameters<typeof createActor>[1] = {}) {
  const ended: Ended[] = [];
  let disposed = 0;
  let pool: Pool | undefined;
  const logic = createChildPool<Order>((_, own) => {
    pool = own;
    return {
      order: (order) =>
        order.type === 'go' ? void own.spawn(order.id, logicOf(order.id), { id: order.id }) : own.stop(order.id),
      childEnded: (id, output, error) => ended.push({ id, output, error }),
      dispose: () => disposed++,
    };
  });
  const actor = createActor(logic, { ...options, input: { address: 'a' } } as never).start();
  return { actor, ended, pool: () => pool as Pool, disposed: () => disposed };
}

const idle = fromCallback(() => {});
const counts = ({ live, started }: { live: number; started: number }) => ({ live, started });

test('a child that is done is told of with its output, and its place is free', async () => {
  const { actor, ended, pool } = open((id) => fromPromise(async () => `${id} is done`));
  actor.send({ type: 'go', id: 'x' });
  expect(pool().size).toBe(1);
  await settle();
  expect(ended).toEqual([{ id: 'x', output: 'x is done', error: undefined }]);
  expect(pool().size).toBe(0);
  actor.send({ type: 'go', id: 'x' });
  await settle();
  expect(ended).toHaveLength(2);
});

test('a child that fails is told of with its error, and nobody else is harmed', async () => {
  const { actor, ended, pool } = open((id) =>
    id === 'bad'
      ? fromPromise(() => Promise.reject(new Error('boom')))
      : id === 'none'
        ? fromPromise(() => Promise.reject(undefined))
        : idle,
  );
  for (const id of ['good', 'bad', 'none']) actor.send({ type: 'go', id });
  await settle();
  expect(ended.map(({ id }) => id)).toEqual(['bad', 'none']);
  expect(ended.map(({ error }) => (error as Error).message)).toEqual(['boom', 'the actor failed']);
  expect(pool().size).toBe(1);
  expect(actor.getSnapshot().status).toBe('active');
});

test('a machine as a child ends with its output', () => {
  const machine = setup({}).createMachine({
    initial: 'a',
    output: { said: 'bye' },
    states: { a: { on: { end: 'b' } }, b: { type: 'final' } },
  });
  let child: { send(event: object): void } | undefined;
  const ended: unknown[] = [];
  const logic = createChildPool<Order>((_, pool) => ({
    order: () => {
      child = pool.spawn('m', machine, undefined);
    },
    childEnded: (...end) => ended.push(end),
    dispose() {},
  }));
  createActor(logic, { input: { address: 'a' } })
    .start()
    .send({ type: 'go', id: 'm' });
  child?.send({ type: 'end' });
  expect(ended).toEqual([['m', { said: 'bye' }, undefined]]);
});

test('a child that is stopped is gone and not told of; stopping nobody does nothing', () => {
  const stopped: string[] = [];
  const { actor, ended, pool } = open((id) => fromCallback(() => () => void stopped.push(id)));
  actor.send({ type: 'go', id: 'x' });
  actor.send({ type: 'halt', id: 'x' });
  actor.send({ type: 'halt', id: 'x' });
  actor.send({ type: 'halt', id: 'nobody' });
  expect([stopped, ended, pool().size]).toEqual([['x'], [], 0]);
});

test('stopping the pool stops every child and lets go once', () => {
  const stopped: string[] = [];
  const { actor, disposed, pool } = open((id) => fromCallback(() => () => void stopped.push(id)));
  for (const id of ['x', 'y', 'z']) actor.send({ type: 'go', id });
  actor.stop();
  expect(stopped).toEqual(['x', 'y', 'z']);
  expect([disposed(), pool().size]).toEqual([1, 0]);
  expect(actor.getSnapshot()).toMatchObject({ status: 'stopped', live: 0 });
});

test('the snapshot counts, and stays the same where nothing was started or ended', async () => {
  const { actor } = open((id) => (id === 'quick' ? fromPromise(async () => 1) : idle));
  actor.send({ type: 'go', id: 'x' });
  actor.send({ type: 'go', id: 'quick' });
  expect(counts(actor.getSnapshot())).toEqual({ live: 2, started: 2 });
  await settle();
  const snapshot = actor.getSnapshot();
  expect(counts(snapshot)).toEqual({ live: 1, started: 2 });
  actor.send({ type: 'halt', id: 'nobody' });
  expect(actor.getSnapshot()).toBe(snapshot);
});

test('what a pool reports reaches its parent', () => {
  const logic = createChildPool<Order>((_, pool) => ({
    order: () => pool.report({ type: 'heard' }),
    childEnded() {},
    dispose() {},
  }));
  const parent = createMachine({
    initial: 'waiting',
    invoke: { id: 'pool', src: logic, input: { address: 'a' } },
    on: { poke: { actions: ({ self }) => self.getSnapshot().children.pool?.send({ type: 'go', id: 'x' }) } },
    states: { waiting: { on: { heard: 'told' } }, told: {} },
  });
  const actor = createActor(parent).start();
  actor.send({ type: 'poke' });
  expect(actor.getSnapshot().value).toBe('told');
});

test('inspection sees every child, and children belong to the system of the pool', () => {
  const seen: string[] = [];
  const { actor } = open(() => fromTransition((state) => state, 0), {
    inspect: (event) => {
      if (event.type === '@xstate.actor') seen.push((event.actorRef as { id?: string }).id ?? '');
    },
  });
  for (const id of ['x', 'y']) actor.send({ type: 'go', id });
  expect(seen.slice(1)).toEqual(['x', 'y']);
});

test('nothing of the children is persisted: a tree is rebuilt from its log', () => {
  const { actor } = open(() => idle);
  actor.send({ type: 'go', id: 'x' });
  expect(JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))).toMatchObject({
    status: 'active',
    live: 0,
    started: 1,
  });
});

test('each pool of a logic has children of its own', () => {
  const pools: Pool[] = [];
  const logic = createChildPool<Order>((_, pool) => {
    pools.push(pool);
    return { order: ({ id }) => void pool.spawn(id, idle, undefined), childEnded() {}, dispose() {} };
  });
  const [one, two] = [1, 2].map(() => createActor(logic, { input: { address: 'a' } }).start());
  one?.send({ type: 'go', id: 'x' });
  two?.send({ type: 'go', id: 'x' });
  two?.send({ type: 'go', id: 'y' });
  expect(pools.map(({ size }) => size)).toEqual([1, 2]);
});
