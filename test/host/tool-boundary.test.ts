import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { HookPayload, HookResult } from '../../src/contracts/index.js';
import { agent, createHost, defineHook, type Run, sequential, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { calls, runDesk, textOf, told } from './tool-desk.js';

const parameters = z.object({ path: z.string(), depth: z.number().optional() });
const spy = () => vi.fn((_args: unknown) => 'ran');
const read = (execute = spy()) =>
  tool({ name: 'read', description: 'Reads.', parameters, annotations: { readOnly: true }, execute });

test('a call runs through to its result, and the model sees it', async () => {
  const execute = spy();
  const { responses, model, events } = await runDesk({
    own: [read(execute)],
    script: [calls(['read', { path: 'a' }])],
  });
  expect(execute).toHaveBeenCalledTimes(1);
  expect(execute.mock.calls[0]?.[0]).toEqual({ path: 'a' });
  expect(responses).toMatchObject([{ requestId: 'k1', name: 'desk.read' }]);
  expect(responses[0]).not.toHaveProperty('isError');
  expect(told(model)).toEqual([{ id: 'k1', name: 'read', response: { output: 'ran' } }]);
  const stages = events.flatMap((event) => (event.type === 'tool_update' ? [event.status] : []));
  expect(stages).toEqual(['executing']);
});

test('an unknown tool is answered with the nearest ones that the agent has', async () => {
  const { responses, model } = await runDesk({ own: [read()], script: [calls(['raed', {}], ['launch_rocket', {}])] });
  expect(responses).toMatchObject([
    { name: 'raed', isError: true, errorType: 'tool_not_registered' },
    { name: 'launch_rocket', isError: true, errorType: 'tool_not_registered' },
  ]);
  expect(responses.map(textOf)).toEqual([
    'no tool "raed"; did you mean read?',
    'no tool "launch_rocket"; available: read',
  ]);
  expect(told(model)[0]).toMatchObject({ response: { error: 'no tool "raed"; did you mean read?' } });
});

test('a tool that policy hides is neither shown nor suggested, and a call of it is denied', async () => {
  const execute = spy();
  const { responses, model } = await runDesk({
    own: [read(execute), tool({ name: 'shell', description: 'Runs.', execute: spy() })],
    host: { policy: [{ rules: [{ toolName: 'desk.read', decision: 'deny', denyMessage: 'not in here' }] }] },
    script: [calls(['read', 42], 'rea')],
  });
  expect(model.requests[0]?.tools?.map((one) => one.name)).toEqual(['shell']);
  expect(execute).not.toHaveBeenCalled();
  const [denied, unknown] = ['k1', 'k2'].map((id) => responses.find(({ requestId }) => requestId === id));
  expect(denied).toMatchObject({ isError: true, errorType: 'policy_denied' });
  expect(textOf(denied)).toBe('denied: desk.read: not in here');
  expect(textOf(unknown)).toBe('no tool "rea"; available: shell');
});

test('a change of mode shows at the next turn: plan mode hides what may change things', async () => {
  let current: Run | undefined;
  const plan = tool({
    name: 'plan',
    description: 'Plans.',
    annotations: { readOnly: true },
    execute: () => current?.update({ permissionMode: 'plan' }),
  });
  const { model } = await runDesk({
    own: [plan, tool({ name: 'write', description: 'Writes.', execute: spy() })],
    script: [calls('plan')],
    onEvent: (_, run) => {
      current = run;
    },
  });
  expect(model.requests.map((request) => request.tools?.map((one) => one.name))).toEqual([
    ['plan', 'write'],
    ['plan', 'exit_plan_mode'],
  ]);
});

test('arguments that do not fit go back with everything that is wrong, and nothing runs', async () => {
  const execute = spy();
  const { responses } = await runDesk({
    own: [read(execute)],
    script: [calls(['read', { path: 1, depth: 'deep' }], ['read', {}], ['read', []])],
  });
  expect(execute).not.toHaveBeenCalled();
  for (const response of responses) expect(response).toMatchObject({ isError: true, errorType: 'invalid_tool_params' });
  expect(textOf(responses[0])).toMatch(/^the arguments of desk\.read do not fit: /);
  expect(textOf(responses[0])).toContain('/path must be string');
  expect(textOf(responses[0])).toContain('/depth must be number');
  expect(textOf(responses[1])).toContain("must have required property 'path'");
  expect(textOf(responses[2])).toContain('must be object');
});

test("a validator's own issues go back too, and its output is what the tool gets", async () => {
  const execute = spy();
  const even = tool({
    name: 'even',
    description: 'Even.',
    parameters: z.object({ n: z.number().refine((n) => n % 2 === 0, 'must be even'), unit: z.string().default('px') }),
    annotations: { readOnly: true },
    execute,
  });
  const { responses } = await runDesk({ own: [even], script: [calls(['even', { n: 3 }], ['even', { n: 4 }])] });
  expect(textOf(responses.find(({ requestId }) => requestId === 'k1'))).toBe(
    'the arguments of desk.even do not fit: /n must be even',
  );
  expect(execute.mock.calls.map(([args]) => args)).toEqual([{ n: 4, unit: 'px' }]);
});

test('arguments that could not be read never run, and are told (B096)', async () => {
  const execute = spy();
  const { responses } = await runDesk({
    own: [tool({ name: 'free', description: 'Takes anything.', annotations: { readOnly: true }, execute })],
    script: [{ toolCalls: [{ name: 'free', args: {}, brokenArgs: '{"path":"a' }] }],
  });
  expect(execute).not.toHaveBeenCalled();
  expect(responses).toMatchObject([{ isError: true, errorType: 'invalid_tool_params' }]);
  expect(textOf(responses[0])).toBe('the arguments are no JSON: {"path":"a');
});

test.each([
  ['an empty text', ''],
  ['blanks', '  \n'],
  ['nothing', undefined],
  ['null', null],
])('arguments that are %s are none (B095)', async (_, args) => {
  const execute = spy();
  const { events } = await runDesk({
    own: [tool({ name: 'free', description: 'Takes nothing.', annotations: { readOnly: true }, execute })],
    script: [calls(['free', args])],
  });
  expect(execute.mock.calls.map(([given]) => given)).toEqual([{}]);
  expect(events.find((event) => event.type === 'tool_request')).toMatchObject({ args: {} });
});

test('arguments that are no JSON do not run', async () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const execute = spy();
  const { responses } = await runDesk({
    own: [tool({ name: 'free', description: 'Takes anything.', annotations: { readOnly: true }, execute })],
    script: [calls(['free', cycle])],
  });
  expect(execute).not.toHaveBeenCalled();
  expect(responses).toMatchObject([{ errorType: 'invalid_tool_params' }]);
});

test('a tool that works on its arguments changes neither the event nor what the model is shown', async () => {
  const spoil = tool({
    name: 'spoil',
    description: 'Spoils.',
    parameters: { type: 'object', properties: { list: { type: 'array' } } },
    annotations: { readOnly: true },
    execute(args) {
      (args as { list: unknown[] }).list.push('spoilt');
      return 'ok';
    },
  });
  const { events, model } = await runDesk({ own: [spoil], script: [calls(['spoil', { list: [1] }])] });
  expect(events.find((event) => event.type === 'tool_request')).toMatchObject({ args: { list: [1] } });
  const said = model.requests.at(-1)?.messages.flatMap((message) => message.content);
  expect(said?.find((part) => part.type === 'function_call')).toMatchObject({ args: { list: [1] } });
});

const beforeTool = (run: (payload: { tool: string; args: unknown }) => HookResult | undefined) =>
  defineHook('before_tool', run as never);

test('hooks come after validation and before policy; what they change is validated and judged again (B145)', async () => {
  const seen: unknown[] = [];
  const execute = spy();
  const { responses } = await runDesk({
    own: [read(execute)],
    host: {
      hooks: [
        beforeTool(({ args }) => {
          seen.push(['hook', args]);
          return { action: 'proceed', modifications: { args: { path: 'b' } } };
        }),
        beforeTool(({ args }) => void seen.push(['hook', args])),
      ],
      policy: [
        {
          evaluate({ args }) {
            seen.push(['policy', args]);
            return { outcome: 'allow' };
          },
        },
      ],
    },
    script: [calls(['read', { path: 'a' }], ['read', { path: 7 }])],
  });
  expect(seen).toEqual([
    ['hook', { path: 'a' }],
    ['hook', { path: 'b' }],
    ['policy', { path: 'b' }],
  ]);
  expect(execute.mock.calls.map(([args]) => args)).toEqual([{ path: 'b' }]);
  expect(responses.find(({ requestId }) => requestId === 'k2')).toMatchObject({ errorType: 'invalid_tool_params' });
});

test('arguments that a hook made unfit are refused', async () => {
  const execute = spy();
  const { responses } = await runDesk({
    own: [read(execute)],
    host: { hooks: [beforeTool(() => ({ action: 'proceed', modifications: { args: { path: 7 } } }))] },
    script: [calls(['read', { path: 'a' }])],
  });
  expect(execute).not.toHaveBeenCalled();
  expect(textOf(responses[0])).toContain('/path must be string');
});

test('a hook that blocks is told to the model as the reason', async () => {
  const execute = spy();
  const { responses } = await runDesk({
    own: [read(execute)],
    host: { hooks: [beforeTool(() => ({ action: 'block', reason: 'not on a Friday' }))] },
    script: [calls(['read', { path: 'a' }])],
  });
  expect(execute).not.toHaveBeenCalled();
  expect(responses[0]).toMatchObject({ isError: true, errorType: 'policy_denied' });
  expect(textOf(responses[0])).toBe('denied by a hook: not on a Friday');
});

test('a hook cannot change arguments behind the back of the gate', async () => {
  const execute = spy();
  await runDesk({
    own: [read(execute)],
    host: {
      hooks: [
        beforeTool(({ args }) => {
          (args as { path: string }).path = '/etc/passwd';
          return undefined;
        }),
      ],
    },
    script: [calls(['read', { path: 'a' }])],
  });
  expect(execute.mock.calls.map(([args]) => args)).toEqual([{ path: 'a' }]);
});

test('a hook never lifts a deny, and can raise an allow to a question', async () => {
  const execute = spy();
  const denied = await runDesk({
    own: [read(execute)],
    host: {
      hooks: [beforeTool(() => ({ action: 'proceed' }))],
      policy: [{ evaluate: () => ({ outcome: 'deny', reason: 'never' }) }],
    },
    script: [calls(['read', { path: 'a' }])],
  });
  expect(textOf(denied.responses[0])).toBe('denied: desk.read: never');
  const asked = await runDesk({
    own: [read(execute)],
    host: { hooks: [beforeTool(() => ({ action: 'ask', reason: 'looks odd' }))] },
    script: [calls(['read', { path: 'a' }])],
    answer: { action: 'decline' },
  });
  expect(asked.questions).toMatchObject([{ kind: 'tool_confirmation', message: 'looks odd' }]);
  expect(execute).not.toHaveBeenCalled();
});

test('hooks fire the same for a child, and are told whose call it is (B146)', async () => {
  const seen: unknown[] = [];
  const note = (point: string, payload: HookPayload<'before_tool'> | HookPayload<'after_tool'>) => {
    const { sessionId, threadId, principalPath, mode, tool: name, requestId } = payload;
    seen.push([point, sessionId, threadId, principalPath, mode, name, requestId]);
  };
  const host = createHost({
    models: { scripted: scriptedModel([calls(['read', { path: 'a' }]), { text: 'done' }]) },
    hooks: [
      defineHook('before_tool', (payload) => note('before_tool', payload)),
      defineHook('after_tool', (payload) => note('after_tool', payload)),
    ],
  });
  const team = sequential({ name: 'team', children: [agent({ name: 'desk', tools: [read()] })] });
  await host.run(team, 'go', { sessionId: 's-1', permissionMode: 'plan' }).result;
  expect(seen).toEqual([
    ['before_tool', 's-1', 'desk_1', 'team/desk', 'plan', 'desk.read', 'k1'],
    ['after_tool', 's-1', 'desk_1', 'team/desk', 'plan', 'desk.read', 'k1'],
  ]);
  await host.close();
});

test('what hooks say to the person is shown, to the model nothing of it', async () => {
  const { events, model } = await runDesk({
    own: [read()],
    host: { hooks: [beforeTool(() => ({ action: 'proceed', systemMessage: 'checked' }))] },
    script: [calls(['read', { path: 'a' }])],
  });
  expect(events.filter((event) => event.type === 'custom')).toMatchObject([
    { kind: 'hook_message', data: { point: 'before_tool', text: 'checked' } },
  ]);
  expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('checked');
});

test('after_tool hooks see the result and add words for the model; one that fails is told and passed over', async () => {
  const seen: unknown[] = [];
  const { model, events } = await runDesk({
    own: [read()],
    host: {
      hooks: [
        defineHook('after_tool', () => {
          throw new Error('boom');
        }),
        defineHook('after_tool', ({ tool: name, args, result }) => {
          seen.push([name, args, result.llmContent]);
          return { action: 'proceed', modifications: { additionalContext: 'mind the gap' } };
        }),
      ],
    },
    script: [calls(['read', { path: 'a' }])],
  });
  expect(seen).toEqual([['desk.read', { path: 'a' }, [{ type: 'text', text: 'ran' }]]]);
  expect(told(model)).toMatchObject([{ response: { output: expect.stringMatching(/ran[\s\S]*mind the gap/) } }]);
  expect(events.filter((event) => event.type === 'custom')).toMatchObject([
    { data: { code: 'HOOK_FAILED', text: 'after_tool: the hook failed: boom' } },
  ]);
});

test('an after_tool hook that blocks withholds the result', async () => {
  const { responses, model } = await runDesk({
    own: [read()],
    host: { hooks: [defineHook('after_tool', () => ({ action: 'block', reason: 'a secret' }))] },
    script: [calls(['read', { path: 'a' }])],
  });
  expect(responses[0]).toMatchObject({ isError: true, errorType: 'policy_denied' });
  expect(JSON.stringify(told(model))).toContain('withheld by a hook: a secret');
  expect(JSON.stringify(told(model))).not.toContain('ran');
});

test("own tools are policed under their agent's name, host tools under their own; the model says the short name", async () => {
  const asked: string[] = [];
  const { responses, model } = await runDesk({
    own: [read(), 'lookup'],
    host: {
      tools: [tool({ name: 'lookup', description: 'Looks up.', annotations: { readOnly: true }, execute: spy() })],
      policy: [
        {
          evaluate({ action }) {
            asked.push(action);
            return { outcome: 'allow' };
          },
        },
      ],
    },
    script: [calls(['read', { path: 'a' }], 'lookup', ['desk.read', { path: 'b' }])],
  });
  expect(asked).toEqual(['desk.read', 'lookup', 'desk.read']);
  expect(model.requests[0]?.tools?.map((one) => one.name)).toEqual(['read', 'lookup']);
  expect(responses.map(({ name }) => name).sort()).toEqual(['desk.read', 'desk.read', 'lookup']);
  expect(told(model).map(({ name }) => name)).toEqual(['read', 'lookup', 'read']);
});

test('two tools of one short name for one agent are refused before anything runs', () => {
  const host = createHost({ models: { scripted: scriptedModel([]) }, tools: [read()] });
  expect(() => host.run(agent({ name: 'desk', tools: [read(), 'read'] }), 'go')).toThrow(
    /desk\.tools\[1\]: a second tool "read"/,
  );
  expect(() => createHost({ tools: [read(), read()] })).toThrow(/two named "read"/);
});

test("a tool of the host or of a run that has the registered name of an agent's own tool is refused: no rule could tell them apart", () => {
  const other = tool({ name: 'desk.read', description: 'Another.', parameters, execute: () => 'ran' });
  const desk = agent({ name: 'desk', tools: [read()] });
  const named = /desk\.tools: two tools named "desk\.read": one of the host, and read of this agent/;
  const host = createHost({ models: { scripted: scriptedModel([]) }, tools: [other] });
  expect(() => host.run(desk, 'go')).toThrow(named);
  const plain = createHost({ models: { scripted: scriptedModel([]) } });
  expect(() => plain.run(desk, 'go', { tools: [other] })).toThrow(named);
  expect(() => plain.run(desk, 'go', { tools: [other.descriptor] })).toThrow(named);
});

test('a description of the call stands in its request; one that cannot be made is left out', async () => {
  const shown = tool({
    name: 'shown',
    description: 'Shown.',
    parameters,
    annotations: { readOnly: true, category: 'read' },
    describe: ({ path }) => ({ title: `Read ${path.toUpperCase()}`, locations: [{ path, line: 3 }] }),
    execute: spy(),
  });
  const { events } = await runDesk({ own: [shown], script: [calls(['shown', { path: 'a' }], ['shown', {}])] });
  const requests = events.filter((event) => event.type === 'tool_request');
  expect(requests[0]).toMatchObject({
    title: 'Read A',
    locations: [{ path: 'a', line: 3 }],
    annotations: { readOnly: true, category: 'read' },
  });
  expect(requests[1]).not.toHaveProperty('title');
});
