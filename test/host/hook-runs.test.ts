import { expect, test } from 'vitest';
import type { ModelRequest } from '../../src/contracts/index.js';
import { agent, createHost, parallel, sequential, tool } from '../../src/index.js';
import { mockSession, scriptedModel } from '../../src/testing/index.js';
import { changes, errorsOf, guest, LOCAL_RUN, looker, only, runAll, says, watchAll } from '../support/hooks.js';
import { collect, ofType, textIn } from '../support/team.js';

test('on_user_message changes the message, for the log, the model and the run', async () => {
  const model = scriptedModel([{ text: 'ok' }]);
  const seen: unknown[] = [];
  const { events } = await runAll({
    models: { scripted: model },
    hooks: [
      ...only('on_user_message', () => changes({ content: [{ type: 'text', text: 'the number is ***' }] })),
      ...only('before_agent', (payload) => void seen.push((payload as { prompt: unknown }).prompt)),
    ],
  });
  expect(textIn(events, 'user')).toBe('the number is ***');
  expect(JSON.stringify(model.requests[0]?.messages)).toContain('***');
  expect(JSON.stringify(model.requests[0]?.messages)).not.toContain('go');
  expect(seen).toEqual([[{ type: 'text', text: 'the number is ***' }]]);
});

test('words for a running agent pass on_user_message too', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'look', args: {} }] }, { text: 'ok' }]);
  const host = createHost({
    models: { scripted: model },
    hooks: only('on_user_message', (payload) => {
      const text = JSON.stringify((payload as { content: unknown }).content);
      return text.includes('secret') ? changes({ content: [{ type: 'text', text: 'hidden' }] }) : undefined;
    }),
  });
  const run = host.run(looker, 'go');
  for await (const event of run) if (event.type === 'tool_request') run.steer({ message: 'the secret' });
  await host.close();
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('hidden');
  expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('the secret');
});

test('words for all agents of a team are seen by a hook once, and reach each of them as it left them', async () => {
  const asked: string[] = [];
  const model = scriptedModel((request: ModelRequest) =>
    request.messages.some(({ content }) => content.some(({ type }) => type === 'function_response'))
      ? { text: 'ok' }
      : { toolCalls: [{ name: 'look', args: {} }] },
  );
  const hooks = only('on_user_message', async (payload) => {
    const text = JSON.stringify((payload as { content: unknown }).content);
    if (!text.includes('secret')) return undefined;
    asked.push(text);
    await new Promise((resolve) => setImmediate(resolve));
    return changes({ content: [{ type: 'text', text: 'hidden' }] });
  });
  const host = createHost({ models: { scripted: model }, hooks });
  const look = tool({ name: 'look', description: '.', parameters: { type: 'object' }, execute: () => 'seen' });
  const tools = [look];
  const team = parallel({ name: 'team', children: [agent({ name: 'a', tools }), agent({ name: 'b', tools })] });
  const run = host.run(team, 'go');
  const asking: string[] = [];
  const heard: unknown[] = [];
  for await (const event of run) {
    if (event.type === 'elicitation_request' && asking.push(event.requestId) === 2) {
      run.steer({ message: 'the secret' }, { threadId: '*' });
      for (const requestId of asking) run.respond(requestId, { action: 'accept' });
    }
    if (event.type === 'message' && event._meta?.steered) heard.push([event.threadId, event.content]);
  }
  await host.close();
  expect(asked).toHaveLength(1);
  expect(heard.sort()).toEqual([
    ['a_1', [{ type: 'text', text: 'hidden' }]],
    ['b_2', [{ type: 'text', text: 'hidden' }]],
  ]);
  expect(JSON.stringify(model.requests)).not.toContain('the secret');
});

test.each(['session_start', 'on_user_message', 'before_run', 'before_agent', 'before_model', 'after_model'] as const)(
  'a block at %s ends the run failed, with its reason, and nothing of the answer gets out',
  async (point) => {
    const model = scriptedModel([{ text: 'a secret' }]);
    const { events, result } = await runAll({
      models: { scripted: model },
      hooks: only(point, () => ({ action: 'block', reason: 'not now' })),
    });
    expect(result).toMatchObject({ reason: 'failed', data: { code: 'HOOK_BLOCKED', message: 'not now' } });
    expect(errorsOf(events)).toEqual([['HOOK_BLOCKED', 'not now']]);
    expect(JSON.stringify(events)).not.toContain('a secret');
    expect(model.requests).toHaveLength(point === 'after_model' ? 1 : 0);
  },
);

test.each(['session_start', 'before_run', 'before_agent'] as const)(
  'context of %s stands in the conversation, behind the message',
  async (point) => {
    const model = scriptedModel([{ text: 'ok' }]);
    const { events } = await runAll({
      models: { scripted: model },
      hooks: only(point, () => changes({ additionalContext: 'it is Tuesday' })),
    });
    const said = model.requests[0]?.messages.flatMap(({ content }) => content);
    expect(said).toMatchObject([{ text: 'go' }, { text: 'it is Tuesday' }]);
    expect(textIn(events, 'developer')).toBe('it is Tuesday');
  },
);

test('context for a composition reaches every agent that it starts, and no other', async () => {
  const model = scriptedModel({ byAgent: { one: [{ text: '1' }], two: [{ text: '2' }] } });
  const inner = sequential({ name: 'inner', children: [agent({ name: 'two' })] });
  const team = sequential({ name: 'team', children: [agent({ name: 'one' }), inner] });
  await runAll(
    {
      models: { scripted: model },
      hooks: [
        ...only('session_start', () => changes({ additionalContext: 'for all' })),
        ...only('before_agent', (payload) => {
          const { principalPath } = payload as { principalPath: string };
          return principalPath === 'team/inner' ? changes({ additionalContext: 'for the inner' }) : undefined;
        }),
      ],
    },
    team,
  );
  const told = (request: ModelRequest | undefined) => JSON.stringify(request?.messages);
  expect(told(model.requests[0])).toContain('for all');
  expect(told(model.requests[0])).not.toContain('for the inner');
  expect(told(model.requests[1])).toMatch(/for all.*for the inner/);
});

test.each(['before_run', 'before_agent'] as const)('%s answers in the place of the agent', async (point) => {
  const watch = watchAll({ [point]: () => changes({ response: 'from the hook' }) });
  const { events, result } = await runAll({ models: { scripted: scriptedModel([]) }, hooks: watch.hooks });
  expect(result).toMatchObject({ ok: true, text: 'from the hook' });
  expect(textIn(events)).toBe('from the hook');
  const asked = LOCAL_RUN.slice(0, LOCAL_RUN.indexOf(point) + 1);
  expect(watch.points()).toEqual([...asked, 'after_run', 'session_end']);
});

test('an answer of a hook is held to the output schema', async () => {
  const typed = agent({
    name: 'typed',
    outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  });
  const answer = (response: string) =>
    runAll(
      { models: { scripted: scriptedModel([]) }, hooks: only('before_agent', () => changes({ response })) },
      typed,
    );
  expect((await answer('{"n":1}')).result).toMatchObject({ ok: true, result: { n: 1 } });
  expect((await answer('one')).result).toMatchObject({ reason: 'failed', data: { code: 'OUTPUT_INVALID' } });
});

test('after_agent sends its reason back once; the second time the hook is told so, and the answer stands', async () => {
  const model = scriptedModel([{ text: 'first' }, { text: 'second' }]);
  const active: unknown[] = [];
  const { events, result } = await runAll({
    models: { scripted: model },
    hooks: only('after_agent', (payload) => {
      active.push((payload as { stopHookActive: boolean }).stopHookActive);
      return { action: 'block', reason: 'name your sources' };
    }),
  });
  expect(active).toEqual([false, true]);
  expect(result.text).toBe('second');
  expect(model.requests.at(-1)?.messages.at(-1)?.content).toMatchObject([{ text: 'name your sources' }]);
  expect(ofType(events, 'stream_end')).toHaveLength(1);
});

test('after_agent sends an agent back that ended by a tool, and a child as well', async () => {
  const typed = agent({ name: 'typed', outputSchema: { type: 'object', properties: { n: { type: 'number' } } } });
  const done = (n: number) => ({ toolCalls: [{ name: 'complete_task', args: { n } }] });
  let asked = 0;
  const { result } = await runAll(
    {
      models: { scripted: scriptedModel([done(1), done(2)]) },
      hooks: only('after_agent', (payload) => {
        const { principalPath } = payload as { principalPath: string };
        if (principalPath !== 'team/typed') return undefined;
        return asked++ === 0 ? { action: 'block', reason: 'higher' } : undefined;
      }),
    },
    sequential({ name: 'team', children: [typed] }),
  );
  expect(asked).toBe(2);
  expect(result.result).toEqual({ n: 2 });
});

test('a foreign session is sent back like any other', async () => {
  const asked: unknown[] = [];
  const host = createHost({
    hooks: only('after_agent', (payload) => {
      const { stopHookActive } = payload as { stopHookActive: boolean };
      return stopHookActive ? undefined : { action: 'block', reason: 'again' };
    }),
  });
  host.registerExecutor('foreign', () =>
    mockSession(function* (data) {
      asked.push(data.kind === 'message' ? data.content : data.kind);
      yield says(`answer ${asked.length}`) as never;
      yield { type: 'stream_end', reason: 'completed' } as never;
    }),
  );
  const run = host.run(guest, 'go');
  await collect(run);
  expect((await run.result).text).toBe('answer 2');
  expect(asked).toEqual([[{ type: 'text', text: 'go' }], [{ type: 'text', text: 'again' }]]);
  await host.close();
});

test('a composition cannot be sent back: that is told, and its result stands', async () => {
  const team = sequential({ name: 'team', children: [agent({ name: 'one' })] });
  const { events, result } = await runAll(
    {
      models: { scripted: scriptedModel([{ text: 'fine' }]) },
      hooks: only('after_agent', (payload) =>
        (payload as { principalPath: string }).principalPath === 'team' ? { action: 'block', reason: 'no' } : undefined,
      ),
    },
    team,
  );
  expect(result.text).toBe('fine');
  expect(ofType(events, 'custom').map(({ data }) => data)).toMatchObject([{ code: 'HOOK_NOT_APPLIED' }]);
});

test('after_agent clears the context: the next run begins anew, and session_start is told why', async () => {
  const model = scriptedModel([{ text: 'one' }, { text: 'two' }]);
  const sources: unknown[] = [];
  const host = createHost({
    models: { scripted: model },
    hooks: [
      ...only('after_agent', () => changes({ clearContext: true })),
      ...only('session_start', (payload) => void sources.push((payload as { source: string }).source)),
    ],
  });
  const session = host.session(agent({ name: 'a' }));
  for (const content of ['first', 'second']) {
    for await (const _ of session.stream({ kind: 'message', content }).stream);
  }
  await session.close();
  expect(model.requests[1]?.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'second' }] }]);
  expect(sources).toEqual(['startup', 'clear']);
  await host.close();
});

test('what was cleared is not there either when the session is taken up again, as resumed', async () => {
  const model = scriptedModel([{ text: 'one' }, { text: 'two' }]);
  const watch = watchAll({ after_agent: () => changes({ clearContext: true }) });
  const host = createHost({ models: { scripted: model }, hooks: watch.hooks });
  const one = agent({ name: 'a' });
  await host.run(one, 'first', { sessionId: 's' }).result;
  await host.run(one, 'second', { sessionId: 's' }).result;
  expect(model.requests[1]?.messages).toHaveLength(1);
  expect(watch.at('session_start').map(({ payload }) => payload.source)).toEqual(['startup', 'resume']);
  expect(watch.at('session_end')).toHaveLength(2);
  await host.close();
});
