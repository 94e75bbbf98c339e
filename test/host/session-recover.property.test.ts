import { expect, test } from 'vitest';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, memoryStore, sequential, tool, transfer } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import {
  type ScriptEntry,
  type ScriptedModel,
  scriptedModel,
  validateLog,
  virtualClock,
} from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { logOf, readAll } from '../support/team.js';

const read = tool({
  name: 'read',
  description: 'Reads.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  execute: (args, { state }) => {
    state.set('seen', 1);
    return JSON.stringify(args);
  },
});

const worker = <const Name extends string>(name: Name) =>
  agent({ name, tools: [read], instruction: 'seen {state.seen}', constraints: { maxTurns: 4 } });
/** Beside calls that write, what a child finds in the state depends on when it begins: it does not look. */
const helper = agent({ name: 'b', tools: [read], constraints: { maxTurns: 4 } });
const state = { seen: { initial: 0, reducer: 'sum' as const } };
const shapes: Record<string, () => AgentDefinition> = {
  leader: () => hierarchical({ name: 'lead', agent: worker('a'), children: [helper], state }),
  sequence: () => sequential({ name: 's', children: [worker('a'), worker('b')], onFailure: 'continue', state }),
  transfer: () =>
    transfer({ name: 't', members: [worker('a'), worker('b')], start: 'a', targets: { a: ['b'], b: ['a'] }, state }),
  supervised: () =>
    transfer({
      name: 't',
      members: [worker('a'), worker('b')],
      start: 'a',
      targets: { a: ['b'], b: ['a'] },
      supervise: { children: { a: { restart: 'on_failure', maxRestarts: 2 } } },
      state,
    }),
  projected: () =>
    transfer({
      name: 't',
      members: [worker('a'), worker('b')],
      start: 'a',
      targets: { a: ['b'], b: ['a'] },
      context: { last: 3 },
      state,
    }),
};

const entry: fc.Arbitrary<ScriptEntry> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<ScriptEntry>({ text: ['an', 'swer'] }) },
  { weight: 2, arbitrary: fc.constant<ScriptEntry>({ thought: 'hm', text: 'thought of' }) },
  {
    weight: 4,
    arbitrary: fc
      .array(fc.constantFrom('read', 'nosuch', 'b', 'transfer'), { minLength: 1, maxLength: 3 })
      .chain((names) =>
        fc.record({
          text: fc.constantFrom(undefined, 'I call'),
          toolCalls: fc.constant(names.map((name, at) => callOf(name, at))),
        }),
      )
      .map(({ text, toolCalls }) => (text === undefined ? { toolCalls } : { text, toolCalls })),
  },
  {
    weight: 1,
    arbitrary: fc.constant<ScriptEntry>({ text: 'half', error: { code: 'INVALID_ARGUMENT', message: 'no' } }),
  },
  { weight: 1, arbitrary: fc.constant<ScriptEntry>({ refusal: 'I will not.' }) },
);

function callOf(name: string, at: number) {
  if (name === 'b') return { id: 'b', name, args: { prompt: 'x' } };
  if (name === 'transfer') return { name: 'transfer_to_agent', args: { target: at % 2 === 0 ? 'b' : 'a' } };
  return { id: `p${at}`, name, args: { at }, thoughtSignature: `s${at}` };
}

/** What every call of the model was given, by thread: what stands side by side comes in any order. */
function given(model: ScriptedModel): Record<string, unknown[]> {
  const byThread: Record<string, unknown[]> = {};
  for (const { messages, systemInstruction, tools, _meta } of model.requests) {
    const { threadId = '-', agent: name } = _meta ?? {};
    // Ids that the host makes itself count calls as they come.
    const text = JSON.stringify({ messages, systemInstruction, tools, name }).replace(/"id":"c\d+"/g, '"id":"c"');
    byThread[threadId] = [...(byThread[threadId] ?? []), JSON.parse(text)];
  }
  return byThread;
}

test('a session that is taken up from its log before every message asks its models exactly what a standing one asks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(shapes)),
      fc.array(entry, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 2, max: 4 }),
      async (shape, script, messages) => {
        const make = shapes[shape] as () => AgentDefinition;
        const modelOf = () =>
          scriptedModel(({ messages: before, _meta }) => {
            const at = before.length + (_meta?.threadId ?? '').length;
            return script[at % script.length] as ScriptEntry;
          });
        const standing = modelOf();
        {
          await using host = createHost({ models: { scripted: standing }, clock: virtualClock() });
          const session = host.session(make());
          for (let at = 0; at < messages; at++) {
            await readAll(session.stream({ kind: 'message', content: `message ${at}` }).stream);
          }
        }
        const stored = modelOf();
        const store = memoryStore();
        for (let at = 0; at < messages; at++) {
          await using host = createHost({ models: { scripted: stored }, store, clock: virtualClock() });
          await host.run(make(), `message ${at}`, { sessionId: 'one' }).result;
        }
        expect(given(stored)).toEqual(given(standing));
        for (const { messages: list } of stored.requests) expect(findBrokenPairs(list)).toEqual([]);
        expect(validateLog(await logOf(store, 'one'), { finished: true })).toEqual([]);
      },
    ),
    { numRuns: Number(process.env.TROUPE_FUZZ_RUNS ?? 100) },
  );
}, 120_000);
