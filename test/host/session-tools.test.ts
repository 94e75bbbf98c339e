import { expect, test, vi } from 'vitest';
import type { ToolSession } from '../../src/contracts/index.js';
import { agent, createHost, memoryStore, sequential, type TroupeError, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';
import { calls, textOf } from './tool-desk.js';

const readOnly = { readOnly: true };
const say = (name: string, text: string) =>
  tool({ name, description: name, annotations: readOnly, execute: () => text });
const models = (...lines: string[][]) => ({
  scripted: scriptedModel(lines.flatMap((names) => [calls(...names), { text: 'done' }])),
});
const answersOf = async (run: ReturnType<ReturnType<typeof createHost>['run']>) =>
  ofType(await collect(run), 'tool_response').map(textOf);

test('a function makes a tool for each session', async () => {
  const made = vi.fn(({ sessionId, userId, appName }: ToolSession) => say('who', `${sessionId} ${userId} ${appName}`));
  await using host = createHost({ models: models(['who'], ['who']), tools: [made], appName: 'desk' });
  const desk = agent({ name: 'desk', tools: ['who'] });
  expect(await answersOf(host.run(desk, 'go', { sessionId: 'one', userId: 'ann' }))).toEqual(['one ann desk']);
  expect(await answersOf(host.run(desk, 'go', { sessionId: 'two' }))).toEqual(['two local desk']);
  expect(made).toHaveBeenCalledTimes(2);
});

test('a session goes on for its own user only, and so do its tools', async () => {
  const store = memoryStore();
  const made = vi.fn(({ userId }: ToolSession) => say('who', userId));
  const desk = agent({ name: 'desk', tools: ['who'] });
  {
    await using host = createHost({ models: models(['who']), tools: [made], store });
    expect(await answersOf(host.run(desk, 'go', { sessionId: 'one', userId: 'ann' }))).toEqual(['ann']);
  }
  await using host = createHost({ models: models(['who'], ['who']), tools: [made], store });
  const refused = (userId?: string) =>
    host.run(desk, 'go', { sessionId: 'one', ...(userId !== undefined && { userId }) }).result.catch((e) => e);
  for (const userId of ['bob', undefined])
    expect(await refused(userId)).toMatchObject({
      code: 'SESSION_NOT_FOUND',
      message: expect.stringContaining(`user "${userId ?? 'local'}" has no session "one"`),
    });
  expect(await answersOf(host.run(desk, 'go', { sessionId: 'one', userId: 'ann' }))).toEqual(['ann']);
  const resumed = await host.resume('one', { agent: desk });
  expect((await resumed.result).ok).toBe(true);
  expect(made.mock.lastCall?.[0].userId).toBe('ann');
  await using plain = createHost({ models: models(['who']), tools: [say('who', 'nobody')], store });
  expect(await plain.run(desk, 'go', { sessionId: 'one', userId: 'bob' }).result.catch((e) => e.code)).toBe(
    'SESSION_NOT_FOUND',
  );
  expect(await answersOf(plain.run(desk, 'go', { sessionId: 'one' }))).toEqual(['nobody']);
});

test('a toolset has tools for each session, shared by its whole team, and is closed with it, once', async () => {
  const log: string[] = [];
  const counter = {
    tools({ sessionId }: ToolSession) {
      let count = 0;
      log.push(`open ${sessionId}`);
      return [
        tool({ name: 'count', description: '.', annotations: readOnly, execute: () => `${sessionId} ${++count}` }),
        say('other', 'x'),
      ];
    },
    async close({ sessionId }: ToolSession) {
      await undefined;
      log.push(`close ${sessionId}`);
    },
  };
  const host = createHost({ models: models(['count'], ['count'], ['count']), tools: [counter, say('shared', 'y')] });
  const team = sequential({
    name: 'team',
    children: [agent({ name: 'a', tools: ['count'] }), agent({ name: 'b', tools: ['count', 'shared'] })],
  });
  expect(await answersOf(host.run(team, 'go', { sessionId: 'one' }))).toEqual(['one 1', 'one 2']);
  expect(await answersOf(host.run(agent({ name: 'c', tools: ['count'] }), 'go', { sessionId: 'two' }))).toEqual([
    'two 1',
  ]);
  await host.close();
  expect(log.filter((line) => line.startsWith('open'))).toEqual(['open one', 'open two']);
  expect(log.filter((line) => line.startsWith('close')).sort()).toEqual(['close one', 'close two']);
});

test('a session that stands keeps its tools from run to run', async () => {
  const open = vi.fn(() => {
    let count = 0;
    return [tool({ name: 'count', description: '.', annotations: readOnly, execute: () => String(++count) })];
  });
  const close = vi.fn();
  const host = createHost({ models: models(['count'], ['count']), tools: [{ tools: open, close }] });
  const session = host.session(agent({ name: 'desk', tools: ['count'] }));
  const said: string[] = [];
  for (let turn = 0; turn < 2; turn++) {
    for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) {
      if (event.type === 'tool_response') said.push(textOf(event));
    }
  }
  expect(said).toEqual(['1', '2']);
  expect(close).not.toHaveBeenCalled();
  await session.close();
  await host.close();
  expect([open.mock.calls.length, close.mock.calls.length]).toEqual([1, 1]);
});

test('they are policed by their names like any other tool', async () => {
  const execute = vi.fn();
  const drop = () => tool({ name: 'drop', description: '.', execute });
  await using host = createHost({
    models: models(['drop']),
    tools: [drop],
    policy: [{ rules: [{ toolName: 'drop', decision: 'deny' }] }],
  });
  const run = host.run(agent({ name: 'desk', tools: ['drop'] }), 'go');
  expect(ofType(await collect(run), 'tool_response')).toMatchObject([{ errorType: 'policy_denied' }]);
  expect(execute).not.toHaveBeenCalled();
});

test('what cannot be made is refused at the call, and what was opened for it is closed', async () => {
  const close = vi.fn();
  const opened = { tools: () => [say('fine', 'x')], close };
  const refusal = (bad: unknown): TroupeError => {
    const host = createHost({ tools: [opened, bad as never, say('taken', 'y')] });
    try {
      host.run(agent({ name: 'desk' }), 'go');
    } catch (thrown) {
      return thrown as TroupeError;
    }
    throw new Error('it was taken');
  };
  const faults: [unknown, string][] = [
    [
      () => {
        throw new Error('no connection');
      },
      'no connection',
    ],
    [() => undefined, 'a function gives one tool'],
    [() => Promise.resolve(say('late', 'x')), 'at once'],
    [() => say('taken', 'x'), 'two named "taken"'],
    [() => say('fine', 'x'), 'two named "fine"'],
    [{ tools: () => 'none' }, 'a function gives one tool'],
  ];
  for (const [bad, text] of faults) {
    expect(refusal(bad)).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining(text) });
  }
  expect(close).toHaveBeenCalledTimes(faults.length);
});

test('a run on a session that is open elsewhere is refused, and takes no tools away from it', async () => {
  const close = vi.fn();
  const host = createHost({ models: models(['fine']), tools: [{ tools: () => [say('fine', 'x')], close }] });
  const desk = agent({ name: 'desk', tools: ['fine'] });
  const run = host.run(desk, 'go', { sessionId: 'one' });
  let code: unknown;
  try {
    host.run(desk, 'go', { sessionId: 'one' });
  } catch (thrown) {
    code = (thrown as TroupeError).code;
  }
  expect(code).toBe('SESSION_BUSY');
  expect(close).not.toHaveBeenCalled();
  expect(await answersOf(run)).toEqual(['x']);
  await host.close();
  expect(close).toHaveBeenCalledTimes(1);
});

test('an agent may have its own as well: policed by its name, closed with the session', async () => {
  const close = vi.fn();
  const own = {
    tools: ({ sessionId }: ToolSession) => [say('who', sessionId)],
    close,
  };
  const inner = agent({ name: 'inner', tools: [own, () => say('hi', 'there'), 'shared'] });
  const host = createHost({ models: models(['who', 'hi', 'shared'], ['who']), tools: [say('shared', 'y')] });
  const team = sequential({ name: 'team', children: [inner] });
  const events = await collect(host.run(team, 'go', { sessionId: 'one' }));
  const responses = ofType(events, 'tool_response');
  expect(responses.map(({ name }) => name).sort()).toEqual(['inner.hi', 'inner.who', 'shared']);
  expect(responses.map(textOf).sort()).toEqual(['one', 'there', 'y']);
  expect(await answersOf(host.run(team, 'go', { sessionId: 'two' }))).toEqual(['two']);
  await host.close();
  expect(close.mock.calls.map(([session]) => session.sessionId).sort()).toEqual(['one', 'two']);
  const broken = agent({ name: 'broken', tools: [() => undefined as never] });
  await using other = createHost();
  expect(() => other.run(broken, 'go')).toThrow(/the tools of a session cannot be made/);
});
