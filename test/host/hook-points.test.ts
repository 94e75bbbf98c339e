import { expect, test } from 'vitest';
import type { AgentEvent, AgentSession, HookPoint, HookResult, ModelRequest } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  defineHook,
  type HostOptions,
  hierarchical,
  loop,
  parallel,
  sequential,
  tool,
} from '../../src/index.js';
import { HOOK_POINTS } from '../../src/kernel/hook-points.js';
import { mockSession, scriptedModel } from '../../src/testing/index.js';
import { collect, ofType, settle, textIn } from '../support/team.js';

type Fired = {
  point: HookPoint;
  threadId: string | undefined;
  principalPath: string;
  payload: Record<string, unknown>;
};

/** A hook at every point that notes what it was told, and what `says` says. */
function watchAll(says: Partial<Record<HookPoint, (payload: never) => unknown>> = {}) {
  const fired: Fired[] = [];
  const hooks = HOOK_POINTS.filter((point) => point !== 'on_event').map((point) =>
    defineHook(point, ((payload: Record<string, unknown>) => {
      const { threadId, principalPath } = payload as unknown as Fired;
      fired.push({ point, threadId, principalPath, payload });
      return says[point]?.(payload as never);
    }) as never),
  );
  const at = (point: HookPoint) => fired.filter((one) => one.point === point);
  return { hooks, fired, at, points: () => fired.map(({ point }) => point) };
}

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const looker = agent({ name: 'looker', tools: [look] });
const script = () => scriptedModel([{ toolCalls: [{ name: 'look', args: { at: 'x' } }] }, { text: 'done' }]);

const LOCAL_RUN = [
  ...['session_start', 'on_user_message', 'before_run', 'before_agent'],
  ...['before_model', 'before_tool_selection', 'after_model', 'before_tool', 'after_tool'],
  ...['before_model', 'before_tool_selection', 'after_model'],
  ...['after_agent', 'after_run', 'session_end'],
];

async function runAll(options: HostOptions, team: Parameters<ReturnType<typeof createHost>['run']>[0] = looker) {
  const host = createHost(options);
  const run = host.run(team, 'go');
  const events = await collect(run);
  const result = await run.result;
  await host.close();
  return { events, result };
}

test('every point of a run fires, in order, each told where it is', async () => {
  const watch = watchAll();
  const { result } = await runAll({ models: { scripted: script() }, hooks: watch.hooks });
  expect(result.text).toBe('done');
  expect(watch.points()).toEqual(LOCAL_RUN);
  for (const { payload } of watch.fired) {
    expect(payload).toMatchObject({ sessionId: result.sessionId, principalPath: 'looker', mode: 'default' });
  }
  const told = (point: HookPoint) => watch.at(point)[0]?.payload;
  expect(told('session_start')).toMatchObject({ source: 'startup' });
  expect(told('on_user_message')).toMatchObject({ content: [{ type: 'text', text: 'go' }] });
  expect(told('before_run')).toMatchObject({ prompt: [{ type: 'text', text: 'go' }] });
  expect(told('before_agent')).toMatchObject({ prompt: [{ type: 'text', text: 'go' }] });
  expect(told('after_model')).toMatchObject({ response: { toolCalls: [{ name: 'look' }] } });
  expect(told('before_tool')).toMatchObject({ tool: 'looker.look', args: { at: 'x' } });
  expect(told('after_tool')).toMatchObject({ tool: 'looker.look', result: { llmContent: [{ text: 'seen' }] } });
  expect(told('after_agent')).toMatchObject({
    prompt: [{ type: 'text', text: 'go' }],
    response: 'done',
    stopHookActive: false,
  });
  expect(told('after_run')).toMatchObject({ reason: 'completed', result: 'done' });
  expect(told('session_end')).toMatchObject({ reason: 'completed' });
});

test('the points of an agent fire as often for a child as for a root (B146)', async () => {
  const watch = watchAll();
  const team = sequential({ name: 'team', children: [looker] });
  await runAll({ models: { scripted: script() }, hooks: watch.hooks }, team);
  const ofChild = watch.fired.filter(({ threadId }) => threadId === 'looker_1');
  expect(ofChild.map(({ point }) => point)).toEqual(LOCAL_RUN.slice(3, -2));
  expect(new Set(ofChild.map(({ principalPath }) => principalPath))).toEqual(new Set(['team/looker']));
  const ofTeam = watch.fired.filter(({ threadId }) => threadId === undefined).map(({ point }) => point);
  expect(ofTeam).toEqual([...LOCAL_RUN.slice(0, 4), 'after_agent', 'after_run', 'session_end']);
});

test.each([
  ['parallel', parallel({ name: 'team', children: [looker] })],
  ['loop', loop({ name: 'team', maxIterations: 1, children: [looker] })],
])('the same within %s', async (_, team) => {
  const watch = watchAll();
  await runAll({ models: { scripted: script() }, hooks: watch.hooks }, team);
  const ofChild = watch.fired.filter(({ threadId }) => threadId !== undefined);
  expect(ofChild.map(({ point }) => point)).toEqual(LOCAL_RUN.slice(3, -2));
});

test('a leader and the child that it calls each have their own', async () => {
  const watch = watchAll();
  const lead = hierarchical({ name: 'lead', agent: agent({ name: 'boss' }), children: [looker] });
  const model = scriptedModel({
    byAgent: {
      boss: [{ toolCalls: [{ name: 'looker', args: { prompt: 'look' } }] }, { text: 'all done' }],
      looker: [{ toolCalls: [{ name: 'look', args: { at: 'x' } }] }, { text: 'done' }],
    },
  });
  const { result } = await runAll({ models: { scripted: model }, hooks: watch.hooks }, lead);
  expect(result.text).toBe('all done');
  const pathsAt = (point: HookPoint) => watch.at(point).map(({ principalPath }) => principalPath);
  expect(pathsAt('before_agent')).toEqual(['lead', 'lead/looker']);
  expect(pathsAt('after_agent')).toEqual(['lead/looker', 'lead']);
  expect(pathsAt('before_tool')).toEqual(['lead', 'lead/looker']);
  expect(pathsAt('after_model')).toEqual(['lead', 'lead/looker', 'lead/looker', 'lead']);
});

const says = (text: string) => ({ type: 'message', messageId: 'm', role: 'agent', content: [{ type: 'text', text }] });

function foreign(): AgentSession {
  return mockSession(function* (data) {
    if (data.kind === 'message')
      yield {
        type: 'tool_request',
        requestId: 'a',
        name: 'look',
        args: { at: 'x' },
        messageId: 'm',
        index: 0,
      } as never;
    else {
      yield says('done') as never;
      yield { type: 'stream_end', reason: 'completed' } as never;
    }
  });
}

const guest = agent({
  name: 'looker',
  tools: [look],
  executor: 'foreign',
  capabilities: ['streaming', 'host_tool_execution'],
});
const MODEL_POINTS: readonly string[] = ['before_model', 'before_tool_selection', 'after_model'];

test.each([
  ['root', guest, undefined],
  ['child', sequential({ name: 'team', children: [guest] }), 'looker_1'],
])(
  'a foreign session as %s fires all that it does not keep to itself, and that is told once',
  async (_, team, threadId) => {
    const watch = watchAll();
    const host = createHost({ hooks: watch.hooks });
    host.registerExecutor('foreign', foreign);
    const run = host.run(team, 'go');
    const events = await collect(run);
    await host.close();
    expect((await run.result).text).toBe('done');
    const own = watch.fired.filter((one) => one.threadId === threadId && one.point !== 'notification');
    const expected = LOCAL_RUN.filter((point) => !MODEL_POINTS.includes(point));
    expect(own.map(({ point }) => point)).toEqual(threadId === undefined ? expected : expected.slice(3, -2));
    const notices = ofType(events, 'custom').filter(({ kind }) => kind === 'notice');
    expect(notices.map(({ data }) => data)).toEqual([
      {
        code: 'OPAQUE_AGENT',
        severity: 'warning',
        text: 'looker runs a model of its own: no hook is fired at before_model, before_tool_selection, after_model, on_model_error, pre_compress',
      },
    ]);
    expect(watch.at('notification')).toHaveLength(1);
  },
);

const only = (point: HookPoint, run: (payload: never) => unknown) => [defineHook(point, run as never)];
const changes = (modifications: object): HookResult => ({ action: 'proceed', modifications: modifications as never });
const errorsOf = (events: readonly AgentEvent[]) => ofType(events, 'error').map(({ code, message }) => [code, message]);

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

test('before_model changes the request or answers in its place; each hook sees what the one before made', async () => {
  const model = scriptedModel([{ text: 'ok' }]);
  const seen: unknown[] = [];
  const add = (text: string) =>
    only('before_model', (payload) => {
      const { request } = payload as { request: ModelRequest };
      seen.push(request.systemInstruction);
      return changes({ request: { ...request, systemInstruction: `${request.systemInstruction ?? ''}${text}` } });
    });
  await runAll({ models: { scripted: model }, hooks: [...add('a'), ...add('b')] }, agent({ name: 'x' }));
  expect(seen).toEqual([undefined, 'a']);
  expect(model.requests[0]?.systemInstruction).toBe('ab');
  const answered = await runAll({
    models: { scripted: scriptedModel([]) },
    hooks: only('before_model', () => changes({ response: { content: [{ type: 'text', text: 'cached' }] } })),
  });
  expect(answered.result.text).toBe('cached');
});

test('after_model changes the answer before anybody sees it; what the call used is counted', async () => {
  const model = scriptedModel([{ text: ['my ', 'number'], usage: { inputTokens: 3, outputTokens: 4 } }]);
  const { events, result } = await runAll({
    models: { scripted: model },
    hooks: only('after_model', (payload) => {
      const { response } = payload as { response: { content: unknown[] } };
      expect(response.content).toEqual([{ type: 'text', text: 'my number' }]);
      return changes({ response: { ...response, content: [{ type: 'text', text: 'my ***' }] } });
    }),
  });
  expect(result.text).toBe('my ***');
  expect(result.usage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
  expect(JSON.stringify(events)).not.toContain('number');
});

test('on_model_error answers for a model that failed for good', async () => {
  const failing = () => scriptedModel([{ error: { code: 'INVALID_ARGUMENT', message: 'too long' } }]);
  const seen: unknown[] = [];
  const { result } = await runAll({
    models: { scripted: failing() },
    hooks: only('on_model_error', (payload) => {
      seen.push((payload as { error: unknown }).error);
      return changes({ response: { content: [{ type: 'text', text: 'sorry' }] } });
    }),
  });
  expect(seen).toEqual([{ code: 'INVALID_ARGUMENT', message: 'too long', retryable: false }]);
  expect(result).toMatchObject({ ok: true, text: 'sorry' });
  const silent = await runAll({ models: { scripted: failing() }, hooks: only('on_model_error', () => undefined) });
  expect(silent.result).toMatchObject({ reason: 'failed', data: { code: 'INVALID_ARGUMENT' } });
});

test('before_tool_selection: the strictest mode and the union of what is allowed count, for the model and at the gate', async () => {
  const other = tool({
    name: 'other',
    description: 'o',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => 'o',
  });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'look', args: {} },
        { name: 'other', args: {} },
      ],
    },
    { text: 'ok' },
  ]);
  const { events } = await runAll(
    {
      models: { scripted: model },
      hooks: [
        ...only('before_tool_selection', () => changes({ toolMode: 'auto', allowedTools: ['looker.look'] })),
        ...only('before_tool_selection', (payload) => {
          expect((payload as { request: ModelRequest }).request.toolMode).toBe('auto');
          return changes({ toolMode: 'any', allowedTools: ['third'] });
        }),
        ...only('before_tool_selection', () => changes({ toolMode: 'auto' })),
      ],
    },
    agent({ name: 'looker', tools: [look, other] }),
  );
  expect(model.requests[0]).toMatchObject({ toolMode: 'any', allowedTools: ['look', 'third'] });
  expect(ofType(events, 'tool_response').map(({ name, errorType }) => [name, errorType])).toEqual([
    ['looker.other', 'policy_denied'],
    ['looker.look', undefined],
  ]);
});

test('tool mode none leaves no tool to be called', async () => {
  const { events } = await runAll({
    models: { scripted: script() },
    hooks: only('before_tool_selection', () => changes({ toolMode: 'none', allowedTools: ['look'] })),
  });
  expect(ofType(events, 'tool_response')).toMatchObject([{ errorType: 'policy_denied' }]);
});

test('on_tool_error puts a result in place of the error, which after_tool sees', async () => {
  const broken = tool({
    name: 'look',
    description: 'Looks.',
    annotations: { readOnly: true },
    parameters: { type: 'object' },
    execute: () => {
      throw new Error('boom');
    },
  });
  const seen: unknown[] = [];
  const { events } = await runAll(
    {
      models: { scripted: script() },
      hooks: [
        ...only('on_tool_error', (payload) => {
          seen.push((payload as { error: { errorType: string } }).error.errorType);
          return changes({ result: { llmContent: [{ type: 'text', text: 'from the cache' }] } });
        }),
        ...only(
          'after_tool',
          (payload) => void seen.push((payload as { result: { isError?: boolean } }).result.isError),
        ),
      ],
    },
    agent({ name: 'looker', tools: [broken] }),
  );
  expect(seen).toEqual(['execution_failed', undefined]);
  expect(ofType(events, 'tool_response')).toMatchObject([{ llmContent: [{ text: 'from the cache' }] }]);
});

test.each(
  HOOK_POINTS.filter(
    (point) => !['after_run', 'session_end', 'pre_compress', 'on_model_error', 'on_tool_error'].includes(point),
  ),
)('continue: false at %s ends the run aborted, with the reason', async (point) => {
  const { result } = await runAll(
    {
      models: { scripted: script() },
      hooks: only(point, () => ({ continue: false, stopReason: 'enough' })),
    },
    point === 'notification' ? noticing() : looker,
  );
  expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'enough', by: 'hook' } });
});

/** An agent that causes a notice in its first turn. */
function noticing() {
  return agent({
    name: 'looker',
    model: scriptedModel([{ error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: 1 } }, { text: 'ok' }]),
  });
}

test('a notice fires notification; hooks change or suppress it', async () => {
  const told: unknown[] = [];
  const run = (modifications: object) =>
    runAll(
      {
        hooks: only('notification', (payload) => {
          const { type, message, details } = payload as Record<string, unknown>;
          told.push([type, message, details]);
          return changes(modifications);
        }),
      },
      noticing(),
    );
  const noticesIn = (events: readonly AgentEvent[]) => ofType(events, 'custom').map(({ data }) => data);
  const changed = await run({ message: 'a moment' });
  expect(told).toEqual([['MODEL_RETRY', expect.stringContaining('busy'), { severity: 'info' }]]);
  expect(noticesIn(changed.events)).toEqual([{ code: 'MODEL_RETRY', severity: 'info', text: 'a moment' }]);
  expect(noticesIn((await run({ suppress: true })).events)).toEqual([]);
});

test('a notification hook that fails is told, once, and the notice is shown', async () => {
  const { events } = await runAll(
    {
      hooks: only('notification', () => {
        throw new Error('boom');
      }),
    },
    noticing(),
  );
  expect(ofType(events, 'custom').map(({ data }) => (data as { code: string }).code)).toEqual([
    'HOOK_FAILED',
    'MODEL_RETRY',
  ]);
});

test.each([
  ['at once', (said: unknown) => said],
  ['later', async (said: unknown) => said],
])(
  'on_event hooks that answer %s change what is shown and logged, in order, never where it stands',
  async (_, answer) => {
    const model = scriptedModel([{ toolCalls: [{ name: 'look', args: {} }] }, { text: ['sec', 'ret'] }]);
    const types: string[] = [];
    const { events, result } = await runAll({
      models: { scripted: model },
      hooks: only('on_event', (payload) => {
        const { event } = payload as { event: AgentEvent };
        types.push(event.type);
        if (event.type !== 'message' || event.role !== 'agent') return answer(undefined);
        const change = { id: 'x', seq: 1, threadId: 'y', type: 'custom', content: [{ type: 'text', text: '*' }] };
        return answer(changes({ event: change }));
      }),
    });
    expect(types).toEqual(events.map(({ type }) => type));
    expect(textIn(events)).toBe('**');
    expect(events.map(({ seq }) => seq)).toEqual([...events.map(({ seq }) => seq)].sort((a, b) => a - b));
    expect(events.at(-1)?.type).toBe('stream_end');
    expect(result.reason).toBe('completed');
  },
);

test('what on_event made of an answer is what the model is reminded of', async () => {
  const model = scriptedModel([{ text: 'secret', toolCalls: [{ name: 'look', args: {} }] }, { text: 'ok' }]);
  await runAll({
    models: { scripted: model },
    hooks: only('on_event', async (payload) => {
      const { event } = payload as { event: AgentEvent };
      return event.type === 'message' && event.role === 'agent'
        ? changes({ event: { content: [{ type: 'text', text: '***' }] } })
        : undefined;
    }),
  });
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('***');
  expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('secret');
});

test('an on_event hook that always fails is told once, behind the event', async () => {
  const { events } = await runAll({
    models: { scripted: script() },
    hooks: only('on_event', () => {
      throw new Error('boom');
    }),
  });
  expect(ofType(events, 'custom').map(({ data }) => data)).toMatchObject([
    { code: 'HOOK_FAILED', text: 'on_event: the hook failed: boom' },
  ]);
  expect(events[0]?.type).toBe('initialize');
});

test('pre_compress can be fired in the name of a thread, and suppresses', async () => {
  const said: unknown[] = [];
  const host = createHost({ hooks: only('pre_compress', () => changes({ suppress: true })) });
  host.registerExecutor('compacting', () => ({
    async turn(_, context) {
      said.push((await context.fireHook('pre_compress', { trigger: 'manual' }))?.modifications);
      return { reason: 'completed' };
    },
  }));
  await host.run(agent({ name: 'a', executor: 'compacting' }), 'go').result;
  expect(said).toEqual([{ suppress: true }]);
  await host.close();
});

test('a hook that hangs does not hold a run that is aborted', async () => {
  for (const point of ['session_start', 'on_user_message', 'before_run', 'before_agent', 'after_agent'] as const) {
    const host = createHost({
      models: { scripted: script() },
      hooks: only(point, () => new Promise(() => {})),
      limits: { abortTimeoutMs: 20 },
    });
    const run = host.run(looker, 'go');
    const events = collect(run);
    await settle();
    run.abort('enough');
    expect(await run.result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
    expect(ofType(await events, 'message')[0]?.role).toBe('user');
    await host.close();
  }
});

test('hooks that only watch run at the same time, and what they say is shown in their order', async () => {
  let others = 0;
  const meeting = (name: string) =>
    defineHook('after_run', async () => {
      others++;
      while (others < 2) await new Promise<void>((resolve) => setImmediate(resolve));
      return { action: 'proceed', systemMessage: name };
    });
  const { events } = await runAll({ models: { scripted: script() }, hooks: [meeting('one'), meeting('two')] });
  expect(ofType(events, 'custom')).toMatchObject([{ kind: 'hook_message', data: { text: 'one\ntwo' } }]);
  expect(events.at(-1)?.type).toBe('stream_end');
});

test('suppressOutput hides what a hook says to the person', async () => {
  const { events } = await runAll({
    models: { scripted: script() },
    hooks: only('before_agent', () => ({ action: 'proceed', systemMessage: 'psst', suppressOutput: true })),
  });
  expect(JSON.stringify(events)).not.toContain('psst');
});

test('a hook at a point that nobody fires is refused by name', () => {
  expect(() => createHost({ hooks: [{ point: 'before_tol' as never, run: () => undefined }] })).toThrow(
    /no hook point "before_tol" \(did you mean "before_tool"/,
  );
});
