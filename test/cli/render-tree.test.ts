import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTreeScreen } from '../../src/cli/render-tree.js';
import { noStyle } from '../../src/cli/style.js';
import { createRunModel } from '../../src/kernel/run-model.js';
import { eventList, initialize, says } from './event-list.js';
import { emulateTerminal } from './terminal-emulator.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

function setUp(size = { columns: 40, rows: 12 }) {
  const { model: view, fold } = createRunModel();
  const terminal = emulateTerminal(size);
  const writes: string[] = [];
  const screen = createTreeScreen(view, {
    screen: {
      write: (text) => {
        writes.push(text);
        terminal.write(text);
      },
      get columns() {
        return terminal.columns;
      },
      get rows() {
        return terminal.rows;
      },
    },
    style: noStyle,
    unicode: true,
    now: () => Date.parse('2026-01-01T00:00:00.500Z'),
  });
  return { view, fold, screen, terminal, writes };
}

test('a hundred changes within one frame are one drawing', () => {
  const { fold, screen, writes, terminal } = setUp();
  for (let index = 0; index < 100; index++) {
    for (const event of eventList(initialize('solo'), says(`word ${index}`, `m${index}`))) fold(event);
    screen.update();
  }
  expect(writes).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(writes).toHaveLength(1);
  expect(terminal.lines()).toEqual(['● solo  running', '   “ word 99', 'running · 1 thread']);
  screen.end();
});

test('a frame that is the same as before is not written again', () => {
  const { fold, screen, writes } = setUp();
  for (const event of eventList(initialize('solo'))) fold(event);
  screen.update();
  vi.advanceTimersByTime(1_000);
  screen.update();
  vi.advanceTimersByTime(1_000);
  expect(writes).toHaveLength(1);
  screen.end();
});

test('a drawing takes the place of the one before, and printed lines stay above it', () => {
  const { fold, screen, terminal } = setUp();
  for (const event of eventList(initialize('solo'), says('one'))) fold(event);
  screen.update();
  vi.advanceTimersByTime(100);
  screen.print(['a notice']);
  fold(eventList(says('two', 'm2'))[0]!);
  screen.end();
  expect(terminal.lines()).toEqual(['a notice', '● solo  running', '   “ two', 'running · 1 thread']);
});

test('while paused nothing is drawn; afterwards the tree stands below what was asked', () => {
  const { fold, screen, terminal, writes } = setUp();
  for (const event of eventList(initialize('solo'))) fold(event);
  screen.update();
  vi.advanceTimersByTime(100);
  screen.pause();
  expect(terminal.lines()).toEqual([]);
  const before = writes.length;
  screen.update();
  screen.print(['a notice']);
  vi.advanceTimersByTime(5_000);
  expect(writes).toHaveLength(before);
  terminal.write('Allow it? yes\n');
  screen.resume();
  expect(terminal.lines()).toEqual(['Allow it? yes', 'a notice', '● solo  running', 'running · 1 thread']);
  screen.end();
});

test('a tree taller than the screen never scrolls it', () => {
  const { fold, screen, terminal } = setUp({ columns: 40, rows: 8 });
  for (const event of eventList(
    initialize('root'),
    ...Array.from({ length: 30 }, (_, i) => ({ ...says('x'), thread: `w_${i}` })),
  ))
    fold(event);
  for (let index = 0; index < 5; index++) {
    fold(eventList({ ...says(`y${index}`, `m${index + 9}`), thread: 'w_0' })[0]!);
    screen.update();
    vi.advanceTimersByTime(100);
  }
  screen.end();
  expect(terminal.scrolled).toBe(0);
  expect(terminal.lines().filter((line) => line.includes('root'))).toHaveLength(1);
});

test('a terminal made narrower while the tree stands keeps no remains of it', () => {
  const { fold, screen, terminal } = setUp({ columns: 60, rows: 20 });
  for (const event of eventList(initialize('solo'), says('a line that fills most of the width of it'))) fold(event);
  screen.update();
  vi.advanceTimersByTime(100);
  terminal.resize(30);
  fold(eventList(says('short', 'm2'))[0]!);
  screen.end();
  expect(terminal.lines()).toEqual(['● solo  running', '   “ short', 'running · 1 thread']);
});

test('the cursor is given back at the end, and ending twice draws once', () => {
  const { fold, screen, writes } = setUp();
  for (const event of eventList(initialize('solo'))) fold(event);
  screen.end();
  screen.end();
  expect(writes.at(-1)).toBe('\u001b[?25h');
  expect(writes.filter((text) => text.includes('solo'))).toHaveLength(1);
});
