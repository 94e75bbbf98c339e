import { expect, test } from 'vitest';
import type { AgentEvent, HookResult } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  defineHook,
  hierarchical,
  loop,
  memoryStore,
  parallel,
  sequential,
  tool,
} from '../../src/index.js';
import { expectNoLeaks, scriptedModel, validateLog } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { collect, logOf, ofType, readAll, settle, textIn } from '../support/team.js';

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  async execute(_, { elicit, progress }) {
    progress(0.5);
    const { action } = await elicit({ message: 'well?' });
    return action;
  },
});

const speaker = (name: string) => agent({ name, tools: [ask] });
const team = () =>
  sequential({
    name: 'team',
    children: [
      parallel({ name: 'both', children: [speaker('one'), speaker('two')] }),
      loop({ name: 'again', maxIterations: 2, children: [speaker('three')] }),
      hierarchical({ name: 'lead', agent: agent({ name: 'boss' }), children: [speaker('four')] }),
    ],
  });

const turn = [{ text: ['a', 'b'], toolCalls: [{ name: 'ask', args: {} }] }, { text: ['c', 'd', 'e'] }];
const model = () =>
  scriptedModel({
    byAgent: {
      one: turn,
      two: turn,
      three: [...turn, ...turn],
      boss: [{ toolCalls: [{ name: 'four', args: { prompt: 'go' } }] }, { text: 'end' }],
      four: turn,
    },
  });

/** A hook that takes as many rounds of the event loop as it is told, in turn. */
function slow(rounds: readonly number[], seen: AgentEvent[] = []) {
  let at = 0;
  return defineHook(
    'on_event',
    ({ event }): undefined | HookResult<{ event?: Partial<AgentEvent> }> | Promise<undefined> => {
      seen.push(event);
      const wait = rounds[at++ % rounds.length] ?? 0;
      if (wait > 0) return settle(wait).then(() => undefined);
      if (event.type !== 'message' || event.role !== 'agent') return undefined;
      const content = event.content.map((part) =>
        part.type === 'text' ? { ...part, text: part.text.toUpperCase() } : part,
      );
      return { action: 'proceed', modifications: { event: { content } } };
    },
  );
}

const answering = async (events: AsyncIterable<AgentEvent>, respond: (id: string) => void): Promise<AgentEvent[]> => {
  const all: AgentEvent[] = [];
  for await (const event of events) {
    all.push(event);
    if (event.type === 'elicitation_request') respond(event.requestId);
  }
  return all;
};

test('however long hooks take for which event, a run says the same, whole and in order', async () => {
  const shape = (events: readonly AgentEvent[], threadId: string | undefined) =>
    events.filter((event) => event.threadId === threadId).map(({ type }) => type);
  const run = async (rounds: readonly number[]) => {
    const seen: AgentEvent[] = [];
    const store = memoryStore();
    const host = createHost({ models: { scripted: model() }, store, hooks: [slow(rounds, seen)] });
    const started = host.run(team(), 'go', { sessionId: 's' });
    const observed = readAll(host.attach('s'));
    const events = await answering(started, (id) => started.respond(id, { action: 'accept' }));
    expect(validateLog(events)).toEqual([]);
    expect(await started.result).toMatchObject({ ok: true });
    expect(seen.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(
      (await observed)
        .map(({ type }) => type)
        .filter((type) => type !== 'tool_update')
        .at(-1),
    ).toBe('stream_end');
    expect(validateLog(await logOf(store, 's'))).toEqual([]);
    await host.close();
    return events;
  };
  const plain = await run([0]);
  expect(textIn(plain)).toMatch(/^[A-Z]+$/);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3), { minLength: 1, maxLength: 7 }), async (rounds) => {
      const events = await run(rounds);
      for (const threadId of new Set(plain.map((event) => event.threadId))) {
        expect(shape(events, threadId)).toEqual(shape(plain, threadId));
      }
    }),
    { numRuns: 15, seed: 7 },
  );
});

test('a session that stands pauses, is answered and goes on while hooks hold its events', async () => {
  const host = createHost({ models: { scripted: scriptedModel([...turn, ...turn]) }, hooks: [slow([2, 0, 1])] });
  const session = host.session(speaker('one'));
  for (const content of ['first', 'second']) {
    const asked = await readAll(session.stream({ kind: 'message', content }).stream);
    const [request] = ofType(asked, 'elicitation_request');
    expect(session.state().type).toBe('awaiting_elicitation');
    const requestId = request?.requestId as string;
    const after = await readAll(
      session.stream({ kind: 'elicitation_response', requestId, response: { action: 'accept' } }).stream,
    );
    expect(after.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  }
  await session.close();
  await host.close();
});

test('an abort goes through while hooks hold events, and nothing is left', async () => {
  await expectNoLeaks(async () => {
    const host = createHost({ models: { scripted: model() }, hooks: [slow([3])] });
    const run = host.run(team(), 'go');
    const events: AgentEvent[] = [];
    for await (const event of run) {
      events.push(event);
      if (event.type === 'elicitation_request') run.abort('enough');
    }
    expect(validateLog(events)).toEqual([]);
    expect(await run.result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
    await host.close();
  });
});

test('a host that is closed while hooks hold events ends its runs whole', async () => {
  const host = createHost({ models: { scripted: model() }, hooks: [slow([2])] });
  const run = host.run(team(), 'go');
  const events = collect(run);
  await settle(20);
  await host.close();
  expect((await run.result).reason).toBe('aborted');
  expect((await events).at(-1)?.type).toBe('stream_end');
});
