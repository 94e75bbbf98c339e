import { expect, test } from 'vitest';
import { createActor, fromCallback } from 'xstate';
import { parallelMachine } from '../../compositions/parallel.machine.js';
import { elicitationMachine } from '../../machines/elicitation.machine.js';
import { sessionMachine } from '../../machines/session.machine.js';
import { agent, createHost, parallel, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';

const idle = fromCallback(() => {}) as never;
const session = sessionMachine.provide({
  actors: {
    turn: idle,
    calls: idle,
    delegation: idle,
    parallel: idle,
    question: elicitationMachine.provide({ actors: { deadline: idle } }),
  } as never,
});

test('the machines of a live tree can be had as XState persists them, and stand where they stood when started anew', async () => {
  const danger = tool({ name: 'danger', description: 'd', parameters: { type: 'object' }, execute: () => 'done' });
  const one = agent({ name: 'one', description: 'one', tools: [danger] });
  const team = parallel({ name: 'team', children: [one, agent({ name: 'two', description: 'two' })] });
  const model = scriptedModel({
    byAgent: { one: [{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'ok' }], two: [{ text: 'fine' }] },
  });
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(team, 'go');
  expect(run.persistedSnapshots().length).toBeGreaterThan(0);
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    const threads = run.persistedSnapshots();
    expect(JSON.parse(JSON.stringify(threads))).toEqual(threads);
    expect(threads.at(-1)).toMatchObject({ agentName: 'team' });
    const asking = threads.find(({ threadId }) => threadId === 'one_1');
    expect(asking?.agentName).toBe('one');
    const again = createActor(session, { snapshot: asking?.snapshot as never, input: {} as never }).start();
    expect(again.getSnapshot().value).toBe('awaitingElicitation');
    again.stop();
    // The composition's own machine is the root session's child.
    const root = threads.at(-1)?.snapshot as { value: string; children: { turn: { snapshot: object } } };
    expect(root.value).toBe('running');
    const gathering = createActor(parallelMachine.provide({ actors: { children: idle } } as never), {
      snapshot: root.children.turn.snapshot as never,
      input: {} as never,
    });
    expect((gathering.getSnapshot() as { status: string }).status).toBe('active');
    run.respond(event.requestId, { action: 'accept' });
  }
  expect((await run.result).ok).toBe(true);
  expect(run.persistedSnapshots()).toEqual([]);
});
