import { expect, test } from 'vitest';
import { agent, createHost, sequential, type ToolDefinition, tool } from '../../src/index.js';
import { type ScriptEntry, scriptedModel } from '../../src/testing/index.js';
import { collect, deferred, ofType } from '../support/team.js';
import { calls, textOf } from './tool-desk.js';

async function runWithState(own: ToolDefinition[], script: ScriptEntry[]) {
  const host = createHost({ models: { scripted: scriptedModel([...script, { text: 'done' }]) } });
  const team = sequential({
    name: 'team',
    state: { log: { initial: [], reducer: 'append' }, last: { initial: 'start' }, sum: { reducer: 'sum' } },
    children: [agent({ name: 'desk', tools: own })],
  });
  const run = host.run(team, 'go');
  const events = await collect(run);
  await host.close();
  return {
    events,
    responses: ofType(events, 'tool_response'),
    // Of the agent's own thread; its parent tells again what came of it.
    updates: ofType(events, 'session_update').filter(({ threadId }) => threadId === 'desk_1'),
    result: await run.result,
  };
}

const writes = (name: string, wait?: Promise<unknown>, after: () => void = () => {}) =>
  tool({
    name,
    description: name,
    annotations: { readOnly: true },
    async execute(_, { state }) {
      state.set('log', [name]);
      state.set('last', name);
      await wait;
      after();
      return JSON.stringify([state.get('log'), state.get('last')]);
    },
  });

test('writes count in call order, however the calls finish (B018)', async () => {
  const gate = deferred();
  const { updates, responses } = await runWithState(
    [writes('slow', gate.promise), writes('fast', undefined, () => setImmediate(gate.resolve))],
    [calls('slow', 'fast')],
  );
  expect(responses.map(({ name }) => name)).toEqual(['desk.fast', 'desk.slow']);
  expect(updates.map(({ stateDelta }) => stateDelta)).toEqual([
    { log: ['slow'], last: 'slow' },
    { log: ['slow', 'fast'], last: 'fast' },
  ]);
});

test('a call sees its own writes, not those of a call beside it; the next turn sees all', async () => {
  const { responses } = await runWithState(
    [
      writes('a'),
      writes('b'),
      tool({
        name: 'look',
        description: 'Looks.',
        annotations: { readOnly: true },
        execute: (_, { state }) => [state.get('log'), state.get('last'), state.get('sum')],
      }),
    ],
    [calls('a', 'b'), calls('look')],
  );
  expect(responses.map(textOf)).toEqual(['[["a"],"a"]', '[["b"],"b"]', '[["a","b"],"b",0]']);
});

test('what a call wrote that failed, was cut off or wrote nonsense counts for nothing', async () => {
  const fails = tool({
    name: 'fails',
    description: 'Fails.',
    annotations: { readOnly: true },
    execute(_, { state }) {
      state.set('last', 'half done');
      throw new Error('boom');
    },
  });
  const odd = (name: string, key: string, value: unknown) =>
    tool({
      name,
      description: name,
      annotations: { readOnly: true },
      execute: (_, { state }) => state.set(key, value),
    });
  const { responses, updates } = await runWithState(
    [fails, odd('unknown', 'lasst', 1), odd('nojson', 'last', () => 1), odd('misfit', 'sum', 'many')],
    [calls('fails', 'unknown', 'nojson', 'misfit')],
  );
  expect(updates).toEqual([]);
  expect(responses.every(({ isError }) => isError)).toBe(true);
  expect(responses.map(textOf).join('\n')).toContain('state key "lasst" is not declared (did you mean "last"?)');
});

test('writes after the call has its response go nowhere', async () => {
  const later = deferred();
  const late = tool({
    name: 'late',
    description: 'Late.',
    annotations: { readOnly: true },
    execute(_, { state }) {
      setImmediate(() => {
        state.set('last', 'too late');
        later.resolve();
      });
      return 'ok';
    },
  });
  const look = tool({
    name: 'look',
    description: 'Looks.',
    annotations: { readOnly: true },
    async execute(_, { state }) {
      await later.promise;
      return String(state.get('last'));
    },
  });
  const { responses, updates } = await runWithState([late, look], [calls('late'), calls('look')]);
  expect(responses.map(textOf)).toEqual(['ok', 'start']);
  expect(updates).toEqual([]);
});

test('keys of the prototype are no way in (B018)', async () => {
  const evil = tool({
    name: 'evil',
    description: 'Evil.',
    annotations: { readOnly: true },
    execute(_, { state }) {
      state.set('last', JSON.parse('{"__proto__":{"polluted":1},"ok":1}'));
      return 'ok';
    },
  });
  const { updates } = await runWithState([evil], [calls('evil')]);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  const value = updates[0]?.stateDelta?.last as object;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect((value as { polluted?: unknown }).polluted).toBeUndefined();
  expect(value).toMatchObject({ ok: 1 });
});
