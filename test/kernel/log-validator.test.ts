import { describe, expect, test } from 'vitest';
import { validateLog } from '../../src/kernel/log-validator.js';
import { type LogEvent, logBuilder, teamLog, toStoredLog } from './log-validator.builder.js';

const where = (events: LogEvent[], fields: Partial<LogEvent>) =>
  events.findIndex((event) => Object.entries(fields).every(([key, value]) => event[key] === value));
/** The log with `fields` of the one event changed that has `marks`. */
const withChange = (marks: Partial<LogEvent>, fields: Partial<LogEvent>) => {
  const events = teamLog();
  const at = where(events, marks);
  events[at] = { ...events[at]!, ...fields };
  return events;
};
const renumbered = (events: LogEvent[]) =>
  events.map((event, index) => ({ ...event, seq: index + 1, timestamp: '2026-01-01T00:00:00.000Z' }));
const without = (marks: Partial<LogEvent>) => {
  const events = teamLog();
  events.splice(where(events, marks), 1);
  return renumbered(events);
};
/** The log with the event that has `marks` moved before the one that has `before`. */
const moved = (marks: Partial<LogEvent>, before: Partial<LogEvent>) => {
  const events = teamLog();
  const [event] = events.splice(where(events, marks), 1);
  events.splice(where(events, before), 0, event!);
  return renumbered(events);
};
const withExtra = (marks: Partial<LogEvent>, extra: Partial<LogEvent>) => {
  const events = teamLog();
  events.splice(where(events, marks) + 1, 0, { id: 'extra', type: 'custom', ...extra });
  return renumbered(events);
};

describe('a valid log', () => {
  test('a live stream of two runs of a nested team is valid, and finished', () => {
    expect(validateLog(teamLog(), { finished: true })).toEqual([]);
  });

  test('the stored log of the same is valid: whole messages, gaps in seq, tool_started, no tool_update', () => {
    const stored = toStoredLog(teamLog());
    expect(stored.some(({ kind }) => kind === 'tool_started')).toBe(true);
    expect(validateLog(stored, { finished: true })).toEqual([]);
  });

  test('B188: every prefix of either is valid', () => {
    for (const events of [teamLog(), toStoredLog(teamLog())]) {
      for (let length = 0; length <= events.length; length++) expect(validateLog(events.slice(0, length))).toEqual([]);
    }
  });

  test('B188: an abort with an open call, a compaction and a replay are valid, for every prefix', () => {
    const { events, root, begin } = logBuilder();
    begin('coder');
    root.message('u1', 'user', 'Go', { runId: 'r1' });
    root.message('a1', 'agent', 'Calling');
    root.call('c1', 'sleep', 'a1', 1);
    root.result('c1', 'sleep', { isError: true, errorType: 'cancelled' });
    root.end('aborted', { by: 'user' });
    root.custom('compact_boundary', { status: 'done' });
    root.add('initialize', { resumed: true });
    root.message('u2', 'user', 'Again', { runId: 'r2' });
    root.end('completed');
    for (let length = 0; length <= events.length; length++) expect(validateLog(events.slice(0, length))).toEqual([]);
    expect(validateLog(events, { finished: true })).toEqual([]);
  });

  test('a session that is resumed inside a run initializes again and goes on', () => {
    const { events, root, begin, start, complete } = logBuilder();
    begin('team');
    root.message('u1', 'user', 'Go');
    const child = start('a_1');
    child.question('q1');
    root.add('initialize', { resumed: true });
    child.add('initialize', { resumed: true });
    child.reply('q1');
    child.end();
    complete('a_1');
    root.end();
    expect(validateLog(events, { finished: true })).toEqual([]);
  });

  test('a message in flight may be given again to an observer, in place of what was shown', () => {
    const { events, root, begin } = logBuilder();
    begin('a');
    root.message('m1', 'agent', 'Hel');
    root.message('m2', 'agent', 'x');
    root.message('m1', 'agent', 'Hello', { _meta: { replace: true } });
    root.message('m1', 'agent', '!');
    expect(validateLog(events)).toEqual([]);
  });

  test('an event that carries undefined where a field is absent is as good as one without it', () => {
    expect(validateLog(withChange({ type: 'stream_end' }, { _meta: undefined, threadId: 'skeptic_2' }))).toEqual([]);
  });
});

describe('each rule', () => {
  const broken: [rule: string, events: () => LogEvent[], told: RegExp][] = [
    ['ids are unique', () => withChange({ id: 'e9' }, { id: 'e4' }), /^event "e4" \(seq 9\).*id was given before/],
    ['an event has an id', () => withChange({ id: 'e9' }, { id: '' }), /needs an id/],
    ['seq strictly increases', () => withChange({ id: 'e9' }, { seq: 8 }), /^event "e9" \(seq 8\).*after 8/],
    ['seq is a whole number', () => withChange({ id: 'e9' }, { seq: 8.5 }), /seq must be a whole number/],
    [
      'time never goes back',
      () => withChange({ id: 'e20' }, { timestamp: '2020-01-01T00:00:00.000Z' }),
      /time never goes back/,
    ],
    ['time is ISO in UTC', () => withChange({ id: 'e1' }, { timestamp: '2020-01-01T00:00:00+01:00' }), /not ISO 8601/],
    ['time is given', () => withChange({ id: 'e1' }, { timestamp: '' }), /not ISO 8601/],
    ['a type is given', () => withChange({ id: 'e2' }, { type: 7 as never }), /needs a type/],
    [
      'the root initializes first',
      () => without({ type: 'initialize' }),
      /of the root: the first event of a thread is initialize, not "message"/,
    ],
    [
      'the root initializes before a child starts',
      () => teamLog().slice(2),
      /first event of a log is the initialize of the root/,
    ],
    [
      'a child initializes first',
      () => without({ type: 'initialize', threadId: 'skeptic_2' }),
      /thread "skeptic_2": the first event of a thread is initialize/,
    ],
    [
      'a thread initializes once',
      () => withExtra({ id: 'e6' }, { type: 'initialize', threadId: 'skeptic_2' }),
      /initialize comes twice/,
    ],
    [
      'a call is answered before its thread ends',
      () => without({ type: 'tool_response', requestId: 'c1' }),
      /stream_end while tool_request "c1" has no tool_response/,
    ],
    [
      'a call is answered once',
      () =>
        withExtra(
          { type: 'tool_response', requestId: 'c1' },
          { type: 'tool_response', requestId: 'c1', name: 'web', threadId: 'research_1' },
        ),
      /a second "tool_response" for "c1"/,
    ],
    [
      'an answer has a request',
      () => without({ type: 'tool_request', requestId: 'c2' }),
      /"tool_response" for "c2", which was never requested/,
    ],
    [
      'an answer names what was called',
      () => withChange({ type: 'tool_response', requestId: 'c2' }, { name: 'web' }),
      /names "web", its request "notes"/,
    ],
    [
      'an answer stands on the thread of its call',
      () => withChange({ type: 'tool_response', requestId: 'c2' }, { threadId: 'research_1.web_1' }),
      /which thread "research_1" requested/,
    ],
    [
      'a requestId is used once',
      () => withChange({ type: 'tool_request', requestId: 'c2' }, { requestId: 'c1' }),
      /"tool_request" with the requestId "c1" comes twice/,
    ],
    [
      'a request has an id',
      () => withChange({ type: 'tool_request', requestId: 'c2' }, { requestId: undefined }),
      /needs a requestId/,
    ],
    [
      'progress belongs to an open call',
      () => moved({ type: 'tool_update' }, { type: 'message', messageId: 'r2' }),
      /tool_update for "c1", which is no open/,
    ],
    [
      'a question is answered before its thread ends',
      () => without({ type: 'elicitation_response' }),
      /stream_end while elicitation_request "q1" has no/,
    ],
    [
      'a question is answered once',
      () =>
        withExtra(
          { type: 'elicitation_response' },
          { type: 'elicitation_response', requestId: 'q1', threadId: 'research_1.web_1' },
        ),
      /a second "elicitation_response" for "q1"/,
    ],
    [
      'an answer has a question',
      () => without({ type: 'elicitation_request' }),
      /"elicitation_response" for "q1", which was never requested/,
    ],
    [
      'a run ends once',
      () =>
        withExtra(
          { type: 'stream_end', threadId: 'research_1.web_1' },
          { type: 'stream_end', reason: 'completed', threadId: 'research_1.web_1' },
        ),
      /"stream_end" after the stream_end of its thread/,
    ],
    [
      'nothing of a child comes after its end',
      () =>
        withExtra(
          { type: 'stream_end', threadId: 'skeptic_2' },
          { type: 'custom', kind: 'notice', threadId: 'skeptic_2' },
        ),
      /"custom" after the stream_end of its thread/,
    ],
    [
      'a child has one run',
      () =>
        withExtra(
          { type: 'agent_completed', threadId: 'skeptic_2' },
          { type: 'message', messageId: 'x', role: 'user', content: [], threadId: 'skeptic_2' },
        ),
      /"message" after the stream_end of its thread/,
    ],
    [
      'nothing of the root comes after its end',
      () => withExtra({ type: 'stream_end', runId: 'run1' }, { type: 'error', code: 'X', message: '', fatal: false }),
      /of the root: "error" after the stream_end/,
    ],
    [
      'an agent’s message begins no run',
      () =>
        withExtra(
          { type: 'stream_end', runId: 'run1' },
          { type: 'message', messageId: 'x', role: 'agent', content: [] },
        ),
      /of the root: "message" after the stream_end/,
    ],
    [
      'a run does not go on after its end',
      () => withChange({ messageId: 'u2' }, { runId: 'run1' }),
      /run "run1" goes on after its stream_end/,
    ],
    [
      'no thread outlives the run of the root',
      () =>
        withExtra({ type: 'stream_end', runId: 'run1' }, { type: 'agent_started', agentName: 'x', threadId: 'x_9' }),
      /"agent_started" after the stream_end of the root/,
    ],
    [
      'a stream_end has a reason',
      () => withChange({ type: 'stream_end' }, { reason: undefined }),
      /stream_end needs a reason/,
    ],
    [
      'a child is announced',
      () => without({ type: 'agent_started', threadId: 'skeptic_2' }),
      /thread "skeptic_2": its thread has no agent_started/,
    ],
    [
      'a child is announced once',
      () => withExtra({ id: 'e6' }, { type: 'agent_started', agentName: 'skeptic', threadId: 'skeptic_2' }),
      /agent_started comes twice/,
    ],
    [
      'a child is completed',
      () => without({ type: 'agent_completed', threadId: 'skeptic_2' }),
      /of the root: stream_end while its child "skeptic_2" has no agent_completed/,
    ],
    [
      'a grandchild is completed before its parent ends',
      () =>
        moved(
          { type: 'agent_completed', threadId: 'research_1.web_1' },
          { type: 'agent_completed', threadId: 'research_1' },
        ),
      /thread "research_1": stream_end while its child "research_1.web_1"/,
    ],
    [
      'a child is completed once',
      () =>
        withExtra(
          { type: 'agent_completed', threadId: 'skeptic_2' },
          { type: 'agent_completed', agentName: 'skeptic', threadId: 'skeptic_2' },
        ),
      /agent_completed comes twice/,
    ],
    [
      'a child is completed after its end',
      () => without({ type: 'stream_end', threadId: 'skeptic_2' }),
      /agent_completed before the stream_end of its thread/,
    ],
    [
      'a completed child was started',
      () => withExtra({ id: 'e6' }, { type: 'agent_completed', agentName: 'x', threadId: 'x_7' }),
      /agent_completed without an agent_started/,
    ],
    [
      'both brackets name one agent',
      () => withChange({ type: 'agent_completed', threadId: 'skeptic_2' }, { agentName: 'research' }),
      /agent_completed names "research", agent_started "skeptic"/,
    ],
    [
      'a child starts within its parent’s run',
      () =>
        moved(
          { type: 'agent_started', threadId: 'research_1.web_1' },
          { type: 'agent_completed', threadId: 'research_1' },
        ),
      /agent_started after the stream_end of its parent \(thread "research_1"\)/,
    ],
    [
      'a child starts after its parent initialized',
      () =>
        moved({ type: 'agent_started', threadId: 'research_1.web_1' }, { type: 'initialize', threadId: 'research_1' }),
      /before its parent \(thread "research_1"\) has initialized/,
    ],
    [
      'a child’s parent was started',
      () => withExtra({ id: 'e6' }, { type: 'agent_started', agentName: 'x', threadId: 'ghost_8.x_1' }),
      /its parent \(thread "ghost_8"\) was never started/,
    ],
    [
      'parentThreadId is the parent',
      () => withChange({ type: 'agent_started', threadId: 'research_1.web_1' }, { parentThreadId: 'skeptic_2' }),
      /parentThreadId "skeptic_2" is not the parent/,
    ],
    [
      'a bracket has a threadId',
      () => withChange({ type: 'agent_started' }, { threadId: undefined }),
      /"agent_started" needs the threadId of the child/,
    ],
    [
      'a threadId has the form name_ordinal',
      () => withExtra({ id: 'e6' }, { type: 'agent_started', agentName: 'x', threadId: 'x' }),
      /does not end in <agentName>_<ordinal>/,
    ],
    [
      'an ordinal begins at 1',
      () => withExtra({ id: 'e6' }, { type: 'agent_started', agentName: 'x', threadId: 'x_0' }),
      /does not end in/,
    ],
    [
      'a threadId names its agent',
      () => withExtra({ id: 'e6' }, { type: 'agent_started', agentName: 'y', threadId: 'x_7' }),
      /agent_started names "y", its threadId "x"/,
    ],
    [
      'ordinals are unique per parent',
      () => withExtra({ id: 'e6' }, { type: 'agent_started', agentName: 'x', threadId: 'x_2' }),
      /ordinal 2 was given to another child/,
    ],
    [
      'the root has no threadId',
      () => withChange({ id: 'e2' }, { threadId: '' }),
      /thread "": its thread has no agent_started/,
    ],
    ['a threadId is a text', () => withChange({ id: 'e2' }, { threadId: null }), /a threadId is a text/],
    [
      'increments of a message are contiguous',
      () => moved({ type: 'message', messageId: 'r2' }, { id: 'e9' }),
      /message "r1" goes on after another began/,
    ],
    [
      'a message has one role',
      () => withChange({ id: 'e9' }, { role: 'user' }),
      /message "r1" changes its role from "agent" to "user"/,
    ],
    ['a message has an id', () => withChange({ id: 'e9' }, { messageId: undefined }), /a message needs a messageId/],
    [
      'usage is the sum of its run',
      () =>
        withChange(
          { type: 'stream_end', threadId: 'research_1.web_1' },
          { data: { usage: { inputTokens: 2, outputTokens: 1 } } },
        ),
      /says inputTokens 2, the usage of its run sums to 1/,
    ],
    [
      'usage holds the descendants',
      () =>
        withChange(
          { type: 'stream_end', threadId: 'research_1' },
          { data: { usage: { inputTokens: 10, outputTokens: 5 } } },
        ),
      /says inputTokens 10, the usage of its run sums to 11/,
    ],
    [
      'usage of one run is not that of another',
      () => withChange({ id: 'e43', type: 'stream_end' }, { data: { usage: { inputTokens: 21 } } }),
      /says inputTokens 21, the usage of its run sums to 3/,
    ],
    [
      'absent usage stays absent',
      () =>
        withChange(
          { type: 'stream_end', threadId: 'skeptic_2' },
          { data: { usage: { inputTokens: 7, outputTokens: 0, thoughtTokens: 2 } } },
        ),
      /says outputTokens 0, the usage of its run sums to undefined/,
    ],
    [
      'given usage is not left out',
      () => withChange({ type: 'stream_end', threadId: 'skeptic_2' }, { data: { usage: { inputTokens: 7 } } }),
      /says thoughtTokens undefined, the usage of its run sums to 2/,
    ],
    [
      'cost is the sum',
      () =>
        withChange({ type: 'stream_end', threadId: 'research_1' }, { data: { cost: { usd: 0.31, incomplete: true } } }),
      /says a cost of 0.31 USD.*sums to 0.3/,
    ],
    [
      'no price makes no cost',
      () => withChange({ type: 'stream_end', threadId: 'skeptic_2' }, { data: { cost: { usd: 0 } } }),
      /says a cost of 0 USD.*sums to undefined/,
    ],
    [
      'a missing price is told',
      () => withChange({ type: 'stream_end', threadId: 'research_1' }, { data: { cost: { usd: 0.3 } } }),
      /cost.incomplete undefined, 1 of 3 usage events/,
    ],
    [
      'an event is JSON',
      () => withChange({ id: 'e9' }, { _meta: { at: new Date(0) } as never }),
      /changes in a JSON round trip: \._meta\.at is an instance of Date/,
    ],
  ];

  test.each(broken)('%s', (_, events, told) => {
    const problems = validateLog(events());
    expect(problems.join('\n')).toMatch(new RegExp(told, 'm'));
  });

  test('of one broken rule one sentence is said, naming the event, its place and its thread', () => {
    expect(validateLog(without({ type: 'tool_response', requestId: 'c1' }))).toEqual([
      'event "e31" (seq 30) of thread "research_1": stream_end while tool_request "c1" has no tool_response',
    ]);
  });

  test('a call of another message closes what was said before', () => {
    const { events, root, begin } = logBuilder();
    begin('a');
    root.message('m1', 'agent', 'Hel');
    root.call('c1', 't', 'm1', 1);
    root.message('m1', 'agent', 'lo');
    root.call('c2', 't', 'm2', 0);
    expect(validateLog(events)).toEqual([]);
    root.message('m1', 'agent', '!');
    expect(validateLog(events)).toEqual([expect.stringContaining('message "m1" goes on after another began')]);
  });

  test('an unknown thread is told once, not for each of its events', () => {
    const { events, begin, root } = logBuilder();
    begin('a');
    for (let count = 0; count < 10; count++)
      events.push({ ...root.custom('x'), threadId: 'b_1', id: `x${count}`, seq: 100 + count });
    const kept = renumbered(events.filter(({ threadId, type }) => threadId === 'b_1' || type === 'initialize'));
    expect(validateLog(kept)).toEqual([expect.stringContaining('has no agent_started')]);
  });

  test('a log that should be finished tells what is open', () => {
    const events = teamLog();
    const cut = events.slice(0, where(events, { type: 'elicitation_response' }));
    expect(validateLog(cut)).toEqual([]);
    expect(validateLog(cut, { finished: true })).toEqual([
      'end of the log: the root has no stream_end',
      'end of the log: the root stops while its child "research_1" has no agent_completed',
      'end of the log: thread "research_1" has no stream_end',
      'end of the log: thread "research_1" stops while tool_request "c1" has no tool_response',
      'end of the log: thread "research_1" stops while its child "research_1.web_1" has no agent_completed',
      'end of the log: thread "research_1.web_1" has no stream_end',
      'end of the log: thread "research_1.web_1" stops while elicitation_request "q1" has no elicitation_response',
    ]);
  });
});
