import { expect, test } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  graph,
  type HostOptions,
  hierarchical,
  loop,
  parallel,
  sequential,
  tool,
  transfer,
} from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import { toldSteps } from '../../src/studio/told-steps.js';
import { scriptedModel } from '../../src/testing/index.js';
import { leaf } from '../support/team.js';

interface Walked {
  readonly machine: string;
  readonly event: string;
  readonly value: unknown;
}

/** What a run's machines did while it was listened to, by thread, and the log that it left. */
async function walked(
  team: AgentDefinition,
  byAgent: Record<string, unknown>,
  { options = {}, during }: { options?: HostOptions; during?: (run: Run) => void } = {},
) {
  const store = memoryStore();
  const heard = new Map<string, Walked[]>();
  const host = createHost({
    store,
    models: { scripted: scriptedModel({ byAgent } as never) },
    elicitation: async () => ({ action: 'accept' }),
    inspect: (event) => {
      if (event.type !== '@xstate.snapshot' || event.event.type === 'xstate.stop') return;
      if (event.event.type.startsWith('xstate.done.actor.question:')) return;
      const { value, context, machine: own } = event.snapshot as Partial<AnyMachineSnapshot>;
      const id = (event.actorRef as { logic?: { config?: { id?: string } } }).logic?.config?.id ?? own?.id;
      if (id === undefined || context?.address === undefined) return;
      const machine = id === 'graph' ? 'g' : id;
      const thread = context.address.split('/').slice(1).join('/');
      heard.set(thread, [...(heard.get(thread) ?? []), { machine, event: event.event.type, value }]);
    },
    ...options,
  });
  const run = host.run(team, 'go');
  during?.(run);
  const { sessionId } = await run.result;
  await host.close();
  const log: AgentEvent[] = [];
  for await (const event of (await store.load(sessionId)).events) log.push(event);
  return { heard, log };
}

type Run = ReturnType<ReturnType<typeof createHost>['run']>;

async function* each<T>(all: readonly T[]): AsyncGenerator<T> {
  yield* all;
}

/** By machine: between machines the order is not the log's to tell. */
const byMachine = (steps: readonly Walked[]) => {
  const found: Record<string, [string, unknown][]> = {};
  for (const { machine, event, value } of steps) {
    found[machine] ??= [];
    found[machine].push([event, value]);
  }
  return found;
};

async function expectTold(team: AgentDefinition, { heard, log }: Awaited<ReturnType<typeof walked>>) {
  expect(heard.size).toBeGreaterThan(0);
  for (const [thread, steps] of heard) {
    const told = await toldSteps(each(log), thread, team);
    expect({ thread, ...byMachine(told.steps) }).toEqual({ thread, ...byMachine(steps) });
    const seqs = told.steps.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  }
}

const look = (name: string, readOnly = true) =>
  tool({ name, description: name, parameters: { type: 'object' }, annotations: { readOnly }, execute: () => 'seen' });
const calling = (...names: string[]) => ({ toolCalls: names.map((name) => ({ name, args: {} })) });
const fails = { error: { code: 'INVALID_ARGUMENT', message: 'no' } };

const cases: Record<string, [AgentDefinition, Record<string, unknown>]> = {
  'turns, calls and questions of one agent': [
    agent({ name: 'a', tools: [look('x'), look('danger', false)] }),
    { a: [calling('x', 'danger'), calling('danger', 'danger'), { text: 'done' }] },
  ],
  'a team three levels deep': [
    sequential({
      name: 's',
      children: [
        loop({
          name: 'l',
          maxIterations: 2,
          children: [parallel({ name: 'p', children: [agent({ name: 'a', tools: [look('x', false)] }), leaf('b')] })],
        }),
        leaf('c'),
      ],
    }),
    { a: [calling('x'), { text: 'A' }, { text: 'A2' }], b: [{ text: 'B' }, { text: 'B2' }], c: [{ text: 'C' }] },
  ],
  'a loop that asks whether to go on': [
    loop({ name: 'l', maxIterations: 5, children: [leaf('a')], until: ({ iteration }) => iteration === 2 }),
    { a: [{ text: '1' }, { text: '2' }] },
  ],
  'a sequence that stops at a failure': [
    sequential({ name: 's', children: [leaf('a'), leaf('b')] }),
    { a: [fails], b: [{ text: 'B' }] },
  ],
  'a parallel of which one is enough': [
    parallel({ name: 'p', children: [leaf('a'), leaf('b')], join: 'any', concurrency: 1 }),
    { a: [{ text: 'A' }], b: [{ text: 'B' }] },
  ],
  'a child that is started again': [
    sequential({
      name: 's',
      children: [leaf('a'), leaf('b')],
      supervise: { children: { a: { restart: 'on_failure', maxRestarts: 2, backoffMs: 0 } } },
    } as never),
    { a: [fails, { text: 'A' }], b: [{ text: 'B' }] },
  ],
  'members that hand over': [
    transfer({ name: 't', members: [leaf('a'), leaf('b')], start: 'a', targets: { a: ['b'] } }),
    { a: [{ toolCalls: [{ name: 'transfer_to_agent', args: { target: 'b' } }] }], b: [{ text: 'B' }] },
  ],
  'a leader with two calls at once': [
    hierarchical({ name: 'h', agent: leaf('lead'), children: [leaf('a'), leaf('b')] }),
    {
      lead: [
        { toolCalls: ['a', 'b'].map((name) => ({ name, args: { prompt: 'x' } })) },
        { toolCalls: [{ name: 'a', args: { prompt: 'y' } }] },
        { text: 'all' },
      ],
      a: [{ text: 'A' }, { text: 'A2' }],
      b: [{ text: 'B' }],
    },
  ],
  'a graph that goes back once': [
    graph({
      name: 'g',
      nodes: [leaf('a'), leaf('b'), leaf('c')],
      edges: [
        { from: 'a', to: 'b' },
        { from: 'b', to: 'a', guard: ({ visits }: { visits: Record<string, number> }) => visits.b === 1 },
        { from: 'b', to: 'c', guard: 'otherwise' },
      ],
      start: 'a',
      end: 'c',
      maxSteps: 10,
    } as never),
    { a: [{ text: '1' }, { text: '2' }], b: [{ text: '1' }, { text: '2' }], c: [{ text: 'C' }] },
  ],
};

for (const [what, [team, byAgent]] of Object.entries(cases)) {
  test(`the log tells the steps that the machines took: ${what}`, async () => {
    await expectTold(team, await walked(team, byAgent));
  });
}

test('the log tells the steps of a run that was aborted', async () => {
  const stuck = tool({
    name: 'stuck',
    description: 's',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_args, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  });
  const members = [agent({ name: 'a', tools: [stuck] }), agent({ name: 'b', tools: [stuck] })];
  const team = sequential({ name: 's', children: [parallel({ name: 'p', children: members }), leaf('c')] });
  const abort = async (run: Run) => {
    let running = 0;
    for await (const event of run)
      if (event.type === 'tool_update' && event.status === 'executing' && ++running === 2) run.abort('enough');
  };
  const run = await walked(team, { a: [calling('stuck')], b: [calling('stuck')], c: [] }, { during: abort as never });
  await expectTold(team, run);
});

test('without its definition a thread has the steps of its session', async () => {
  const { log } = await walked(sequential({ name: 's', children: [leaf('a')] }), { a: [{ text: 'A' }] });
  const { steps } = await toldSteps(each(log), '', undefined);
  expect(steps.map(({ machine, value }) => [machine, value])).toEqual([
    ['session', 'idle'],
    ['session', 'running'],
    ['session', 'ended'],
  ]);
});

test('of a long history the newest steps are told, and how many came before', async () => {
  const team = agent({ name: 'a', tools: [look('x')], constraints: { maxTurns: 2_000, maxLlmCalls: 2_000 } });
  const { log } = await walked(team, {
    a: [...Array.from({ length: 1_200 }, (_, at) => ({ toolCalls: [{ name: 'x', args: { at } }] })), { text: 'done' }],
  });
  const { steps, left } = await toldSteps(each(log), '', team);
  expect(steps).toHaveLength(2_000);
  expect(left).toBe(2 + 2 * 1_200 + 1 - 2_000);
  expect(steps.at(-1)).toMatchObject({ value: 'ended', event: 'turn.ended' });
});
