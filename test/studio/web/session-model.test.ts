import { expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/contracts/index.js';
import { createRunModel } from '../../../src/kernel/run-model.js';
import { Checkpoints } from '../../../src/studio/web/checkpoints.js';
import { EventSegments, SEGMENT } from '../../../src/studio/web/event-segments.js';
import { Lanes, spansIn } from '../../../src/studio/web/lanes.js';
import { StepHistory } from '../../../src/studio/web/step-history.js';
import { isToldIn, Transcript } from '../../../src/studio/web/transcript.js';
import { executorsOf, treeRows } from '../../../src/studio/web/tree-rows.js';

let last = 0;
const event = (draft: Record<string, unknown>, at = 0): AgentEvent =>
  ({ id: `e${++last}`, seq: last, timestamp: new Date(1_000 + at).toISOString(), ...draft }) as AgentEvent;

/** A run of many threads, each with a tool, a question now and then. */
function longRun(threads: number): AgentEvent[] {
  last = 0;
  const events = [event({ type: 'initialize', sessionId: 's', agent: { name: 'root', description: '' } })];
  for (let at = 0; at < threads; at++) {
    const threadId = `w_${at + 1}`;
    events.push(
      event({ type: 'agent_started', agentName: 'w', threadId }, at),
      event(
        { type: 'message', role: 'user', messageId: `u${at}`, content: [{ type: 'text', text: 'go' }], threadId },
        at,
      ),
      event({ type: 'tool_request', requestId: `t${at}`, name: 'look', args: {}, threadId }, at + 2),
      event(
        { type: 'elicitation_request', requestId: `q${at}`, kind: 'clarification', message: 'm', threadId },
        at + 3,
      ),
      event({ type: 'elicitation_response', requestId: `q${at}`, action: 'accept', threadId }, at + 4),
      event({ type: 'tool_response', requestId: `t${at}`, name: 'look', llmContent: [], threadId }, at + 5),
      event({ type: 'usage', inputTokens: 3, outputTokens: 4, cost: { usd: 0.01 }, threadId }, at + 6),
      event({ type: 'stream_end', reason: 'completed', threadId }, at + 7),
    );
  }
  events.push(event({ type: 'stream_end', reason: 'completed' }, threads));
  return events;
}

test('the run as it was at any position is the same from the nearest checkpoint as from the beginning', () => {
  const events = longRun(300);
  const checkpoints = new Checkpoints(50);
  const { model, fold } = createRunModel();
  for (const one of events) {
    fold(one);
    checkpoints.pass(one.seq, model);
  }
  expect(checkpoints.count).toBeGreaterThan(10);
  for (const seq of [1, 49, 50, 51, 777, 1_500, events.length]) {
    const whole = createRunModel();
    for (const one of events) if (one.seq <= seq) whole.fold(one);
    const { after, run } = checkpoints.before(seq);
    expect(after).toBeLessThanOrEqual(seq);
    for (const one of events) if (one.seq > after && one.seq <= seq) run.fold(one);
    expect(run.model).toEqual(whole.model);
  }
});

test('however long a run is, there are only so many checkpoints, and going on from one does not change it', () => {
  const checkpoints = new Checkpoints(10);
  const { model, fold } = createRunModel();
  for (const one of longRun(600)) {
    fold(one);
    checkpoints.pass(one.seq, model);
  }
  expect(checkpoints.count).toBeLessThanOrEqual(60);
  const before = JSON.stringify(checkpoints.before(2_000).run.model);
  const { run } = checkpoints.before(2_000);
  run.fold(event({ type: 'agent_started', agentName: 'w', threadId: 'w_9999' }));
  expect(run.model.threads.w_9999?.ordinal).toBeGreaterThan(1);
  expect(JSON.stringify(checkpoints.before(2_000).run.model)).toBe(before);
});

test('the oldest events are let go when there are too many, and can be put back', () => {
  const events = longRun(1_000);
  const segments = new EventSegments(SEGMENT * 25);
  for (const one of events) expect(segments.add(one, 10)).toBe(true);
  expect(segments.add(events[5] as AgentEvent, 10)).toBe(false);
  const gone = segments.segments.filter((segment) => segment.events === undefined);
  expect(gone.length).toBeGreaterThan(1);
  expect(segments.segments.at(-1)?.events).toBeDefined();
  expect(segments.missingOf('w_1')).toEqual([segments.segments[0]]);
  expect(segments.indexOf(SEGMENT)).toBe(0);
  expect(segments.indexOf(SEGMENT + 1)).toBe(1);
  expect(segments.indexOf(0)).toBe(-1);
  const [first] = segments.segments;
  if (first === undefined) throw new Error('no segment');
  segments.restore(first, events.slice(0, SEGMENT), SEGMENT * 10);
  expect(first.events?.length).toBe(SEGMENT);
  expect(segments.missingOf('w_1')).toEqual([]);
});

test('a whole message that comes behind later events of others stands at its place, once', () => {
  last = 0;
  const said = (messageId: string, threadId: string) =>
    event({ type: 'message', role: 'agent', messageId, threadId, content: [{ type: 'text', text: messageId }] });
  const all = [said('m1', 'a_1'), said('m2', 'b_2'), said('m3', 'a_1'), said('m4', 'b_2')] as AgentEvent<'message'>[];
  const segments = new EventSegments(1_000);
  for (const at of [0, 2, 3]) segments.add(all[at] as AgentEvent, 10);
  expect(segments.add(all[1] as AgentEvent, 10)).toBe(false);
  expect(segments.insert(all[1] as AgentEvent<'message'>, 10)).toBe(true);
  expect(segments.segments[0]?.events).toEqual(all);
  expect(segments.segments[0]?.count).toBe(4);
  expect(segments.insert(all[1] as AgentEvent<'message'>, 10)).toBe(false);
  // Its increments were heard already.
  expect(segments.insert({ ...all[1], seq: 2.5 } as AgentEvent<'message'>, 10)).toBe(false);
});

test('a transcript holds one entry per message, call and question, brought up to date as they go on', () => {
  last = 0;
  const transcript = new Transcript();
  const text = (messageId: string, said: string, more = {}) =>
    event({ type: 'message', role: 'agent', messageId, content: [{ type: 'text', text: said }], ...more });
  const told = [
    text('m1', 'Hel'),
    text('m1', 'lo'),
    event({ type: 'message', role: 'agent', messageId: 'm1', content: [{ type: 'thought', thought: 'hm' }] }),
    event({ type: 'tool_request', requestId: 't1', name: 'look', args: { a: 1 } }),
    event({ type: 'tool_update', requestId: 't1', status: 'executing', progress: 0.5 }),
    event({ type: 'tool_response', requestId: 't1', name: 'look', llmContent: [{ type: 'text', text: 'seen' }] }),
    event({ type: 'elicitation_request', requestId: 'q1', kind: 'clarification', message: '?' }),
    event({ type: 'elicitation_response', requestId: 'q1', action: 'decline' }),
    event({ type: 'agent_started', agentName: 'b', threadId: 'b_1' }),
    text('m9', 'not mine', { threadId: 'b_1' }),
    text('m1', 'whole', { _meta: { replace: true } }),
  ];
  for (const one of told) if (isToldIn(one, '')) transcript.add(one);
  expect(transcript.items.map(({ kind }) => kind)).toEqual(['message', 'tool', 'question', 'child']);
  expect(transcript.items[0]).toMatchObject({ parts: [{ type: 'text', text: 'whole' }] });
  expect(transcript.items[1]).toMatchObject({ status: 'done', progress: undefined, args: { a: 1 } });
  expect(transcript.items[2]).toMatchObject({ response: { action: 'decline' } });
});

test('lanes tell when a model thought, a tool ran and somebody was waited for', () => {
  const lanes = new Lanes();
  for (const one of longRun(3)) lanes.add(one);
  const lane = lanes.lane('w_2');
  if (lane === undefined) throw new Error('no lane');
  expect(lane.spans.map(({ kind, start, end }) => [kind, start - 1_001, (end ?? 0) - 1_001])).toEqual([
    ['model', 0, 2],
    ['tool', 2, 5],
    ['wait', 3, 4],
    ['model', 5, 6],
    ['end', 7, 7],
  ]);
  expect(spansIn(lane, 1_001 + 4.5, 1_001 + 4.9, 9_999).map(({ kind }) => kind)).toEqual(['tool']);
  expect(spansIn(lane, 0, 500, 9_999)).toEqual([]);
  expect([lanes.from, lanes.until]).toEqual([1_000, 1_009]);
});

test('what goes on reaches up to now', () => {
  last = 0;
  const lanes = new Lanes();
  lanes.add(event({ type: 'tool_request', requestId: 't', name: 'long', args: {} }, 0));
  const lane = lanes.lane('');
  if (lane === undefined) throw new Error('no lane');
  expect(spansIn(lane, 50_000, 60_000, 55_000).map(({ label }) => label)).toEqual(['long']);
});

test('of the steps of machines the newest are kept', () => {
  const history = new StepHistory();
  for (let at = 0; at < 5_000; at++)
    history.add({ threadId: 'a', machine: 'session', value: `v${at}`, event: 'e', at: '', seq: at });
  expect(history.of('a').length).toBeLessThanOrEqual(600);
  expect(history.of('a').at(-1)?.value).toBe('v4999');
  expect(history.of('b')).toEqual([]);
});

test('steps that the log tells stand before and between those that were heard, none of them twice', () => {
  const history = new StepHistory();
  const step = (seq: number, value = 'running') => ({
    threadId: 'a',
    machine: 'session',
    value,
    event: `e${seq}`,
    at: '',
    seq,
  });
  const seqs = () => history.of('a').map(({ seq }) => seq);
  history.hearsFrom(4);
  for (const seq of [5, 6, 7]) history.add(step(seq));
  expect(seqs()).toEqual([5, 6, 7]);
  history.tell('a', { steps: [1, 2, 3, 4, 5, 6].map((seq) => step(seq)), left: 3 });
  expect(seqs()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(history.leftOf('a')).toBe(3);
  expect(history.leftOf('b')).toBe(0);
  history.hearsNoMore(7);
  history.hearsFrom(10);
  history.add(step(11));
  history.tell('a', { steps: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((seq) => step(seq)), left: 0 });
  expect(seqs()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  // One that was heard a little earlier than the log tells of it.
  history.add({ ...step(12), seq: 10, event: 'e10' });
  expect(history.of('a').filter(({ event }) => event === 'e10')).toHaveLength(1);
});

test('the tree lists parents before children, folds, and filters with what is above', () => {
  const { model, fold } = createRunModel();
  last = 0;
  for (const threadId of ['p_1', 'p_1.a_1', 'p_1.b_1', 'c_1'])
    fold(event({ type: 'agent_started', agentName: threadId.slice(-3, -2), threadId }));
  const ids = (folded: string[], filter: string) =>
    treeRows(model, new Set(folded), filter).map(({ thread, depth }) => `${depth}${thread.threadId}`);
  expect(ids([], '')).toEqual(['0', '1p_1', '2p_1.a_1', '2p_1.b_1', '1c_1']);
  expect(ids(['p_1'], '')).toEqual(['0', '1p_1', '1c_1']);
  expect(ids(['p_1'], 'B_1')).toEqual(['0', '1p_1', '2p_1.b_1']);
  expect(ids([], 'nobody')).toEqual([]);
});

test('the executor of an agent is told by its name, of a composition its pattern', () => {
  const leaf = { name: 'a', description: '', executor: 'adk', inputSchema: {} };
  const team = {
    ...leaf,
    name: 't',
    executor: 'composition',
    subAgents: [leaf],
    composition: { pattern: 'loop', maxIterations: 2 },
  } as const;
  expect([...executorsOf(team as never)]).toEqual([
    ['t', 'loop'],
    ['a', 'adk'],
  ]);
});
