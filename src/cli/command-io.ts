import type { EpochMs } from '../contracts/index.js';

/** Everything a command touches of its process; tests hand in their own. */
export interface CommandIo {
  readonly stdin: InputStream;
  readonly stdout: Pipe;
  readonly stderr: Pipe;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
  now(): EpochMs;
  /** Returns what takes the handler off again. */
  onSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', handler: () => void): () => void;
  /** Ends the process without waiting for anything. */
  exitNow(code: number): void;
}

export type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };

/** An output that may lose its reader: `troupe run … | head -1`. Size and kind are those of a terminal, when it is one. */
export interface Pipe {
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  readonly rows: number | undefined;
  readonly closed: boolean;
  /** Returns what to wait for while the reader is behind. Writing to a reader that has gone does nothing. */
  write(text: string): void | Promise<void>;
  /** Resolves when everything written has left the process, or the reader has gone. */
  flush(): Promise<void>;
}

const readerGone = new Set(['EPIPE', 'EIO', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/** One pipe per stream and process: it stays subscribed to the stream's errors, so that a late EPIPE is quiet too. */
export function createPipe(
  stream: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number },
): Pipe {
  let closed = false;
  let waiting: (() => void)[] = [];
  const release = () => {
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const close = () => {
    closed = true;
    release();
  };
  stream.on('drain', release);
  stream.on('close', close);
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (!readerGone.has(error.code ?? '')) throw error;
    close();
  });
  return {
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns;
    },
    get rows() {
      return stream.rows;
    },
    get closed() {
      return closed;
    },
    write(text) {
      if (closed || stream.write(text)) return undefined;
      return new Promise<void>((resolve) => waiting.push(resolve));
    },
    flush() {
      if (closed) return Promise.resolve();
      return new Promise<void>((resolve) => {
        waiting.push(resolve);
        stream.write('', () => resolve());
      });
    },
  };
}

/** Gives a terminal its cursor back, also when the process ends in the middle of a frame. */
export const showCursor = '\u001b[?25h';

/** The whole of a stream as text. */
export async function readAll(stream: InputStream): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream)
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk as Uint8Array, { stream: true });
  return text + decoder.decode();
}
