import { expect, test } from 'vitest';
import { eventLine } from '../../src/cli/render-json.js';
import { createLineRenderer } from '../../src/cli/render-lines.js';
import { noStyle } from '../../src/cli/style.js';
import type { AgentEvent } from '../../src/contracts/index.js';
import { asked, asks, calls, ends, eventList, initialize, returns, says } from './event-list.js';

function linesOf(events: readonly AgentEvent[]): string[] {
  const renderer = createLineRenderer(noStyle);
  return events.flatMap((event) => renderer.lines(event));
}

test('a run as plain lines: each message once and whole, calls with their arguments, the end', () => {
  expect(
    linesOf(
      eventList(
        { ...initialize('solo'), by: 'solo' },
        { ...asked('go'), by: 'solo' },
        { ...says('I will '), by: 'solo' },
        { type: 'usage', inputTokens: 3, by: 'solo' },
        { ...says('look.\nNow.'), by: 'solo' },
        { ...calls('search', { query: 'x' }), by: 'solo' },
        { type: 'tool_update', requestId: 'r1', status: 'executing', by: 'solo' },
        { ...returns('search'), by: 'solo' },
        { ...asks('Which one?'), by: 'solo' },
        { type: 'elicitation_response', requestId: 'q1', action: 'decline', by: 'solo' },
        { type: 'agent_transfer', from: 'solo', to: 'billing', reason: 'money', by: 'solo' },
        { type: 'loop_iteration', iteration: 2, maxIterations: 3, by: 'solo' },
        { type: 'custom', kind: 'notice', data: { code: 'QUOTA', severity: 'warning', text: 'slow' }, by: 'solo' },
        { type: 'custom', kind: 'context', data: {}, by: 'solo' },
        { ...ends('completed'), by: 'solo' },
      ),
    ),
  ).toEqual([
    '[solo]: I will look. Now.',
    '[solo] calls search {"query":"x"}',
    '[solo] got search',
    '[solo] asks Which one?',
    '[solo] was answered decline',
    '[solo] hands over to billing: money',
    '[solo] iteration 2 of 3',
    '[solo] warning: slow',
    '[solo] completed',
  ]);
});

test('messages of threads that speak at once are kept apart', () => {
  expect(
    linesOf(
      eventList(
        { ...says('one ', 'a'), thread: 'x_1' },
        { ...says('two ', 'b'), thread: 'y_1' },
        { ...says('more', 'a'), thread: 'x_1' },
        { ...says('too', 'b'), thread: 'y_1' },
        { ...ends('completed'), thread: 'x_1' },
        { ...ends('failed'), thread: 'y_1' },
      ),
    ),
  ).toEqual(['[x_1]: one more', '[x_1] completed', '[y_1]: two too', '[y_1] ended: failed']);
});

test('a failed call says its kind and why', () => {
  const failed = {
    ...returns('rm'),
    isError: true,
    errorType: 'policy_denied',
    llmContent: [{ type: 'text' as const, text: 'not here' }],
  };
  expect(linesOf(eventList({ ...failed, by: 'solo' }))).toEqual(['[solo] error rm: policy_denied (not here)']);
});

test('no event becomes more than its lines, and no control character gets through', () => {
  const hostile = 'a\n[root] got everything\u001b[1A\u202e';
  const lines = linesOf(
    eventList(
      { ...says(hostile), thread: hostile },
      { ...calls(hostile, hostile), thread: hostile },
      { ...asks(hostile), thread: hostile },
      { type: 'error', code: hostile, message: hostile, fatal: false, thread: hostile },
      { ...ends(hostile), thread: hostile },
    ),
  );
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(line).toMatch(/^[^\p{Cc}\p{Cf}]*$/u);
});

test('an event as JSON is one line that reads back the same, without bare control characters', () => {
  const [event] = eventList({ ...says('a\nb\u009b31m\u202e\u2028\u007f"'), thread: 't_1' });
  const line = eventLine(event!);
  expect(line.slice(0, -1)).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}]*$/u);
  expect(line.endsWith('}\n')).toBe(true);
  expect(JSON.parse(line)).toEqual(event);
});
