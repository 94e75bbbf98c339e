import { expect, test } from 'vitest';
import type { ModelRequest } from '../../src/contracts/index.js';
import { agent, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { changes, look, only, runAll, script } from '../support/hooks.js';
import { ofType } from '../support/team.js';

test('before_model changes the request or answers in its place; each hook sees what the one before made', async () => {
  const model = scriptedModel([{ text: 'ok' }]);
  const seen: unknown[] = [];
  const add = (text: string) =>
    only('before_model', (payload) => {
      const { request } = payload as { request: ModelRequest };
      seen.push(request.systemInstruction);
      return changes({ request: { ...request, systemInstruction: `${request.systemInstruction ?? ''}${text}` } });
    });
  await runAll({ models: { scripted: model }, hooks: [...add('a'), ...add('b')] }, agent({ name: 'x' }));
  expect(seen).toEqual([undefined, 'a']);
  expect(model.requests[0]?.systemInstruction).toBe('ab');
  const answered = await runAll({
    models: { scripted: scriptedModel([]) },
    hooks: only('before_model', () => changes({ response: { content: [{ type: 'text', text: 'cached' }] } })),
  });
  expect(answered.result.text).toBe('cached');
});

test('after_model changes the answer before anybody sees it; what the call used is counted', async () => {
  const model = scriptedModel([{ text: ['my ', 'number'], usage: { inputTokens: 3, outputTokens: 4 } }]);
  const { events, result } = await runAll({
    models: { scripted: model },
    hooks: only('after_model', (payload) => {
      const { response } = payload as { response: { content: unknown[] } };
      expect(response.content).toEqual([{ type: 'text', text: 'my number' }]);
      return changes({ response: { ...response, content: [{ type: 'text', text: 'my ***' }] } });
    }),
  });
  expect(result.text).toBe('my ***');
  expect(result.usage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
  expect(JSON.stringify(events)).not.toContain('number');
});

test('on_model_error answers for a model that failed for good', async () => {
  const failing = () => scriptedModel([{ error: { code: 'INVALID_ARGUMENT', message: 'too long' } }]);
  const seen: unknown[] = [];
  const { result } = await runAll({
    models: { scripted: failing() },
    hooks: only('on_model_error', (payload) => {
      seen.push((payload as { error: unknown }).error);
      return changes({ response: { content: [{ type: 'text', text: 'sorry' }] } });
    }),
  });
  expect(seen).toEqual([{ code: 'INVALID_ARGUMENT', message: 'too long', retryable: false }]);
  expect(result).toMatchObject({ ok: true, text: 'sorry' });
  const silent = await runAll({ models: { scripted: failing() }, hooks: only('on_model_error', () => undefined) });
  expect(silent.result).toMatchObject({ reason: 'failed', data: { code: 'INVALID_ARGUMENT' } });
});

test('before_tool_selection: the strictest mode and the union of what is allowed count, for the model and at the gate', async () => {
  const other = tool({
    name: 'other',
    description: 'o',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => 'o',
  });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'look', args: {} },
        { name: 'other', args: {} },
      ],
    },
    { text: 'ok' },
  ]);
  const { events } = await runAll(
    {
      models: { scripted: model },
      hooks: [
        ...only('before_tool_selection', () => changes({ toolMode: 'auto', allowedTools: ['looker.look'] })),
        ...only('before_tool_selection', (payload) => {
          expect((payload as { request: ModelRequest }).request.toolMode).toBe('auto');
          return changes({ toolMode: 'any', allowedTools: ['third'] });
        }),
        ...only('before_tool_selection', () => changes({ toolMode: 'auto' })),
      ],
    },
    agent({ name: 'looker', tools: [look, other] }),
  );
  expect(model.requests[0]).toMatchObject({ toolMode: 'any', allowedTools: ['look', 'third'] });
  expect(ofType(events, 'tool_response').map(({ name, errorType }) => [name, errorType])).toEqual([
    ['looker.other', 'policy_denied'],
    ['looker.look', undefined],
  ]);
});

test('tool mode none leaves no tool to be called', async () => {
  const { events } = await runAll({
    models: { scripted: script() },
    hooks: only('before_tool_selection', () => changes({ toolMode: 'none', allowedTools: ['look'] })),
  });
  expect(ofType(events, 'tool_response')).toMatchObject([{ errorType: 'policy_denied' }]);
});

test('on_tool_error puts a result in place of the error, which after_tool sees', async () => {
  const broken = tool({
    name: 'look',
    description: 'Looks.',
    annotations: { readOnly: true },
    parameters: { type: 'object' },
    execute: () => {
      throw new Error('boom');
    },
  });
  const seen: unknown[] = [];
  const { events } = await runAll(
    {
      models: { scripted: script() },
      hooks: [
        ...only('on_tool_error', (payload) => {
          seen.push((payload as { error: { errorType: string } }).error.errorType);
          return changes({ result: { llmContent: [{ type: 'text', text: 'from the cache' }] } });
        }),
        ...only(
          'after_tool',
          (payload) => void seen.push((payload as { result: { isError?: boolean } }).result.isError),
        ),
      ],
    },
    agent({ name: 'looker', tools: [broken] }),
  );
  expect(seen).toEqual(['execution_failed', undefined]);
  expect(ofType(events, 'tool_response')).toMatchObject([{ llmContent: [{ text: 'from the cache' }] }]);
});
