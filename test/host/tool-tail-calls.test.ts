import { expect, test, vi } from 'vitest';
import { agent, createHost, defineHook, loop, sequential, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, ofType, settle, textIn } from '../support/team.js';
import { calls, runDesk, textOf, told } from './tool-desk.js';

const text = (said: string) => [{ type: 'text' as const, text: said }];
/** A tool whose result asks for other calls. */
const asks = (name: string, tailCalls: { name: string; args?: unknown }[]) =>
  tool({
    name,
    description: name,
    annotations: { readOnly: true },
    execute: () => ({
      llmContent: text(name),
      tailCalls: tailCalls.map((one) => ({ requestId: '', args: {}, ...one })),
    }),
  });
const ends = (name: string, execute: (args: unknown) => unknown = () => name) =>
  tool({ name, description: name, annotations: { readOnly: true }, execute });

test('tail calls run through the same gate before the model sees the result; it sees one response, the last', async () => {
  const ran: unknown[] = [];
  const { events, model, responses } = await runDesk({
    own: [
      asks('first', [{ name: 'second', args: { n: 1 } }, { name: 'third' }]),
      ends('second', (args) => {
        ran.push(args);
        return 'second';
      }),
      ends('third'),
    ],
    script: [calls('first')],
  });
  expect(ran).toEqual([{ n: 1 }]);
  const requests = ofType(events, 'tool_request');
  expect(requests.map(({ name, parentRequestId }) => [name, parentRequestId])).toEqual([
    ['desk.first', undefined],
    ['desk.second', 'k1'],
    ['desk.third', 'k1'],
  ]);
  expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(3);
  expect(responses.map((response) => textOf(response))).toEqual(['second', 'third', 'third']);
  expect(told(model)).toEqual([{ id: 'k1', name: 'first', response: { output: 'third' } }]);
});

test('a tail call is refused like any other call, and the model is told so', async () => {
  const execute = vi.fn();
  const { model, questions } = await runDesk({
    own: [
      asks('first', [{ name: 'write' }]),
      asks('second', [{ name: 'no_such' }]),
      asks('third', [{ name: 'write' }]),
      tool({ name: 'write', description: 'Writes.', execute }),
    ],
    script: [calls('first', 'second'), calls('third')],
    answer: { action: 'decline' },
  });
  expect(execute).not.toHaveBeenCalled();
  expect(questions.map(({ context }) => context?.tool)).toEqual(['desk.write', 'desk.write']);
  expect(told(model).map(({ response }) => Object.keys(response as object)[0])).toEqual(['error', 'error', 'error']);
  expect(JSON.stringify(told(model))).toContain('no tool \\"no_such\\"');
});

test('tail calls stand five deep at most', async () => {
  const { events, model } = await runDesk({ own: [asks('again', [{ name: 'again' }])], script: [calls('again')] });
  expect(ofType(events, 'tool_request')).toHaveLength(6);
  expect(told(model)).toMatchObject([{ response: { error: 'tail calls may stand 5 deep; again was not run' } }]);
});

test('a cancel reaches the tail call under way: each request has its one response', async () => {
  const { events, result } = await runDesk({
    own: [
      asks('first', [{ name: 'stuck' }]),
      tool({
        name: 'stuck',
        description: 'Stuck.',
        annotations: { readOnly: true },
        execute: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
      }),
    ],
    script: [calls('first')],
    onEvent: (event, run) =>
      event.type === 'tool_request' && event.name === 'desk.stuck' && setImmediate(() => run.abort('enough')),
  });
  expect(result.reason).toBe('aborted');
  expect(ofType(events, 'tool_response').map(({ name, errorType }) => [name, errorType])).toEqual([
    ['desk.stuck', 'cancelled'],
    ['desk.first', 'cancelled'],
  ]);
});

test('a tail call that is never judged does not hang an abort', async () => {
  let judged = 0;
  const { events, result } = await runDesk({
    own: [asks('first', [{ name: 'second' }]), ends('second')],
    host: {
      policy: [
        {
          evaluate: ({ action }) => {
            judged++;
            return action === 'desk.second' ? new Promise(() => {}) : { outcome: 'allow' };
          },
        },
      ],
    },
    script: [calls('first')],
    onEvent: (event, run) =>
      event.type === 'tool_request' && event.name === 'desk.second' && setImmediate(() => run.abort('enough')),
  });
  expect(judged).toBe(2);
  expect(result.reason).toBe('aborted');
  expect(ofType(events, 'tool_response')).toHaveLength(2);
});

test('while a tail call waits for a person, a bare session pauses', async () => {
  const host = createHost({ models: { scripted: scriptedModel([calls('first'), { text: 'done' }]) } });
  const write = tool({ name: 'write', description: 'Writes.', execute: () => 'written' });
  const session = host.session(agent({ name: 'desk', tools: [asks('first', [{ name: 'write' }]), write] }));
  const events = [];
  for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: 'elicitation_request', context: { tool: 'desk.write' } });
  await session.close();
  await host.close();
});

test('an after_tool hook may ask for a call of its own: it is marked as the hook’s, and passes the gate', async () => {
  let fired = 0;
  const hook = defineHook('after_tool', ({ tool: name }) => {
    fired++;
    if (name !== 'desk.first') return undefined;
    return { action: 'proceed', modifications: { tailCall: { name: 'second', args: { n: 2 } } } };
  });
  const { events, model } = await runDesk({
    own: [ends('first'), ends('second', (args) => JSON.stringify(args))],
    host: { hooks: [hook] },
    script: [calls('first')],
  });
  expect(ofType(events, 'tool_request')[1]).toMatchObject({
    name: 'desk.second',
    parentRequestId: 'k1',
    initiator: 'hook',
  });
  expect(fired).toBe(2);
  expect(told(model)).toMatchObject([{ response: { output: '{"n":2}' } }]);
});

test('what tail calls write to the state counts after what their caller wrote', async () => {
  const writes = (name: string, tail: boolean) =>
    tool({
      name,
      description: name,
      annotations: { readOnly: true },
      execute(_, { state }) {
        state.set('seen', [name]);
        return { llmContent: text(name), ...(tail && { tailCalls: [{ requestId: '', name: 'inner', args: {} }] }) };
      },
    });
  const host = createHost({
    models: { scripted: scriptedModel([calls('outer'), { text: 'done' }]) },
  });
  const team = sequential({
    name: 'team',
    state: { seen: { initial: [], reducer: 'append' } },
    children: [agent({ name: 'desk', tools: [writes('outer', true), writes('inner', false)] })],
  });
  const events = await collect(host.run(team, 'go'));
  expect(ofType(events, 'session_update').at(-1)?.stateDelta).toEqual({ seen: ['outer', 'inner'] });
  await host.close();
});

test('a tail call that may change things waits for the calls before the one that asked for it', async () => {
  const order: string[] = [];
  const changes = (name: string) =>
    tool({
      name,
      description: name,
      execute() {
        order.push(name);
        return name;
      },
    });
  await runDesk({
    own: [changes('asked'), asks('free', [{ name: 'tail' }]), changes('tail')],
    host: { policy: [{ rules: [{ toolName: 'desk.tail', decision: 'allow' }] }] },
    script: [calls('asked', 'free')],
    onEvent(event, run) {
      // The free call passes while the first waits for approval; what it asks for does not.
      if (event.type !== 'tool_request' || event.name !== 'desk.tail') return;
      void settle().then(() => {
        order.push('approved');
        run.respond(run.state().pending[0]?.requestId as string, { action: 'accept' });
      });
    },
  });
  expect(order).toEqual(['approved', 'asked', 'tail']);
});

test('a tail call may end the loop', async () => {
  const host = createHost({ models: { scripted: scriptedModel(() => calls('check')) } });
  const team = loop({
    name: 'polish',
    maxIterations: 5,
    children: [agent({ name: 'critic', tools: [asks('check', [{ name: 'exit_loop' }])] })],
  });
  const run = host.run(team, 'go');
  const events = await collect(run);
  expect((await run.result).data).toMatchObject({ exit: 'escalated' });
  expect(ofType(events, 'loop_iteration')).toHaveLength(1);
  expect(textIn(events)).toBe('');
  await host.close();
});
