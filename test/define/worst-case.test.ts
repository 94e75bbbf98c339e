import { afterEach, expect, test } from 'vitest';
import type { AgentDefinition, ModelRequest } from '../../src/contracts/index.js';
import { worstCaseOf } from '../../src/define/worst-case.js';
import * as troupe from '../../src/index.js';
import { type ScriptEntry, scriptedModel } from '../../src/models/scripted.js';

// What an author types is held to by the compiler; here every shape is built from the same helpers.
const { agent, hierarchical, loop, parallel, sequential, transfer } = troupe as unknown as Record<
  string,
  (options: object) => AgentDefinition
>;

const looks = troupe.tool({
  name: 'looks',
  description: 'Looks.',
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const limited = (name: string, maxTurns: number, more: object = {}) =>
  agent!({
    name,
    description: `${name} works.`,
    model: 'scripted',
    tools: [looks],
    constraints: { maxTurns, ...more },
  });

const hosts: troupe.Host[] = [];
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
});

type Answer = (request: ModelRequest, call: number) => ScriptEntry;

/** Runs a team whose every agent makes as many calls as it can; returns the calls and how the run ended. */
async function runToTheLimit(definition: AgentDefinition, answer: Answer): Promise<{ calls: number; reason: string }> {
  const perThread = new Map<string, number>();
  const model = scriptedModel((request) => {
    const thread = String(request._meta?.threadId ?? '');
    const call = (perThread.get(thread) ?? 0) + 1;
    perThread.set(thread, call);
    return answer(request, call);
  });
  const host = troupe.createHost({ models: { scripted: model } });
  hosts.push(host);
  const { reason } = await host.run(definition, 'go').result;
  return { calls: model.requests.length, reason };
}

/** Different arguments each time, so that nothing looks like going in circles. */
let looked = 0;
const look = (): ScriptEntry => ({ toolCalls: [{ name: 'looks', args: { n: looked++ } }] });
/** Looks until its last turn, then answers. */
const thorough =
  (turns: Record<string, number>): Answer =>
  (request, call) =>
    call < (turns[String(request._meta?.agent)] ?? 1) ? look() : { text: 'done' };

test('an agent makes its turns, and one call more with a grace turn', async () => {
  const plain = limited('a', 3);
  expect(await runToTheLimit(plain, look)).toEqual({ calls: worstCaseOf(plain).modelCalls, reason: 'max_turns' });
  const graceful = limited('a', 3, { graceTurn: true });
  expect((await runToTheLimit(graceful, look)).calls).toBe(worstCaseOf(graceful).modelCalls);
});

test('a sequence, a parallel and a loop make what is foretold', async () => {
  const team = sequential!({
    name: 'team',
    children: [
      parallel!({ name: 'gather', children: [limited('a', 3), limited('b', 2)] }),
      loop!({ name: 'polish', children: [limited('c', 2), limited('d', 1)], maxIterations: 4 }),
    ],
  });
  const ended = await runToTheLimit(team, thorough({ a: 3, b: 2, c: 2, d: 1 }));
  expect(ended).toEqual({ calls: worstCaseOf(team).modelCalls, reason: 'completed' });
});

test('maxLlmCalls of a composition ends what is below it; a grace turn goes beyond a limit of its own only', async () => {
  const constraints = { maxLlmCalls: 4 };
  const team = sequential!({ name: 'team', children: [limited('a', 3), limited('b', 3)], constraints });
  expect((await runToTheLimit(team, thorough({ a: 3, b: 3 }))).calls).toBe(worstCaseOf(team).modelCalls);
  const graceful = sequential!({ name: 'team', children: [limited('a', 4, { graceTurn: true })], constraints });
  expect((await runToTheLimit(graceful, look)).calls).toBe(worstCaseOf(graceful).modelCalls);
  const single = limited('a', 4, { maxLlmCalls: 4, graceTurn: true });
  expect((await runToTheLimit(single, look)).calls).toBe(worstCaseOf(single).modelCalls);
  const led = hierarchical!({ name: 'team', agent: limited('lead', 3), children: [limited('a', 2)], constraints });
  const answer: Answer = (request, call) =>
    request._meta?.agent === 'lead'
      ? { toolCalls: [{ name: 'a', args: { prompt: `round ${looked++}` } }] }
      : thorough({ a: 2 })(request, call);
  expect((await runToTheLimit(led, answer)).calls).toBe(worstCaseOf(led).modelCalls);
});

test('a transfer makes what is foretold', async () => {
  const desk = transfer!({ name: 'desk', members: [limited('a', 3), limited('b', 3)], start: 'a', maxTransfers: 2 });
  const answer: Answer = (request, call) => {
    if (call < 3) return look();
    const target = request._meta?.agent === 'a' ? 'b' : 'a';
    return { toolCalls: [{ name: 'transfer_to_agent', args: { target } }] };
  };
  expect((await runToTheLimit(desk, answer)).calls).toBe(worstCaseOf(desk).modelCalls);
});

test('a leader that calls every child in every turn makes what is foretold', async () => {
  const team = hierarchical!({ name: 'team', agent: limited('lead', 3), children: [limited('a', 2), limited('b', 1)] });
  const answer: Answer = (request, call) => {
    if (request._meta?.agent !== 'lead') return thorough({ a: 2, b: 1 })(request, call);
    return { toolCalls: ['a', 'b'].map((name) => ({ name, args: { prompt: `round ${looked++}` } })) };
  };
  expect((await runToTheLimit(team, answer)).calls).toBe(worstCaseOf(team).modelCalls);
});
