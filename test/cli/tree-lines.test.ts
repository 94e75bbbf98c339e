import { expect, test } from 'vitest';
import { ansiStyle, noStyle, styleFor } from '../../src/cli/style.js';
import { cutToWidth, displayWidth } from '../../src/cli/text-width.js';
import { treeLines } from '../../src/cli/tree-lines.js';
import type { AgentEvent } from '../../src/contracts/index.js';
import { createRunModel } from '../../src/kernel/run-model.js';
import type { ThreadModel } from '../../src/kernel/run-thread.js';
import { asks, calls, ends, eventList, initialize, says } from './event-list.js';

const now = Date.parse('2026-01-01T00:00:10.000Z');

function linesOf(
  events: readonly AgentEvent[],
  options: { width?: number; height?: number; unicode?: boolean } = {},
): string[] {
  const { model: view, fold } = createRunModel();
  for (const event of events) fold(event);
  return treeLines(view, { width: 80, height: 40, unicode: true, ...options, style: noStyle, now });
}

const started = (agentName: string, thread: string) =>
  ({ type: 'agent_started', agentName, threadId: thread, thread }) as const;

const team = eventList(
  initialize('report'),
  started('gather', 'gather_1'),
  { ...initialize('gather'), thread: 'gather_1' },
  started('researcher', 'gather_1.researcher_1'),
  { ...initialize('researcher'), thread: 'gather_1.researcher_1' },
  { ...calls('read_file', { path: 'README.md' }), thread: 'gather_1.researcher_1' },
  started('skeptic', 'gather_1.skeptic_1'),
  { ...initialize('skeptic'), thread: 'gather_1.skeptic_1' },
  { ...asks('May I go on?'), thread: 'gather_1.skeptic_1' },
  { type: 'usage', inputTokens: 1_200, outputTokens: 340, cost: { usd: 0.0123 }, thread: 'gather_1.skeptic_1' },
);

test('the tree shows threads, their state, running calls, questions and figures', () => {
  expect(`\n${linesOf(team).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    ● report  running  10s
    └─ ● gather  running  9s
       ├─ ● researcher  running  1 tool call · 7s
       │     → read_file {"path":"README.md"}
       └─ ? skeptic  waiting for an answer  1.2k in 340 out · $0.0123 · 4s
             ? May I go on?
    running · 4 threads · 1.2k in 340 out · $0.0123 · 10s
    "
  `);
});

test('a terminal without Unicode gets branches and marks in ASCII', () => {
  for (const mark of linesOf(team, { unicode: false }).join('').replaceAll('·', ''))
    expect(mark <= '~', mark).toBe(true);
});

test('no line is wider than the screen, at any width', () => {
  for (let width = 20; width < 90; width++)
    for (const line of linesOf(team, { width }))
      expect(displayWidth(line), `${width}: ${line}`).toBeLessThanOrEqual(width);
});

test('wide characters and emoji count two columns, combining marks none', () => {
  expect(displayWidth('日本')).toBe(4);
  expect(displayWidth('👩‍👩‍👧')).toBe(2);
  expect(displayWidth('e\u0301')).toBe(1);
  expect(cutToWidth('日本語です', 5)).toBe('日本…');
  expect(cutToWidth('short', 5)).toBe('short');
  expect(cutToWidth('👩‍👩‍👧 family', 4)).toBe('👩‍👩‍👧 …');
});

const many = (count: number, endsToo: boolean) =>
  eventList(
    initialize('root'),
    ...Array.from({ length: count }, (_, index) => `worker_${index + 1}`).flatMap((thread) => [
      started('worker', thread),
      ...(endsToo ? [{ ...ends('completed'), thread }] : []),
    ]),
  );

test('more finished threads than lines are counted in place of listed', () => {
  const lines = linesOf(many(50, true), { height: 10 });
  expect(lines.length).toBeLessThanOrEqual(10);
  expect(lines.join('\n')).toContain('50 completed');
});

test('more live threads than lines: the tree is cut, and says how much is missing', () => {
  const lines = linesOf(many(50, false), { height: 10 });
  expect(lines).toHaveLength(10);
  expect(lines.join('\n')).toContain('… and 43 more live threads');
});

test('a frame of ten thousand threads is built from a few of them', () => {
  const { model: view, fold } = createRunModel();
  for (const event of many(10_000, false)) fold(event);
  let read = 0;
  const counting = {
    ...view,
    threads: Object.fromEntries(
      Object.entries(view.threads).map(([id, thread]) => [id, countReads(thread, () => read++)]),
    ),
  };
  const lines = treeLines(counting, { width: 80, height: 24, unicode: true, style: noStyle, now });
  expect(lines).toHaveLength(24);
  expect(lines.at(-2)).toBe('… and 9979 more live threads');
  expect(read).toBeLessThan(100);
});

/** Tells of every thread whose name is looked at, which only drawing does. */
function countReads(thread: ThreadModel, onRead: () => void): ThreadModel {
  return Object.defineProperty({ ...thread }, 'agentName', {
    get() {
      onRead();
      return thread.agentName;
    },
  });
}

test('a later spawn of the same agent carries its number', () => {
  expect(linesOf(many(2, false)).join('\n')).toMatch(/worker {2}.*\n.*worker #2 /);
});

test('how a thread ended is said: failed with its code, handed over, out of turns', () => {
  const lines = linesOf(
    eventList(
      initialize('root'),
      { type: 'stream_end', reason: 'failed', data: { code: 'UNAVAILABLE', message: 'down' }, thread: 'a_1' },
      { type: 'stream_end', reason: 'completed', data: { handoffTarget: 'billing' }, thread: 'b_1' },
      { ...ends('max_turns'), thread: 'c_1' },
    ),
  ).join('\n');
  expect(lines).toContain('✗ a  failed');
  expect(lines).toContain('! UNAVAILABLE: down');
  expect(lines).toContain('✓ b  handed over to billing');
  expect(lines).toContain('■ c  max_turns');
});

test('nothing that an event says reaches the terminal as a control character', () => {
  const hostile = '\u001b[2J\u001b]0;title\u0007\u202egnp.exe\u2066\u200b\u009b1m\r\nline two\u0000';
  const events = eventList(
    { ...initialize(hostile) },
    { ...calls(hostile, { path: hostile }) },
    { ...asks(hostile) },
    { ...says(hostile) },
    { type: 'stream_end', reason: hostile, data: { code: hostile, message: hostile }, thread: hostile },
    { type: 'error', code: hostile, message: hostile, fatal: true, thread: 'x_1' },
  );
  for (let height = 3; height < 30; height++)
    for (const line of linesOf(events, { height, width: 400 })) expect(line).toMatch(/^[^\p{Cc}\p{Cf}]*$/u);
});

test('NO_COLOR, a dumb terminal and a pipe get no colours', () => {
  expect(styleFor({ isTTY: true }, {})).toBe(ansiStyle);
  expect(styleFor({ isTTY: true }, { NO_COLOR: '1' })).toBe(noStyle);
  expect(styleFor({ isTTY: true }, { TERM: 'dumb' })).toBe(noStyle);
  expect(styleFor({ isTTY: false }, {})).toBe(noStyle);
});
