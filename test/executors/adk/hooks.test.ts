import { LlmAgent } from '@google/adk';
import { expect, test } from 'vitest';
import type { AgentDefinition, HookPoint } from '../../../src/contracts/index.js';
import { agent, createHost, defineHook, type HostOptions, sequential, tool } from '../../../src/index.js';
import { HOOK_POINTS } from '../../../src/kernel/hook-points.js';
import { type ScriptEntry, scriptedModel } from '../../../src/testing/index.js';
import { collect } from './collect.js';
import { ScriptedLlm } from './scripted-llm.js';

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const script: ScriptEntry[] = [{ toolCalls: [{ id: 'c1', name: 'look', args: { at: 'x' } }] }, { text: 'done' }];
const adkOne = (entries: ScriptEntry[] = script) => {
  const model = new ScriptedLlm(entries);
  const backend = { agent: new LlmAgent({ name: 'l', model }) };
  return { model, one: agent({ name: 'one', executor: 'adk', tools: ['look'], backend }) };
};
const local = () => agent({ name: 'one', tools: ['look'] });

async function pointsOf(one: AgentDefinition, asChild: boolean) {
  const fired: [HookPoint, string | undefined][] = [];
  const hooks = HOOK_POINTS.filter((point) => point !== 'on_event').map((point) =>
    defineHook(point, (({ threadId }: { threadId?: string }) => void fired.push([point, threadId])) as never),
  );
  await using host = createHost({ models: { scripted: scriptedModel(script) }, tools: [look], hooks });
  const team = asChild ? sequential({ name: 'team', children: [one] }) : one;
  expect((await host.run(team, 'go').result).text).toBe('done');
  return fired.filter(([, threadId]) => (threadId !== undefined) === asChild).map(([point]) => point);
}

test.each([
  ['root', false],
  ['child', true],
])('hooks fire as often for an agent of ADK as for one of ours: as a %s (B146)', async (_, asChild) => {
  const points = await pointsOf(adkOne().one, asChild);
  expect(points).toEqual(await pointsOf(local(), asChild));
  expect(points.filter((point) => point === 'before_model')).toHaveLength(2);
});

async function runAdk(hooks: NonNullable<HostOptions['hooks']>, entries?: ScriptEntry[]) {
  const { model, one } = adkOne(entries);
  await using host = createHost({ tools: [look], hooks });
  const run = host.run(one, 'go');
  const events = await collect(run);
  return { model, events, result: await run.result };
}

test('after_model changes or withholds what an ADK agent says, and nothing of it gets out before', async () => {
  const secret: ScriptEntry[] = [{ text: ['my ', 'secret'], usage: { inputTokens: 3, outputTokens: 4 } }];
  const changed = await runAdk(
    [
      defineHook('after_model', ({ response }) => {
        expect(response.content).toEqual([{ type: 'text', text: 'my secret' }]);
        return { action: 'proceed', modifications: { response: { content: [{ type: 'text', text: 'my ***' }] } } };
      }),
    ],
    secret,
  );
  expect(changed.result).toMatchObject({ text: 'my ***', usage: { inputTokens: 3, outputTokens: 4 } });
  expect(JSON.stringify(changed.events)).not.toContain('secret');
  const withheld = await runAdk([defineHook('after_model', () => ({ action: 'block', reason: 'no' }))], secret);
  expect(withheld.result).toMatchObject({ reason: 'failed', data: { code: 'HOOK_BLOCKED', message: 'no' } });
  expect(JSON.stringify(withheld.events)).not.toContain('secret');
});

test('on_model_error answers for a model of ADK that failed for good', async () => {
  const { result } = await runAdk(
    [
      defineHook('on_model_error', ({ error }) => ({
        action: 'proceed',
        modifications: { response: { content: [{ type: 'text', text: `sorry: ${String(error.code)}` }] } },
      })),
    ],
    [{ error: { code: 'INVALID_ARGUMENT', message: 'too long' } }],
  );
  expect(result).toMatchObject({ ok: true, text: 'sorry: INVALID_ARGUMENT' });
});

test('before_tool_selection leaves a tool out of what ADK asks, and a call of it is refused', async () => {
  const { model, events } = await runAdk([
    defineHook('before_tool_selection', () => ({ action: 'proceed', modifications: { toolMode: 'none' } })),
  ]);
  expect(model.requests[0]?.config?.tools).toBeUndefined();
  expect(events.find(({ type }) => type === 'tool_response')).toMatchObject({ errorType: 'policy_denied' });
});
