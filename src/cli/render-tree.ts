import type { RunModel } from '../kernel/run-model.js';
import { showCursor } from './command-io.js';
import type { Style } from './style.js';
import { displayWidth } from './text-width.js';
import { treeLines } from './tree-lines.js';

/** The part of a terminal's write stream that drawing needs. */
export interface Screen {
  write(text: string): unknown;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface TreeScreen {
  /** The view has changed: drawn within `frameMs`. */
  update(): void;
  /** Lines that stay, above the tree; while it is paused they wait. Already neutralised. */
  print(lines: readonly string[]): void;
  /** Takes the tree off the screen until `resume`, so that a question can be asked there. */
  pause(): void;
  resume(): void;
  /** Draws once more and leaves the tree standing. Idempotent. */
  end(): void;
}

export interface TreeScreenOptions {
  screen: Screen;
  style: Style;
  unicode: boolean;
  /** Epoch ms. */
  now: () => number;
  /** Default 100: at most ten frames a second. */
  frameMs?: number;
}

const clearBelow = '\u001b[0J';
const hideCursor = '\u001b[?25l';

/**
 * Draws the tree in place on a terminal. The timer never keeps the process alive. A frame is rewritten only when it
 * differs; it is never taller than the screen, as what has scrolled away cannot be rewritten.
 */
export function createTreeScreen(view: RunModel, options: TreeScreenOptions): TreeScreen {
  const { screen, style, unicode, now, frameMs = 100 } = options;
  let drawn: readonly string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let changed = false;
  let mode: 'live' | 'paused' | 'ended' = 'live';
  let lastSecond = -1;
  let waiting = '';

  const width = () => Math.max(20, (screen.columns ?? 80) - 1);
  const height = () => Math.max(3, (screen.rows ?? 24) - 2);

  /** Up over what was drawn; a terminal made narrower since has wrapped its lines. */
  const goBack = (): string => {
    const columns = Math.max(1, screen.columns ?? 80);
    const rows = drawn.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(displayWidth(withoutStyle(line)) / columns)),
      0,
    );
    return rows === 0 ? '' : `\u001b[${rows}A\r${clearBelow}`;
  };

  const frame = (): readonly string[] =>
    treeLines(view, { width: width(), height: height(), style, unicode, now: now() });

  const draw = (before = ''): void => {
    const lines = frame();
    if (before === '' && lines.length === drawn.length && lines.every((line, index) => line === drawn[index])) return;
    screen.write(`${hideCursor}${goBack()}${before}${lines.map((line) => `${line}\n`).join('')}`);
    drawn = lines;
  };

  const takeWaiting = (): string => {
    const text = waiting;
    waiting = '';
    return text;
  };

  const tick = (): void => {
    const second = Math.floor(now() / 1_000);
    if (mode !== 'live' || (!changed && second === lastSecond)) return;
    changed = false;
    lastSecond = second;
    draw();
  };

  timer = setInterval(tick, frameMs);
  timer.unref();

  return {
    update() {
      changed = true;
    },
    print(lines) {
      const text = lines.map((line) => `${line}\n`).join('');
      if (mode === 'live') draw(text);
      else if (mode === 'paused') waiting += text;
      else screen.write(text);
    },
    pause() {
      if (mode !== 'live') return;
      mode = 'paused';
      screen.write(`${goBack()}${showCursor}`);
      drawn = [];
    },
    resume() {
      if (mode !== 'paused') return;
      mode = 'live';
      draw(takeWaiting());
    },
    end() {
      if (mode === 'ended') return;
      clearInterval(timer);
      timer = undefined;
      mode = 'ended';
      draw(takeWaiting());
      screen.write(showCursor);
    },
  };
}

function withoutStyle(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own style sequences
  return line.replace(/\u001b\[\d+m/g, '');
}
