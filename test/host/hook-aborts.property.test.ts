import { expect, test } from 'vitest';
import type { AgentEvent, HookPoint } from '../../src/contracts/index.js';
import { agent, createHost, defineHook, hierarchical, loop, parallel, sequential, tool } from '../../src/index.js';
import { HOOK_POINTS } from '../../src/kernel/hook-points.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { settle } from '../support/team.js';

const act = tool({
  name: 'act',
  description: 'Acts.',
  parameters: { type: 'object' },
  async execute() {
    await settle(1);
    return 'done';
  },
});
const worker = (name: string) => agent({ name, tools: [act] });
const team = sequential({
  name: 'team',
  children: [
    parallel({ name: 'both', children: [worker('one'), worker('two')] }),
    loop({ name: 'again', maxIterations: 2, children: [worker('three')] }),
    hierarchical({ name: 'lead', agent: agent({ name: 'boss' }), children: [worker('four')] }),
  ],
});
const turn = [{ text: 'a', toolCalls: [{ name: 'act', args: {} }] }, { text: 'b' }, { text: 'c' }];
const model = () =>
  scriptedModel({
    byAgent: {
      one: turn,
      two: turn,
      three: [...turn, ...turn],
      boss: [{ toolCalls: [{ name: 'four', args: { prompt: 'go' } }] }, { text: 'end' }, { text: 'end' }],
      four: turn,
    },
  });

/** What a hook does at its n-th call: rounds that it takes, and whether it sends back, blocks, or ends it all. */
const plan = fc.record({
  rounds: fc.array(fc.nat(2), { minLength: 1, maxLength: 5 }),
  acts: fc.array(fc.constantFrom('no', 'no', 'no', 'block', 'stop', 'throw', 'context', 'say'), {
    minLength: 1,
    maxLength: 9,
  }),
  abortAt: fc.option(fc.nat(60), { nil: undefined }),
  points: fc.subarray([...HOOK_POINTS], { minLength: 1 }),
});

function answerOf(point: HookPoint, what: string) {
  switch (what) {
    case 'block':
      return { action: 'block', reason: 'blocked' };
    case 'stop':
      return { continue: false, stopReason: 'stopped' };
    case 'throw':
      throw new Error('thrown');
    case 'say':
      return { action: 'proceed', systemMessage: 'said' };
    case 'context':
      return ['session_start', 'before_run', 'before_agent', 'after_tool'].includes(point)
        ? { action: 'proceed', modifications: { additionalContext: 'more' } }
        : undefined;
    default:
      return undefined;
  }
}

test('whatever hooks do at whatever point, and whenever a run is aborted, it ends whole', async () => {
  const reasons = new Set<string>();
  await fc.assert(
    fc.asyncProperty(plan, async ({ rounds, acts, abortAt, points }) => {
      let calls = 0;
      const hooks = points.map((point) =>
        defineHook(point, (async () => {
          const at = calls++;
          await settle(rounds[at % rounds.length]);
          return answerOf(point, acts[at % acts.length] as string);
        }) as never),
      );
      const host = createHost({
        models: { scripted: model() },
        hooks,
        policy: [{ rules: [{ toolName: '*', decision: 'allow' }] }],
      });
      const run = host.run(team, 'go');
      const events: AgentEvent[] = [];
      for await (const event of run) {
        events.push(event);
        if (events.length === abortAt) run.abort('enough');
      }
      const { reason } = await run.result;
      await host.close();
      reasons.add(reason);
      expect(validateLog(events, { finished: true })).toEqual([]);
      expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason });
      expect(['completed', 'failed', 'aborted']).toContain(reason);
    }),
    { numRuns: 150, seed: 11 },
  );
  expect([...reasons].sort()).toEqual(['aborted', 'completed', 'failed']);
}, 120_000);
