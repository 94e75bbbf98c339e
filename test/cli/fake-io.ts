import { PassThrough } from 'node:stream';
import type { CommandIo, Pipe } from '../../src/cli/command-io.js';

export interface FakePipe extends Pipe {
  readonly text: string;
  /** The reader goes away: what is written from here on is lost. */
  hangUp(): void;
}

export function fakePipe(options: { isTTY?: boolean; columns?: number; rows?: number } = {}): FakePipe {
  let text = '';
  let closed = false;
  return {
    isTTY: options.isTTY ?? false,
    columns: options.columns,
    rows: options.rows,
    get closed() {
      return closed;
    },
    get text() {
      return text;
    },
    write(more) {
      if (!closed) text += more;
    },
    flush: () => Promise.resolve(),
    hangUp() {
      closed = true;
    },
  };
}

export interface FakeIo extends CommandIo {
  readonly stdin: PassThrough & { isTTY: boolean };
  readonly stdout: FakePipe;
  readonly stderr: FakePipe;
  /** Codes that the process was ended with at once. */
  readonly exits: number[];
  raise(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void;
  readonly listening: number;
}

/** A process without a terminal, unless `terminal`; `stdin` is all of its input, unless somebody goes on `typing`. */
export function fakeIo(
  options: { stdin?: string; terminal?: boolean; typing?: boolean; env?: Record<string, string>; cwd?: string } = {},
): FakeIo {
  const { terminal = false } = options;
  const stdin = Object.assign(new PassThrough(), { isTTY: terminal });
  if (options.typing === true) stdin.write(options.stdin ?? '');
  else stdin.end(options.stdin ?? '');
  const handlers = new Map<string, Set<() => void>>();
  const exits: number[] = [];
  return {
    stdin,
    stdout: fakePipe({ isTTY: terminal, columns: 80, rows: 24 }),
    stderr: fakePipe({ isTTY: terminal, columns: 80, rows: 24 }),
    env: options.env ?? {},
    cwd: options.cwd ?? '/project',
    now: () => Date.parse('2026-01-01T00:00:00.000Z'),
    onSignal(signal, handler) {
      const set = handlers.get(signal) ?? new Set();
      handlers.set(signal, set.add(handler));
      return () => set.delete(handler);
    },
    exitNow: (code) => exits.push(code),
    exits,
    raise(signal) {
      for (const handler of [...(handlers.get(signal) ?? [])]) handler();
    },
    get listening() {
      return [...handlers.values()].reduce((sum, set) => sum + set.size, 0);
    },
  };
}
