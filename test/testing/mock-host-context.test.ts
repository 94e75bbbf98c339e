import { expect, test } from 'vitest';
import { mockHostContext, scriptedModel } from '../../src/testing/index.js';

test('the ports answer mildly and keep what they were asked', async () => {
  const context = mockHostContext();
  expect(context.policyEngine.evaluate({ action: 'look' })).toEqual({ outcome: 'allow' });
  const payload = { sessionId: 's', principalPath: 'a', mode: 'default' };
  expect(await context.hookSystem.fire('before_tool', payload)).toEqual({ action: 'proceed' });
  const question = { kind: 'clarification', message: 'which?' };
  expect(await context.elicitation.ask(question)).toEqual({ requestId: 'q1', action: 'cancel' });
  const model = scriptedModel([]);
  expect(await context.modelConfig.resolve({ agent: 'a', requested: 'gemini/flash' })).toMatchObject({
    name: 'gemini/flash',
    provider: 'gemini',
  });
  expect(await context.modelConfig.resolve({ agent: 'a', requested: model })).toMatchObject({ model });
  const call = { requestId: 'c', name: 'look', args: {} };
  const calling = { sessionId: 's', agentId: 'a', signal: new AbortController().signal };
  expect(await context.toolRegistry.execute(call, calling).next()).toMatchObject({
    done: true,
    value: { errorType: 'tool_not_registered' },
  });
  const handle = await context.sessionService.create('a', { id: 's1' });
  expect(handle.id).toBe('s1');
  expect(context.record).toEqual({
    policy: [{ action: 'look' }],
    hooks: [{ point: 'before_tool', payload }],
    questions: [question],
    calls: [call],
    models: ['gemini/flash', model],
  });
});

test('any port can be put in its place; two contexts share nothing', async () => {
  const context = mockHostContext({ policyEngine: { evaluate: () => ({ outcome: 'deny', reason: 'no' }) } });
  expect(context.policyEngine.evaluate({ action: 'look' })).toEqual({ outcome: 'deny', reason: 'no' });
  await context.sessionService.create('a', { id: 's1' });
  expect(await mockHostContext().sessionService.list()).toEqual([]);
});
