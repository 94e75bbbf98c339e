import { expect, test } from 'vitest';
import type { AgentEvent, ModelMessage } from '../../src/contracts/index.js';
import { agent, createHost, type Run, type ToolContext, tool } from '../../src/index.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { ofType, settle } from '../support/team.js';

/** What one call does, and how long it takes (rounds of the event loop). */
interface Plan {
  kind: 'read' | 'write' | 'asks' | 'throws' | 'unknown' | 'unfit' | 'tail' | 'elicits' | 'generates';
  rounds: number;
  answer: 'accept' | 'decline' | 'cancel';
}

const plan: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constantFrom('read', 'write', 'asks', 'throws', 'unknown', 'unfit', 'tail', 'elicits', 'generates'),
  rounds: fc.integer({ min: 0, max: 3 }),
  answer: fc.constantFrom('accept', 'accept', 'decline', 'cancel'),
});

const story = fc.record({
  turns: fc.array(fc.array(plan, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  /** Rounds that a person takes for each answer. */
  patience: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 3, maxLength: 3 }),
  /** After so many events the run is aborted, or one open call cancelled. */
  abortAt: fc.option(fc.integer({ min: 2, max: 40 }), { nil: undefined }),
  cancelAt: fc.option(fc.integer({ min: 4, max: 30 }), { nil: undefined }),
  concurrency: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
});

type Story = typeof story extends fc.Arbitrary<infer T> ? T : never;

/** Calls of the model have ids of the script, tail calls ids of the host. */
const isTail = (requestId: string) => !requestId.startsWith('t');

/** Plays a story; returns what went wrong, in words. */
async function play({ turns, patience, abortAt, cancelAt, concurrency }: Story): Promise<string[]> {
  const wrong: string[] = [];
  const running = new Map<string, boolean>();
  const ran = new Map<string, number>();

  type Worker = [requestId: string, isFree: boolean];
  const mayMeet = (one: Worker, other: Worker): boolean => {
    if (one[1] && other[1]) return true;
    if (one[1] === other[1]) return false;
    const [[free], [exclusive]] = one[1] ? [one, other] : [other, one];
    // What runs by then cannot be held by what another free call turns out to ask for.
    if (isTail(free) || isTail(exclusive)) return true;
    // While one waits for approval, free calls behind it pass.
    return kindOf(exclusive) === 'asks' && free > exclusive;
  };
  const kindOf = (requestId: string) => {
    const [turn, place] = requestId.slice(1).split('.').map(Number);
    return turns[turn as number]?.[place as number]?.kind;
  };
  const work = async (isFree: boolean, { requestId, signal }: ToolContext, rounds: number) => {
    ran.set(requestId, (ran.get(requestId) ?? 0) + 1);
    for (const [other, otherIsFree] of running) {
      if (!mayMeet([requestId, isFree], [other, otherIsFree])) wrong.push(`${requestId} runs beside ${other}`);
    }
    running.set(requestId, isFree);
    // What was cancelled is left behind, and others need not wait for it.
    signal.addEventListener('abort', () => running.delete(requestId));
    await settle(rounds);
    running.delete(requestId);
  };
  const parameters = { type: 'object', properties: { rounds: { type: 'number' } } };
  const make = (
    name: string,
    readOnly: boolean,
    after: (context: ToolContext, rounds: number) => unknown = () => name,
  ) =>
    tool({
      name,
      description: name,
      parameters,
      annotations: { readOnly, polling: true },
      async execute(args, context) {
        const { rounds = 0 } = args as { rounds?: number };
        if (name !== 'elicits') await work(readOnly, context, rounds);
        return after(context, rounds);
      },
    });
  const tools = [
    make('read', true),
    make('write', false),
    make('asks', false),
    make('throws', true, () => {
      throw new Error('boom');
    }),
    make('unfit', true),
    make('tail', true, () => ({ llmContent: [], tailCalls: [{ requestId: '', name: 'write', args: { rounds: 1 } }] })),
    make('elicits', true, async ({ elicit }) => (await elicit({ message: 'go on?' })).action),
    tool({
      name: 'generates',
      description: 'Generates.',
      parameters,
      annotations: { readOnly: true, polling: true },
      async *execute(_, context) {
        yield 0.5;
        await work(true, context, 1);
        yield 'more';
        return 'generated';
      },
    }),
  ];
  const script = [
    ...turns.map((calls, turn) => ({
      toolCalls: calls.map(({ kind, rounds }, index) => ({
        id: `t${turn}.${index}`,
        name: kind,
        args: kind === 'unfit' ? { rounds: 'many' } : { rounds },
      })),
    })),
    { text: 'done' },
  ];
  const model = scriptedModel(script);
  const host = createHost({
    models: { scripted: model },
    policy: [
      {
        rules: [
          { toolName: '*', decision: 'allow' },
          { toolName: 'desk.asks', decision: 'ask_user', priority: 1 },
        ],
      },
    ],
    ...(concurrency !== undefined && { limits: { concurrency } }),
  });
  const run = host.run(agent({ name: 'desk', tools }), 'go');
  const events: AgentEvent[] = [];
  let asked = 0;
  for await (const event of run) {
    events.push(event);
    if (event.type === 'elicitation_request') void answer(run, event, asked++);
    if (events.length === abortAt) run.abort('enough');
    if (events.length === cancelAt) cancelOne(run, events);
  }

  async function answer(to: Run, request: AgentEvent<'elicitation_request'>, index: number): Promise<void> {
    await settle(patience[index % patience.length] as number);
    const callId = String(request.context?.toolRequestId);
    const [turn, place] = callId.slice(1).split('.').map(Number);
    const action = turns[turn as number]?.[place as number]?.answer ?? 'accept';
    try {
      to.respond(request.requestId, { action });
    } catch (thrown) {
      if ((thrown as { code?: string }).code !== 'UNKNOWN_REQUEST') wrong.push(String(thrown));
    }
  }

  const { reason } = await run.result;
  wrong.push(...validateLog(events, { finished: true }));
  if (reason !== (abortAt !== undefined && events.length >= abortAt ? 'aborted' : 'completed')) {
    // An abort that comes with the last event is too late.
    if (!(reason === 'completed' && abortAt === events.length)) wrong.push(`ended with ${reason}`);
  }
  for (const [requestId, times] of ran) if (times > 1) wrong.push(`${requestId} ran ${times} times`);
  for (const response of ofType(events, 'tool_response')) {
    const refused = ['declined', 'policy_denied', 'invalid_tool_params', 'tool_not_registered'];
    if (refused.includes(response.errorType ?? '') && ran.has(response.requestId)) {
      wrong.push(`${response.requestId} was refused (${response.errorType}) and ran`);
    }
  }
  if (reason === 'completed') wrong.push(...misordered(model.requests.at(-1)?.messages ?? [], turns));
  const state = run.state();
  if (state.pending.length > 0) wrong.push(`pending at the end: ${state.pending.length}`);
  await host.close();
  return wrong;
}

function cancelOne(run: Run, events: readonly AgentEvent[]): void {
  const answered = new Set(ofType(events, 'tool_response').map(({ requestId }) => requestId));
  const open = ofType(events, 'tool_request').find(({ requestId }) => !answered.has(requestId));
  if (open === undefined) return;
  try {
    run.abort('not this one', { requestId: open.requestId });
  } catch {
    // It was answered meanwhile.
  }
}

/** What the model was told, against what it asked for: each answer once, in call order. */
function misordered(messages: readonly ModelMessage[], turns: Story['turns']): string[] {
  const told = messages.flatMap(({ content }) =>
    content.flatMap((part) => (part.type === 'function_response' ? [part.id] : [])),
  );
  const wanted = turns.flatMap((calls, turn) => calls.map((_, index) => `t${turn}.${index}`));
  return told.join() === wanted.join() ? [] : [`the model was told ${told}, and asked for ${wanted}`];
}

test('whatever the calls of a run do, and whenever it is cut: one answer each, in order, and what changes things runs alone', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (given) => {
      expect(await play(given)).toEqual([]);
    }),
    { numRuns: 150 },
  );
}, 60_000);
