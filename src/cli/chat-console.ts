import type { RunModel } from '../kernel/run-model.js';
import type { CommandIo } from './command-io.js';
import { createLineReader } from './line-reader.js';
import { visibleLine, visibleLines } from './plain-text.js';
import { createRunProgress, type RunProgress } from './run-progress.js';

/** Where a chat gets its lines from, and where it says what happens. */
export interface ChatConsole {
  /** Somebody types: what goes wrong is said, and the chat goes on. */
  readonly isLive: boolean;
  /** The next line; undefined once there are no more. `prompt` may hold what others said. */
  read(prompt: string): Promise<string | undefined>;
  /** Takes the lines that come while none is read. Absent: they wait for `read`. */
  onLine: ((line: string) => void) | undefined;
  /** Ctrl-C that did not come as a signal, while none is read. */
  onInterrupt: () => void;
  /** Ctrl-C twice while a line was read. */
  readonly wasInterrupted: boolean;
  /** Sentences for the person. */
  say(text: string): void;
  /** What shows one run. */
  progressOf(view: RunModel): RunProgress;
  close(): void;
}

/** Lines of stdin, whatever it is; answers on stdout, the rest on stderr, as `run` has it. */
export function createPlainConsole(io: CommandIo, options: { json: boolean }): ChatConsole {
  const lines = createLineReader(io.stdin);
  return {
    isLive: false,
    read: () => lines.next(),
    onLine: undefined,
    onInterrupt: () => {},
    wasInterrupted: false,
    say(text) {
      for (const line of visibleLines(text).split('\n')) void io.stderr.write(`troupe: ${visibleLine(line)}\n`);
    },
    progressOf: (view) => createRunProgress(view, io, options),
    close: () => {},
  };
}
