import { describe, expect, test, vi } from 'vitest';
import { virtualClock } from '../../src/testing/virtual-clock.js';

describe('virtual clock', () => {
  test('time stands still until it is moved', async () => {
    const clock = virtualClock(1_000);
    const task = vi.fn();
    clock.schedule(task, 10);
    expect(clock.now()).toBe(1_000);
    await clock.advance(9);
    expect([clock.now(), task.mock.calls.length, clock.pending]).toEqual([1_009, 0, 1]);
    await clock.advance(1);
    expect([clock.now(), task.mock.calls.length, clock.pending]).toEqual([1_010, 1, 0]);
  });

  test('due tasks run in order of time, ties in order of scheduling, each at its own time', async () => {
    const clock = virtualClock();
    const ran: string[] = [];
    const note = (name: string) => () => void ran.push(`${name}@${clock.now()}`);
    clock.schedule(note('c'), 30);
    clock.schedule(note('a1'), 10);
    clock.schedule(note('b'), 20);
    clock.schedule(note('a2'), 10);
    await clock.advance(100);
    expect(ran).toEqual(['a1@10', 'a2@10', 'b@20', 'c@30']);
    expect(clock.now()).toBe(100);
  });

  test('what a task schedules within the window runs in the same advance', async () => {
    const clock = virtualClock();
    const ran: number[] = [];
    const again = () => {
      ran.push(clock.now());
      clock.schedule(again, 10);
    };
    clock.schedule(again, 10);
    await clock.advance(35);
    expect(ran).toEqual([10, 20, 30]);
    expect(clock.pending).toBe(1);
  });

  test('code that awaits between two timers gets as far as it can before the next one', async () => {
    const clock = virtualClock();
    const sleep = (ms: number) => new Promise<void>((resolve) => void clock.schedule(resolve, ms));
    const seen: string[] = [];
    const work = async () => {
      await sleep(10);
      for (let step = 0; step < 50; step++) await Promise.resolve();
      for (let step = 0; step < 20; step++) await new Promise<void>((resolve) => setImmediate(resolve));
      seen.push(`worked@${clock.now()}`);
      await sleep(5);
      seen.push(`again@${clock.now()}`);
    };
    const done = work();
    clock.schedule(() => seen.push(`timer@${clock.now()}`), 12);
    await clock.advance(20);
    await done;
    expect(seen).toEqual(['worked@10', 'timer@12', 'again@15']);
  });

  test('advance(0) runs what is due now and lets awaiting code proceed', async () => {
    const clock = virtualClock(5);
    const seen: string[] = [];
    void (async () => {
      await Promise.resolve();
      await new Promise<void>((resolve) => void clock.schedule(resolve, 0));
      seen.push('awaited');
    })();
    clock.schedule(() => seen.push('later'), 1);
    await clock.advance(0);
    expect(seen).toEqual(['awaited']);
    expect(clock.now()).toBe(5);
  });

  test('a cancelled task never runs, and cancelling twice or after it ran does nothing', async () => {
    const clock = virtualClock();
    const ran: string[] = [];
    const cancelA = clock.schedule(() => ran.push('a'), 10);
    const cancelB = clock.schedule(() => ran.push('b'), 10);
    clock.schedule(() => ran.push('c'), 10);
    cancelB();
    cancelB();
    await clock.advance(10);
    cancelA();
    expect(ran).toEqual(['a', 'c']);
    expect(clock.pending).toBe(0);
  });

  test('a task cancels another that is due at the same time', async () => {
    const clock = virtualClock();
    const ran: string[] = [];
    let cancelSecond = () => {};
    clock.schedule(() => cancelSecond(), 10);
    cancelSecond = clock.schedule(() => ran.push('second'), 10);
    await clock.advance(10);
    expect(ran).toEqual([]);
  });

  test('a delay beyond 2^31 ms is kept to the millisecond', async () => {
    const clock = virtualClock();
    const task = vi.fn();
    clock.schedule(task, 2 ** 33);
    await clock.advance(2 ** 33 - 1);
    expect(task).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(task).toHaveBeenCalledOnce();
  });

  test('overlapping advances run one after the other', async () => {
    const clock = virtualClock();
    const ran: number[] = [];
    for (const at of [5, 10, 15]) clock.schedule(() => ran.push(clock.now()), at);
    await Promise.all([clock.advance(10), clock.advance(10)]);
    expect(ran).toEqual([5, 10, 15]);
    expect(clock.now()).toBe(20);
  });

  test('a task that throws rejects the advance, stops time there and leaves the clock usable', async () => {
    const clock = virtualClock();
    const later = vi.fn();
    clock.schedule(() => {
      throw new Error('boom');
    }, 10);
    clock.schedule(later, 20);
    await expect(clock.advance(50)).rejects.toThrow('boom');
    expect([clock.now(), later.mock.calls.length]).toEqual([10, 0]);
    await clock.advance(10);
    expect(later).toHaveBeenCalledOnce();
  });

  test('time never goes back', async () => {
    const clock = virtualClock(3);
    await expect(clock.advance(-1)).rejects.toThrow('not by -1');
    await expect(clock.advance(Number.NaN)).rejects.toThrow('0 ms or more');
    expect(clock.now()).toBe(3);
  });
});
