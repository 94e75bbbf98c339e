import { expect, test } from 'vitest';
import type { AgentEventDraft, ContentPart, ModelResponse } from '../../src/contracts/index.js';
import { appendPart } from '../../src/kernel/content.js';
import { createHistory } from '../../src/kernel/history.js';
import { createModelTurn } from '../../src/kernel/model-turn.js';

/** A turn that publishes into a list. */
function turn(options: { toolsOff?: boolean; full?: Promise<void> } = {}) {
  const published: AgentEventDraft[] = [];
  const made = createModelTurn(
    {
      publish(draft) {
        published.push(draft);
        return options.full;
      },
      newMessageId: () => 'm',
      toolsOff: options.toolsOff ?? false,
    },
    'scripted/x',
  );
  const take = (...increments: Partial<ModelResponse>[]) => {
    for (const increment of increments) made.take({ content: [], ...increment });
    return made.finish();
  };
  return { turn: made, take, published };
}

const text = (value: string): ContentPart => ({ type: 'text', text: value });
const call = (name: string, id?: string) => ({ name, args: {}, ...(id !== undefined && { id }) });

/** The model's message as the history has it after the turn: what the provider is sent again. */
function messageOf(published: readonly AgentEventDraft[]): ContentPart[] | undefined {
  const history = createHistory();
  const parts: ContentPart[] = [];
  for (const draft of published) {
    if (draft.type === 'message') for (const part of draft.content) appendPart(parts, part);
  }
  history.model('m', parts);
  for (const draft of published) {
    if (draft.type === 'tool_request') history.call({ ...draft, requestId: draft.requestId || draft.name });
  }
  for (const draft of published) {
    if (draft.type === 'tool_request') history.response(draft.requestId || draft.name, { llmContent: [] });
  }
  return history.messages()[0]?.content;
}

test('text is published as it comes, in one message; calls once the answer is whole', () => {
  const { turn: one, published } = turn();
  one.take({ content: [text('a')] });
  one.take({ content: [text('b')], toolCalls: [call('t', 'x')] });
  expect(published).toEqual([
    { type: 'message', messageId: 'm', role: 'agent', content: [text('a')] },
    { type: 'message', messageId: 'm', role: 'agent', content: [text('b')] },
  ]);
  one.take({ content: [], finishReason: 'tool_calls' });
  expect(one.finish()).toBeUndefined();
  expect(published[2]).toEqual({
    type: 'tool_request',
    requestId: 'x',
    name: 't',
    args: {},
    messageId: 'm',
    index: 1,
    _meta: { providerId: 'x' },
  });
});

test('a consumer that is behind is waited for', () => {
  const full = Promise.resolve();
  const { turn: one } = turn({ full });
  expect(one.take({ content: [text('a')] })).toBe(full);
  expect(one.take({ content: [], finishReason: 'stop' })).toBeUndefined();
});

test('a message with texts, thoughts and calls in any order is sent back as it was', () => {
  const { take, published } = turn();
  const signed = { type: 'thought' as const, thought: 'm', thoughtSignature: 's1' };
  take(
    { content: [{ type: 'thought', thought: 'h' }, signed] },
    { content: [text('one '), text('text')] },
    { content: [], toolCalls: [{ ...call('first', 'a'), thoughtSignature: 's2' }] },
    { content: [text('be')] },
    { content: [text('twe')] },
    { content: [text('en')] },
    { content: [], toolCalls: [call('second', 'b'), call('third', 'c')] },
    { content: [{ type: 'thought', thought: 'x' }] },
    { content: [], toolCalls: [call('fourth', 'd')] },
    { content: [{ type: 'thought', thought: 'y' }, text('after')], finishReason: 'tool_calls' },
  );
  const shown = (messageOf(published) ?? []).map((part) => {
    if (part.type === 'function_call') return `<${part.name} ${part.thoughtSignature ?? ''}>`;
    if (part.type === 'thought') return `(${part.thought} ${part.thoughtSignature ?? ''})`;
    return part.type === 'text' ? part.text : part.type;
  });
  expect(shown).toEqual([
    '(hm s1)',
    'one text',
    '<first s2>',
    'be',
    'tween',
    '<second >',
    '<third >',
    '(x )',
    '<fourth >',
    '(y )',
    'after',
  ]);
});

test('usage is the last that was said, published once', () => {
  const { turn: one, published } = turn();
  one.take({ content: [], usage: { inputTokens: 10, outputTokens: 5 } });
  one.take({ content: [], usage: { outputTokens: 12 }, finishReason: 'stop' });
  one.publishUsage();
  one.publishUsage();
  expect(published).toEqual([{ type: 'usage', model: 'scripted/x', inputTokens: 10, outputTokens: 12 }]);
});

test('how an answer ended decides what the turn comes to', () => {
  expect(turn().take({ content: [text('x')], finishReason: 'stop' })).toEqual({ reason: 'completed' });
  expect(turn().take({ content: [text('x')], finishReason: 'length' })).toEqual({
    reason: 'completed',
    data: { finishReason: 'length' },
  });
  expect(turn().take({ content: [{ type: 'refusal', text: 'no' }], finishReason: 'stop' })).toEqual({
    reason: 'refusal',
  });
  expect(turn().take({ content: [], finishReason: 'refusal' })).toEqual({ reason: 'refusal' });
  const off = turn({ toolsOff: true });
  expect(off.take({ content: [text('x')], toolCalls: [call('t')], finishReason: 'tool_calls' })).toEqual({
    reason: 'completed',
  });
  expect(off.published.map((draft) => draft.type)).toEqual(['message']);
});

test('what is usable, and what was said, is told apart', () => {
  const seen = (...increments: Partial<ModelResponse>[]) => {
    const { turn: one, take } = turn();
    take(...increments);
    return [one.isMalformed, one.hasSpoken, one.hasAnswered];
  };
  const thought: ContentPart = { type: 'thought', thought: 'h' };
  expect(seen()).toEqual([true, false, false]);
  expect(seen({ content: [text('x')] })).toEqual([false, true, true]);
  expect(seen({ content: [thought], finishReason: 'stop' })).toEqual([true, true, false]);
  expect(seen({ content: [text('x')], finishReason: 'malformed' })).toEqual([true, true, true]);
  expect(seen({ toolCalls: [call('t')], finishReason: 'tool_calls' })).toEqual([false, false, false]);
  expect(seen({ finishReason: 'length' })).toEqual([false, false, false]);
});

test('arguments that could not be read go along as the text they are', () => {
  const { take, published } = turn();
  take({ toolCalls: [{ name: 't', args: {}, brokenArgs: '{"a' }], finishReason: 'tool_calls' });
  expect(published[0]).toMatchObject({ requestId: '', _meta: { brokenArgs: '{"a' } });
});

test('an answer that is none is refused whole, and tokens that are no amounts were not given', () => {
  const bad: unknown[] = [
    { content: 'abc' },
    { content: [{ type: 'text' }] },
    { content: [{ type: 'text', text: 3n }] },
    { content: [null] },
    { content: [], toolCalls: [{ name: '' }] },
    { content: [], toolCalls: [null] },
    { content: [], toolCalls: 'x' },
  ];
  for (const increment of bad) {
    const { turn: one, published } = turn();
    expect(() => one.take(increment as ModelResponse)).toThrow(/is no answer/);
    expect(published).toEqual([]);
  }
  const { turn: one, published } = turn();
  one.take({
    content: [],
    usage: { inputTokens: Number.NaN, outputTokens: -5, cachedTokens: 'x' as never, thoughtTokens: 2 },
  });
  one.publishUsage();
  expect(published).toEqual([expect.objectContaining({ type: 'usage', thoughtTokens: 2 })]);
  expect(Object.keys(published[0] ?? {})).not.toContain('outputTokens');
});

test('an answer that ends with an error is a failed call, not a completed one', () => {
  const { turn: one } = turn();
  expect(() => one.take({ content: [text('half')], finishReason: 'error' })).toThrow(
    expect.objectContaining({ code: 'UNAVAILABLE', retryable: true }),
  );
});

test('names that providers have for a refusal and for a cut are read as ours', () => {
  for (const finishReason of ['safety', 'SAFETY', 'content_filter']) {
    expect(turn().take({ content: [text('no')], finishReason })).toEqual({ reason: 'refusal' });
  }
  for (const finishReason of ['max_tokens', 'MAX_TOKENS']) {
    expect(turn().take({ content: [text('so far')], finishReason })).toEqual({
      reason: 'completed',
      data: { finishReason: 'length' },
    });
  }
});

test('what is no answer at all is told as such', () => {
  for (const nothing of [undefined, null, 'text']) {
    expect(() => turn().turn.take(nothing as never)).toThrow(expect.objectContaining({ code: 'INVALID_RESPONSE' }));
  }
});

test('a call among the contents of an answer is none: it would stand in the history without a response', () => {
  for (const part of [
    { type: 'function_call', name: 'f', args: {}, id: 'c' },
    { type: 'function_response', name: 'f', response: {}, id: 'c' },
  ])
    expect(() => turn().turn.take({ content: [part as never] })).toThrow(
      expect.objectContaining({ code: 'INVALID_RESPONSE', message: expect.stringContaining('toolCalls') }),
    );
});
