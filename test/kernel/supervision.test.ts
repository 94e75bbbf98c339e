import { describe, expect, test } from 'vitest';
import type { ChildSupervision } from '../../src/contracts/index.js';
import { decideAfterFailure, siblingsToRestart } from '../../src/kernel/supervision.js';

const decide = (child: ChildSupervision | undefined, restarts: number[] = [], sideEffects = false) =>
  decideAfterFailure({ child, restarts, now: 10_000, sideEffects });

describe('after a failure', () => {
  test('a child is restarted only where that is configured', () => {
    const escalated = { kind: 'escalate', because: 'not_configured' };
    expect(decide(undefined)).toEqual(escalated);
    expect(decide({})).toEqual(escalated);
    expect(decide({ restart: 'never' })).toEqual(escalated);
    expect(decide({ restart: 'sometimes' })).toEqual(escalated);
    expect(decide({ restart: 'on_failure' })).toEqual({ kind: 'restart', delayMs: 0 });
  });

  test('a child that has done something is not run again', () => {
    expect(decide({ restart: 'on_failure', maxRestarts: 5 }, [], true)).toEqual({
      kind: 'escalate',
      because: 'side_effects',
    });
  });

  test('once by default, then maxRestarts times', () => {
    expect(decide({ restart: 'on_failure' }, [1])).toEqual({ kind: 'escalate', because: 'limit' });
    expect(decide({ restart: 'on_failure', maxRestarts: 0 })).toEqual({ kind: 'escalate', because: 'limit' });
    expect(decide({ restart: 'on_failure', maxRestarts: 3 }, [1, 2]).kind).toBe('restart');
    expect(decide({ restart: 'on_failure', maxRestarts: 3 }, [1, 2, 3]).kind).toBe('escalate');
    expect(decide({ restart: 'on_failure', maxRestarts: Number.NaN }).kind).toBe('escalate');
  });

  test('only restarts within the window count, its beginning excluded', () => {
    const child: ChildSupervision = { restart: 'on_failure', maxRestarts: 2, withinMs: 1_000 };
    expect(decide(child, [1, 2, 3, 9_000, 9_500]).kind).toBe('restart');
    expect(decide(child, [9_999, 9_001, 3]).kind).toBe('escalate');
  });

  test('a restart waits for backoffMs', () => {
    expect(decide({ restart: 'on_failure', backoffMs: 250 })).toEqual({ kind: 'restart', delayMs: 250 });
    expect(decide({ restart: 'on_failure', backoffMs: -1 })).toEqual({ kind: 'restart', delayMs: 0 });
  });
});

describe('the siblings', () => {
  const sibling = (index: number, fields: { live?: boolean; sideEffects?: boolean } = {}) => ({
    threadId: `c_${index}`,
    index,
    live: true,
    sideEffects: false,
    ...fields,
  });
  const failed = sibling(2, { live: false });
  const all = [
    sibling(4),
    sibling(1),
    failed,
    sibling(3, { sideEffects: true }),
    sibling(5, { live: false }),
    sibling(6),
  ];
  const touched = (strategy: string | undefined) =>
    siblingsToRestart(strategy, failed, all).map(({ threadId }) => threadId);

  test('one_for_one touches none, which is the default and what an unknown strategy does', () => {
    for (const strategy of ['one_for_one', undefined, 'something']) expect(touched(strategy)).toEqual([]);
  });

  test('one_for_all touches the live ones without side effects, in spawn order', () => {
    expect(touched('one_for_all')).toEqual(['c_1', 'c_4', 'c_6']);
  });

  test('rest_for_one touches those of them that come after the one that failed', () => {
    expect(touched('rest_for_one')).toEqual(['c_4', 'c_6']);
  });

  test('the one that failed is never its own sibling, and the list is left alone', () => {
    const frozen = Object.freeze([sibling(2), sibling(1)]);
    expect(siblingsToRestart('one_for_all', failed, frozen).map(({ threadId }) => threadId)).toEqual(['c_1']);
  });
});
