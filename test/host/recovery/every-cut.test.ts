import { expect, test } from 'vitest';
import type { ModelRequest, ToolDefinition } from '../../../src/contracts/index.js';
import { agent, graph, hierarchical, loop, parallel, sequential, tool, transfer } from '../../../src/index.js';
import { answersIn, type BrokenTeam, expectSameFromEveryCut } from '../../support/broken-log.js';

/** Changes something, and so is asked about and never run twice. */
const changing = (name: string, ran: string[]) =>
  tool({
    name,
    description: name,
    parameters: { type: 'object' },
    async execute(_, { requestId }) {
      ran.push(requestId);
      await undefined;
      return `${name} done`;
    },
  });

const reading = (name: string, write?: (set: (key: string, value: unknown) => void) => void): ToolDefinition =>
  tool({
    name,
    description: name,
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_, { state }) => {
      write?.(state.set);
      return `${name} read`;
    },
  });

const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ name, args: {} })) });
/** Calls its tools once, then says its line. */
const once =
  (line: string, ...names: string[]) =>
  (request: ModelRequest) =>
    answersIn(request).length === 0 ? { text: 'one moment', ...calls(...names) } : { text: line };
const says = (line: string) => () => ({ text: line });

const state = { notes: { reducer: 'append' as const }, sum: { initial: 0, reducer: 'sum' as const }, last: {} };

test('one agent: its calls, its state, its output', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      agent({
        name: 'a',
        tools: [changing('pay', ran), changing('ship', ran), reading('look')],
        outputKey: 'last',
      }),
    byAgent: { a: once('done', 'pay', 'look', 'ship') },
  });
});

test('one agent that ends with data', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      agent({
        name: 'a',
        tools: [changing('pay', ran)],
        outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        outputKey: 'last',
      }),
    byAgent: {
      a: (request) => {
        const answers = answersIn(request).length;
        if (answers === 0) return calls('pay');
        if (answers === 1) return { toolCalls: [{ name: 'complete_task', args: { n: 'x' } }] };
        return { toolCalls: [{ name: 'complete_task', args: { n: 3 } }] };
      },
    },
  });
});

test('a sequence: inputs that an author made, state, outputs', async () => {
  let mapped = 0;
  const broken: BrokenTeam = {
    team: (ran) =>
      sequential({
        name: 's',
        state,
        mapInput: (child, { input, state: values }) => {
          mapped++;
          return child === 'b' ? `${String(input)} ${JSON.stringify(values.notes)}` : undefined;
        },
        children: [
          agent({
            name: 'a',
            tools: [changing('pay', ran), reading('note', (set) => set('notes', ['paid']))],
            outputKey: 'last',
          }),
          agent({ name: 'b', tools: [reading('look', (set) => set('sum', 2))], instruction: 'n {state.notes}' }),
          agent({
            name: 'c',
            tools: [changing('ship', ran), reading('add', (set) => set('sum', 3))],
            instruction: 'sum {state.sum}',
          }),
        ],
      }),
    byAgent: {
      a: once('A', 'pay', 'note'),
      b: (request) =>
        answersIn(request).length === 0
          ? calls('look')
          : { text: `B ${JSON.stringify(request.messages[0]?.content)} ${request.systemInstruction}` },
      c: (request) =>
        answersIn(request).length === 0 ? calls('add', 'ship') : { text: `C ${request.systemInstruction}` },
    },
  };
  await expectSameFromEveryCut(broken);
  expect(mapped).toBeGreaterThan(0);
});

test('a parallel: branches that ended are not run again, what they wrote is merged once', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      parallel({
        name: 'p',
        state,
        concurrency: 2,
        children: ['a', 'b', 'c'].map((name, at) =>
          agent({
            name,
            tools: [
              changing('pay', ran),
              reading('note', (set) => {
                set('notes', [name]);
                set('sum', at + 1);
              }),
            ],
          }),
        ),
      }),
    byAgent: { a: once('A', 'pay', 'note'), b: once('B', 'note', 'pay'), c: once('C', 'pay', 'note') },
  });
});

test('a loop with a parallel in it, in the middle of an iteration', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      loop({
        name: 'l',
        state,
        maxIterations: 4,
        until: ({ state: values }) => (values.sum as number) >= 4,
        children: [
          parallel({
            name: 'p',
            children: [
              agent({ name: 'a', tools: [changing('pay', ran), reading('add', (set) => set('sum', 1))] }),
              agent({ name: 'b', tools: [reading('look', (set) => set('sum', 1))] }),
            ],
          }),
          agent({ name: 'c', instruction: 'sum {state.sum}' }),
        ],
      }),
    byAgent: {
      a: once('A', 'pay', 'add'),
      b: once('B', 'look'),
      c: (request) => ({ text: `C ${request.systemInstruction}` }),
    },
  });
});

test('a loop that a child ends', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      loop({
        name: 'l',
        maxIterations: 4,
        children: [agent({ name: 'a', tools: [changing('pay', ran)] }), agent({ name: 'b' })],
      }),
    byAgent: {
      a: once('A', 'pay'),
      b: () => ({ toolCalls: [{ name: 'exit_loop', args: { reason: 'enough' } }] }),
    },
  });
});

test('a transfer: who speaks, what it was shown, what was said', async () => {
  const texts = ({ messages }: ModelRequest) =>
    messages.map(({ content }) => content.map((part) => (part.type === 'text' ? part.text : part.type)).join());
  await expectSameFromEveryCut({
    team: (ran) =>
      transfer({
        name: 't',
        start: 'desk',
        targets: { desk: ['money'], money: ['desk'] },
        members: [agent({ name: 'desk' }), agent({ name: 'money', tools: [changing('pay', ran)] })],
      }),
    byAgent: {
      desk: (request) =>
        request.messages.some(({ content }) => JSON.stringify(content).includes('paid'))
          ? { text: `desk saw ${texts(request).join('|')}` }
          : {
              text: 'I pass you on',
              toolCalls: [{ name: 'transfer_to_agent', args: { target: 'money', reason: 'm' } }],
            },
      money: (request) =>
        answersIn(request).some((one) => one.includes('pay done'))
          ? { text: 'paid', toolCalls: [{ name: 'transfer_to_agent', args: { target: 'desk' } }] }
          : calls('pay'),
    },
  });
});

test('a leader: its children run as calls, beside its own tools', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      hierarchical({
        name: 'h',
        state,
        agent: agent({ name: 'boss', tools: [changing('sign', ran)] }),
        children: [
          agent({ name: 'a', tools: [changing('pay', ran), reading('note', (set) => set('notes', ['a']))] }),
          agent({ name: 'b', tools: [reading('look', (set) => set('notes', ['b']))], outputKey: 'last' }),
        ],
      }),
    byAgent: {
      boss: (request) => {
        const answers = answersIn(request);
        if (answers.length === 0) {
          return {
            text: 'go',
            toolCalls: [
              { name: 'a', args: { prompt: '1' } },
              { name: 'b', args: { prompt: '2' } },
            ],
          };
        }
        return answers.length === 2 ? calls('sign') : { text: answers.join() };
      },
      a: once('A', 'pay', 'note'),
      b: once('B', 'look'),
    },
  });
});

test('all of it in one another', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      sequential({
        name: 'root',
        state,
        onFailure: 'continue',
        children: [
          agent({ name: 'first' }),
          loop({
            name: 'l',
            maxIterations: 2,
            children: [
              parallel({
                name: 'p',
                children: [
                  hierarchical({
                    name: 'h',
                    agent: agent({ name: 'boss' }),
                    children: [
                      agent({ name: 'a', tools: [changing('pay', ran), reading('add', (set) => set('sum', 1))] }),
                    ],
                  }),
                  agent({ name: 'b' }),
                ],
              }),
            ],
          }),
          agent({ name: 'broken' }),
          agent({ name: 'end', instruction: 'sum {state.sum}' }),
        ],
      }),
    byAgent: {
      first: says('1'),
      boss: (request) =>
        answersIn(request).length === 0
          ? { toolCalls: [{ name: 'a', args: { prompt: 'p' } }] }
          : { text: answersIn(request).join() },
      a: once('A', 'pay', 'add'),
      b: says('B'),
      broken: () => ({ error: { code: 'BOOM', message: 'boom', retryable: false } }),
      end: (request) => ({ text: `${request.systemInstruction}` }),
    },
  });
});

test('a graph: branches at once, a join of all, a cycle with guards, functions', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      graph({
        name: 'g',
        state,
        nodes: {
          split: ({ input }) => `about ${String(input)}`,
          left: agent({ name: 'left', tools: [changing('pay', ran), reading('add', (set) => set('sum', 1))] }),
          right: agent({ name: 'right', tools: [reading('look', (set) => set('sum', 1))] }),
          merge: agent({ name: 'merge', instruction: 'sum {state.sum}' }),
          judge: ({ input, state: view }) => {
            view.set('notes', ['judged']);
            return `${String(input)} ${JSON.stringify(view.get('notes'))}`;
          },
        },
        edges: [
          { from: 'split', to: 'left' },
          { from: 'split', to: 'right' },
          { from: 'left', to: 'merge' },
          { from: 'right', to: 'merge' },
          { from: 'merge', to: 'judge' },
          { from: 'judge', to: 'split', guard: ({ state: values }) => (values.sum as number) < 4 },
        ],
        start: 'split',
        end: 'judge',
        joins: { merge: 'all' },
        maxSteps: 20,
      }),
    byAgent: {
      left: once('L', 'pay', 'add'),
      right: once('R', 'look'),
      merge: (request) => ({ text: `M ${request.systemInstruction} ${JSON.stringify(request.messages[0]?.content)}` }),
    },
  });
});

test('a child that is started again in the place of one that failed is another thread', async () => {
  await expectSameFromEveryCut({
    team: () =>
      sequential({
        name: 'p',
        supervise: { children: { a: { restart: 'on_failure', maxRestarts: 3, withinMs: 60_000 } } },
        children: [agent({ name: 'a', tools: [reading('look')] }), agent({ name: 'b' })],
      }),
    byAgent: {
      a: (request) => {
        if (answersIn(request).length === 0) return calls('look');
        const isFirst = String(request._meta?.threadId).endsWith('a_1');
        return isFirst ? { error: { code: 'BOOM', message: 'boom', retryable: false } } : { text: 'done' };
      },
      b: says('b'),
    },
  });
});

test('a team that has so many turns for all below it', async () => {
  await expectSameFromEveryCut({
    team: (ran) =>
      sequential({
        name: 's',
        constraints: { maxTurns: 4 },
        children: [
          agent({ name: 'a', tools: [changing('pay', ran)] }),
          sequential({ name: 'in', children: [agent({ name: 'b', tools: [reading('look')] }), agent({ name: 'c' })] }),
        ],
      }),
    byAgent: { a: once('A', 'pay'), b: once('B', 'look'), c: says('C') },
  });
});
