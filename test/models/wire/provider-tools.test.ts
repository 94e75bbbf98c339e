import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../src/contracts/index.js';
import { toGeminiRequest } from '../../../src/models/wire/gemini-request.js';
import { toChatRequest } from '../../../src/models/wire/openai-request.js';

const provided = (name: string) => ({
  name: `provider:${name}`,
  description: '',
  parametersSchema: { type: 'object' },
  annotations: { providerExecuted: true },
});
const write = { name: 'write', description: 'Writes.', parametersSchema: { type: 'object' } };
const asking = (...tools: NonNullable<ModelRequest['tools']>): ModelRequest => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }],
  tools,
});

test('Gemini is told of its own tools in its own form, beside the functions', () => {
  const { config } = toGeminiRequest(asking(write, provided('google_search'), provided('code_execution')));
  expect(config.tools).toEqual([
    { functionDeclarations: [expect.objectContaining({ name: 'write' })] },
    { googleSearch: {} },
    { codeExecution: {} },
  ]);
  expect(toGeminiRequest(asking(provided('url_context'))).config.tools).toEqual([{ urlContext: {} }]);
});

test('one that is left out by its name is not declared', () => {
  const request = { ...asking(write, provided('google_search')), allowedTools: ['write'] };
  expect(toGeminiRequest(request).config.tools).toHaveLength(1);
});

test('a tool that the provider does not have is a fault that says which it has', () => {
  expect(() => toGeminiRequest(asking(provided('web')))).toThrow(
    'the provider of this model runs no tool "provider:web"; it runs: provider:google_search, provider:code_execution',
  );
  expect(() => toChatRequest(asking(provided('web')), { reasoningDetails: false } as never)).toThrow('it runs: none');
});
