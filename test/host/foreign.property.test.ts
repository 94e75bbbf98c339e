import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, tool } from '../../src/index.js';
import { validateLog } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { settle } from '../support/team.js';

const id = fc.constantFrom('a', 'b', '', 'q1', 'c1');
const nested = fc.constantFrom<object>({}, {}, {}, { threadId: 'sub_1' });
const messageId = fc.constantFrom('m1', 'm2');

/** One event of a session that keeps no rules. */
const anyEvent: fc.Arbitrary<unknown> = fc
  .tuple(
    fc.oneof(
      fc.record({
        type: fc.constant('message'),
        messageId,
        role: fc.constantFrom('agent', 'user'),
        content: fc.constantFrom([{ type: 'text', text: 'x' }], [{ type: 'odd' }], [null], 'text'),
      }),
      fc.record({
        type: fc.constant('tool_request'),
        requestId: id,
        name: fc.constantFrom('look', 'write', 'no_such'),
        args: fc.constantFrom({}, null, 'x', { n: 1 }),
        messageId,
        index: fc.integer({ min: 0, max: 2 }),
      }),
      fc.record({
        type: fc.constant('tool_response'),
        requestId: id,
        name: fc.constant('look'),
        llmContent: fc.constantFrom([], [{ type: 'text', text: 'own' }]),
      }),
      fc.record({
        type: fc.constant('elicitation_request'),
        requestId: id,
        kind: fc.constant('clarification'),
        message: fc.constant('which?'),
        requestedSchema: fc.constantFrom(undefined, { type: 'object' }, { type: 'nonsense' }),
      }),
      fc.record({
        type: fc.constantFrom('elicitation_response', 'tool_update'),
        requestId: id,
        action: fc.constant('accept'),
      }),
      fc.record({ type: fc.constant('usage'), inputTokens: fc.constantFrom(1, -1, 'many', null) }),
      fc.record({
        type: fc.constantFrom(
          'initialize',
          'agent_started',
          'agent_completed',
          'loop_iteration',
          'agent_transfer',
          'session_update',
          'unheard_of',
        ),
      }),
      fc.record({ type: fc.constant('error'), code: fc.constant('X'), message: fc.constant('x'), fatal: fc.boolean() }),
      fc.record({
        type: fc.constant('custom'),
        kind: fc.constantFrom('notice', 'tool_started', 'decision'),
        data: fc.constantFrom(null, { code: 1 }),
      }),
      fc.record({
        type: fc.constant('stream_end'),
        reason: fc.constantFrom('completed', 'failed', 'tired'),
        data: fc.constantFrom(undefined, {}, { result: 1 }, 'x'),
      }),
      fc.constantFrom<unknown>(null, 7, [], {}, { type: 1 }),
    ),
    nested,
  )
  .map(([event, where]) =>
    typeof event === 'object' && event !== null && !Array.isArray(event) ? { ...event, ...where } : event,
  );

const story = fc.record({
  /** One list per `stream()`; after the last one the session only ends. */
  streams: fc.array(fc.array(anyEvent, { maxLength: 8 }), { minLength: 1, maxLength: 4 }),
  throwsAt: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  abortAt: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  opaque: fc.boolean(),
});

test('whatever a foreign session says, the log keeps its rules and the run ends', async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ streams, throwsAt, abortAt, opaque }) => {
      const session = { stream: unchecked(streams, throwsAt), update() {}, steer() {}, abort() {} };
      const host = createHost({
        policy: [{ rules: [{ toolName: ['guest', 'guest.write'], decision: 'allow' }] }],
        elicitation: async () => ({ action: 'accept', content: {} }),
      });
      host.registerExecutor('foreign', () => session as never);
      const look = tool({
        name: 'look',
        description: 'L.',
        annotations: { readOnly: true, polling: true },
        execute: () => 'seen',
      });
      const write = tool({
        name: 'write',
        description: 'W.',
        annotations: { polling: true },
        execute: () => 'written',
      });
      const capabilities = opaque ? [] : ['host_tool_execution'];
      const guest = agent({
        name: 'guest',
        executor: 'foreign',
        capabilities,
        tools: [look, write],
        constraints: { maxTurns: 10 },
      });
      const run = host.run(guest, 'go');
      const events: AgentEvent[] = [];
      for await (const event of run) {
        events.push(event);
        if (events.length === abortAt) run.abort('enough');
      }
      expect(validateLog(events, { finished: true })).toEqual([]);
      expect(events.at(-1)?.type).toBe('stream_end');
      expect(JSON.parse(JSON.stringify(events))).toEqual(events);
      await host.close();
    }),
    { numRuns: 200 },
  );
}, 60_000);

/** `stream()` of a session that checks nothing that it is given. */
function unchecked(streams: readonly (readonly unknown[])[], throwsAt: number | undefined) {
  let at = 0;
  return () => {
    const call = at++;
    let isAborted = false;
    async function* say(): AsyncGenerator<unknown> {
      for (const event of streams[call] ?? [{ type: 'stream_end', reason: 'completed' }]) {
        await settle(1);
        if (isAborted) return yield { type: 'stream_end', reason: 'aborted' };
        yield event;
      }
      if (call === throwsAt) throw new Error('the line broke');
    }
    return {
      stream: say(),
      controller: {
        abort() {
          isAborted = true;
        },
      },
    };
  };
}
