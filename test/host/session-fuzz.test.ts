import { expect, test } from 'vitest';
import type { AgentEvent, AgentResponse, ModelRequest } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  hierarchical,
  memoryStore,
  parallel,
  sequential,
  TroupeError,
  tool,
} from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { type ScriptEntry, scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { consumerTool, logOf, settle, textResult } from '../support/team.js';
import { asker } from '../support/teams.js';

/** What a consumer may do to a session, at any moment and in any order. */
const command = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ do: 'message' as const }) },
  { weight: 16, arbitrary: fc.record({ do: fc.constant('read' as const), count: fc.integer({ min: 1, max: 12 }) }) },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      which: fc.nat(3),
      accept: fc.constantFrom(true, true, false),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(0, 10, 700, 5_000, 70_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<{ do: 'abort' | 'leave' | 'signal' }>(
      { do: 'abort' },
      { do: 'abort' },
      { do: 'leave' },
      { do: 'leave' },
      { do: 'signal' },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('steer' as const),
      action: fc.constantFrom(undefined, 'interrupt', 'pause', 'resume', 'resume', 'background'),
      message: fc.constantFrom(undefined, 'hurry'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { do: 'update' as const, mode: 'autonomous' },
      { do: 'update' as const, mode: 'default' },
    ),
  },
);

/** What the model says, call after call: texts, calls, failures, slow answers. */
const answers = fc.array(
  fc.record({
    kind: fc.constantFrom('text', 'text', 'calls', 'calls', 'calls', 'fail', 'busy', 'empty'),
    tools: fc.array(fc.constantFrom('ask', 'mine', 'danger', 'slow', 'nosuch', 'timed'), {
      minLength: 1,
      maxLength: 3,
    }),
    delayMs: fc.constantFrom(0, 0, 20),
  }),
  { minLength: 1, maxLength: 12 },
);
type Answer = typeof answers extends fc.Arbitrary<(infer One)[]> ? One : never;

function entryOf({ kind, tools, delayMs }: Answer, at: number): ScriptEntry {
  const slow = delayMs > 0 ? { delayMs } : {};
  if (kind === 'calls')
    return { text: ['I', ' call'], toolCalls: tools.map((name) => ({ name, args: { at } })), ...slow };
  if (kind === 'fail') return { error: { code: 'INVALID_ARGUMENT', message: 'no' }, ...slow };
  if (kind === 'busy') return { error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: 10 }, ...slow };
  return kind === 'empty'
    ? { text: '' }
    : { text: ['an', 'swer'], usage: { inputTokens: 1, outputTokens: 2 }, ...slow };
}

const TYPED = ['SESSION_BUSY', 'SESSION_ENDED', 'UNKNOWN_REQUEST', 'INVALID_ANSWER'];

test('whatever a consumer does when: the log is valid at every moment, every request to a model well formed, and all ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('alone', 'leader', 'sequence', 'parallel'),
      answers,
      fc.array(command, { maxLength: 60, size: 'max' }),
      async (shape, script, commands) => {
        const clock = virtualClock();
        const store = memoryStore();
        let calls = 0;
        const requests: ModelRequest[] = [];
        const model = scriptedModel(
          (request) => {
            requests.push(request);
            return entryOf(script[calls % script.length] as Answer, calls++);
          },
          { clock },
        );
        const danger = tool({
          name: 'danger',
          description: '.',
          parameters: { type: 'object' },
          execute: () => 'done',
        });
        const slow = tool({
          name: 'slow',
          description: '.',
          parameters: { type: 'object' },
          annotations: { readOnly: true },
          execute: () => new Promise<string>((resolve) => void clock.schedule(() => resolve('slept'), 15)),
        });
        const timed = tool({
          name: 'timed',
          description: '.',
          parameters: { type: 'object' },
          annotations: { readOnly: true },
          execute: async (_, { elicit }) =>
            (await elicit({ message: '?', expiresAt: new Date(clock.now() + 500) })).action,
        });
        const worker = (name: string) =>
          agent({
            name,
            tools: [asker('ask'), danger, slow, timed, 'mine'],
            constraints: { maxTurns: 4, maxTimeMinutes: 1, graceTurn: true },
          });
        const team = {
          alone: () => worker('a'),
          leader: () => hierarchical({ name: 'lead', agent: worker('boss'), children: [worker('a')] }),
          sequence: () =>
            sequential({ name: 's', children: [worker('a'), worker('b')], onFailure: 'continue' as const }),
          parallel: () => parallel({ name: 'p', children: [worker('a'), worker('b')] }),
        }[shape]();
        const host = createHost({ models: { scripted: model }, store, clock });
        const session = host.session(team, { tools: [consumerTool('mine')] });
        const { sessionId } = session;
        const aborter = new AbortController();
        let open: AgentResponse | undefined;
        let reading: Promise<unknown> | undefined;
        const seen: AgentEvent[] = [];

        const tolerate = async (action: () => unknown) => {
          try {
            await action();
          } catch (thrown) {
            if (!(thrown instanceof TroupeError) || !TYPED.includes(thrown.code)) throw thrown;
          }
        };
        /** Reads on, but waits for nothing that does not come by itself. */
        const read = async (count: number) => {
          const stream = open?.stream;
          if (stream === undefined) return;
          for (let at = 0; at < count; at++) {
            let step: IteratorResult<AgentEvent, void> | undefined;
            const next = reading ?? stream.next();
            reading = next;
            void next.then(
              (got) => {
                step = got as IteratorResult<AgentEvent, void>;
              },
              () => {
                step = { done: true, value: undefined };
              },
            );
            for (let round = 0; round < 4 && step === undefined; round++) await settle(1);
            if (step === undefined) return;
            reading = undefined;
            if (step.done) {
              open = undefined;
              return;
            }
            seen.push(step.value);
          }
        };
        const take = (response: AgentResponse) => {
          // One of its own while no other is read; else what it causes shows on that.
          if (open === undefined) open = response;
          else void response.stream.next().catch(() => {});
        };

        for (const one of commands) {
          await tolerate(async () => {
            const state = session.state();
            const pending = 'pending' in state ? state.pending : [];
            switch (one.do) {
              case 'message':
                take(session.stream({ kind: 'message', content: 'go' }, { signal: aborter.signal }));
                break;
              case 'read':
                await read(one.count);
                break;
              case 'answer': {
                const { requestId = 'nothing', kind = 'elicitation' } =
                  pending[one.which % Math.max(1, pending.length)] ?? {};
                take(
                  kind === 'tool'
                    ? session.stream({ kind: 'tool_result', requestId, result: textResult('mine') })
                    : session.stream({
                        kind: 'elicitation_response',
                        requestId,
                        response: { action: one.accept ? 'accept' : 'decline' },
                      }),
                );
                break;
              }
              case 'wait':
                await clock.advance(one.ms);
                break;
              case 'abort':
                open?.controller.abort('fuzz');
                break;
              case 'signal':
                aborter.abort('fuzz');
                break;
              case 'leave':
                await open?.stream.return();
                open = undefined;
                reading = undefined;
                break;
              case 'steer':
                if (one.action === undefined && one.message === undefined) break;
                session.steer({
                  ...(one.action !== undefined && { action: one.action }),
                  ...(one.message !== undefined && { message: one.message }),
                });
                break;
              case 'update':
                session.update({ permissionMode: one.mode });
                break;
            }
          });
          await settle(2);
        }
        session.abort('the end');
        await clock.advance(20_000);
        await session.close();
        const stored = await store.list();
        if (stored.length > 0) {
          const log = await logOf(store, sessionId);
          expect(validateLog(log, { finished: true })).toEqual([]);
          for (let length = 0; length < log.length; length += 7) expect(validateLog(log.slice(0, length))).toEqual([]);
        }
        for (const { messages } of requests) expect(findBrokenPairs(messages)).toEqual([]);
        const seqs = seen.map((event) => event.seq);
        expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
        expect(new Set(seqs).size).toBe(seqs.length);
        await host.close();
        expect(clock.pending).toBe(0);
      },
    ),
    { numRuns: Number(process.env.TROUPE_FUZZ_RUNS ?? 150) },
  );
}, 120_000);
