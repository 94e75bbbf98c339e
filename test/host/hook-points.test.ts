import { expect, test } from 'vitest';
import type { HookPoint } from '../../src/contracts/index.js';
import { agent, createHost, defineHook, hierarchical, loop, parallel, sequential } from '../../src/index.js';
import { HOOK_POINTS } from '../../src/kernel/hook-points.js';
import { scriptedModel } from '../../src/testing/index.js';
import {
  changes,
  foreign,
  guest,
  LOCAL_RUN,
  looker,
  MODEL_POINTS,
  noticing,
  only,
  runAll,
  script,
  watchAll,
} from '../support/hooks.js';
import { collect, ofType, settle } from '../support/team.js';

test('every point of a run fires, in order, each told where it is', async () => {
  const watch = watchAll();
  const { result } = await runAll({ models: { scripted: script() }, hooks: watch.hooks });
  expect(result.text).toBe('done');
  expect(watch.points()).toEqual(LOCAL_RUN);
  for (const { payload } of watch.fired) {
    expect(payload).toMatchObject({ sessionId: result.sessionId, principalPath: 'looker', mode: 'default' });
  }
  const told = (point: HookPoint) => watch.at(point)[0]?.payload;
  expect(told('session_start')).toMatchObject({ source: 'startup' });
  expect(told('on_user_message')).toMatchObject({ content: [{ type: 'text', text: 'go' }] });
  expect(told('before_run')).toMatchObject({ prompt: [{ type: 'text', text: 'go' }] });
  expect(told('before_agent')).toMatchObject({ prompt: [{ type: 'text', text: 'go' }] });
  expect(told('after_model')).toMatchObject({ response: { toolCalls: [{ name: 'look' }] } });
  expect(told('before_tool')).toMatchObject({ tool: 'looker.look', args: { at: 'x' } });
  expect(told('after_tool')).toMatchObject({ tool: 'looker.look', result: { llmContent: [{ text: 'seen' }] } });
  expect(told('after_agent')).toMatchObject({
    prompt: [{ type: 'text', text: 'go' }],
    response: 'done',
    stopHookActive: false,
  });
  expect(told('after_run')).toMatchObject({ reason: 'completed', result: 'done' });
  expect(told('session_end')).toMatchObject({ reason: 'completed' });
});

test('the points of an agent fire as often for a child as for a root (B146)', async () => {
  const watch = watchAll();
  const team = sequential({ name: 'team', children: [looker] });
  await runAll({ models: { scripted: script() }, hooks: watch.hooks }, team);
  const ofChild = watch.fired.filter(({ threadId }) => threadId === 'looker_1');
  expect(ofChild.map(({ point }) => point)).toEqual(LOCAL_RUN.slice(3, -2));
  expect(new Set(ofChild.map(({ principalPath }) => principalPath))).toEqual(new Set(['team/looker']));
  const ofTeam = watch.fired.filter(({ threadId }) => threadId === undefined).map(({ point }) => point);
  expect(ofTeam).toEqual([...LOCAL_RUN.slice(0, 4), 'after_agent', 'after_run', 'session_end']);
});

test.each([
  ['parallel', parallel({ name: 'team', children: [looker] })],
  ['loop', loop({ name: 'team', maxIterations: 1, children: [looker] })],
])('the same within %s', async (_, team) => {
  const watch = watchAll();
  await runAll({ models: { scripted: script() }, hooks: watch.hooks }, team);
  const ofChild = watch.fired.filter(({ threadId }) => threadId !== undefined);
  expect(ofChild.map(({ point }) => point)).toEqual(LOCAL_RUN.slice(3, -2));
});

test('a leader and the child that it calls each have their own', async () => {
  const watch = watchAll();
  const lead = hierarchical({ name: 'lead', agent: agent({ name: 'boss' }), children: [looker] });
  const model = scriptedModel({
    byAgent: {
      boss: [{ toolCalls: [{ name: 'looker', args: { prompt: 'look' } }] }, { text: 'all done' }],
      looker: [{ toolCalls: [{ name: 'look', args: { at: 'x' } }] }, { text: 'done' }],
    },
  });
  const { result } = await runAll({ models: { scripted: model }, hooks: watch.hooks }, lead);
  expect(result.text).toBe('all done');
  const pathsAt = (point: HookPoint) => watch.at(point).map(({ principalPath }) => principalPath);
  expect(pathsAt('before_agent')).toEqual(['lead', 'lead/looker']);
  expect(pathsAt('after_agent')).toEqual(['lead/looker', 'lead']);
  expect(pathsAt('before_tool')).toEqual(['lead', 'lead/looker']);
  expect(pathsAt('after_model')).toEqual(['lead', 'lead/looker', 'lead/looker', 'lead']);
});

test.each([
  ['root', guest, undefined],
  ['child', sequential({ name: 'team', children: [guest] }), 'looker_1'],
])(
  'a foreign session as %s fires all that it does not keep to itself, and that is told once',
  async (_, team, threadId) => {
    const watch = watchAll();
    const host = createHost({ hooks: watch.hooks });
    host.registerExecutor('foreign', foreign);
    const run = host.run(team, 'go');
    const events = await collect(run);
    await host.close();
    expect((await run.result).text).toBe('done');
    const own = watch.fired.filter((one) => one.threadId === threadId && one.point !== 'notification');
    const expected = LOCAL_RUN.filter((point) => !MODEL_POINTS.includes(point));
    expect(own.map(({ point }) => point)).toEqual(threadId === undefined ? expected : expected.slice(3, -2));
    const notices = ofType(events, 'custom').filter(({ kind }) => kind === 'notice');
    expect(notices.map(({ data }) => data)).toEqual([
      {
        code: 'OPAQUE_AGENT',
        severity: 'warning',
        text: 'looker runs a model of its own: no hook is fired at before_model, before_tool_selection, after_model, on_model_error, pre_compress',
      },
    ]);
    expect(watch.at('notification')).toHaveLength(1);
  },
);

test.each(
  HOOK_POINTS.filter(
    (point) => !['after_run', 'session_end', 'pre_compress', 'on_model_error', 'on_tool_error'].includes(point),
  ),
)('continue: false at %s ends the run aborted, with the reason', async (point) => {
  const { result } = await runAll(
    {
      models: { scripted: script() },
      hooks: only(point, () => ({ continue: false, stopReason: 'enough' })),
    },
    point === 'notification' ? noticing() : looker,
  );
  expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'enough', by: 'hook' } });
});

test('pre_compress can be fired in the name of a thread, and suppresses', async () => {
  const said: unknown[] = [];
  const host = createHost({ hooks: only('pre_compress', () => changes({ suppress: true })) });
  host.registerExecutor('compacting', () => ({
    async turn(_, context) {
      said.push((await context.fireHook('pre_compress', { trigger: 'manual' }))?.modifications);
      return { reason: 'completed' };
    },
  }));
  await host.run(agent({ name: 'a', executor: 'compacting' }), 'go').result;
  expect(said).toEqual([{ suppress: true }]);
  await host.close();
});

test('a hook that hangs does not hold a run that is aborted', async () => {
  for (const point of ['session_start', 'on_user_message', 'before_run', 'before_agent', 'after_agent'] as const) {
    const host = createHost({
      models: { scripted: script() },
      hooks: only(point, () => new Promise(() => {})),
      limits: { abortTimeoutMs: 20 },
    });
    const run = host.run(looker, 'go');
    const events = collect(run);
    await settle();
    run.abort('enough');
    expect(await run.result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
    expect(ofType(await events, 'message')[0]?.role).toBe('user');
    await host.close();
  }
});

test('hooks that only watch run at the same time, and what they say is shown in their order', async () => {
  let others = 0;
  const meeting = (name: string) =>
    defineHook('after_run', async () => {
      others++;
      while (others < 2) await new Promise<void>((resolve) => setImmediate(resolve));
      return { action: 'proceed', systemMessage: name };
    });
  const { events } = await runAll({ models: { scripted: script() }, hooks: [meeting('one'), meeting('two')] });
  expect(ofType(events, 'custom')).toMatchObject([{ kind: 'hook_message', data: { text: 'one\ntwo' } }]);
  expect(events.at(-1)?.type).toBe('stream_end');
});

test('suppressOutput hides what a hook says to the person', async () => {
  const { events } = await runAll({
    models: { scripted: script() },
    hooks: only('before_agent', () => ({ action: 'proceed', systemMessage: 'psst', suppressOutput: true })),
  });
  expect(JSON.stringify(events)).not.toContain('psst');
});

test('a hook at a point that nobody fires is refused by name', () => {
  expect(() => createHost({ hooks: [{ point: 'before_tol' as never, run: () => undefined }] })).toThrow(
    /no hook point "before_tol" \(did you mean "before_tool"/,
  );
});
