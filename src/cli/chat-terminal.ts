import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import type { ChatConsole } from './chat-console.js';
import { createChatProgress } from './chat-progress.js';
import type { CommandIo } from './command-io.js';
import { visibleLine, visibleLines } from './plain-text.js';
import { styleFor } from './style.js';
import { displayWidth } from './text-width.js';

/** The foot of a chat's screen: a few lines that change, and below them the line that is being typed. */
export interface ChatFoot {
  /** Lines that stay, above the foot. Already neutralised. While a question is on the screen they wait. */
  print(lines: readonly string[]): void;
  /** What stands between what stays and the line that is typed; none wider than `width`. */
  show(lines: readonly string[]): void;
  /** Leaves the screen and the keyboard to a question. */
  pause(): void;
  resume(): void;
  readonly width: number;
  readonly height: number;
}

const clearBelow = '\u001b[0J';

/** A chat in a terminal: a line can be typed at any time, what happens is written above it. */
export function createChatTerminal(io: CommandIo): ChatConsole {
  const { stdout } = io;
  const style = styleFor(stdout, io.env);
  const output = outputTo(stdout);
  const history: string[] = [];
  const lines: string[] = [];
  let editor: Interface | undefined;
  let prompt = '› ';
  let foot: readonly string[] = [];
  let held: string[] = [];
  /** What was typed when a question came. */
  let typed = '';
  let hasEnded = false;
  let isWarned = false;
  let wasInterrupted = false;
  let waiting: ((line: string | undefined) => void) | undefined;

  const up = (rows: number) => (rows > 0 ? `\u001b[${rows}A` : '');

  /** Writes the foot again, and `text` above it. */
  const draw = (text: string, next: readonly string[] = foot): void => {
    if (editor === undefined) {
      void stdout.write(text);
      return;
    }
    const { rows } = editor.getCursorPos();
    const below = next.map((line) => `${line}\n`).join('');
    // The editor goes up from where it left the cursor: it is put on that row again.
    void stdout.write(`\r${up(rows + foot.length)}${clearBelow}${text}${below}${'\n'.repeat(rows)}`);
    foot = next;
    editor.prompt(true);
  };

  const screen: ChatFoot = {
    print(more) {
      if (more.length === 0) return;
      if (editor === undefined && !hasEnded) held.push(...more);
      else draw(more.map((line) => `${line}\n`).join(''));
    },
    show(next) {
      const isSame = next.length === foot.length && next.every((line, at) => line === foot[at]);
      if (editor !== undefined && !isSame) draw('', next);
    },
    pause() {
      if (editor === undefined) return;
      typed = editor.line;
      void stdout.write(`\r${up(editor.getCursorPos().rows + foot.length)}${clearBelow}`);
      foot = [];
      close();
    },
    resume() {
      if (editor !== undefined || hasEnded) return;
      const text = held.map((line) => `${line}\n`).join('');
      held = [];
      void stdout.write(text);
      open();
    },
    get width() {
      return Math.max(20, (stdout.columns ?? 80) - 1);
    },
    get height() {
      return Math.max(3, (stdout.rows ?? 24) - 4);
    },
  };

  const entered = (line: string): void => {
    isWarned = false;
    if (waiting !== undefined) {
      const resolve = waiting;
      waiting = undefined;
      resolve(line);
      return;
    }
    // The editor has gone on below what it had drawn: the line is written again, where it stays.
    const rows = Math.floor(displayWidth(visibleLine(prompt + line)) / (stdout.columns ?? 80)) + 1;
    void stdout.write(`\r${up(rows + foot.length)}${clearBelow}${foot.map((one) => `${one}\n`).join('')}`);
    if (line.trim() === '') return draw('');
    draw(`${style('dim', visibleLine(`${prompt}${line}`))}\n`);
    if (desk.onLine === undefined) lines.push(line);
    else desk.onLine(line);
  };

  const interrupted = (): void => {
    if (waiting === undefined) return desk.onInterrupt();
    if (editor !== undefined && editor.line !== '') {
      editor.write(null, { ctrl: true, name: 'e' });
      editor.write(null, { ctrl: true, name: 'u' });
      return;
    }
    if (!isWarned) {
      isWarned = true;
      return desk.say('Ctrl-C once more ends the chat');
    }
    wasInterrupted = true;
    editor?.close();
  };

  const open = (): void => {
    const opened = createInterface({ input: io.stdin, output, terminal: true, prompt: style('bold', prompt), history });
    editor = opened;
    opened.on('line', entered);
    opened.on('SIGINT', interrupted);
    opened.on('close', () => {
      if (editor !== opened) return;
      editor = undefined;
      hasEnded = true;
      void stdout.write('\n');
      waiting?.(undefined);
      waiting = undefined;
    });
    opened.prompt();
    if (typed !== '') opened.write(typed);
    typed = '';
  };

  const close = (): void => {
    const closing = editor;
    editor = undefined;
    closing?.close();
  };

  const desk: ChatConsole = {
    isLive: true,
    read(text) {
      const line = lines.shift();
      if (line !== undefined || hasEnded) return Promise.resolve(line);
      prompt = visibleLine(text);
      editor?.setPrompt(style('bold', prompt));
      draw('');
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    onLine: undefined,
    onInterrupt: () => {},
    get wasInterrupted() {
      return wasInterrupted;
    },
    say: (text) =>
      screen.print(
        visibleLines(text)
          .split('\n')
          .map((line) => style('dim', line)),
      ),
    progressOf: (view) => createChatProgress(view, io, screen),
    close() {
      if (editor !== undefined) {
        void stdout.write(`\r${up(editor.getCursorPos().rows + foot.length)}${clearBelow}`);
        close();
      }
      hasEnded = true;
    },
  };
  open();
  return desk;
}

/** What the editor writes goes the way of all else. */
function outputTo(stdout: CommandIo['stdout']): Writable {
  const output = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      void stdout.write(String(chunk));
      done();
    },
  });
  Object.defineProperties(output, {
    isTTY: { value: true },
    columns: { get: () => stdout.columns ?? 80 },
    rows: { get: () => stdout.rows ?? 24 },
  });
  return output;
}
