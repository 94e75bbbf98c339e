import { describe, expect, test } from 'vitest';
import type { ModelMessage } from '../../../src/contracts/index.js';
import { failureOf, failureOfEvent } from '../../../src/executors/adk/failure.js';
import { fromContents, toContents } from '../../../src/executors/adk/parts.js';
import { toJsonSchema } from '../../../src/executors/adk/schema.js';
import { finishOf, fromLlmResponse, toLlmResponse } from '../../../src/executors/adk/translate.js';
import { createWireNames } from '../../../src/kernel/wire-names.js';

const names = createWireNames([]);

describe('a history', () => {
  test('comes back as it went, signatures byte for byte', () => {
    const messages: ModelMessage[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'media', mimeType: 'image/png', data: 'AAAA' },
        ],
      },
      {
        role: 'model',
        content: [
          { type: 'thought', thought: 'hm', thoughtSignature: 'c2ln/+=' },
          { type: 'text', text: 'so', _meta: { thoughtSignature: 'dGV4dA==' } },
          { type: 'function_call', name: 'f', args: { a: 1 }, id: 'c1', thoughtSignature: 'Y2FsbA==' },
          { type: 'function_call', name: 'f', args: {}, id: 'c2' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'function_response', name: 'f', id: 'c1', response: { output: '1' } },
          { type: 'function_response', name: 'f', id: 'c2', response: { error: 'no' } },
        ],
      },
      {
        role: 'model',
        content: [
          { type: 'code', language: 'python', code: 'x' },
          { type: 'text', text: 'end' },
        ],
      },
    ];
    const contents = toContents(messages, names);
    expect(fromContents(contents).slice(0, 3)).toEqual(messages.slice(0, 3));
    expect(contents[1]?.parts?.[2]).toEqual({
      functionCall: { id: 'c1', name: 'f', args: { a: 1 } },
      thoughtSignature: 'Y2FsbA==',
    });
  });

  test('holds parts that only ADK knows, whole', () => {
    const part = { toolCall: { id: '1' }, thoughtSignature: undefined };
    const [message] = fromContents([{ role: 'model', parts: [part as object] }]);
    expect(toContents([message as ModelMessage], names)[0]?.parts).toEqual([part]);
  });

  test('media in a tool result stand behind the answers', () => {
    const response = {
      output: [
        { type: 'text', text: 'a' },
        { type: 'media', mimeType: 'image/png', data: 'QQ==' },
      ],
    };
    const [content] = toContents(
      [{ role: 'user', content: [{ type: 'function_response', name: 'f', id: '1', response }] }],
      names,
    );
    expect(content?.parts).toEqual([
      { functionResponse: { id: '1', name: 'f', response: { output: 'a\n[image/png]' } } },
      { inlineData: { mimeType: 'image/png', data: 'QQ==' } },
    ]);
  });
});

describe('an answer', () => {
  test('comes back as it went, with its calls only in the whole', () => {
    const answer = {
      content: [{ type: 'text' as const, text: 'so' }],
      toolCalls: [{ id: 'c1', name: 'f', args: { a: 1 }, thoughtSignature: 's' }],
      usage: { inputTokens: 3, outputTokens: 2 },
      finishReason: 'stop',
    };
    expect(fromLlmResponse(toLlmResponse(answer, false))).toEqual(answer);
    expect(toLlmResponse(answer, true).content?.parts).toEqual([{ text: 'so' }]);
  });

  test.each([
    ['STOP', 'stop'],
    ['FUNCTION_CALL', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'refusal'],
    ['MALFORMED_FUNCTION_CALL', 'malformed'],
    ['429', 'error'],
  ])('that ends with %s is %s', (errorCode, reason) => {
    expect(finishOf({ errorCode })).toBe(reason);
  });
});

describe('a failure', () => {
  test('has the code of its status where there is one, and its own otherwise', () => {
    const body = { error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED', details: [] } };
    expect(failureOf(new Error(JSON.stringify(body)))).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: 'slow',
      retryable: true,
    });
    expect(failureOf(Object.assign(new Error('down'), { status: 503 }))).toMatchObject({ code: 'UNAVAILABLE' });
    expect(failureOf(new Error('odd'))).toMatchObject({ code: 'MODEL_FAILED', message: 'odd', retryable: false });
    expect(failureOfEvent('UNKNOWN_ERROR', 'odd')).toMatchObject({ code: 'UNKNOWN', retryable: false });
    expect(failureOfEvent('429', 'slow')).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  });

  test('says how long to wait where the provider did', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' }];
    expect(failureOf(new Error(JSON.stringify({ error: { code: 429, message: 'slow', details } })))).toMatchObject({
      retryAfterMs: 1500,
    });
  });
});

test('Gemini’s schemas become JSON Schema', () => {
  expect(
    toJsonSchema({
      type: 'OBJECT',
      properties: {
        a: { type: 'STRING', nullable: true },
        b: { type: 'ARRAY', items: { type: 'INTEGER' }, maxItems: '3' },
      },
      required: ['a'],
    }),
  ).toEqual({
    type: 'object',
    properties: { a: { type: ['string', 'null'] }, b: { type: 'array', items: { type: 'integer' }, maxItems: 3 } },
    required: ['a'],
  });
  expect(toJsonSchema({ type: 'object', properties: { type: { type: 'string' } } })).toEqual({
    type: 'object',
    properties: { type: { type: 'string' } },
  });
});
