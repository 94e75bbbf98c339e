import { describe, expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { expectNoLeaks, scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import { stores } from '../support/stores.js';
import { deferred, leaf, ofType, settle } from '../support/team.js';
import { asker, boom, call, gate, type Lines, startedIn, until } from '../support/teams.js';

const asks = (name: string) => agent({ name, tools: [asker('ask')] });
const both = (...calls: { toolCalls: { name: string; args: object }[] }[]) => ({
  toolCalls: calls.flatMap((one) => one.toolCalls),
});

interface Sibling {
  agent: AgentDefinition;
  lines: Lines;
  /** It is where it is to be when it is stopped. */
  isReady(events: readonly AgentEvent[]): boolean;
  letGo?(): void;
}

const write = tool({ name: 'write', description: 'Writes.', parameters: { type: 'object' }, execute: () => 'written' });
const hasAsked = (events: readonly AgentEvent[]) => ofType(events, 'elicitation_request').length > 0;

function slowTool() {
  const slow = gate('slow');
  let isRunning = false;
  void slow.running.then(() => {
    isRunning = true;
  });
  return { tool: slow.tool, isReady: () => isRunning };
}

/** Branches that are in the middle of something when their sibling ends the work. */
const siblings: Record<string, () => Sibling> = {
  'in a tool': () => {
    const { tool: slow, isReady } = slowTool();
    return { agent: agent({ name: 'x', tools: [slow] }), lines: { x: [call('slow'), { text: 'X' }] }, isReady };
  },
  'in a tool that heeds no signal': () => {
    const late = deferred<string>();
    let isRunning = false;
    const stuck = tool({
      name: 'stuck',
      description: 'Stuck.',
      parameters: { type: 'object' },
      annotations: { readOnly: true },
      execute() {
        isRunning = true;
        return late.promise;
      },
    });
    return {
      agent: agent({ name: 'x', tools: [stuck] }),
      lines: { x: [call('stuck'), { text: 'X' }] },
      isReady: () => isRunning,
      letGo: () => late.resolve('late'),
    };
  },
  'in a model call': () => {
    let isAsked = false;
    const answer = () => {
      isAsked = true;
      return { text: 'X', delayMs: 3_000 };
    };
    return { agent: leaf('x'), lines: { x: answer }, isReady: () => isAsked };
  },
  'between two tries of a model call': () => ({
    agent: leaf('x'),
    lines: { x: () => ({ error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: 200_000 } }) },
    isReady: (events) => events.some((event) => event.type === 'custom' && event.kind === 'notice'),
  }),
  'waiting for approval': () => ({
    agent: agent({ name: 'x', tools: [write] }),
    lines: { x: [call('write'), { text: 'X' }] },
    isReady: hasAsked,
  }),
  'waiting for an answer': () => ({ agent: asks('x'), lines: { x: [call('ask'), { text: 'X' }] }, isReady: hasAsked }),
  'leading others': () => {
    const { tool: slow, isReady } = slowTool();
    return {
      agent: hierarchical({
        name: 'x',
        agent: leaf('boss'),
        children: [agent({ name: 'w', tools: [slow] }), asks('v')],
      }),
      lines: {
        boss: [both(call('w', { prompt: 'p' }), call('v', { prompt: 'p' })), { text: 'X' }],
        w: [call('slow')],
        v: [call('ask')],
      },
      isReady: (events) => isReady() && hasAsked(events),
    };
  },
  'handed over': () => {
    const { tool: slow, isReady } = slowTool();
    return {
      agent: transfer({ name: 'x', members: [leaf('m'), agent({ name: 'n', tools: [slow] })], start: 'm' }),
      lines: { m: [call('transfer_to_agent', { target: 'n' })], n: [call('slow')] },
      isReady,
    };
  },
  'in a loop of its own': () => {
    const { tool: slow, isReady } = slowTool();
    return {
      agent: loop({ name: 'x', children: [leaf('q'), agent({ name: 'w', tools: [slow] })], maxIterations: 4 }),
      lines: { q: () => ({ text: 'Q' }), w: [call('slow')] },
      isReady,
    };
  },
  'in an until that never answers': () => {
    let isAsked = false;
    const until = () => {
      isAsked = true;
      return new Promise<boolean>(() => {});
    };
    return {
      agent: loop({ name: 'x', children: [leaf('q')], maxIterations: 4, until }),
      lines: { q: () => ({ text: 'Q' }) },
      isReady: () => isAsked,
    };
  },
};

interface Trigger {
  team(sibling: AgentDefinition, first: AgentDefinition): AgentDefinition;
  /** What the first branch does, once it may. */
  answer: ReturnType<typeof call> | ReturnType<typeof boom> | { text: string };
  reason: string;
  data: object;
}

/** What ends the work of the siblings. `after` must never start. */
const triggers: Record<string, Trigger> = {
  'an escalation (B013)': {
    team: (x, first) =>
      loop({
        name: 'top',
        children: [parallel({ name: 'p', children: [first, x] as never }), leaf('after')] as never,
        maxIterations: 3,
      }),
    answer: call('exit_loop'),
    reason: 'completed',
    data: { exit: 'escalated', iterations: 1 },
  },
  'an escalation from deep below (B013)': {
    team: (x, first) =>
      loop({
        name: 'top',
        maxIterations: 3,
        children: [
          parallel({
            name: 'p',
            children: [
              sequential({ name: 's1', children: [parallel({ name: 'p1', children: [first] as never })] as never }),
              sequential({ name: 's2', children: [x, leaf('after')] as never }),
            ] as never,
          }),
        ] as never,
      }),
    answer: call('exit_loop'),
    reason: 'completed',
    data: { exit: 'escalated', iterations: 1 },
  },
  'a failure, with fail_fast (B011)': {
    team: (x, first) => parallel({ name: 'top', failure: 'fail_fast', children: [first, x] as never }),
    answer: boom('E1'),
    reason: 'failed',
    data: { code: 'BOOM', message: 'first: E1' },
  },
  'a failure from deep below, with fail_fast (B011)': {
    team: (x, first) =>
      parallel({
        name: 'top',
        failure: 'fail_fast',
        children: [
          sequential({ name: 's1', children: [first] as never }),
          sequential({
            name: 's2',
            children: [parallel({ name: 'p2', children: [x] as never }), leaf('after')] as never,
          }),
        ] as never,
      }),
    answer: boom('E1'),
    reason: 'failed',
    data: { code: 'BOOM', message: 's1: first: E1' },
  },
  'the first success, with join any': {
    team: (x, first) => parallel({ name: 'top', join: 'any', children: [first, x] as never }),
    answer: { text: 'F' },
    reason: 'completed',
    data: { result: { first: 'F' } },
  },
};

describe.each(Object.entries(triggers))('%s stops a sibling', (_, trigger) => {
  test.each(Object.entries(siblings))('%s: it ends aborted, before its parent, and says no more', async (__, make) => {
    for (const [, makeStore] of stores) {
      const sibling = make();
      const go = gate('go');
      await expectNoLeaks(async () => {
        const clock = virtualClock();
        const lines = { ...sibling.lines, first: [call('go'), trigger.answer] };
        const model = scriptedModel({ byAgent: lines } as never, { clock });
        const host = createHost({ models: { scripted: model }, clock, store: makeStore() });
        const run = host.run(trigger.team(sibling.agent, agent({ name: 'first', tools: [go.tool] })), 'go');
        const events: AgentEvent[] = [];
        const reading = (async () => {
          for await (const event of run) events.push(event);
        })();
        await until(() => sibling.isReady(events));
        await go.running;
        go.open('');
        await reading;
        expect(validateLog(events, { finished: true })).toEqual([]);
        expect(startedIn(events)).not.toContain('after');
        const at = events.findIndex((event) => event.type === 'stream_end' && event.agentId === 'first');
        expect(events.slice(at).filter((event) => event.type === 'message')).toEqual([]);
        expect(ofType(events, 'error').map((event) => event.message)).toEqual('error' in trigger.answer ? ['E1'] : []);
        const ends = ofType(events, 'stream_end').filter((event) => /(^|\.)x_\d$/.test(event.threadId ?? ''));
        expect(ends.map((event) => event.reason)).toEqual(['aborted']);
        expect(await run.result).toMatchObject({ reason: trigger.reason, data: trigger.data });
        const closing = host.close();
        // A tool that heeds nothing is waited for no longer than an abort may take.
        await settle();
        await clock.advance(5_000);
        await closing;
        expect(clock.pending).toBe(0);
      });
      sibling.letGo?.();
    }
  });
});
