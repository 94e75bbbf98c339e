import type { Bag } from '../../src/contracts/index.js';

/** An event that a test may bend as it likes. */
export type LogEvent = Bag & { id: string; type: string };

/** Writes the events of a run one after the other, with ids, `seq` and timestamps (three events share one). */
export function logBuilder() {
  const events: LogEvent[] = [];
  const add = (threadId: string | undefined, type: string, fields: Bag = {}) => {
    const count = events.length + 1;
    const event: LogEvent = {
      id: `e${count}`,
      seq: count,
      timestamp: new Date(1_700_000_000_000 + Math.floor(count / 3)).toISOString(),
      type,
      ...(threadId === undefined ? {} : { threadId }),
      ...fields,
    };
    events.push(event);
    return event;
  };
  const agentOf = (threadId: string) => threadId.slice(threadId.lastIndexOf('.') + 1).replace(/_\d+$/, '');
  const initialize = (threadId: string | undefined, name: string) =>
    add(threadId, 'initialize', {
      sessionId: 's1',
      agent: { name, description: '' },
      interfaceVersion: '1.0.0',
      capabilities: [],
      agentId: name,
    });

  const on = (threadId: string | undefined) => ({
    message: (messageId: string, role: string, text: string, fields: Bag = {}) =>
      add(threadId, 'message', { messageId, role, content: [{ type: 'text', text }], ...fields }),
    call: (requestId: string, name: string, messageId: string, index = 0) =>
      add(threadId, 'tool_request', { requestId, name, args: { q: 1 }, messageId, index }),
    progress: (requestId: string) => add(threadId, 'tool_update', { requestId, progress: 0.5 }),
    result: (requestId: string, name: string, fields: Bag = {}) =>
      add(threadId, 'tool_response', { requestId, name, llmContent: [{ type: 'text', text: 'ok' }], ...fields }),
    question: (requestId: string) =>
      add(threadId, 'elicitation_request', { requestId, kind: 'clarification', message: '?' }),
    reply: (requestId: string) => add(threadId, 'elicitation_response', { requestId, action: 'accept' }),
    usage: (fields: Bag) => add(threadId, 'usage', fields),
    custom: (kind: string, data: unknown = {}) => add(threadId, 'custom', { kind, data }),
    end: (reason = 'completed', data: Bag = {}) => add(threadId, 'stream_end', { reason, data }),
    add: (type: string, fields: Bag = {}) => add(threadId, type, fields),
  });
  return {
    events,
    root: on(undefined),
    begin: (name: string) => initialize(undefined, name),
    /** `agent_started` and the child's `initialize`. */
    start(threadId: string) {
      const dot = threadId.lastIndexOf('.');
      const parent = dot === -1 ? {} : { parentThreadId: threadId.slice(0, dot) };
      add(threadId, 'agent_started', { agentName: agentOf(threadId), source: 'host', ...parent });
      initialize(threadId, agentOf(threadId));
      return on(threadId);
    },
    complete: (threadId: string, reason = 'completed') =>
      add(threadId, 'agent_completed', { agentName: agentOf(threadId), reason, source: 'host' }),
  };
}

/**
 * Two runs of a standing team: `report` runs `research_1` (with a child `web_1` of its own that asks a question) beside
 * `skeptic_2`, pauses, goes on, ends; then a second message starts `writer_3`.
 */
export function teamLog(): LogEvent[] {
  const { events, root, begin, start, complete } = logBuilder();
  const run1 = { runId: 'run1' };
  begin('report');
  root.message('u1', 'user', 'Compare', { ...run1, source: 'user' });
  const research = start('research_1');
  const skeptic = start('skeptic_2');
  research.message('r1', 'agent', 'I will ');
  skeptic.message('s1', 'agent', 'Hm');
  research.message('r1', 'agent', 'look.');
  research.call('c1', 'web', 'r1', 1);
  research.call('c2', 'notes', 'r1', 2);
  research.usage({ model: 'm', inputTokens: 10, outputTokens: 4, cost: { usd: 0.1 } });
  const web = start('research_1.web_1');
  research.progress('c1');
  web.message('w1', 'agent', 'May I?');
  web.question('q1');
  skeptic.usage({ model: 'm', inputTokens: 7, thoughtTokens: 2 });
  skeptic.add('hologram', { anything: [1, { b: null }] });
  skeptic.end('completed', { usage: { inputTokens: 7, thoughtTokens: 2 } });
  complete('skeptic_2');
  research.result('c2', 'notes');
  web.reply('q1');
  web.usage({ inputTokens: 1, outputTokens: 1, cost: { usd: 0.2 } });
  web.end('completed', { usage: { inputTokens: 1, outputTokens: 1 }, cost: { usd: 0.2 } });
  complete('research_1.web_1');
  research.custom('notice', { code: 'X', text: 'x' });
  research.result('c1', 'web');
  research.message('r2', 'agent', 'Done.');
  research.usage({});
  research.end('completed', {
    usage: { inputTokens: 11, outputTokens: 5 },
    cost: { usd: 0.3, incomplete: true },
  });
  complete('research_1');
  root.end('completed', {
    ...run1,
    usage: { inputTokens: 18, outputTokens: 5, thoughtTokens: 2 },
    cost: { usd: 0.3, incomplete: true },
  });
  root.custom('notice', { code: 'QUOTA', text: 'x' });
  root.add('session_update', { title: 'Proposals' });
  root.message('u2', 'user', 'And now write', { runId: 'run2' });
  const writer = start('writer_3');
  writer.message('t1', 'agent', 'Text');
  writer.usage({ inputTokens: 3 });
  writer.end();
  complete('writer_3');
  root.end('completed', { usage: { inputTokens: 3 } });
  events.find((event) => event.type === 'stream_end' && event.threadId === undefined)!.runId = 'run1';
  return events;
}

/** What a store keeps of a live stream: whole messages at their last increment, no `tool_update`, its own marks. */
export function toStoredLog(live: readonly LogEvent[]): LogEvent[] {
  const lastOf = new Map<unknown, LogEvent>();
  for (const event of live) if (event.type === 'message') lastOf.set(event.messageId, event);
  const stored: LogEvent[] = [];
  for (const event of live) {
    if (event.type === 'tool_update') continue;
    if (event.type === 'message') {
      if (lastOf.get(event.messageId) !== event) continue;
      const pieces = live.filter((other) => other.messageId === event.messageId && other.type === 'message');
      stored.push({ ...event, content: pieces.flatMap((piece) => piece.content), _meta: { firstSeq: pieces[0]!.seq } });
      continue;
    }
    stored.push({ ...event, seq: Number(event.seq) });
    if (event.type === 'tool_request') {
      const mark = { kind: 'tool_started', data: { requestId: event.requestId, args: {}, attempt: 1 } };
      const { timestamp, threadId } = event;
      stored.push({
        id: `${event.id}-started`,
        seq: 0,
        timestamp,
        type: 'custom',
        ...(threadId ? { threadId } : {}),
        ...mark,
      });
    }
  }
  // Numbers are reserved in blocks, so they have gaps.
  return stored.map((event, index) => ({ ...event, seq: index * 3 + (index > 20 ? 1_000 : 0) }));
}
