import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { createRunModel } from '../../src/kernel/run-model.js';
import { shownEvent } from '../../src/studio/shown-event.js';
import { Lanes } from '../../src/studio/web/lanes.js';
import { Transcript } from '../../src/studio/web/transcript.js';

const base = { id: 'e1', seq: 1, timestamp: '2026-01-01T00:00:00.000Z' };
const event = (fields: object) => ({ ...base, ...fields }) as AgentEvent;

test('an event as it should be is given as it is, one of a type that nobody knows too', () => {
  for (const one of [
    event({ type: 'message', messageId: 'm', role: 'agent', content: [{ type: 'text', text: 'x' }], threadId: 'a_1' }),
    event({ type: 'usage', inputTokens: 1, outputTokens: 2, cost: { usd: 0.1 } }),
    event({ type: 'elicitation_response', requestId: 'q', action: 'accept', content: { displayContent: 1 } }),
    event({ type: 'of_tomorrow', anything: [1] }),
  ])
    expect(shownEvent(one)).toBe(one);
});

test('what is of the wrong kind is left out where the event says something without it', () => {
  const call = event({ type: 'tool_request', requestId: 't', name: 'look', title: {}, threadId: 5, args: null });
  expect(shownEvent(call)).toEqual({ ...base, type: 'tool_request', requestId: 't', name: 'look', args: null });
  const said = event({
    type: 'message',
    messageId: 'm',
    role: 'agent',
    content: [null, { type: 'text', text: 'x' }, {}],
  });
  expect(shownEvent(said)).toMatchObject({ content: [{ type: 'text', text: 'x' }] });
  expect(shownEvent(event({ type: 'usage', inputTokens: '7', cost: { usd: 'much' } }))).toEqual({
    ...base,
    type: 'usage',
  });
});

test('what says nothing without it is told as an event that cannot be read', () => {
  for (const one of [{ type: 'message', content: null }, { type: null }, { type: 'initialize', agent: { name: 7 } }])
    expect(shownEvent(event({ ...one, threadId: 'a_1' }))).toMatchObject({
      seq: 1,
      threadId: 'a_1',
      type: 'custom',
      data: { code: 'UNREADABLE_EVENT' },
    });
});

test('no event of whatever shape breaks the model of a run, a transcript or a timeline', () => {
  const types = [
    'initialize session_update message tool_request tool_update tool_response elicitation_request elicitation_response',
    'usage error stream_end custom agent_started agent_completed agent_transfer loop_iteration constructor',
  ];
  const names = [
    'sessionId agent model messageId role content requestId name args title displayName status progress llmContent',
    'displayContent isError data kind message context requestedSchema expiresAt action inputTokens outputTokens cost code',
    'reason agentName threadId parentThreadId agentId from to iteration maxIterations _meta timestamp',
  ];
  const all = names.join(' ').split(' ');
  for (const junk of [null, 5, {}, [], [null], { toString: 1 }, true, '', '__proto__'])
    for (const type of types.join(' ').split(' '))
      for (const left of ['', ...all]) {
        const given = Object.fromEntries(all.filter((name) => name !== left).map((name) => [name, junk]));
        const shown = shownEvent(event({ timestamp: base.timestamp, ...given, type }));
        createRunModel().fold(shown);
        new Transcript().add(shown);
        new Lanes().add(shown);
      }
});
