import { describe, expect, test } from 'vitest';
import {
  narrowContentPart,
  narrowElicitationAction,
  narrowEvent,
  narrowEventDraft,
  narrowPermissionMode,
  narrowPolicyDecision,
  narrowPolicyOutcome,
} from '../../src/kernel/narrow.js';

const base = { id: 'e1', timestamp: '2026-11-30T10:00:00.000Z', seq: 7 };

describe('events', () => {
  test.each([
    {
      type: 'initialize',
      sessionId: 's',
      agent: { name: 'a', description: '' },
      interfaceVersion: '1.0.0',
      capabilities: [],
    },
    { type: 'session_update', title: 'x' },
    { type: 'message', messageId: 'm', role: 'agent', content: [] },
    { type: 'tool_request', requestId: 'r', name: 't', args: { a: 1 }, messageId: 'm', index: 0 },
    { type: 'tool_update', requestId: 'r' },
    { type: 'tool_response', requestId: 'r', name: 't', llmContent: [] },
    { type: 'elicitation_request', requestId: 'r', kind: 'clarification', message: '?' },
    { type: 'elicitation_response', requestId: 'r', action: 'accept' },
    { type: 'usage', inputTokens: 1 },
    { type: 'error', code: 'UNAVAILABLE', message: 'down', fatal: false },
    { type: 'stream_end', reason: 'completed' },
    { type: 'custom', kind: 'notice' },
    { type: 'agent_started', agentName: 'a', threadId: 'a_1' },
    { type: 'agent_completed', agentName: 'a', threadId: 'a_1', reason: 'completed' },
    { type: 'agent_transfer', from: 'a', to: 'b' },
    { type: 'loop_iteration', iteration: 1, maxIterations: 3 },
  ])('a whole $type is known, and stays the same object', (fields) => {
    const event = { ...base, ...fields };
    const narrowed = narrowEvent(event);
    expect(narrowed.kind).toBe('known');
    expect(narrowed.kind === 'known' && narrowed.value).toBe(event);
  });

  test('a type that nobody here knows is kept with all its fields', () => {
    const event = { ...base, type: 'acme.telemetry', payload: { deep: [1] }, _meta: { k: 'v' } };
    const narrowed = narrowEvent(event);
    expect(narrowed.kind).toBe('unknown');
    expect(narrowed.kind === 'unknown' && narrowed.value).toBe(event);
    expect(event).toEqual({ ...base, type: 'acme.telemetry', payload: { deep: [1] }, _meta: { k: 'v' } });
  });

  test.each([
    [null, 'an event is an object'],
    ['message', 'an event is an object'],
    [[], 'an event is an object'],
    [{ ...base }, 'type is missing'],
    [{ ...base, type: 3 }, 'type must be of type string'],
    [{ ...base, type: 'usage', seq: Number.NaN }, 'seq must be of type number'],
    [{ id: 'e', timestamp: '', type: 'usage' }, 'seq is missing'],
    [
      { ...base, type: 'message', messageId: 'm', role: 'agent', content: 'text' },
      'message: content must be of type array',
    ],
    [{ ...base, type: 'stream_end' }, 'stream_end: reason is missing'],
    [
      { ...base, type: 'initialize', sessionId: 's', agent: [], interfaceVersion: '', capabilities: [] },
      'initialize: agent must be of type object',
    ],
  ])('what is no event is refused with what is missing: %j', (value, reason) => {
    expect(narrowEvent(value)).toEqual({ kind: 'invalid', reason });
  });

  test('an event that no host has numbered yet is a draft', () => {
    const draft = { type: 'stream_end', reason: 'completed' };
    expect(narrowEvent(draft)).toEqual({ kind: 'invalid', reason: 'id is missing' });
    const narrowed = narrowEventDraft(draft);
    expect(narrowed.kind === 'known' && narrowed.value).toBe(draft);
    expect(narrowEventDraft({ type: 'acme.x' })).toEqual({ kind: 'unknown', value: { type: 'acme.x' } });
    expect(narrowEventDraft({ type: 'stream_end' })).toEqual({
      kind: 'invalid',
      reason: 'stream_end: reason is missing',
    });
    expect(narrowEventDraft(undefined)).toEqual({ kind: 'invalid', reason: 'an event is an object' });
  });

  test('a request whose arguments JSON dropped is still a request', () => {
    const event = { ...base, type: 'tool_request', requestId: 'r', name: 't', messageId: 'm', index: 0 };
    expect(narrowEvent(event).kind).toBe('known');
  });
});

describe('names that objects inherit mean nothing', () => {
  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'the type "%s" is unknown, not known',
    (type) => {
      expect(narrowEvent({ ...base, type }).kind).toBe('unknown');
      expect(narrowContentPart({ type }).kind).toBe('unknown');
      expect(narrowPermissionMode(type)).toBe('default');
      expect(narrowPolicyOutcome(type)).toBe('deny');
      expect(narrowElicitationAction(type)).toBe('cancel');
    },
  );

  test('a __proto__ key out of JSON lends no fields and pollutes nothing', () => {
    const event: unknown = JSON.parse(
      `{"id":"e1","timestamp":"t","seq":1,"type":"error","__proto__":{"code":"X","message":"m","fatal":true}}`,
    );
    expect(narrowEvent(event)).toEqual({ kind: 'invalid', reason: 'error: code is missing' });
    const decision: unknown = JSON.parse('{"__proto__":{"outcome":"allow"}}');
    expect(narrowPolicyDecision(decision).outcome).toBe('deny');
    expect(({} as { code?: string }).code).toBeUndefined();
  });

  test('fields that come from a prototype do not count', () => {
    const event: unknown = Object.assign(Object.create({ type: 'usage', ...base }), {});
    expect(narrowEvent(event)).toEqual({ kind: 'invalid', reason: 'type is missing' });
    expect(narrowPolicyDecision(Object.create({ outcome: 'allow' })).outcome).toBe('deny');
  });
});

describe('content parts', () => {
  test.each([
    { type: 'text', text: 'x' },
    { type: 'thought', thought: 'x', thoughtSignature: 'c2ln' },
    { type: 'media', mimeType: 'image/png', data: 'AA==' },
    { type: 'reference', text: 'x' },
    { type: 'refusal', text: 'no' },
    { type: 'code', language: 'ts', code: '1' },
    { type: 'code_result', output: '1' },
    { type: 'ui', format: 'a2ui', data: {} },
    { type: 'function_call', name: 'f', args: {}, id: 'c1' },
    { type: 'function_response', name: 'f', response: {}, id: 'c1' },
  ])('a whole $type is known', (part) => {
    const narrowed = narrowContentPart(part);
    expect(narrowed.kind === 'known' && narrowed.value).toBe(part);
  });

  test('an unknown part is kept, a broken one is refused', () => {
    expect(narrowContentPart({ type: 'hologram', frames: 3 })).toEqual({
      kind: 'unknown',
      value: { type: 'hologram', frames: 3 },
    });
    expect(narrowContentPart({ type: 'text' })).toEqual({ kind: 'invalid', reason: 'text: text is missing' });
    expect(narrowContentPart('text')).toEqual({ kind: 'invalid', reason: 'a content part is an object' });
  });
});

describe('modes', () => {
  test.each([
    ['default', 'default'],
    ['auto_edit', 'auto_edit'],
    ['autoEdit', 'auto_edit'],
    ['acceptEdits', 'auto_edit'],
    ['autonomous', 'autonomous'],
    ['yolo', 'autonomous'],
    ['bypassPermissions', 'autonomous'],
    ['plan', 'plan'],
    ['dont_ask', 'dont_ask'],
    ['dontAsk', 'dont_ask'],
  ])('%s is read as %s', (mode, ours) => {
    expect(narrowPermissionMode(mode)).toBe(ours);
  });

  test.each([undefined, null, 3, 'YOLO', 'superuser', ''])('%j is no mode: the host asks', (mode) => {
    expect(narrowPermissionMode(mode)).toBe('default');
  });
});

describe('decisions', () => {
  test.each(['allow', 'deny', 'ask_user'] as const)('%s is itself', (outcome) => {
    expect(narrowPolicyOutcome(outcome)).toBe(outcome);
    expect(narrowPolicyDecision({ outcome, rule: 'r' })).toMatchObject({ outcome, rule: 'r' });
  });

  test.each([undefined, null, true, 1, 'ALLOW', 'allowed', 'maybe'])(
    'the outcome %j denies, and says why',
    (outcome) => {
      expect(narrowPolicyOutcome(outcome)).toBe('deny');
      const decision = narrowPolicyDecision({ outcome });
      expect(decision).toMatchObject({ outcome: 'deny', reason: expect.stringContaining('is not known') });
    },
  );

  test('what is no decision at all denies', () => {
    for (const value of [undefined, null, 'allow', [], () => 'allow'])
      expect(narrowPolicyDecision(value).outcome).toBe('deny');
  });

  test('messages of a decision are kept, and only texts', () => {
    expect(narrowPolicyDecision({ outcome: 'allow', message: 'fine' })).toEqual({ outcome: 'allow', message: 'fine' });
    expect(narrowPolicyDecision({ outcome: 'ask_user', hint: 3 })).toEqual({ outcome: 'ask_user' });
    expect(narrowPolicyDecision({ outcome: 'deny', reason: 'no' })).toEqual({ outcome: 'deny', reason: 'no' });
  });

  test.each([
    ['accept', 'accept'],
    ['decline', 'decline'],
    ['cancel', 'cancel'],
    ['Accept', 'cancel'],
    [undefined, 'cancel'],
    [true, 'cancel'],
  ])('the action %j is read as %s', (action, ours) => {
    expect(narrowElicitationAction(action)).toBe(ours);
  });
});
