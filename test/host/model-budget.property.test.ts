import { expect, test } from 'vitest';
import type { AgentDefinition, ModelInterface } from '../../src/index.js';
import { agent, createHost, hierarchical, loop, parallel, sequential } from '../../src/index.js';
import { seededRandom, virtualClock } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { collect } from '../support/team.js';

// Loaded once, so that no run waits for a file while its virtual time goes by.
await import('p-queue');

type Plan =
  | { kind: 'leaf'; calls: number }
  | { kind: 'sequential' | 'parallel' | 'loop' | 'lead'; children: Plan[]; usd?: number };

const plans = (depth: number): fc.Arbitrary<Plan> => {
  const leaves = fc.record({ kind: fc.constant('leaf' as const), calls: fc.integer({ min: 1, max: 2 }) });
  if (depth === 0) return leaves;
  const team = fc.record(
    {
      kind: fc.constantFrom('sequential' as const, 'parallel' as const, 'loop' as const, 'lead' as const),
      children: fc.array(plans(depth - 1), { minLength: 1, maxLength: 3 }),
      usd: fc.integer({ min: 20, max: 400 }),
    },
    { requiredKeys: ['kind', 'children'] },
  );
  return fc.oneof({ weight: 1, arbitrary: leaves }, { weight: 3, arbitrary: team });
};

/** The team of a plan, its agents named by their place. */
function build(plan: Plan, name = 'r', model = 'm'): AgentDefinition {
  if (plan.kind === 'leaf')
    return agent({ name, model, generation: { maxOutputTokens: 40 }, constraints: { maxTurns: plan.calls } });
  const children = plan.children.map((child, at) => build(child, `${name}_${at}`, model));
  const constraints = plan.usd === undefined ? {} : { maxBudgetUsd: plan.usd };
  if (plan.kind === 'sequential') return sequential({ name, children, onFailure: 'continue', constraints });
  if (plan.kind === 'parallel') return parallel({ name, children, constraints });
  if (plan.kind === 'loop') return loop({ name, children, maxIterations: 2, constraints });
  return hierarchical({ name, agent: agent({ name: `${name}_lead`, model }), children, constraints });
}

/** Answers after a while by chance, with as many tokens as it likes up to what it may; leads call all their children once. */
function honestModel(
  random: () => number,
  clock: ReturnType<typeof virtualClock>,
  spent: { usd: number },
): ModelInterface {
  return {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream(request) {
      const most = request.config?.maxOutputTokens ?? 40;
      await new Promise<void>((resolve) => clock.schedule(resolve, Math.floor(random() * 50)));
      if (random() < 0.1) throw Object.assign(new Error('down'), {});
      const outputTokens = Math.floor(random() * (Math.min(most, 40) + 1));
      spent.usd += outputTokens;
      const called = request.messages.some(({ content }) => content.some(({ type }) => type === 'function_response'));
      const toolCalls = called ? [] : (request.tools ?? []).map(({ name }) => ({ name, args: { prompt: 'go' } }));
      yield {
        content: [{ type: 'text', text: 'said' }],
        toolCalls,
        usage: { inputTokens: 1, outputTokens },
        finishReason: toolCalls.length > 0 ? 'tool_calls' : 'stop',
      };
    },
  };
}

async function play(plan: Plan, seed: number, options: { usd?: number; concurrency?: number }) {
  const clock = virtualClock();
  const spent = { usd: 0 };
  const model = honestModel(seededRandom(seed), clock, spent);
  const host = createHost({
    models: { m: model },
    prices: { m: { input: 0, output: 1_000_000, maxOutputTokens: 40 } },
    clock,
    seed,
    limits:
      options.concurrency === undefined
        ? {}
        : { concurrency: options.concurrency, providers: { m: { concurrency: 1 } } },
  });
  const run = host.run(build(plan), 'go', options.usd === undefined ? {} : { maxBudgetUsd: options.usd });
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  const reading = collect(run);
  reading.then(end, end);
  for (let step = 0; !isDone && step < 5_000; step++) await clock.advance(20);
  expect(isDone).toBe(true);
  const events = await reading;
  await host.close();
  return { events, result: await run.result, spent, pending: clock.pending };
}

test('no team spends more than its budget, whatever the order in which its calls end, and every run ends', async () => {
  await fc.assert(
    fc.asyncProperty(plans(2), fc.integer(), fc.integer({ min: 0, max: 600 }), async (plan, seed, usd) => {
      const { result, spent, pending } = await play(plan, seed, { usd });
      expect(spent.usd).toBeLessThanOrEqual(usd);
      expect(result.cost?.usd ?? 0).toBeLessThanOrEqual(usd);
      expect(['completed', 'failed', 'max_budget']).toContain(result.reason);
      expect(pending).toBe(0);
    }),
    { seed: 63, numRuns: 60 },
  );
}, 60_000);

test('limits inside a team hold as well as that of the whole', async () => {
  await fc.assert(
    fc.asyncProperty(plans(3), fc.integer(), async (plan, seed) => {
      const { events } = await play(plan, seed, {});
      const limits = new Map<string, number>();
      const note = (one: Plan, name: string) => {
        if (one.kind === 'leaf') return;
        if (one.usd !== undefined) limits.set(name, one.usd);
        one.children.forEach((child, at) => note(child, `${name}_${at}`));
      };
      note(plan, 'r');
      // Sessions of one definition each have their limit: what ends with a sum says what it spent.
      const names = new Map<string | undefined, string>([[undefined, 'r']]);
      for (const event of events) {
        if (event.type === 'agent_started') names.set(event.threadId, event.agentName);
        if (event.type !== 'stream_end') continue;
        const limit = limits.get(names.get(event.threadId) ?? '') ?? Number.POSITIVE_INFINITY;
        expect(event.data?.cost?.usd ?? 0).toBeLessThanOrEqual(limit);
      }
    }),
    { seed: 64, numRuns: 40 },
  );
}, 60_000);

test('any depth and width finishes with one request at a time', async () => {
  await fc.assert(
    fc.asyncProperty(plans(3), fc.integer(), fc.boolean(), async (plan, seed, isBudgeted) => {
      const { result } = await play(plan, seed, { concurrency: 1, ...(isBudgeted && { usd: 200 }) });
      expect(['completed', 'failed', 'max_budget']).toContain(result.reason);
    }),
    { seed: 64, numRuns: 40 },
  );
}, 60_000);
