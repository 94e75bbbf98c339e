import { expect, test, vi } from 'vitest';
import type { AnyHookDefinition, HookPoint, HookResult } from '../../src/contracts/index.js';
import { createHookChain } from '../../src/hooks/chain.js';
import { defineHook } from '../../src/index.js';
import { virtualClock } from '../../src/testing/index.js';

const base = { sessionId: 's', principalPath: 'a', mode: 'default' };
const beforeTool = { ...base, tool: 'write', args: { path: 'a' }, requestId: 'c1' };
const hook = (run: (payload: never) => unknown, point: HookPoint = 'before_tool') =>
  defineHook(point, run as never) as AnyHookDefinition;
const fire = (hooks: Parameters<typeof createHookChain>[0], point = 'before_tool', payload: object = beforeTool) =>
  createHookChain(hooks)?.fire(point, payload as never) as Promise<HookResult>;

test('without hooks there is no chain', () => {
  expect(createHookChain([])).toBeUndefined();
});

test('nothing said is consent', async () => {
  expect(await fire([hook(() => undefined), hook(async () => null)])).toEqual({ action: 'proceed' });
});

test('hooks run in configuration order, and each sees what the one before made of the arguments', async () => {
  const seen: unknown[] = [];
  const rewrite = (args: unknown) =>
    hook((payload: { args: unknown }) => {
      seen.push(payload.args);
      return { action: 'proceed', modifications: { args } };
    });
  const silent = hook((payload: { args: unknown }) => void seen.push(payload.args));
  expect(await fire([rewrite({ path: 'b' }), silent, rewrite({ path: 'c' })])).toEqual({
    action: 'proceed',
    modifications: { args: { path: 'c' } },
  });
  expect(seen).toEqual([{ path: 'a' }, { path: 'b' }, { path: 'b' }]);
});

test('a hook that changes nothing keeps the change of the one before', async () => {
  const changed = { action: 'proceed', modifications: { args: { path: 'b' } } };
  expect(await fire([hook(() => changed), hook(() => undefined)])).toEqual(changed);
});

test('any block blocks, later hooks are not asked, and what was changed counts no more', async () => {
  const later = vi.fn();
  expect(
    await fire([
      hook(() => ({ action: 'proceed', modifications: { args: {} } })),
      hook(() => ({ action: 'block', reason: 'not today' })),
      hook(later),
    ]),
  ).toEqual({ action: 'block', reason: 'not today' });
  expect(later).not.toHaveBeenCalled();
});

test('ask stands unless a later hook blocks; the first reason is told', async () => {
  const ask = (reason: string) => hook(() => ({ action: 'ask', reason }));
  expect(await fire([ask('one'), hook(() => ({ action: 'proceed' })), ask('two')])).toEqual({
    action: 'ask',
    reason: 'one',
  });
  expect(await fire([ask('one'), hook(() => ({ action: 'block', reason: 'no' }))])).toEqual({
    action: 'block',
    reason: 'no',
  });
});

test.each([
  [
    'throws',
    () => {
      throw new Error('boom');
    },
    'the hook failed: boom',
  ],
  ['rejects', () => Promise.reject(new Error('boom')), 'the hook failed: boom'],
  ['says a text', () => 'proceed', /not \{ action/],
  ['says a list', () => [], /not \{ action/],
  ['says no action', () => ({ modifications: { args: {} } }), /not \{ action/],
  ['changes with something that is no object', () => ({ action: 'proceed', modifications: 'x' }), /not an object/],
  [
    'changes what is not to be changed there',
    () => ({ action: 'proceed', modifications: { arg: {} } }),
    /wants to change "arg"/,
  ],
])('a guard that %s blocks; elsewhere it is passed over and told', async (_, run, fault) => {
  const guard = await fire([hook(run)]);
  expect(guard.action).toBe('block');
  expect(guard.reason).toMatch(fault);
  const result = { llmContent: [] };
  const observer = await fire([hook(run, 'after_tool')], 'after_tool', { ...beforeTool, result });
  expect(observer).toEqual({ action: 'proceed', _meta: { faults: [expect.stringMatching(fault)] } });
});

test.each(['proceed', 'approve', 'allow'])('%s is consent', async (action) => {
  expect(await fire([hook(() => ({ action }))])).toEqual({ action: 'proceed' });
});

test('what one hook suppresses no later one brings back', async () => {
  const says = (suppress: boolean) => hook(() => ({ action: 'proceed', modifications: { suppress } }), 'notification');
  expect(await fire([says(true), says(false)], 'notification', base)).toMatchObject({
    modifications: { suppress: true },
  });
});

test('an action of the future blocks', async () => {
  expect(await fire([hook(() => ({ action: 'defer', reason: 'later' }))])).toEqual({
    action: 'block',
    reason: 'later',
  });
});

test('a guard that does not answer within a minute blocks, and no timer is left', async () => {
  const clock = virtualClock();
  const chain = createHookChain([hook(() => new Promise(() => {}))], { clock });
  const fired = chain?.fire('before_tool', beforeTool);
  await clock.advance(59_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(await fired).toEqual({ action: 'block', reason: 'the hook did not answer within 60 s' });
  expect(clock.pending).toBe(0);
});

test('a hook that answers in time leaves no timer', async () => {
  const clock = virtualClock();
  const chain = createHookChain([hook(async () => undefined), hook(() => Promise.reject(new Error('x')))], { clock });
  await chain?.fire('before_tool', beforeTool);
  expect(clock.pending).toBe(0);
});

test('contexts of several hooks join, and so do messages for the person', async () => {
  const says = (text: string) =>
    hook(
      () => ({ action: 'proceed', systemMessage: `said ${text}`, modifications: { additionalContext: text } }),
      'after_tool',
    );
  expect(await fire([says('one'), says('two')], 'after_tool')).toEqual({
    action: 'proceed',
    systemMessage: 'said one\nsaid two',
    modifications: { additionalContext: 'one\n\ntwo' },
  });
});

test('hooks fire at their own point only, interceptors at the points they support', async () => {
  const wrong = vi.fn();
  const interceptor = {
    fire: vi.fn(async () => ({ action: 'proceed' })),
    supportedHookPoints: () => ['before_tool'] as const,
  };
  const chain = createHookChain([hook(wrong, 'after_tool'), interceptor]);
  expect(chain?.supportedHookPoints()).toEqual(['after_tool', 'before_tool']);
  await chain?.fire('before_tool', beforeTool);
  await chain?.fire('before_model', base);
  expect(wrong).not.toHaveBeenCalled();
  expect(interceptor.fire).toHaveBeenCalledTimes(1);
  expect(interceptor.fire).toHaveBeenCalledWith('before_tool', beforeTool);
});

test('a hook that has a name is called by it', async () => {
  const named = { point: 'before_tool' as const, name: 'guard', run: () => Promise.reject(new Error('boom')) };
  expect(await fire([named])).toEqual({ action: 'block', reason: 'the hook "guard" failed: boom' });
});

test('what only one may change at a point is left to it: another change is a fault, and a guard with one blocks', async () => {
  const change = { action: 'proceed', modifications: { clearContext: true } };
  expect((await fire([hook(() => change)])).reason).toContain('at before_tool it may change: args');
  expect(await fire([hook(() => change, 'before_agent')], 'before_agent', base)).toEqual({
    action: 'proceed',
    _meta: { faults: [expect.stringContaining('at before_agent it may change: additionalContext, response')] },
  });
});

test('ask is a block where there is nobody who could be asked', async () => {
  const asks = hook(() => ({ action: 'ask', reason: 'hm' }), 'before_model');
  expect(await fire([asks], 'before_model', base)).toEqual({ action: 'block', reason: 'hm' });
});

test('continue: false ends the chain, and blocks with its reason', async () => {
  const later = vi.fn();
  const said = await fire([hook(() => ({ action: 'proceed', continue: false, stopReason: 'enough' })), hook(later)]);
  expect(said).toEqual({ action: 'block', reason: 'enough', continue: false, stopReason: 'enough' });
  expect(later).not.toHaveBeenCalled();
});

test('hooks at a point where nothing can be changed begin together; a block of one hides no other', async () => {
  const begun: string[] = [];
  const watch = (name: string) =>
    hook(async () => {
      begun.push(name);
      await undefined;
      return name === 'one' ? { action: 'block', systemMessage: name } : { action: 'proceed', systemMessage: name };
    }, 'after_run');
  const fired = fire([watch('one'), watch('two')], 'after_run', base);
  expect(begun).toEqual(['one', 'two']);
  expect(await fired).toMatchObject({ systemMessage: 'one\ntwo' });
});

test('an interceptor is asked like any hook, in its place', async () => {
  const order: string[] = [];
  const interceptor = {
    async fire(_: string, payload: object) {
      order.push(JSON.stringify((payload as { args: unknown }).args));
      return { action: 'proceed', modifications: { args: { path: 'c' } } };
    },
    supportedHookPoints: () => ['before_tool'],
  };
  const first = hook(() => ({ action: 'proceed', modifications: { args: { path: 'b' } } }));
  expect(await fire([first, interceptor])).toMatchObject({ modifications: { args: { path: 'c' } } });
  expect(order).toEqual(['{"path":"b"}']);
});

test('hooks that answer at once are answered at once', () => {
  const chain = createHookChain([hook(() => ({ action: 'block' }))]);
  expect(chain?.fireNow?.('before_tool', beforeTool)).toEqual({ action: 'block' });
});
