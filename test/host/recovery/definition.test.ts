import { expect, test } from 'vitest';
import type { AgentDefinition } from '../../../src/contracts/index.js';
import { agent, createHost, parallel, sequential, tool } from '../../../src/index.js';
import { scriptedModel, virtualClock } from '../../../src/testing/index.js';
import { recordRun, storeWith } from '../../support/broken-log.js';
import { leaf, logOf, ofType } from '../../support/team.js';

const id = 's';
const look = (more: object = {}) =>
  tool({ name: 'look', description: '.', parameters: { type: 'object' }, execute: () => 'seen', ...more });

const team = (more: { a?: object; b?: AgentDefinition; metadata?: object } = {}) =>
  sequential({
    name: 'team',
    state: { n: { initial: 1 } },
    children: [
      agent({ name: 'a', tools: [look()], instruction: 'Be brief. {state.n}', ...more.a }),
      more.b ?? leaf('b'),
    ],
  });

const byAgent = { a: () => ({ text: 'A' }), b: () => ({ text: 'B' }) };

async function resumeWith(
  definition: AgentDefinition,
  begun: AgentDefinition = team(),
  options: object = {},
  upTo: 'agent_started' | 'message' = 'agent_started',
) {
  const { log } = await recordRun({ team: () => begun, byAgent });
  const part = log.slice(0, log.findIndex((event) => event.type === upTo) + 1);
  const store = await storeWith(part, { id, agentName: 'team' });
  const model = scriptedModel({ byAgent } as never);
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = await host.resume(id, { agent: definition, ...options });
  return { result: await run.result, model, log: await logOf(store, id) };
}

test('the same definition made again is the same, whatever its model, limits and descriptions', async () => {
  const other = team({ a: { description: 'other', constraints: { maxTurns: 3 }, generation: { temperature: 0 } } });
  expect((await resumeWith(other)).result).toMatchObject({ ok: true, text: 'B' });
});

const changes: [string, AgentDefinition, RegExp][] = [
  ['a tool is gone', team({ a: { tools: [] } }), /team\/a tools\.look is gone/],
  [
    'a tool takes something else',
    team({ a: { tools: [look({ parameters: { type: 'object', required: ['x'] } })] } }),
    /team\/a tools\.look has changed/,
  ],
  [
    'a tool says something else of itself',
    team({ a: { tools: [look({ annotations: { readOnly: true } })] } }),
    /tools\.look has changed/,
  ],
  ['an instruction is another', team({ a: { instruction: 'Be long.' } }), /team\/a instruction has changed/],
  ['a schema is another', team({ a: { outputSchema: { type: 'object' } } }), /team\/a outputSchema is new/],
  ['an agent is another', team({ b: leaf('c') }), /team\/b is gone.*team\/c is new/],
  ['a child works in another way', team({ b: parallel({ name: 'b', children: [leaf('c')] }) }), /team\/b has changed/],
];

test.each(changes)('%s: refused, naming it', async (_, definition, message) => {
  await expect(resumeWith(definition)).rejects.toMatchObject({
    code: 'DEFINITION_CHANGED',
    message: expect.stringMatching(message),
  });
});

const versioned = (version: string, resumes?: string, instruction = 'Be brief. {state.n}') => {
  const { descriptor, ...rest } = team({ a: { instruction } });
  return {
    ...rest,
    descriptor: { ...descriptor, metadata: { version, ...(resumes !== undefined && { resumes }) } },
  } as AgentDefinition;
};

test('a definition goes on with sessions of the versions that it names', async () => {
  const begun = versioned('1.2.0');
  const next = (resumes?: string) => resumeWith(versioned('2.0.0', resumes, 'Be long.'), begun);
  expect((await next('^1.0.0')).result).toMatchObject({ ok: true });
  expect((await next('0.9.0 || >=1.1.0 <2.0.0')).result).toMatchObject({ ok: true });
  for (const range of ['^1.3.0', '~1.1.0', '2.x', '<1.2.0', 'nonsense', undefined]) {
    await expect(next(range), range).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
  }
});

test('a migration is told what has changed, and may give another state', async () => {
  const told: unknown[] = [];
  const migrate = (session: { state: Record<string, unknown> }) => {
    told.push(session);
    return { ...session.state, n: 7 };
  };
  const next = team({ a: { instruction: 'Be long. {state.n}' } });
  const { result, model, log } = await resumeWith(next, versioned('1.0.0'), { migrate }, 'message');
  expect(ofType(log, 'session_update')).toMatchObject([{ stateDelta: { n: 7 } }]);
  expect(result).toMatchObject({ ok: true });
  expect(told).toEqual([{ from: '1.0.0', changes: ['team/a instruction has changed'], state: {} }]);
  expect(model.requests[0]?.systemInstruction).toBe('Be long. 7');
});

/** A session whose run has ended, and a host that is given a message for it. */
async function talkOn(definition: AgentDefinition, begun: AgentDefinition = team(), options: object = {}) {
  const { log } = await recordRun({ team: () => begun, byAgent });
  const store = await storeWith(log, { id, agentName: 'team' });
  const model = scriptedModel({ byAgent } as never);
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const result = await host.run(definition, 'and now?', { sessionId: id, ...options }).result;
  return { result, log: await logOf(store, id) };
}

test.each(changes)('a new message for a session is refused like a resume: %s', async (_, definition, named) => {
  await expect(talkOn(definition)).rejects.toMatchObject({
    code: 'DEFINITION_CHANGED',
    message: expect.stringMatching(named),
  });
});

test('a new message goes on with the same definition, with a compatible one, and with a migration', async () => {
  expect((await talkOn(team())).result.ok).toBe(true);
  const other = { a: { instruction: 'Be long.' } };
  const compatible = versioned('2.0.0', '^1.0.0', 'Be long.');
  expect((await talkOn(compatible, versioned('1.2.0'))).result.ok).toBe(true);

  const told: unknown[] = [];
  const migrate = (session: { changes: readonly string[]; state: Record<string, unknown> }) => {
    told.push(session.changes);
    return { ...session.state, n: 7 };
  };
  const { log, result } = await talkOn(team(other), team(), { migrate });
  expect(result.ok).toBe(true);
  expect(told).toEqual([['team/a instruction has changed']]);
  expect(ofType(log, 'session_update').filter(({ _meta }) => _meta?.migrated === true)).toMatchObject([
    { stateDelta: { n: 7 } },
  ]);
});
