import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import type { AgentDefinition, AgentEvent, Executor } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  hierarchical,
  loop,
  parallel,
  type Run,
  sequential,
  tool,
  transfer,
} from '../../src/index.js';
import { expectNoLeaks, scriptedModel, validateLog } from '../../src/testing/index.js';
import { stores } from '../support/stores.js';
import { collect, leaf, logOf, ofType, readAll, settle } from '../support/team.js';
import { asker, call, endsIn, gate, hostWith, until } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });
const asks = <const Name extends string>(name: Name) => agent({ name, tools: [asker('ask')] });

/** Every pattern on the way to a tool that runs, and a branch that waits for a person. */
function deepTeam() {
  const slow = gate('slow');
  const lead = hierarchical({
    name: 'lead',
    agent: leaf('boss'),
    children: [agent({ name: 'w', tools: [slow.tool] })],
  });
  const desk = transfer({ name: 't', members: [leaf('m'), lead], start: 'm' });
  const rounds = loop({ name: 'l', children: [desk], maxIterations: 2 });
  const team = sequential({
    name: 'root',
    children: [parallel({ name: 'p', children: [rounds, asks('q')] }), leaf('after')],
  });
  const script = {
    m: [call('transfer_to_agent', { target: 'lead' })],
    boss: [call('w', { prompt: 'x' })],
    w: [call('slow')],
    q: [call('ask')],
  };
  return { team, script, running: slow.running };
}

function expectEndsFromBelow(events: readonly AgentEvent[]): void {
  expect(validateLog(events, { finished: true })).toEqual([]);
  const aborted = endsIn(events).filter((end) => end.endsWith('aborted'));
  expect(new Set(aborted)).toEqual(
    new Set(
      ['-', 'p_1', 'p_1.l_1', 'p_1.l_1.t_1', 'p_1.l_1.t_1.lead_2', 'p_1.l_1.t_1.lead_2.w_1', 'p_1.q_2'].map(
        (threadId) => `${threadId}: aborted`,
      ),
    ),
  );
  const order = aborted.map((end) => end.slice(0, end.indexOf(':')));
  for (const threadId of order.filter((one) => one !== '-')) {
    const dot = threadId.lastIndexOf('.');
    expect(order.indexOf(threadId)).toBeLessThan(order.indexOf(dot < 0 ? '-' : threadId.slice(0, dot)));
  }
}

describe.each(stores)('%s', (_, makeStore) => {
  test.each(['run.abort', 'a signal', 'host.close', 'leaving'] as const)(
    '%s ends a run from below, and nobody asks a model any more (B058)',
    async (how) => {
      await expectNoLeaks(async () => {
        const { team, script, running } = deepTeam();
        const store = makeStore();
        const { host, model } = hostWith(script, { store });
        const aborter = new AbortController();
        const run = host.run(team, 'go', { signal: aborter.signal });
        const events: AgentEvent[] = [];
        let hasLeft = false;
        const iterator = run[Symbol.asyncIterator]();
        const reading = (async () => {
          while (!hasLeft) {
            const step = await iterator.next();
            if (step.done) return;
            events.push(step.value);
          }
        })();
        const signal = await running;
        await until(() => run.state().pending.length === 1);
        if (how === 'run.abort') run.abort('u');
        else if (how === 'a signal') aborter.abort(new Error('u'));
        else if (how === 'host.close') await host.close();
        else {
          hasLeft = true;
          await iterator.return?.();
        }
        await until(() => signal.aborted);
        if (how === 'run.abort' || how === 'a signal') expect(String(signal.reason)).toContain('u');
        await run.result;
        if (how !== 'leaving') await reading;
        await settle();
        expectEndsFromBelow(how === 'leaving' ? await logOf(store, run.sessionId) : events);
        expect(model.requests).toHaveLength(4);
        expect(getEventListeners(aborter.signal, 'abort')).toHaveLength(0);
        await host.close();
      });
    },
  );

  test.each(['controller.abort', 'session.abort'] as const)(
    '%s ends the run of a session from below (B058, B060)',
    async (how) => {
      const { team, script, running } = deepTeam();
      const { host, model } = hostWith(script, { store: makeStore() });
      const session = host.session(team);
      const { stream, controller } = session.stream(message());
      const reading = readAll(stream);
      await running;
      await settle();
      if (how === 'controller.abort') controller.abort('u');
      else session.abort('u');
      const events = await reading;
      expectEndsFromBelow(events);
      expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted', data: { reason: 'u' } });
      expect(session.state().type).toBe(how === 'controller.abort' ? 'idle' : 'aborted');
      expect(model.requests).toHaveLength(4);
      await host.close();
    },
  );

  test('a signal that has fired already: no model is asked, nobody starts, and the stream ends aborted (B061)', async () => {
    const signal = AbortSignal.abort(new Error('before'));
    for (const make of [() => leaf('m') as AgentDefinition, () => deepTeam().team as AgentDefinition]) {
      const { host, model } = hostWith({}, { store: makeStore() });
      const events = await collect(host.run(make(), 'go', { signal }));
      expect(events.map((event) => event.type)).toEqual(['initialize', 'message', 'stream_end']);
      expect(events.at(-1)).toMatchObject({ reason: 'aborted', data: { reason: 'before' } });
      expect(model.requests).toEqual([]);
      await host.close();
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test.each(['its executor is made', 'its input is mapped', 'its actor is made'] as const)(
    'a run that is aborted while a child is started, as %s, makes nobody below it (B071)',
    async (when) => {
      const made: string[] = [];
      let run: Run | undefined;
      const abortNow = () => run?.abort('now');
      const { host } = hostWith(
        {},
        { store: makeStore(), ...(when === 'its actor is made' && { inspect: () => abortNow() }) },
      );
      host.registerExecutor('theirs', ({ name }): Executor => {
        made.push(name);
        if (when === 'its executor is made') abortNow();
        return { turn: async () => ({ reason: 'completed' }) };
      });
      const theirs = <const Name extends string>(name: Name) => agent({ name, executor: 'theirs' });
      const child = hierarchical({ name: 'child', agent: theirs('boss'), children: [theirs('grand')] });
      const team = sequential({
        name: 'root',
        children: [child],
        mapInput: async () => {
          await settle(1);
          if (when === 'its input is mapped') abortNow();
          return undefined;
        },
      });
      run = host.run(team, 'go');
      expect(endsIn(await collect(run)).at(-1)).toBe('-: aborted');
      expect(made).not.toContain('grand');
      await host.close();
    },
  );
});

test('one signal over fifty children, a thousand tools and their model calls keeps no listener (B066)', async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.name);
  process.on('warning', onWarning);
  const listening = { once: false };
  const read = tool({
    name: 'read',
    description: 'Reads.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute(_args, { signal }) {
      signal.addEventListener('abort', () => {}, listening);
      return 'r';
    },
  });
  const children = Array.from({ length: 50 }, (_, at) => agent({ name: `k${at}`, tools: [read] }));
  const calls = { toolCalls: Array.from({ length: 20 }, (_, at) => ({ name: 'read', args: { at } })) };
  const model = scriptedModel(({ messages, signal }) => {
    signal?.addEventListener('abort', () => {}, listening);
    return messages.length === 1 ? calls : { text: 'ok' };
  });
  const { signal } = new AbortController();
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(parallel({ name: 'p', children } as never) as AgentDefinition, 'go', { signal });
  expect(ofType(await collect(run), 'tool_response')).toHaveLength(1_000);
  expect((await run.result).ok).toBe(true);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  await settle();
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

test('where many branches are told one after another that the run stops, none of them starts a tool meanwhile', async () => {
  let now = 0;
  const slow = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
  const aRound = () => new Promise((resolve) => setImmediate(resolve));
  const late: string[] = [];
  let isStopped = false;
  let started = 0;
  const step = tool({
    name: 'step',
    description: 'Goes on.',
    parameters: { type: 'object' },
    async execute() {
      started++;
      if (isStopped) late.push('step');
      await aRound();
    },
  });
  const model = scriptedModel(async (_, index) => {
    await aRound();
    return { toolCalls: [{ name: 'step', args: { index } }] };
  });
  const host = createHost({ models: { scripted: model } });
  const children = Array.from({ length: 12 }, (_, index) => agent({ name: `a${index}`, tools: [step] }));
  const run = host.run(parallel({ name: 'p', children }), 'go', { permissionMode: 'autonomous' });
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (isStopped || started < 30 || ofType(events, 'initialize').length < 13) continue;
    isStopped = true;
    run.abort('enough');
  }
  slow.mockRestore();
  expect(late).toEqual([]);
  expect((await run.result).reason).toBe('aborted');
  expect(validateLog(events, { finished: true })).toEqual([]);
  await host.close();
});
