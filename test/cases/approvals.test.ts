import { describe, expect, test, vi } from 'vitest';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { agent, hierarchical, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { validateLog } from '../../src/testing/index.js';
import { stores } from '../support/stores.js';
import { leaf, ofType, readAll, refusalOf, settle } from '../support/team.js';
import { call, hostWith } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });
const answer = (requestId: string, action: string) => ({
  kind: 'elicitation_response' as const,
  requestId,
  response: { action },
});

function writer() {
  const ran: unknown[] = [];
  const write = tool({
    name: 'write',
    description: 'Writes.',
    parameters: { type: 'object' },
    execute(args) {
      ran.push(args);
      return 'written';
    },
  });
  return { ran, write };
}

/** Where the agent that wants to write may stand. */
const places: Record<string, (a: AgentDefinition) => AgentDefinition> = {
  'by itself': (a) => a,
  'in a sequence': (a) => sequential({ name: 's', children: [a] }),
  'in a parallel': (a) => parallel({ name: 's', children: [a, leaf('z')] as never }),
  'in a loop': (a) => loop({ name: 's', children: [a], maxIterations: 1 }),
  'below a leader': (a) => hierarchical({ name: 's', agent: leaf('boss'), children: [a] as never }),
  'after a handover': (a) => transfer({ name: 's', members: [leaf('m'), a] as never, start: 'm' as never }),
};

describe.each(stores)('%s', (_, makeStore) => {
  describe.each(Object.entries(places))('%s', (__, place) => {
    test.each(['decline', 'cancel', 'something new', 'accept'])(
      'a call runs only after an accept; after %s the model is told what came of it, and nothing runs twice (B030, B031)',
      async (action) => {
        const { ran, write } = writer();
        const { host, model } = hostWith(
          {
            a: [call('write'), { text: 'A' }],
            boss: [call('a', { prompt: 'x' }), { text: 'B' }],
            m: [call('transfer_to_agent', { target: 'a' })],
            z: [{ text: 'Z' }],
          },
          { store: makeStore() },
        );
        const session = host.session(place(agent({ name: 'a', tools: [write] })));
        const paused = await readAll(session.stream(message()).stream);
        const [question] = ofType(paused, 'elicitation_request');
        expect(session.state()).toMatchObject({ type: 'awaiting_elicitation' });
        expect(ran).toEqual([]);
        const rest = await readAll(session.stream(answer(question!.requestId, action)).stream);
        expect(ran).toHaveLength(action === 'accept' ? 1 : 0);
        const response = ofType(rest, 'tool_response').find((event) => event.name === 'a.write');
        expect(response?.errorType).toBe(action === 'accept' ? undefined : 'declined');
        const told = model.requests.findLast((request) => request._meta?.agent === 'a')?.messages;
        expect(JSON.stringify(told)).toContain(action === 'accept' ? 'written' : 'declined');
        expect(await refusalOf(session.stream(answer(question!.requestId, 'accept')).stream)).toBe('UNKNOWN_REQUEST');
        expect(ran).toHaveLength(action === 'accept' ? 1 : 0);
        expect(validateLog([...paused, ...rest], { finished: true })).toEqual([]);
        await host.close();
      },
    );
  });

  test.each([
    ['the run', false],
    ['a sibling', true],
  ])('where %s ends what waits, no approval counts that comes before the last of it was told', async (_, fails) => {
    let now = 0;
    const slow = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
    const { ran, write } = writer();
    const { host } = hostWith(
      {
        a: [call('write'), { text: 'a' }],
        b: [call('write'), { text: 'b' }],
        c: [call('write'), { error: { code: 'INVALID_ARGUMENT', message: 'broken' } }],
      },
      { store: makeStore() },
    );
    const children = ['a', 'b', 'c'].map((name) => agent({ name, tools: [write] }));
    const team = parallel({ name: 'p', failure: 'fail_fast', children } as never) as AgentDefinition;
    const run = host.run(team, 'go');
    const events: AgentEvent[] = [];
    let late: Promise<string[]> | undefined;
    const ids: string[] = [];
    for await (const event of run) {
      events.push(event);
      if (event.type === 'elicitation_request') ids.push(event.requestId);
      if (event.type === 'elicitation_request' && ids.length === 3) {
        if (fails) run.respond(ids[2]!, { action: 'decline' });
        else run.abort('no more');
      }
      const isOver = event.type === 'elicitation_response' && event.action === 'cancel';
      if (isOver && late === undefined) {
        const refused = ids.slice(0, 2).map(async (id) => run.respond(id, { action: 'accept' }));
        late = Promise.all(
          refused.map((each) =>
            each.then(
              () => 'taken',
              (thrown) => thrown.code,
            ),
          ),
        );
      }
    }
    slow.mockRestore();
    expect(await late).toEqual(['UNKNOWN_REQUEST', 'UNKNOWN_REQUEST']);
    expect((await run.result).reason).toBe(fails ? 'failed' : 'aborted');
    expect(ran).toEqual([]);
    expect(validateLog(events, { finished: true })).toEqual([]);
    await host.close();
  });

  test('of three approvals of three branches one is declined, two go with the run; late answers are refused (B035)', async () => {
    const { ran, write } = writer();
    const names = ['a', 'b', 'c'] as const;
    const { host } = hostWith(
      Object.fromEntries(names.map((name) => [name, [call('write'), { text: name }, { text: 'again' }]])),
      {
        store: makeStore(),
      },
    );
    const children = names.map((name) => agent({ name, tools: [write] }));
    const session = host.session(parallel({ name: 'p', children } as never) as AgentDefinition);
    const first = session.stream(message());
    const events = await readAll(first.stream);
    const ids = ofType(events, 'elicitation_request').map((event) => event.requestId);
    expect(new Set(ids).size).toBe(3);
    events.push(...(await readAll(session.stream(answer(ids[0]!, 'decline')).stream)));
    first.controller.abort('no more');
    for (const requestId of ids.slice(1))
      expect(await refusalOf(session.stream(answer(requestId, 'accept')).stream)).toBe('UNKNOWN_REQUEST');
    await settle(20);
    expect(session.state()).toEqual({ type: 'idle' });
    events.push(...(await readAll(session.stream(message('again')).stream)));
    expect(ofType(events, 'elicitation_response').map(({ action, source }) => [action, source])).toEqual([
      ['decline', 'user'],
      ['cancel', 'host'],
      ['cancel', 'host'],
    ]);
    expect(ran).toEqual([]);
    expect(validateLog(events)).toEqual([]);
    await host.close();
  });
});
