import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { agent, createHost, parallel, type Run, type TroupeError, tool } from '../../src/index.js';
import { scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, ofType, settle } from '../support/team.js';
import { calls, runDesk, textOf, told } from './tool-desk.js';

const write = (execute = vi.fn((_args: unknown) => 'written')) =>
  tool({ name: 'write', description: 'Writes.', parameters: z.object({ path: z.string() }), execute });
const script = [calls(['write', { path: 'a' }])];

test('what policy asks about runs only once a person has accepted (B031)', async () => {
  const order: string[] = [];
  const states: string[] = [];
  const { events } = await runDesk({
    own: [
      write(
        vi.fn(() => {
          order.push('execute');
          return 'written';
        }),
      ),
    ],
    script,
    onEvent(event, run) {
      if (event.type === 'elicitation_request') {
        states.push(run.state().root.type);
        void settle(50).then(() => {
          states.push(run.state().root.type);
          order.push('answer');
          run.respond(event.requestId, { action: 'accept' });
        });
      }
      if (event.type === 'elicitation_response') order.push('response');
    },
  });
  expect(order).toEqual(['answer', 'response', 'execute']);
  expect(states).toEqual(['awaiting_elicitation', 'awaiting_elicitation']);
  expect(events.filter((event) => event.type === 'tool_update').map(({ status }) => status)).toEqual([
    'awaiting_approval',
    'executing',
  ]);
});

test('the question says who, what and why', async () => {
  const shown = tool({
    name: 'save',
    description: 'Saves.',
    parameters: z.object({ path: z.string() }),
    annotations: { category: 'edit' },
    describe: ({ path }) => ({ title: `Save ${path}`, locations: [{ path }] }),
    execute: () => 'ok',
  });
  const { questions } = await runDesk({
    own: [shown],
    host: { policy: [{ rules: [{ toolName: 'desk.save', decision: 'ask_user' }], file: 'policy.toml' }] },
    script: [calls(['save', { path: 'a' }])],
    answer: { action: 'accept' },
  });
  expect(questions).toMatchObject([
    {
      kind: 'tool_confirmation',
      message: 'desk wants to run desk.save',
      title: 'Save a',
      context: {
        toolRequestId: 'k1',
        tool: 'desk.save',
        args: { path: 'a' },
        principalPath: 'desk',
        actionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        kind: 'edit',
        rule: 'policy.toml[0]',
        locations: [{ path: 'a' }],
      },
      requestedSchema: { properties: { outcome: { default: 'proceed_once' } } },
    },
  ]);
});

test.each([
  ['decline', { action: 'decline' }, 'declined: desk.write was not run (by the user)'],
  ['decline with a reason', { action: 'decline', content: { reason: 'too risky' } }, '(by the user: too risky)'],
  ['cancel', { action: 'cancel' }, 'declined: desk.write was not run (the question got no answer)'],
  ['accept with the outcome cancel', { action: 'accept', content: { outcome: 'cancel' } }, '(by the user)'],
])('after %s nothing runs and the model is told (B030)', async (_, answer, text) => {
  const execute = vi.fn();
  const { responses, model } = await runDesk({ own: [write(execute)], script, answer });
  expect(execute).not.toHaveBeenCalled();
  expect(responses).toMatchObject([{ isError: true, errorType: 'declined' }]);
  expect(textOf(responses[0])).toContain(text);
  expect(told(model)).toMatchObject([{ response: { error: expect.stringContaining('declined') } }]);
});

test.each([
  ['an outcome of no known kind', { action: 'accept', content: { outcome: 'forever' } }, 'outcome'],
  ['an outcome that is not offered', { action: 'accept', content: { outcome: 'proceed_always_server' } }, 'outcome'],
  ['"modify" with nothing changed', { action: 'accept', content: { outcome: 'modify' } }, 'needs modifiedArgs'],
  ['changed arguments that are none', { action: 'accept', content: { modifiedArgs: 'b' } }, 'modifiedArgs'],
])('%s is refused, and the question stays open', async (_, answer, text) => {
  const execute = vi.fn((_args: unknown) => 'written');
  const refusals: TroupeError[] = [];
  const { events } = await runDesk({
    own: [write(execute)],
    script,
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      try {
        run.respond(event.requestId, answer);
      } catch (thrown) {
        refusals.push(thrown as TroupeError);
      }
      expect(run.state().pending).toMatchObject([{ requestId: event.requestId }]);
      run.respond(event.requestId, { action: 'accept' });
    },
  });
  expect(refusals).toMatchObject([{ code: 'INVALID_ANSWER', message: expect.stringContaining(text) }]);
  expect(ofType(events, 'elicitation_response')).toMatchObject([{ action: 'accept' }]);
  expect(execute).toHaveBeenCalledTimes(1);
});

test('a question that expires is a cancel, and nothing runs (B030)', async () => {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const execute = vi.fn();
  const asker = tool({
    name: 'asker',
    description: 'Asks.',
    annotations: { readOnly: true },
    async execute(_, context) {
      const answer = await context.elicit({ message: 'go on?', expiresAt: new Date(clock.now() + 60_000) });
      if (answer.action === 'accept') execute();
      return answer.action;
    },
  });
  const { responses, questions, events } = await runDesk({
    own: [asker],
    host: { clock },
    script: [calls('asker')],
    onEvent: (event) => event.type === 'elicitation_request' && void clock.advance(60_000),
  });
  expect(execute).not.toHaveBeenCalled();
  expect(questions).toMatchObject([{ expiresAt: '2026-01-01T00:01:00.000Z' }]);
  expect(ofType(events, 'elicitation_response')).toMatchObject([
    { action: 'cancel', source: 'host', timestamp: '2026-01-01T00:01:00.000Z' },
  ]);
  expect(textOf(responses[0])).toBe('cancel');
  expect(clock.pending).toBe(0);
});

test('a call that waits for approval and one that is free: both answers reach the model in call order, each once (B010)', async () => {
  const remove = vi.fn(() => 'removed');
  const list = vi.fn(() => 'listed');
  const { model } = await runDesk({
    own: [
      tool({ name: 'delete', description: 'Deletes.', execute: remove }),
      tool({ name: 'list', description: 'Lists.', annotations: { readOnly: true }, execute: list }),
    ],
    script: [calls('delete', 'list')],
    // Only once the free one is through.
    onEvent(event, run) {
      if (event.type !== 'tool_response' || event.name !== 'desk.list') return;
      run.respond(run.state().pending[0]?.requestId as string, { action: 'accept' });
    },
  });
  expect(told(model)).toEqual([
    { id: 'k1', name: 'delete', response: { output: 'removed' } },
    { id: 'k2', name: 'list', response: { output: 'listed' } },
  ]);
  expect([remove.mock.calls.length, list.mock.calls.length]).toEqual([1, 1]);
});

test('an abort cancels the questions that are open; late answers are refused (B035)', async () => {
  const execute = vi.fn();
  const late: unknown[] = [];
  const { events, responses, result } = await runDesk({
    own: [write(execute)],
    script: [calls(['write', { path: 'a' }], ['write', { path: 'b' }], ['write', { path: 'c' }])],
    onEvent(event, run) {
      const open = run.state().pending.map(({ requestId }) => requestId);
      if (event.type === 'elicitation_request' && open.length === 3) {
        run.respond(open[0] as string, { action: 'decline' });
      }
      if (event.type !== 'tool_response' || event.errorType !== 'declined') return;
      run.abort('enough');
      for (const requestId of open) {
        try {
          run.respond(requestId, { action: 'accept' });
        } catch (thrown) {
          late.push((thrown as TroupeError).code);
        }
      }
    },
  });
  expect(execute).not.toHaveBeenCalled();
  expect(late).toEqual(['UNKNOWN_REQUEST', 'UNKNOWN_REQUEST']);
  expect(ofType(events, 'elicitation_response').map(({ action, source }) => [action, source])).toEqual([
    ['decline', 'user'],
    ['cancel', 'host'],
    ['cancel', 'host'],
  ]);
  expect(responses.map(({ errorType }) => errorType).sort()).toEqual(['cancelled', 'cancelled', 'declined']);
  expect(result.reason).toBe('aborted');
});

test('changed arguments are validated and judged again, and are what runs', async () => {
  const execute = vi.fn((_args: unknown) => 'written');
  const modified = (path: unknown) => ({ action: 'accept', content: { outcome: 'modify', modifiedArgs: { path } } });
  const judged: unknown[] = [];
  const policy = [
    {
      evaluate({ args }: { args?: unknown }) {
        judged.push(args);
        return (args as { path: string }).path === '/etc/passwd'
          ? ({ outcome: 'deny', reason: 'system file' } as const)
          : ({ outcome: 'ask_user' } as const);
      },
    },
  ];
  const good = await runDesk({ own: [write(execute)], host: { policy }, script, answer: modified('b') });
  expect(execute.mock.calls.map(([args]) => args)).toEqual([{ path: 'b' }]);
  expect(judged).toEqual([{ path: 'a' }, { path: 'b' }]);
  expect(good.questions).toHaveLength(1);
  const unfit = await runDesk({ own: [write(execute)], host: { policy }, script, answer: modified(7) });
  expect(unfit.responses).toMatchObject([{ errorType: 'invalid_tool_params' }]);
  const denied = await runDesk({ own: [write(execute)], host: { policy }, script, answer: modified('/etc/passwd') });
  expect(denied.responses).toMatchObject([{ errorType: 'policy_denied' }]);
  expect(textOf(denied.responses[0])).toBe('denied: desk.write: system file');
  expect(execute).toHaveBeenCalledTimes(1);
});

test('who answers cannot change the arguments afterwards', async () => {
  const execute = vi.fn((_args: unknown) => 'written');
  const modifiedArgs = { path: 'b' };
  await runDesk({
    own: [write(execute)],
    script,
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      (event.context?.args as { path: string }).path = '/etc/passwd';
      run.respond(event.requestId, { action: 'accept', content: { modifiedArgs } });
      modifiedArgs.path = '/etc/shadow';
    },
  });
  expect(execute.mock.calls.map(([args]) => args)).toEqual([{ path: 'b' }]);
});

test('a deny that came while the question was open stands, whatever the answer', async () => {
  const execute = vi.fn();
  const { responses } = await runDesk({
    own: [write(execute)],
    script,
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      run.update({ permissionMode: 'plan' });
      run.respond(event.requestId, { action: 'accept' });
    },
  });
  expect(execute).not.toHaveBeenCalled();
  expect(responses).toMatchObject([{ errorType: 'policy_denied' }]);
});

const pathOf = ({ context = {} }: { context?: Record<string, unknown> }) => (context.args as { path?: string }).path;
const turns = [
  calls(['write', { path: 'a' }]),
  calls(['write', { path: 'a' }]),
  calls(['write', { path: 'b' }]),
  calls('other'),
];
const other = tool({ name: 'other', description: 'Other.', execute: () => 'ok' });

test.each([
  ['proceed_once', ['a', 'a', 'b', undefined]],
  ['proceed_always', ['a', 'b', undefined]],
  ['proceed_always_tool', ['a', undefined]],
])('%s: asked about %j', async (outcome, asked) => {
  const { questions } = await runDesk({
    own: [write(), other],
    script: turns,
    answer: { action: 'accept', content: { outcome } },
  });
  expect(questions.map(pathOf)).toEqual(asked);
});

test('"always" is for the action as it runs, with what was changed in it, and only once it was let through', async () => {
  const { questions } = await runDesk({
    own: [write()],
    script: [calls(['write', { path: 'a' }]), calls(['write', { path: 'b' }]), calls(['write', { path: 'a' }])],
    answer: (question) => ({
      action: 'accept',
      content: {
        outcome: 'proceed_always',
        ...(pathOf(question) === 'a' && { modifiedArgs: { path: 'b' } }),
      },
    }),
  });
  expect(questions.map(({ context }) => context?.args)).toEqual([{ path: 'a' }, { path: 'a' }]);
});

test('"always" holds for the principal path that asked, not for a neighbour with the same tool', async () => {
  const host = createHost({
    models: {
      scripted: scriptedModel({
        byAgent: {
          left: [calls('save'), calls('save'), { text: 'L' }],
          right: [calls('save'), { text: 'R' }],
        },
      }),
    },
    tools: [tool({ name: 'save', description: 'Saves.', execute: () => 'saved' })],
  });
  const child = (name: string) => agent({ name, tools: ['save'] });
  const run = host.run(parallel({ name: 'team', children: [child('left'), child('right')], concurrency: 1 }), 'go');
  const asked: unknown[] = [];
  const events = await collect(
    (async function* () {
      for await (const event of run) {
        if (event.type === 'elicitation_request') {
          asked.push(event.context?.principalPath);
          run.respond(event.requestId, { action: 'accept', content: { outcome: 'proceed_always_tool' } });
        }
        yield event;
      }
    })(),
  );
  expect(asked.sort()).toEqual(['team/left', 'team/right']);
  expect(ofType(events, 'tool_response')).toHaveLength(3);
  await host.close();
});

test('"always" never lifts a deny, and ends with its session', async () => {
  const execute = vi.fn(() => 'written');
  let denies = false;
  const { responses, questions } = await runDesk({
    own: [write(execute)],
    host: { policy: [{ evaluate: () => (denies ? { outcome: 'deny', reason: 'closed' } : { outcome: 'ask_user' }) }] },
    script: [calls(['write', { path: 'a' }]), calls(['write', { path: 'a' }])],
    onEvent(event, run) {
      if (event.type === 'tool_response') denies = true;
      if (event.type === 'elicitation_request') {
        run.respond(event.requestId, { action: 'accept', content: { outcome: 'proceed_always_tool' } });
      }
    },
  });
  // The second call is judged after the first has its answer.
  expect(questions).toHaveLength(1);
  expect(execute.mock.calls.length + responses.filter(({ errorType }) => errorType === 'policy_denied').length).toBe(2);
  const again = await runDesk({ own: [write(execute)], script, answer: { action: 'accept' } });
  expect(again.questions).toHaveLength(1);
});

test('dont_ask denies what would ask, without a question', async () => {
  const execute = vi.fn();
  const { responses, questions } = await runDesk({
    own: [write(execute)],
    script,
    run: { permissionMode: 'dont_ask' },
  });
  expect(questions).toEqual([]);
  expect(execute).not.toHaveBeenCalled();
  expect(textOf(responses[0])).toBe('denied: desk.write would need approval, and this mode asks nobody');
  expect(responses).toMatchObject([{ errorType: 'policy_denied' }]);
});

test.each([
  ['auto_edit', 1],
  ['autonomous', 1],
  ['acceptEdits', 1],
  ['default', 0],
])('in mode %s an edit runs %i times without a question', async (permissionMode, times) => {
  const execute = vi.fn(() => 'ok');
  await runDesk({
    own: [tool({ name: 'edit', description: 'Edits.', annotations: { category: 'edit' }, execute })],
    script: [calls('edit')],
    run: { permissionMode },
    answer: { action: 'decline' },
  });
  expect(execute).toHaveBeenCalledTimes(times);
});

test('with nobody to ask, what would ask is denied at once and says why', async () => {
  const execute = vi.fn();
  const { responses, questions } = await runDesk({
    own: [write(execute)],
    host: { elicitation: 'deny' },
    script,
  });
  expect(questions).toEqual([]);
  expect(execute).not.toHaveBeenCalled();
  expect(responses).toMatchObject([{ errorType: 'policy_denied' }]);
  expect(textOf(responses[0])).toBe(
    'denied: desk.write needs approval, and there is nobody to ask (elicitation is off)',
  );
});

test('a question that arises while nobody iterates or observes is denied', async () => {
  const execute = vi.fn();
  const model = scriptedModel([...script, { text: 'done' }]);
  const host = createHost({ models: { scripted: model } });
  const { reason } = await host.run(agent({ name: 'desk', tools: [write(execute)] }), 'go').result;
  expect(reason).toBe('completed');
  expect(execute).not.toHaveBeenCalled();
  expect(told(model)).toMatchObject([
    { response: { error: expect.stringContaining('nobody iterates or observes this run') } },
  ]);
  await host.close();
});

test('a callback answers; its signal fires when the question is withdrawn', async () => {
  const execute = vi.fn(() => 'written');
  const asked: unknown[] = [];
  const answered = await runDesk({
    own: [write(execute)],
    host: {
      elicitation: async (request) => {
        asked.push([request.kind, request.agentId, request.threadId]);
        return { action: 'accept' };
      },
    },
    script,
  });
  expect(asked).toEqual([['tool_confirmation', 'desk', undefined]]);
  expect(execute).toHaveBeenCalledTimes(1);
  expect(answered.questions).toHaveLength(1);
  let fired: AbortSignal | undefined;
  const withdrawn = await runDesk({
    own: [write(execute)],
    host: {
      elicitation: (_, { signal }) => {
        fired = signal;
        return new Promise(() => {});
      },
    },
    script,
    onEvent: (event, run) => event.type === 'elicitation_request' && setImmediate(() => run.abort()),
  });
  expect(withdrawn.result.reason).toBe('aborted');
  expect(fired?.aborted).toBe(true);
});

test.each([
  ['throws', () => Promise.reject(new Error('no terminal')), 'no terminal'],
  ['answers nonsense', () => 'yes' as never, 'an answer is'],
  ['answers with content that does not fit', () => ({ action: 'accept', content: { outcome: 7 } }), '/outcome must be'],
])('a callback that %s is a cancel, and is told', async (_, elicitation, text) => {
  const execute = vi.fn();
  const { responses, events } = await runDesk({ own: [write(execute)], host: { elicitation }, script });
  expect(execute).not.toHaveBeenCalled();
  expect(responses).toMatchObject([{ errorType: 'declined' }]);
  expect(ofType(events, 'custom')).toMatchObject([
    { data: { code: 'ELICITATION_FAILED', text: expect.stringContaining(text) } },
  ]);
  expect(JSON.stringify(events)).not.toContain('stays open');
});

test('a bad answer is refused with everything that is wrong, the question stays open, a good one is taken (B175)', async () => {
  const execute = vi.fn(() => 'written');
  const refused: string[] = [];
  const { questions } = await runDesk({
    own: [write(execute)],
    script,
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      for (const content of [{ outcome: 'sure' }, { modifiedArgs: 'x' }, { outcome: 7, modifiedArgs: [] }]) {
        try {
          run.respond(event.requestId, { action: 'accept', content });
        } catch (thrown) {
          refused.push(`${(thrown as TroupeError).code}: ${(thrown as Error).message}`);
        }
      }
      expect(run.state().pending).toHaveLength(1);
      run.respond(event.requestId, { action: 'accept' });
    },
  });
  expect(questions).toHaveLength(1);
  expect(refused).toHaveLength(3);
  expect(refused[0]).toMatch(/^INVALID_ANSWER: .*\/outcome must be .*stays open$/);
  expect(refused[2]).toMatch(/\/outcome.*\/modifiedArgs/);
  expect(execute).toHaveBeenCalledTimes(1);
});

test('questions of several calls have ids of their own; each answer reaches the call that asked (B005)', async () => {
  const ran: unknown[] = [];
  const both: string[] = [];
  const naming = (name: string) =>
    tool({
      name,
      description: name,
      annotations: { readOnly: true },
      async execute(_, { elicit }) {
        const { content } = await elicit({ message: name, requestedSchema: z.object({ value: z.string() }) });
        ran.push([name, content?.value]);
        return String(content?.value);
      },
    });
  const { responses } = await runDesk({
    own: [naming('a'), naming('b')],
    script: [calls('a', 'b')],
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      both.push(event.requestId);
      if (both.length < 2) return;
      const pending = run.state().pending;
      run.respond(both[1] as string, { action: 'accept', content: { value: 'B' } });
      run.respond(both[0] as string, { action: 'accept', content: { value: 'A' } });
      expect(pending.map(({ requestId }) => requestId)).toEqual(both);
    },
  });
  expect(new Set(both).size).toBe(2);
  expect(responses.map((response) => [response.name, textOf(response)]).sort()).toEqual([
    ['desk.a', 'A'],
    ['desk.b', 'B'],
  ]);
});

test('a tool may raise allow to a question, with its reason, and never lower one', async () => {
  const execute = vi.fn(() => 'ok');
  const seen: unknown[] = [];
  const careful = (name: string, raised: boolean | string) =>
    tool({
      name,
      description: name,
      parameters: z.object({ n: z.number().default(1) }),
      annotations: { readOnly: true },
      confirm(args, context) {
        seen.push([args, context.agentId]);
        return raised;
      },
      execute,
    });
  const { questions } = await runDesk({
    own: [careful('always', true), careful('why', 'it costs money'), careful('never', false), write(execute)],
    script: [calls('always', 'why', 'never', ['write', { path: 'a' }])],
    answer: { action: 'accept' },
  });
  expect(questions.map(({ message }) => message).sort()).toEqual([
    'desk wants to run desk.always',
    'desk wants to run desk.write',
    'it costs money',
  ]);
  expect(seen[0]).toEqual([{ n: 1 }, 'desk']);
  expect(execute).toHaveBeenCalledTimes(4);
});

test('a tool whose confirm fails does not run', async () => {
  const execute = vi.fn();
  const broken = tool({
    name: 'broken',
    description: 'Broken.',
    annotations: { readOnly: true },
    confirm: () => {
      throw new Error('boom');
    },
    execute,
  });
  const { responses } = await runDesk({ own: [broken], script: [calls('broken')] });
  expect(execute).not.toHaveBeenCalled();
  expect(textOf(responses[0])).toBe('denied: the check of desk.broken failed: boom');
});

test('a bare session pauses while only a person can move it, and goes on with the answer', async () => {
  const host = createHost({ models: { scripted: scriptedModel([...script, { text: 'done' }]) } });
  const execute = vi.fn(() => 'written');
  const session = host.session(agent({ name: 'desk', tools: [write(execute)] }));
  const first = [];
  for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) first.push(event);
  expect(first.at(-1)?.type).toBe('elicitation_request');
  const state = session.state();
  expect(state.type).toBe('awaiting_elicitation');
  const requestId = state.type === 'awaiting_elicitation' ? (state.pending[0]?.requestId as string) : '';
  const second = [];
  const answer = { kind: 'elicitation_response', requestId, response: { action: 'accept' } } as const;
  for await (const event of session.stream(answer).stream) second.push(event);
  expect(second.map(({ type }) => type)).toContain('tool_response');
  expect(second.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  expect(execute).toHaveBeenCalledTimes(1);
  await session.close();
  await host.close();
});

test.each([
  ['an evaluator', { policy: [{ evaluate: () => new Promise<never>(() => {}) }] }],
  ['a hook', { hooks: [{ point: 'before_tool' as const, run: () => new Promise<never>(() => {}) }] }],
  ['an after hook', { hooks: [{ point: 'after_tool' as const, run: () => new Promise<never>(() => {}) }] }],
])('%s that never settles does not hang an abort, nor the next run of the session', async (_, options) => {
  const host = createHost({
    ...options,
    clock: virtualClock(),
    models: { scripted: scriptedModel([calls('look'), { text: 'second' }, calls('ask'), { text: 'third' }]) },
  });
  const look = tool({ name: 'look', description: 'Looks.', annotations: { readOnly: true }, execute: () => 'seen' });
  const session = host.session(agent({ name: 'desk', tools: [look, 'ask_user'] }));
  const first = session.stream({ kind: 'message', content: 'go' });
  const events = [];
  for await (const event of first.stream) {
    events.push(event);
    if (event.type === 'tool_request') setImmediate(() => first.controller.abort('enough'));
  }
  expect(events.slice(-2)).toMatchObject([
    { type: 'tool_response', errorType: 'cancelled' },
    { type: 'stream_end', reason: 'aborted' },
  ]);
  const second = [];
  for await (const event of session.stream({ kind: 'message', content: 'again' }).stream) second.push(event);
  expect(second.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  await session.close();
  await host.close();
});

test('one call that waits for approval can be cancelled alone; its question is withdrawn', async () => {
  const execute = vi.fn(() => 'written');
  let theRun: Run | undefined;
  const { events, responses, result } = await runDesk({
    own: [write(execute)],
    script: [calls(['write', { path: 'a' }], ['write', { path: 'b' }])],
    onEvent(event, run) {
      theRun = run;
      if (event.type !== 'elicitation_request') return;
      if (event.context?.toolRequestId === 'k1') run.abort('not this one', { requestId: 'k1' });
      else run.respond(event.requestId, { action: 'accept' });
    },
  });
  await settle();
  expect(theRun?.state().pending).toEqual([]);
  expect(responses.find(({ requestId }) => requestId === 'k1')).toMatchObject({ errorType: 'cancelled' });
  expect(textOf(responses.find(({ requestId }) => requestId === 'k1'))).toBe('cancelled: not this one');
  const answers = ofType(events, 'elicitation_response');
  expect(answers.map(({ action, source }) => [action, source]).sort()).toEqual([
    ['accept', 'user'],
    ['cancel', 'host'],
  ]);
  expect(execute).toHaveBeenCalledTimes(1);
  expect(result.reason).toBe('completed');
});
