import { expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent, UsageTotals } from '../../src/contracts/index.js';
import { agent, createHost, graph, hierarchical, loop, parallel, sequential, transfer } from '../../src/index.js';
import { type ScriptEntry, scriptedModel, validateLog } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { slowStore } from '../support/slow-store.js';
import { ofType } from '../support/team.js';

/** A team as a tree of shapes. Names come from the path, so that they differ. */
type Shape =
  | { kind: 'leaf'; does: 'answer' | 'fail' | 'refuse' | 'exit' | 'act' }
  | { kind: 'sequential'; goesOn: boolean; children: Shape[] }
  | { kind: 'parallel'; mode: 'settle' | 'fail_fast' | 'any'; concurrency: number; children: Shape[] }
  | { kind: 'loop'; rounds: number; children: Shape[] }
  | { kind: 'hierarchical'; children: Shape[] }
  | { kind: 'transfer'; hands: boolean; children: Shape[] }
  | { kind: 'graph'; way: 'all' | 'any' | 'round'; children: Shape[] };

const leafShape: fc.Arbitrary<Shape> = fc.record({
  kind: fc.constant('leaf' as const),
  does: fc.constantFrom('answer', 'answer', 'answer', 'act', 'fail', 'refuse', 'exit'),
});

const { shape } = fc.letrec<{ shape: Shape }>((tie) => {
  const children = fc.array(tie('shape'), { minLength: 1, maxLength: 3 });
  return {
    shape: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      leafShape,
      fc.record({ kind: fc.constant('sequential' as const), goesOn: fc.boolean(), children }),
      fc.record({
        kind: fc.constant('parallel' as const),
        mode: fc.constantFrom('settle', 'fail_fast', 'any'),
        concurrency: fc.integer({ min: 1, max: 3 }),
        children,
      }),
      fc.record({ kind: fc.constant('loop' as const), rounds: fc.integer({ min: 1, max: 2 }), children }),
      fc.record({ kind: fc.constant('hierarchical' as const), children }),
      fc.record({ kind: fc.constant('transfer' as const), hands: fc.boolean(), children }),
      fc.record({ kind: fc.constant('graph' as const), way: fc.constantFrom('all', 'any', 'round'), children }),
    ),
  };
});

/** What each agent's model says, by the number of the call. */
type Script = Record<string, (request: never, call: number) => ScriptEntry>;

const usage = (n: number) => ({ inputTokens: n, outputTokens: 1, cost: { usd: n / 1000 } });

function build(of: Shape, path: string, script: Script, handsTo?: string): AgentDefinition {
  const name = `n${path}`;
  if (of.kind === 'leaf') {
    script[name] = (_, call) => lineOf(of.does, call, handsTo);
    return agent({ name });
  }
  const isTransfer = of.kind === 'transfer';
  const children = of.children.map((child, at) =>
    build(
      child,
      `${path}_${at}`,
      script,
      isTransfer && of.hands && at === 0 && of.children.length > 1 ? `n${path}_1` : undefined,
    ),
  );
  switch (of.kind) {
    case 'sequential':
      return sequential({ name, children, onFailure: of.goesOn ? 'continue' : 'stop' });
    case 'parallel':
      return parallel({
        name,
        children,
        concurrency: of.concurrency,
        failure: of.mode === 'fail_fast' ? 'fail_fast' : 'settle',
        join: of.mode === 'any' ? 'any' : 'all',
      });
    case 'loop':
      return loop({ name, children, maxIterations: of.rounds });
    case 'transfer':
      return transfer({ name, members: children, start: children[0]!.name });
    case 'graph':
      return graphOf(name, of.way, children);
    case 'hierarchical': {
      const leader = `${name}_lead`;
      const calls = children.map((child) => ({ name: child.name, args: { prompt: 'x' } }));
      script[leader] = (_, call) =>
        call % 2 === 0 ? { toolCalls: calls, usage: usage(2) } : { text: leader, usage: usage(3) };
      return hierarchical({ name, agent: agent({ name: leader }), children });
    }
  }
}

/** All children at once between two functions; or one after another, twice. */
function graphOf(name: string, way: 'all' | 'any' | 'round', children: readonly AgentDefinition[]): AgentDefinition {
  const nodes = Object.fromEntries(children.map((child) => [child.name, child]));
  const names = Object.keys(nodes);
  const [first = '', last = ''] = [names[0], names.at(-1)];
  const options =
    way === 'round'
      ? {
          nodes,
          edges: [
            ...names.slice(1).map((to, index) => ({ from: names[index], to })),
            { from: last, to: first, guard: ({ visits }: { visits: Record<string, number> }) => visits[last] === 1 },
          ],
          start: first,
          end: last,
          maxSteps: 2 * names.length,
        }
      : {
          nodes: { [`${name}_split`]: () => 'go', ...nodes, [`${name}_join`]: () => undefined },
          edges: names.flatMap((one) => [
            { from: `${name}_split`, to: one },
            { from: one, to: `${name}_join` },
          ]),
          start: `${name}_split`,
          end: `${name}_join`,
          joins: { [`${name}_join`]: way },
        };
  return graph({ name, ...options } as never);
}

function lineOf(does: (Shape & { kind: 'leaf' })['does'], call: number, handsTo: string | undefined): ScriptEntry {
  if (handsTo !== undefined && call === 0) {
    return { toolCalls: [{ name: 'transfer_to_agent', args: { target: handsTo } }], usage: usage(1) };
  }
  switch (does) {
    case 'answer':
      return { text: `said ${call}`, usage: usage(1) };
    case 'act':
      // A tool that it does not have: answered with an error, then it says something.
      return call % 2 === 0
        ? { toolCalls: [{ name: 'nothing', args: {} }], usage: usage(4) }
        : { text: 'acted', usage: usage(1) };
    case 'exit':
      // Outside a loop there is no such tool: the second call answers.
      return call % 2 === 0 ? { toolCalls: [{ name: 'exit_loop', args: {} }], usage: usage(1) } : { text: 'stayed' };
    case 'fail':
      return { error: { code: 'BOOM', message: 'boom', retryable: false } };
    case 'refuse':
      return { refusal: 'no', usage: usage(1) };
  }
}

/** What the `stream_end`s say, against the sum of usage events on a thread and below it. */
function checkUsage(events: readonly AgentEvent[], script: Script): void {
  // A composition has no usage of its own: only who asks a model has.
  for (const one of ofType(events, 'usage')) expect(Object.keys(script)).toContain(one.agentId);
  for (const end of ofType(events, 'stream_end')) {
    const below = ofType(events, 'usage').filter(
      ({ threadId }) =>
        end.threadId === undefined || threadId === end.threadId || threadId?.startsWith(`${end.threadId}.`),
    );
    const sum: UsageTotals = {};
    let usd: number | undefined;
    for (const one of below) {
      for (const field of ['inputTokens', 'outputTokens'] as const) {
        if (one[field] !== undefined) sum[field] = (sum[field] ?? 0) + one[field];
      }
      usd = (usd ?? 0) + (one.cost?.usd ?? 0);
    }
    expect(end.data?.usage ?? {}).toEqual(sum);
    if (usd === undefined) expect(end.data).not.toHaveProperty('cost');
    else expect(end.data?.cost?.usd).toBeCloseTo(usd, 9);
  }
}

/** The shape of what each composition of a team ended with. */
function checkResults(events: readonly AgentEvent[], definitions: ReadonlyMap<string, AgentDefinition>): void {
  const completed = new Map(ofType(events, 'agent_completed').map((event) => [event.threadId, event]));
  for (const end of ofType(events, 'stream_end')) {
    const name = end.threadId === undefined ? undefined : completed.get(end.threadId)?.agentName;
    const definition = definitions.get(name ?? 'n');
    const { composition } = definition?.descriptor ?? {};
    if (end.threadId !== undefined) {
      expect(completed.get(end.threadId)).toMatchObject({ reason: end.reason });
      expect(completed.get(end.threadId)?.result).toEqual(end.data?.result);
    }
    if (composition === undefined || composition.pattern === 'hierarchical') continue;
    const { result, results = {}, failures = {}, exit } = end.data ?? {};
    const children = composition.children;
    for (const [child, fault] of Object.entries(failures)) {
      expect(children).toContain(child);
      expect(fault).toEqual({ code: expect.any(String), message: expect.any(String) });
    }
    if (composition.pattern === 'parallel') {
      const keys = Object.keys((result ?? results) as object);
      expect(keys).toEqual(children.filter((child) => keys.includes(child)));
      if (end.reason === 'completed' && end.data?.escalateReason === undefined) {
        expect(keys.length + Object.keys(failures).length).toBeLessThanOrEqual(children.length);
      }
      expect(keys.filter((key) => key in failures)).toEqual([]);
    } else {
      expect(children).toEqual(expect.arrayContaining(Object.keys(results)));
    }
    if (composition.pattern === 'loop' && end.reason === 'completed') {
      expect(['escalated', 'max_iterations']).toContain(exit);
      expect(end.data).not.toHaveProperty('escalateReason');
    }
    if (end.reason === 'failed') expect(Object.keys(failures).length).toBeGreaterThan(0);
    if (composition.pattern === 'sequential' && end.reason === 'completed' && composition.onFailure !== 'continue') {
      expect(failures).toEqual({});
    }
  }
}

function collectDefinitions(definition: AgentDefinition, into: Map<string, AgentDefinition>): void {
  into.set(definition.name, definition);
  for (const child of definition.children ?? []) collectDefinitions(child, into);
}

test('any team, nested in any order and whatever its agents do, ends in good order', async () => {
  await fc.assert(
    fc.asyncProperty(shape, fc.boolean(), async (of, isSlow) => {
      const script: Script = {};
      const team = build(of, '', script);
      const host = createHost({
        models: { scripted: scriptedModel({ byAgent: script } as never) },
        ...(isSlow && { store: slowStore() }),
      });
      const run = host.run(team, 'go');
      const events: AgentEvent[] = [];
      for await (const event of run) events.push(event);
      expect(validateLog(events, { finished: true })).toEqual([]);
      const definitions = new Map<string, AgentDefinition>();
      collectDefinitions(team, definitions);
      checkResults(events, definitions);
      checkUsage(events, script);
      expect(run.state().threads).toHaveLength(1);
      expect(JSON.parse(JSON.stringify(events))).toEqual(events);
      const log: AgentEvent[] = [];
      for await (const event of host.attach(run.sessionId)) log.push(event);
      expect(validateLog(log, { finished: true })).toEqual([]);
      await host.close();
    }),
    { numRuns: 250 },
  );
}, 60_000);

test('any team is aborted at any moment, and every thread ends before its parent', async () => {
  await fc.assert(
    fc.asyncProperty(shape, fc.integer({ min: 1, max: 60 }), fc.boolean(), async (of, after, isSlow) => {
      const script: Script = {};
      const team = build(of, '', script);
      const host = createHost({
        models: { scripted: scriptedModel({ byAgent: script } as never) },
        ...(isSlow && { store: slowStore() }),
      });
      const run = host.run(team, 'go');
      const events: AgentEvent[] = [];
      for await (const event of run) {
        events.push(event);
        if (events.length === after) run.abort('enough');
      }
      expect(validateLog(events, { finished: true })).toEqual([]);
      checkUsage(events, script);
      const { reason } = await run.result;
      const ended = events.findIndex((event) => event.type === 'stream_end' && event.threadId === undefined);
      expect(ended).toBe(events.length - 1);
      if (events.length > after + 1) expect(['aborted', 'completed', 'failed', 'refusal']).toContain(reason);
      await host.close();
    }),
    { numRuns: 250 },
  );
}, 60_000);
