import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, deferred, ofType, settle } from '../support/team.js';
import { calls, runDesk, told } from './tool-desk.js';

/** Tools that stay open until they are let go, and what has happened to them. */
function yard() {
  const log: string[] = [];
  const gates = new Map<string, { promise: Promise<void>; resolve: (value: void) => void }>();
  const gate = (name: string) => {
    const known = gates.get(name);
    if (known !== undefined) return known;
    const made = deferred();
    gates.set(name, made);
    return made;
  };
  const make = (name: string, readOnly: boolean) =>
    tool({
      name,
      description: name,
      annotations: { readOnly },
      async execute() {
        log.push(`+${name}`);
        await gate(name).promise;
        log.push(`-${name}`);
        return name;
      },
    });
  return {
    log,
    open: (name: string) => gate(name).resolve(),
    read: (n: string) => make(n, true),
    write: (n: string) => make(n, false),
  };
}

const allowAll = { policy: [{ rules: [{ toolName: '*', decision: 'allow' as const }] }] };

test('read-only calls run together; the results go back in call order, however they finish', async () => {
  const { log, open, read } = yard();
  const { model, responses } = await runDesk({
    own: [read('a'), read('b'), read('c')],
    script: [calls('a', 'b', 'c')],
    onEvent(event) {
      if (event.type !== 'tool_update' || event.status !== 'executing' || log.length < 3) return;
      for (const name of ['c', 'b', 'a']) open(name);
    },
  });
  expect(log.slice(0, 3)).toEqual(['+a', '+b', '+c']);
  expect(responses.map(({ name }) => name)).toEqual(['desk.c', 'desk.b', 'desk.a']);
  expect(told(model).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test('a call that may change things waits for those before it and holds those after it', async () => {
  const { log, open, read, write } = yard();
  const finished = runDesk({
    own: [read('r1'), write('w'), read('r2'), write('x')],
    host: allowAll,
    script: [calls('r1', 'w', 'r2', 'x')],
  });
  await settle();
  expect(log).toEqual(['+r1']);
  open('r1');
  await settle();
  expect(log.slice(2)).toEqual(['+w']);
  open('w');
  await settle();
  expect(log.slice(4)).toEqual(['+r2']);
  open('r2');
  await settle();
  expect(log.slice(6)).toEqual(['+x']);
  open('x');
  await finished;
});

test('while one waits for approval, free reads pass and everything else waits', async () => {
  const { log, open, read, write } = yard();
  for (const name of ['ask', 'r', 'w']) open(name);
  const policy = [
    {
      rules: [
        { toolName: '*', decision: 'allow' as const },
        { toolName: 'desk.ask', decision: 'ask_user' as const, priority: 1 },
      ],
    },
  ];
  let before: string[] = [];
  await runDesk({
    own: [write('ask'), read('r'), write('w')],
    host: { policy },
    script: [calls('ask', 'r', 'w')],
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      void settle().then(() => {
        before = [...log];
        run.respond(event.requestId, { action: 'accept' });
      });
    },
  });
  expect(before).toEqual(['+r', '-r']);
  expect(log.slice(2)).toEqual(['+ask', '-ask', '+w', '-w']);
});

test('a declined call frees the way for the next', async () => {
  const { log, open, write } = yard();
  open('w');
  await runDesk({
    own: [write('ask'), write('w')],
    host: { policy: [{ rules: [{ toolName: 'desk.w', decision: 'allow' }] }] },
    script: [calls('ask', 'w')],
    answer: { action: 'decline' },
  });
  expect(log).toEqual(['+w', '-w']);
});

test('all calls of a turn are judged at once: several questions stand side by side', async () => {
  const { open, write } = yard();
  for (const name of ['a', 'b', 'c']) open(name);
  const pending: number[] = [];
  await runDesk({
    own: [write('a'), write('b'), write('c')],
    script: [calls('a', 'b', 'c')],
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      pending.push(run.state().pending.length);
      if (pending.length < 3) return;
      // In the reverse of the order asked: they still run in call order.
      for (const { requestId } of run.state().pending.reverse()) run.respond(requestId, { action: 'accept' });
    },
  });
  expect(pending.at(-1)).toBe(3);
});

test('an exclusive call that was approved first still waits for the one before it', async () => {
  const { log, open, write } = yard();
  for (const name of ['a', 'b']) open(name);
  const asked: string[] = [];
  await runDesk({
    own: [write('a'), write('b')],
    script: [calls('a', 'b')],
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      asked.push(event.requestId);
      if (asked.length < 2) return;
      run.respond(asked[1] as string, { action: 'accept' });
      void settle().then(() => run.respond(asked[0] as string, { action: 'accept' }));
    },
  });
  expect(log).toEqual(['+a', '-a', '+b', '-b']);
});

test('agents that are called side by side run together, read-only or not', async () => {
  const live = { now: 0, most: 0 };
  const work = tool({
    name: 'work',
    description: 'Works.',
    async execute() {
      live.most = Math.max(live.most, ++live.now);
      await settle(2);
      live.now--;
      return 'worked';
    },
  });
  const child = (name: string) => agent({ name, tools: [work] });
  const line = [calls('work'), { text: 'ok' }];
  const host = createHost({
    ...allowAll,
    models: {
      scripted: scriptedModel({
        byAgent: {
          planner: [calls(['a', { prompt: 'x' }], ['b', { prompt: 'y' }], ['c', { prompt: 'z' }]), { text: 'fin' }],
          a: line,
          b: line,
          c: line,
        },
      }),
    },
  });
  const team = hierarchical({
    name: 'lead',
    agent: agent({ name: 'planner' }),
    children: [child('a'), child('b'), child('c')],
  });
  const events = await collect(host.run(team, 'go'));
  expect(live.most).toBe(3);
  const answers = ofType(events, 'tool_response').filter(({ threadId }) => threadId === undefined);
  expect(answers).toHaveLength(3);
  await host.close();
});

test('cancelling one of three that run lets the others be, and the turn goes on at once (B015)', async () => {
  const { log, open, read } = yard();
  const signals: AbortSignal[] = [];
  const late = deferred();
  let isCancelled = false;
  const stuck = tool({
    name: 'stuck',
    description: 'Stuck.',
    annotations: { readOnly: true },
    execute(_, { signal }) {
      signals.push(signal);
      return late.promise;
    },
  });
  const { responses, model, result } = await runDesk({
    own: [read('a'), stuck, read('c')],
    script: [calls('a', 'stuck', 'c')],
    onEvent(event, run) {
      if (event.type === 'stream_end') late.resolve();
      if (event.type !== 'tool_update' || isCancelled || log.length < 2) return;
      isCancelled = true;
      run.abort('too slow', { requestId: 'k2' });
      open('a');
      open('c');
    },
  });
  expect(responses.map(({ requestId, errorType }) => [requestId, errorType]).sort()).toEqual([
    ['k1', undefined],
    ['k2', 'cancelled'],
    ['k3', undefined],
  ]);
  expect(signals[0]?.aborted).toBe(true);
  expect(String(signals[0]?.reason)).toContain('too slow');
  expect(told(model).map(({ id }) => id)).toEqual(['k1', 'k2', 'k3']);
  expect(result.reason).toBe('completed');
});

test('cancelling what is not there is refused and changes nothing', async () => {
  const codes: unknown[] = [];
  const { result } = await runDesk({
    own: [tool({ name: 'a', description: 'A.', annotations: { readOnly: true }, execute: () => 'ok' })],
    script: [calls('a')],
    onEvent(event, run) {
      if (event.type !== 'tool_response') return;
      try {
        run.abort('late', { requestId: 'k1' });
      } catch (thrown) {
        codes.push((thrown as { code: string }).code);
      }
    },
  });
  expect(codes).toEqual(['UNKNOWN_REQUEST']);
  expect(result.reason).toBe('completed');
});

test('an abort answers every open call, whatever the tools still do', async () => {
  const ends: string[] = [];
  const hang = (name: string) =>
    tool({
      name,
      description: name,
      annotations: { readOnly: true },
      execute: (_, { signal }) =>
        new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve(`late ${ends.push(name)}`))),
    });
  const { events, result } = await runDesk({
    own: [hang('a'), hang('b')],
    script: [calls('a', 'b')],
    onEvent: (event, run) =>
      event.type === 'tool_update' && event.requestId === 'k2' && setImmediate(() => run.abort('enough')),
  });
  expect(ends).toEqual(['a', 'b']);
  const tail = events.slice(-3).map((event: AgentEvent) => event.type);
  expect(tail).toEqual(['tool_response', 'tool_response', 'stream_end']);
  expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'enough', by: 'user' } });
});

test('with one place among the requests in flight calls run one by one; one that waits for a person takes none', async () => {
  const { log, open, read } = yard();
  for (const name of ['a', 'b']) open(name);
  const asks = tool({
    name: 'asks',
    description: 'Asks.',
    annotations: { readOnly: true },
    async execute(_, { elicit }) {
      log.push('+asks');
      const { action } = await elicit({ message: 'go on?' });
      log.push('-asks');
      return action;
    },
  });
  const { responses } = await runDesk({
    own: [asks, read('a'), read('b')],
    host: { limits: { concurrency: 1 } },
    script: [calls('asks', 'a', 'b')],
    onEvent(event, run) {
      // The others are through by then, though the first holds no place for ever.
      if (event.type === 'tool_response' && event.name === 'desk.b') {
        run.respond(run.state().pending[0]?.requestId as string, { action: 'accept' });
      }
    },
  });
  expect(log).toEqual(['+asks', '+a', '-a', '+b', '-b', '-asks']);
  expect(responses).toHaveLength(3);
});

test('a cancelled call gives up its wait for a place', async () => {
  const { open, read } = yard();
  const { responses } = await runDesk({
    own: [read('a'), read('b')],
    host: { limits: { concurrency: 1 } },
    script: [calls('a', 'b')],
    onEvent(event, run) {
      if (event.type === 'tool_update' && event.requestId === 'k2') {
        setImmediate(() => {
          run.abort('no', { requestId: 'k2' });
          open('a');
        });
      }
    },
  });
  expect(responses.map(({ requestId, errorType }) => [requestId, errorType])).toEqual([
    ['k2', 'cancelled'],
    ['k1', undefined],
  ]);
});

test('a thousand calls leave no listener on the signal of the run (B066)', async () => {
  const controller = new AbortController();
  const warned = vi.fn();
  process.on('warning', warned);
  const turn = calls(...Array.from({ length: 50 }, (_, index) => ['look', { index }] as const));
  let most = 0;
  const look = tool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object', properties: { index: { type: 'number' } } },
    annotations: { readOnly: true, polling: true },
    async execute(_, { signal }) {
      most = Math.max(most, getEventListeners(controller.signal, 'abort').length);
      return signal.aborted ? 'aborted' : 'ok';
    },
  });
  await runDesk({
    own: [look],
    script: Array.from({ length: 20 }, () => turn),
    run: { signal: controller.signal },
  });
  await settle();
  process.off('warning', warned);
  expect(most).toBe(1);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  expect(warned).not.toHaveBeenCalled();
});
