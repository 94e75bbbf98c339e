import type { InputStream } from './command-io.js';

/** Lines of a stream, one at a time; between two of them the stream is left alone, so that others can read it. */
export interface LineReader {
  /** Without its line end; undefined once there are no more. A last line needs no line end. */
  next(): Promise<string | undefined>;
}

export function createLineReader(input: InputStream): LineReader {
  const decoder = new TextDecoder();
  let text = '';
  let ended = false;

  const take = (): string | undefined => {
    const at = text.indexOf('\n');
    if (at < 0 && (!ended || text === '')) return undefined;
    const line = at < 0 ? text : text.slice(0, at);
    text = at < 0 ? '' : text.slice(at + 1);
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  };

  return {
    async next() {
      const line = take();
      if (line !== undefined || ended) return line;
      await new Promise<void>((resolve, reject) => {
        const settle = () => {
          input.off('data', onData);
          input.off('end', onEnd);
          input.off('close', onEnd);
          input.off('error', onError);
          input.pause();
          resolve();
        };
        const onData = (chunk: Buffer | string) => {
          text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
          if (text.includes('\n')) settle();
        };
        const onEnd = () => {
          ended = true;
          text += decoder.decode();
          settle();
        };
        const onError = (error: Error) => {
          settle();
          reject(error);
        };
        input.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onError);
        input.resume();
      });
      return take();
    },
  };
}
