import type { InputStream } from './command-io.js';

/** Lines of a stream, one at a time; between two of them nothing is read, so that others can read it. */
export interface LineReader {
  /** Without its line end; undefined once there are no more. A last line needs no line end. */
  next(): Promise<string | undefined>;
}

export function createLineReader(input: InputStream): LineReader {
  const decoder = new TextDecoder();
  let text = '';
  let hasEnded = false;
  let fault: Error | undefined;
  let wake = () => {};

  const take = (): string | undefined => {
    const at = text.indexOf('\n');
    if (at < 0 && (!hasEnded || text === '')) return undefined;
    const line = at < 0 ? text : text.slice(0, at);
    text = at < 0 ? '' : text.slice(at + 1);
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  };
  const end = (error?: Error) => {
    fault = error;
    hasEnded = true;
    wake();
  };
  const onData = (chunk: Buffer | string) => {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (text.includes('\n')) wake();
  };
  // Also between two lines: a stream tells of its end once, paused or not.
  input.once('end', () => end());
  input.once('close', () => end());
  input.once('error', end);

  return {
    async next() {
      const line = take();
      if (line !== undefined || hasEnded) return line;
      await new Promise<void>((resolve) => {
        wake = resolve;
        input.on('data', onData);
        input.resume();
      });
      input.off('data', onData);
      input.pause();
      if (fault !== undefined) throw fault;
      return take();
    },
  };
}
