import { expect, test } from 'vitest';
import type { HookPoint } from '../../../src/contracts/index.js';
import { agent, createHost, defineHook, sequential, tool } from '../../../src/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { answersIn, type BrokenTeam, goOn, recordRun, storeWith } from '../../support/broken-log.js';

const look = () =>
  tool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => 'seen',
  });

function watched(more: Partial<BrokenTeam> = {}) {
  const fired: [HookPoint, string, unknown][] = [];
  const note = (point: HookPoint, what?: string) =>
    defineHook(point, ((payload: Record<string, unknown>) => {
      fired.push([point, String(payload.principalPath), what && payload[what]]);
    }) as never);
  const broken: BrokenTeam = {
    team: () => sequential({ name: 'team', children: [agent({ name: 'a', tools: [look()] }), agent({ name: 'b' })] }),
    byAgent: {
      a: (request) => (answersIn(request).length === 0 ? { toolCalls: [{ name: 'look', args: {} }] } : { text: 'ok' }),
      b: () => ({ text: 'done' }),
    },
    host: {
      hooks: [
        note('session_start', 'source'),
        note('before_agent'),
        note('after_agent'),
        note('after_run', 'reason'),
        note('session_end', 'reason'),
      ],
    },
    ...more,
  };
  return { broken, fired };
}

test('from every cut of its log a run ends with its hooks asked: the session as resumed, each agent before it works', async () => {
  const { broken, fired } = watched();
  const { log, agentName } = await recordRun(broken);
  expect(fired.map(([point, path]) => `${point} ${path}`)).toEqual([
    'session_start team',
    'before_agent team',
    'before_agent team/a',
    'after_agent team/a',
    'before_agent team/b',
    'after_agent team/b',
    'after_agent team',
    'after_run team',
    'session_end team',
  ]);
  for (let cut = 2; cut < log.length - 1; cut++) {
    fired.length = 0;
    const part = log.slice(0, cut);
    const { result } = await goOn(broken, part, agentName);
    expect([cut, result.text]).toEqual([cut, 'done']);
    const at = (point: HookPoint) => fired.filter(([one]) => one === point);
    expect(at('session_start')).toEqual([['session_start', 'team', 'resume']]);
    expect(at('after_run')).toEqual([['after_run', 'team', 'completed']]);
    expect(at('session_end')).toEqual([['session_end', 'team', 'completed']]);
    // Who had not said anything is asked about before it does.
    const hasSpoken = (name: string) =>
      part.some(
        ({ agentId, ...event }) =>
          agentId === name && (event.type === 'tool_request' || (event.type === 'message' && event.role === 'agent')),
      );
    const asked = at('before_agent').map(([, path]) => path);
    if (!hasSpoken('a')) expect([cut, asked]).toEqual([cut, expect.arrayContaining(['team/a'])]);
    if (!hasSpoken('b')) expect([cut, asked]).toEqual([cut, expect.arrayContaining(['team/b'])]);
  }
});

test('a guard that had not agreed before the process ended is asked, and heeded', async () => {
  const { broken } = watched({ team: () => agent({ name: 'a', tools: [look()] }) });
  const { log, agentName } = await recordRun(broken);
  const message = log.findIndex((event) => event.type === 'message') + 1;
  const resumeWith = async (answer: object) => {
    const store = await storeWith(log.slice(0, message), { id: 's', agentName });
    const model = scriptedModel([{ text: 'from the model' }]);
    await using host = createHost({
      store,
      models: { scripted: model },
      hooks: [defineHook('before_agent', () => answer as never)],
    });
    const run = await host.resume('s', { agent: agent({ name: 'a', tools: [look()] }) });
    return { result: await run.result, asked: model.requests };
  };
  const blocked = await resumeWith({ action: 'block', reason: 'no' });
  expect(blocked.result).toMatchObject({ reason: 'failed', data: { code: 'HOOK_BLOCKED', message: 'no' } });
  expect(blocked.asked).toEqual([]);
  const answered = await resumeWith({ action: 'proceed', modifications: { response: 'from the hook' } });
  expect(answered.result).toMatchObject({ ok: true, text: 'from the hook' });
  const added = await resumeWith({ action: 'proceed', modifications: { additionalContext: 'mind the gap' } });
  expect(JSON.stringify(added.asked[0]?.messages)).toContain('mind the gap');
});

test('a session that is refused as resumed does not go on', async () => {
  const { broken } = watched({ team: () => agent({ name: 'a', tools: [look()] }) });
  const { log, agentName } = await recordRun(broken);
  const store = await storeWith(log.slice(0, 2), { id: 's', agentName });
  const hook = defineHook('session_start', ({ source }) =>
    source === 'resume' ? { action: 'block', reason: 'not this one' } : undefined,
  );
  await using host = createHost({ store, models: { scripted: scriptedModel([{ text: 'x' }]) }, hooks: [hook] });
  const run = await host.resume('s', { agent: agent({ name: 'a', tools: [look()] }) });
  expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'HOOK_BLOCKED', message: 'not this one' } });
});
