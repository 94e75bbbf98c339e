import { describe, expect, test } from 'vitest';
import type { ModelInterface } from '../../src/contracts/index.js';
import { geminiModel } from '../../src/models/gemini.js';
import { openaiModel } from '../../src/models/openai.js';
import { openrouterModel } from '../../src/models/openrouter.js';
import type { Fetch } from '../../src/models/wire/clean-fetch.js';
import { sse } from '../support/scripted-server.js';
import { ask, attempt } from './ask.js';

/** A transport that answers with these frames. */
const answering =
  (...frames: (object | string)[]): Fetch =>
  async () =>
    new Response(sse(...frames), { headers: { 'content-type': 'text/event-stream' } });

const chat = {
  choices: [
    {
      index: 0,
      delta: {
        content: [{ type: 'text', text: 'hi' }],
        refusal: '',
        reasoning: 'hm',
        tool_calls: [{ index: 0, id: 'k', function: { name: 'f', arguments: '{}' } }],
        images: [{ image_url: { url: 'data:image/png;base64,AAAA' } }],
      },
      finish_reason: 'stop',
      native_finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 0 } },
};
const gemini = {
  candidates: [
    {
      index: 0,
      content: {
        role: 'model',
        parts: [
          { text: 'hi', thought: false, thoughtSignature: 'AAAA' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { fileData: { mimeType: 'image/png', fileUri: 'https://x.test/a.png' } },
          { executableCode: { language: 'PYTHON', code: '1' } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
          { functionCall: { id: 'k', name: 'f', args: {} } },
        ],
      },
      finishReason: 'STOP',
      finishMessage: 'fine',
    },
  ],
  promptFeedback: { blockReasonMessage: '' },
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
};

const providers: { name: string; model: (fetch: Fetch) => ModelInterface; frame: object }[] = [
  { name: 'openai', model: (fetch) => openaiModel({ name: 'o', apiKey: 'k', fetch }), frame: chat },
  { name: 'openrouter', model: (fetch) => openrouterModel({ name: 'o', apiKey: 'k', fetch }), frame: chat },
  { name: 'gemini', model: (fetch) => geminiModel({ name: 'g', apiKey: 'k', fetch }), frame: gemini },
];

const NONSENSE = [null, 7, 'x', true, [], {}, [null], [7], [[]]];

/** The frame with something else in each of its places, one at a time. */
function* spoilt(frame: unknown, at: string): Generator<[where: string, frame: unknown]> {
  for (const other of NONSENSE) yield [`${at || 'the frame'} = ${JSON.stringify(other)}`, other];
  if (typeof frame !== 'object' || frame === null) return;
  for (const key of Object.keys(frame)) {
    for (const [where, inside] of spoilt(Reflect.get(frame, key), `${at}/${key}`)) {
      const copy: object = Array.isArray(frame) ? [...frame] : { ...frame };
      Reflect.set(copy, key, inside);
      yield [where, copy];
    }
  }
}

describe.each(providers)('$name', ({ model, frame }) => {
  test('an answer with nonsense in any of its places is an answer of sound parts, or a failure of the provider in our words', async () => {
    for (const [where, bad] of spoilt(frame, '')) {
      const { increments, error } = await attempt(model(answering(JSON.stringify(bad))).generateStream(ask()));
      if (error !== undefined) {
        expect(error, where).toMatchObject({ name: 'ModelError', code: 'UNAVAILABLE', retryable: true });
        expect(error.message, where).not.toMatch(/undefined|null \(reading|not a function|not iterable|client failed/);
        continue;
      }
      for (const { content, toolCalls = [], usage = {} } of increments) {
        for (const part of content)
          for (const field of ['text', 'thought', 'data', 'uri', 'mimeType', 'code', 'output', 'thoughtSignature'])
            if (field in part) expect(typeof Reflect.get(part, field), `${where}: ${field}`).toBe('string');
        for (const call of toolCalls) expect(typeof call.name, where).toBe('string');
        for (const { id } of toolCalls) if (id !== undefined) expect(typeof id, where).toBe('string');
        for (const [key, count] of Object.entries(usage))
          if (key !== 'cost') expect(count, where).toEqual(expect.any(Number));
      }
    }
  });

  test('the failure names the place', async () => {
    const [list, place] = 'choices' in frame ? ['choices', 'choices[0]'] : ['candidates', 'candidates[0]'];
    const { error } = await attempt(model(answering({ [list]: [null] })).generateStream(ask()));
    expect(error?.message).toBe(`the provider sent a frame that is no answer: ${place} is null`);
  });
});
