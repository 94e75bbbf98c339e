import { z } from 'zod';
import type { AgentDefinition, ModelMessage } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { hierarchical } from '../../src/define/hierarchical.js';
import { loop } from '../../src/define/loop.js';
import { parallel } from '../../src/define/parallel.js';
import { sequential } from '../../src/define/sequential.js';
import { transfer } from '../../src/define/transfer.js';
import type { Equal, Expect, IsAny, Not } from './equal.js';

const researcher = agent({
  name: 'researcher',
  outputSchema: z.object({ facts: z.array(z.string()) }),
  outputKey: 'facts',
});
const skeptic = agent({ name: 'skeptic' });
const writer = agent({ name: 'writer', outputKey: 'draft' });
const critic = agent({ name: 'critic', outputSchema: z.object({ ok: z.boolean() }) });

type Types<D extends AgentDefinition> = NonNullable<D['~types']>;
type Facts = { facts: string[] };

const gather = parallel({ name: 'gather', children: [researcher, skeptic], concurrency: 8, failure: 'settle' });

const polish = loop({
  name: 'polish',
  children: [writer, critic],
  maxIterations: 3,
  state: {
    rounds: { initial: 0, reducer: 'sum' },
    notes: { initial: [], reducer: 'append' },
    best: { initial: { score: 0 }, reducer: (current, update) => (update.score > current.score ? update : current) },
  },
  until: ({ state, last, iteration }) => {
    type UntilCases = [
      Expect<Equal<typeof last, { ok: boolean }>>,
      Expect<Equal<(typeof state)['rounds'], number>>,
      Expect<Equal<(typeof state)['notes'], unknown[]>>,
      Expect<Equal<(typeof state)['best'], { score: number }>>,
      Expect<Equal<(typeof state)['draft'], string | undefined>>,
      Expect<Equal<typeof iteration, number>>,
    ];
    return last.ok satisfies UntilCases extends unknown ? boolean : never;
  },
});

const team = sequential({
  name: 'report',
  children: [gather, polish],
  inputSchema: z.object({ topic: z.string() }),
  outputKey: 'verdict',
  supervise: { strategy: 'one_for_one', children: { gather: { restart: 'on_failure', maxRestarts: 2 } } },
  mapInput: (child, { input, results, state }) => {
    type MapCases = [
      Expect<Equal<typeof child, 'gather' | 'polish'>>,
      Expect<Equal<typeof input, { topic: string }>>,
      Expect<Equal<typeof results, { gather?: { researcher?: Facts; skeptic?: string }; polish?: { ok: boolean } }>>,
      Expect<Equal<(typeof state)['facts'], Facts | undefined>>,
      Expect<Equal<(typeof state)['rounds'], number>>,
    ];
    const facts = results.gather?.researcher?.facts.join('\n');
    return (child === 'polish' ? facts : input.topic) satisfies MapCases extends unknown ? string | undefined : never;
  },
});

const desk = transfer({
  name: 'desk',
  members: [skeptic, critic],
  start: 'skeptic',
  targets: { skeptic: ['critic'] },
  maxTransfers: 4,
  context: (messages: readonly ModelMessage[]) => messages.slice(-2),
});

const lead = hierarchical({
  name: 'lead',
  agent: agent({ name: 'planner', outputSchema: z.object({ plan: z.string() }) }),
  children: [team],
});

const mixed = sequential({ name: 'mixed', children: [agent({ name: 'triage' }), gather] });

const first = loop({
  name: 'typed_initial',
  children: [skeptic],
  maxIterations: 1,
  state: { ids: { initial: [] as string[] } },
});

// Made at run time: names and results are any string.
declare const many: AgentDefinition[];
const crowd = parallel({
  name: 'crowd',
  children: many,
  supervise: { children: { whoever: { restart: 'never' } } },
  mapInput: (child, { results, state }) => {
    type RunTimeCases = [
      Expect<Equal<typeof child, string>>,
      Expect<Equal<typeof results, { [name: string]: unknown }>>,
      Expect<Equal<(typeof state)[string], unknown>>,
    ];
    return [results.anybody, state.anything] satisfies RunTimeCases extends unknown ? unknown : never;
  },
});
const known = ['a', 'b'].map((name) => agent({ name, outputSchema: z.object({ score: z.number() }) }));
const scored = parallel({ name: 'scored', children: known });

export type CompositionCases = [
  Expect<Equal<Types<typeof gather>['output'], { researcher?: Facts; skeptic?: string }>>,
  Expect<Equal<Types<typeof polish>['output'], { ok: boolean }>>,
  Expect<Equal<Types<typeof team>['output'], { ok: boolean }>>,
  Expect<Equal<Types<typeof team>['input'], { topic: string }>>,
  Expect<Equal<Types<typeof team>['state']['verdict'], { ok: boolean } | undefined>>,
  Expect<
    Equal<Types<typeof team>['names'], 'report' | 'gather' | 'polish' | 'researcher' | 'skeptic' | 'writer' | 'critic'>
  >,
  // An agent beside a composition, and a leader, keep every name below them.
  Expect<Equal<Types<typeof lead>['names'], 'lead' | 'planner' | Types<typeof team>['names']>>,
  Expect<Equal<Types<typeof mixed>['names'], 'mixed' | 'triage' | 'gather' | 'researcher' | 'skeptic'>>,
  Expect<Equal<Types<typeof desk>['output'], string | { ok: boolean }>>,
  Expect<Equal<Types<typeof lead>['output'], { plan: string }>>,
  Expect<Equal<Types<typeof first>['state'], { ids: string[] }>>,
  Expect<Equal<Types<typeof crowd>['output'], { [name: string]: unknown }>>,
  Expect<Equal<Types<typeof scored>['output'], { [name: string]: { score: number } | undefined }>>,
  Expect<Not<IsAny<Types<typeof crowd>['output']>>>,
];
