import { expect, test } from 'vitest';
import type { AgentDefinition, Executor } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, leaf, ofType, settle } from '../support/team.js';
import { asker, boom, call, endsIn, gate, hostWith, startedIn, until } from '../support/teams.js';

const ask = (name: string) => call(name, { prompt: 'x' });

test('an abort reaches a tool three levels down with its reason, and the ends come from below (B058)', async () => {
  const slow = gate('slow');
  const team = sequential({
    name: 'root',
    children: [
      hierarchical({ name: 'child', agent: leaf('planner'), children: [agent({ name: 'grand', tools: [slow.tool] })] }),
      leaf('after'),
    ],
  });
  const { host, model } = hostWith({ planner: [ask('grand')], grand: [call('slow')] });
  const run = host.run(team, 'go');
  const events = collect(run);
  const signal = await slow.running;
  run.abort('u');
  const all = await events;
  expect((signal.reason as Error).message).toBe('u');
  expect(endsIn(all)).toEqual(['child_1.grand_1: aborted', 'child_1: aborted', '-: aborted']);
  for (const end of ofType(all, 'stream_end')) expect(end.data).toMatchObject({ reason: 'u', by: 'user' });
  expect(model.requests).toHaveLength(2);
  await host.close();
});

test.each(['sequential', 'parallel', 'loop', 'transfer', 'hierarchical'] as const)(
  'an abort in the same breath as the start of a %s makes nobody below it (B071)',
  async (pattern) => {
    const made: string[] = [];
    const host = createHost({ models: { scripted: scriptedModel([]) } });
    host.registerExecutor('theirs', (descriptor): Executor => {
      made.push(descriptor.name);
      return { turn: async () => ({ reason: 'completed' }) };
    });
    const grand = agent({ name: 'grand', executor: 'theirs' });
    const inner = sequential({ name: 'inner', children: [grand] });
    const teams: Record<typeof pattern, AgentDefinition> = {
      sequential: sequential({ name: 'root', children: [inner] }),
      parallel: parallel({ name: 'root', children: [inner] }),
      loop: loop({ name: 'root', children: [inner], maxIterations: 3 }),
      transfer: transfer({ name: 'root', members: [inner], start: 'inner' }),
      hierarchical: hierarchical({
        name: 'root',
        agent: agent({ name: 'lead', executor: 'theirs' }),
        children: [inner],
      }),
    };
    const run = host.run(teams[pattern], 'go');
    run.abort('at once');
    const events = await collect(run);
    expect(endsIn(events).at(-1)).toBe('-: aborted');
    expect(made.filter((name) => name === 'grand')).toEqual([]);
    await host.close();
  },
);

test('what a child is given comes too late once its parent was aborted', async () => {
  const made: string[] = [];
  const { host } = hostWith({});
  host.registerExecutor('theirs', (descriptor): Executor => {
    made.push(descriptor.name);
    return { turn: async () => ({ reason: 'completed' }) };
  });
  const inner = sequential({ name: 'inner', children: [agent({ name: 'grand', executor: 'theirs' })] });
  const team = sequential({
    name: 'root',
    children: [inner],
    mapInput: async () => {
      await settle(1);
      run.abort('now');
      return 'x';
    },
  });
  const run = host.run(team, 'go');
  expect(startedIn(await collect(run))).toEqual([]);
  expect(made).toEqual([]);
  await host.close();
});

test('a signal that has fired already starts no child and asks no model (B061)', async () => {
  const { host, model } = hostWith({});
  const team = parallel({ name: 'p', children: [leaf('a'), leaf('b')] });
  const run = host.run(team, 'go', { signal: AbortSignal.abort(new Error('before')) });
  const events = await collect(run);
  expect(endsIn(events).at(-1)).toBe('-: aborted');
  expect(model.requests).toHaveLength(0);
  await host.close();
});

test('an answer and an abort in the same breath: the answer counts, then the abort (B073)', async () => {
  const team = sequential({ name: 's', children: [agent({ name: 'a', tools: [asker('ask')] })] });
  const { host } = hostWith({ a: [call('ask'), { text: 'A' }] });
  const run = host.run(team, 'go');
  const events = collect(run);
  await until(() => run.state().pending.length === 1);
  run.respond(run.state().pending[0]!.requestId, { action: 'accept', content: {} });
  run.abort('enough', { threadId: 'a_1' });
  const all = await events;
  expect(ofType(all, 'elicitation_response')).toMatchObject([{ action: 'accept' }]);
  expect(ofType(all, 'tool_response')).toHaveLength(1);
  expect(endsIn(all)).toEqual(['a_1: aborted', '-: failed']);
  await host.close();
});

test('a word for a child and its abort in the same breath leave one end and no rest', async () => {
  const slow = gate('slow');
  const team = parallel({ name: 'p', children: [agent({ name: 'a', tools: [slow.tool] }), leaf('b')] });
  const { host } = hostWith({ a: [call('slow'), { text: 'A' }], b: [{ text: 'B' }] });
  const run = host.run(team, 'go');
  const events = collect(run);
  await slow.running;
  run.steer({ message: 'hurry' }, { threadId: 'a_1' });
  run.abort('enough', { threadId: 'a_1' });
  const all = await events;
  expect(endsIn(all).filter((end) => end.startsWith('a_1'))).toEqual(['a_1: aborted']);
  expect(run.state().threads).toHaveLength(1);
  await host.close();
});

test('a composition that is aborted by its thread fails its parent, and siblings go on', async () => {
  const slow = gate('slow');
  const inner = sequential({ name: 'inner', children: [agent({ name: 'a', tools: [slow.tool] }), leaf('b')] });
  const team = parallel({ name: 'p', children: [inner, leaf('c')] });
  const { host } = hostWith({ a: [call('slow')], c: [{ text: 'C' }] });
  const run = host.run(team, 'go');
  const events = collect(run);
  await slow.running;
  run.abort('not this', { threadId: 'inner_1' });
  const ends = endsIn(await events);
  // The sibling ends when it ends; the branch that is aborted ends from below, and all before the parent.
  expect(ends.filter((end) => !end.startsWith('c_2'))).toEqual([
    'inner_1.a_1: aborted',
    'inner_1: aborted',
    '-: completed',
  ]);
  expect(ends.slice(0, -1)).toContain('c_2: completed');
  expect((await run.result).data).toMatchObject({ result: { c: 'C' }, failures: { inner: { code: 'ABORTED' } } });
  await host.close();
});

test('what was done before an abort is kept in its data', async () => {
  const slow = gate('slow');
  const team = sequential({ name: 's', children: [leaf('a'), agent({ name: 'b', tools: [slow.tool] })] });
  const { host } = hostWith({ a: [{ text: 'A' }], b: [call('slow')] });
  const run = host.run(team, 'go');
  await slow.running;
  run.abort('enough');
  expect((await run.result).data).toMatchObject({ results: { a: 'A' }, reason: 'enough' });
  await host.close();
});

test('a limit on model calls counts everything below a composition', async () => {
  const inner = parallel({ name: 'inner', children: [leaf('a'), leaf('b')], constraints: { maxLlmCalls: 3 } });
  const team = sequential({
    name: 's',
    children: [loop({ name: 'l', children: [inner], maxIterations: 5 })],
    onFailure: 'continue',
  });
  const { host, model } = hostWith({ a: () => ({ text: 'A' }), b: () => ({ text: 'B' }) });
  const run = host.run(team, 'go');
  const events = await collect(run);
  expect(model.requests.length).toBe(10);
  expect(endsIn(events).at(-1)).toBe('-: completed');
  await host.close();

  const whole = sequential({ name: 's', children: [leaf('a'), leaf('b'), leaf('c')], constraints: { maxLlmCalls: 2 } });
  const other = hostWith({ a: [{ text: 'A' }], b: [{ text: 'B' }] });
  const result = await other.host.run(whole, 'go').result;
  expect(result).toMatchObject({
    reason: 'max_turns',
    data: { limit: 'maxLlmCalls', used: 2, results: { a: 'A', b: 'B' } },
  });
  expect(other.model.requests).toHaveLength(2);
  await other.host.close();
});

test('branches that reach the limit of their parent together end it once', async () => {
  const team = parallel({ name: 'p', children: ['a', 'b', 'c', 'd'].map(leaf), constraints: { maxLlmCalls: 2 } });
  const { host, model } = hostWith(
    Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, () => ({ text: name })])),
  );
  const run = host.run(team as AgentDefinition, 'go');
  const events = await collect(run);
  expect(model.requests).toHaveLength(2);
  expect(endsIn(events).filter((end) => end.endsWith('max_turns'))).toEqual(['-: max_turns']);
  await host.close();
});

test('the budget of a composition bounds all below it', async () => {
  const costly = { text: 'x', usage: { inputTokens: 1, cost: { usd: 0.6 } } };
  const team = loop({ name: 'l', children: [leaf('a')], maxIterations: 9, constraints: { maxBudgetUsd: 1 } });
  const { host, model } = hostWith({ a: () => costly });
  const result = await host.run(team, 'go').result;
  expect(model.requests).toHaveLength(2);
  expect(result).toMatchObject({ reason: 'max_budget', data: { limit: 'maxBudgetUsd' }, cost: { usd: 1.2 } });
  await host.close();
});

test('what a failing executor left undone is done by the host: every thread ends', async () => {
  const host = createHost({ models: { scripted: scriptedModel({ byAgent: { b: [boom()] } }) } });
  host.registerExecutor(
    'theirs',
    (): Executor => ({
      async *turn() {
        yield { type: 'message', messageId: 'm', role: 'agent', content: [{ type: 'text', text: 'half' }] };
        throw new Error('broke');
      },
    }),
  );
  const team = parallel({ name: 'p', children: [agent({ name: 'a', executor: 'theirs' }), leaf('b')] });
  const run = host.run(team, 'go');
  const events = await collect(run);
  expect(startedIn(events)).toEqual(['a', 'b']);
  expect((await run.result).data.failures).toMatchObject({ a: { message: 'broke' }, b: { message: 'boom' } });
  await host.close();
});

test('no rejection is left behind by what is aborted', async () => {
  const rejections: unknown[] = [];
  const note = (reason: unknown) => void rejections.push(reason);
  process.on('unhandledRejection', note);
  const throwing = tool({
    name: 'throwing',
    description: 'Rejects when it is aborted.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  });
  const never = gate('never');
  const team = parallel({
    name: 'p',
    failure: 'fail_fast',
    children: [agent({ name: 'a', tools: [throwing] }), agent({ name: 'b', tools: [never.tool] }), leaf('c')],
  });
  const { host } = hostWith({ a: [call('throwing')], b: [call('never')], c: [boom('E1')] });
  const run = host.run(team, 'go');
  await collect(run);
  await host.close();
  await settle();
  process.off('unhandledRejection', note);
  expect(rejections).toEqual([]);
});
