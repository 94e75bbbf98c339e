import { describe, expect, test } from 'vitest';
import type { AgentEvent, SessionHandle, SessionProvider } from '../../src/contracts/index.js';
import { agent, parallel, sequential } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import { compositionCases, executorCases, mockSession, storeCases, withSkips } from '../../src/testing/index.js';

test('skips are told apart from what runs, each with its reason', () => {
  const cases = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
  expect(withSkips(cases, [{ case: 'b', reason: 'it cannot' }])).toEqual({
    run: [{ name: 'a' }, { name: 'c' }],
    skipped: [{ name: 'b', reason: 'it cannot' }],
  });
});

test('a skip that names no case, gives no reason or comes twice is a fault; all are told', () => {
  const skips = [
    { case: 'z', reason: 'gone' },
    { case: 'a', reason: ' ' },
    { case: 'a', reason: 'again' },
  ];
  expect(() => withSkips([{ name: 'a' }], skips)).toThrow('no case "z"; no reason to skip "a"; "a" is skipped twice');
});

test.each([
  ['executorCases', executorCases],
  ['compositionCases', compositionCases],
  ['storeCases', storeCases],
])('%s are plain data with names of their own', (_, cases) => {
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  for (const one of cases) expect(Object.keys(one).sort()).toEqual(['name', 'run']);
});

/** Names of the cases that an implementation does not pass. */
async function failing<Make>(cases: readonly { name: string; run(make: Make): Promise<void> }[], make: Make) {
  const failed: string[] = [];
  for (const one of cases) await one.run(make).catch(() => failed.push(one.name));
  return failed;
}

describe('the cases find what is wrong with', () => {
  test('an executor that says nothing', async () => {
    const mute = () => ({ turn: async () => ({ reason: 'completed' }) });
    const passed = executorCases.length - (await failing(executorCases, mute)).length;
    // Nothing is left of it, and a signal that has fired keeps it silent: so far it does as it should.
    expect(passed).toBeLessThanOrEqual(2);
  });

  test('an executor that does not heed its signal', async () => {
    const deaf = () => ({ turn: () => new Promise<never>(() => {}) });
    const impatient = executorCases.filter(({ name }) => name.startsWith('stops within'));
    expect(impatient).toHaveLength(1);
    for (const one of impatient) {
      await expect(one.run(deaf, { host: { limits: { abortTimeoutMs: 20 } } })).rejects.toThrow();
    }
  });

  test('a session that goes on before its calls are answered', async () => {
    const hasty = () => {
      let said = false;
      return mockSession(function* (data) {
        if (data.kind === 'message') {
          yield { type: 'message', messageId: 'm', role: 'agent', content: [{ type: 'text', text: 'done' }] };
          yield { type: 'tool_request', requestId: 'c1', name: 'look', args: {}, messageId: 'm', index: 1 };
        } else if (!said) {
          said = true;
          yield { type: 'stream_end', reason: 'completed' };
        }
      });
    };
    expect(await failing(executorCases, hasty)).toContain(
      'the calls of a turn are all answered before the agent goes on',
    );
  });

  test('a composition that fails, and an agent that is none', async () => {
    const nobody = () => sequential({ name: 'team', children: [agent({ name: 'stranger' })] });
    expect((await failing(compositionCases, nobody)).length).toBeGreaterThan(5);
    const flat = ([first]: readonly ReturnType<typeof agent>[]) => first as never;
    const quick = compositionCases.filter(({ name }) => !/abort/.test(name));
    expect(await failing(quick, flat as never)).toEqual(
      expect.arrayContaining([
        'it is plain data to whoever reads it',
        'it runs its children in threads of their own and ends once, completed',
        'each message runs it anew, and ordinals go on',
      ]),
    );
    const good = (children: readonly unknown[]) => parallel({ name: 'team', children: children as never });
    expect(await failing(compositionCases, good as never)).toEqual([]);
  });

  const broken = (change: (handle: SessionHandle) => Partial<SessionHandle>) => (): SessionProvider => {
    const store = memoryStore();
    const wrap = (handle: SessionHandle) => Object.assign(Object.create(handle), change(handle)) as SessionHandle;
    return {
      ...store,
      create: async (...args) => wrap(await store.create(...args)),
      load: async (id) => wrap(await store.load(id)),
    };
  };

  test('a store that loses events', async () => {
    const forgetful = broken((handle) => ({
      append: (event: AgentEvent) => (event.seq === 2 ? undefined : handle.append(event)),
    }));
    expect(await failing(storeCases, forgetful)).toContain('what was appended is read back, event by event, unchanged');
  });

  test('a store that keeps an event twice', async () => {
    let copies = 0;
    const doubling = broken((handle) => ({
      append: (event: AgentEvent) => handle.append({ ...event, id: `${event.id}-${++copies}` }),
    }));
    expect(await failing(storeCases, doubling)).toContain(
      'an event that is appended twice is stored once, side by side too',
    );
  });

  test('a store without manners', async () => {
    const lax = (): SessionProvider => {
      const store = memoryStore();
      return {
        ...store,
        create: (name, { id: _, ...metadata } = {}) => store.create(name, metadata),
        delete: () => {},
        list: (name) => store.list(name),
      };
    };
    const failed = await failing(storeCases, lax);
    expect(failed).toEqual(
      expect.arrayContaining([
        'an unknown session is SESSION_NOT_FOUND, to load and to delete',
        'an id that exists is refused with SESSION_EXISTS, and what it holds stays',
        'the list is newest first, with names, times and counts, scoped by agent, application and user',
        'a deleted session is gone; its id can be used anew, empty',
      ]),
    );
  });
});
