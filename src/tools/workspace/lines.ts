import type { FileHandle } from 'node:fs/promises';
import { cutText } from '../../kernel/text.js';

/** One line without its end. `omitted` counts the UTF-16 units that were dropped because the line is too long. */
export interface Line {
  readonly text: string;
  readonly omitted: number;
  /** The line ended with CR LF. */
  readonly crlf: boolean;
}

export interface LineOptions {
  readonly signal: AbortSignal;
  /** UTF-16 units kept of a line. */
  readonly maxLineLength: number;
  /** Stops after the chunk that reaches so many bytes. Default: no end but the file's. */
  readonly maxBytes?: number;
}

/** Thrown by `readLines` at once when the file holds a NUL byte in its first chunk. */
export class BinaryFile extends Error {}

const CHUNK_BYTES = 64 * 1024;

/**
 * The lines of an open UTF-8 file in batches, one batch per chunk read, whatever the size of the file or of a line.
 * Returns true when it stopped at `maxBytes` with more to read. A final line end makes no further empty line.
 * A byte order mark is dropped; bytes that are not UTF-8 become U+FFFD. Rejects with the signal's reason on abort.
 */
export async function* readLines(handle: FileHandle, options: LineOptions): AsyncGenerator<Line[], boolean> {
  const decoder = new TextDecoder('utf-8');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const gather = lineGatherer(options.maxLineLength);
  let position = 0;
  for (;;) {
    options.signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    if (position === 0 && chunk.includes(0)) throw new BinaryFile();
    position += bytesRead;
    yield gather.add(decoder.decode(chunk, { stream: true }));
    if (options.maxBytes !== undefined && position >= options.maxBytes) return true;
  }
  yield [...gather.add(decoder.decode()), ...gather.end()];
  return false;
}

/** Cuts text that comes in pieces into lines, holding no more than `maxLength` units and one piece. */
function lineGatherer(maxLength: number) {
  let held = '';
  let length = 0;
  const hold = (piece: string) => {
    if (held.length < maxLength) held += piece;
    length += piece.length;
  };
  const release = (): Line => {
    const crlf = length === held.length ? held.endsWith('\r') : false;
    const whole = crlf ? held.slice(0, -1) : held;
    const text = whole.length > maxLength ? cutText(whole, maxLength) : whole;
    const line = { text, omitted: length - (crlf ? 1 : 0) - text.length, crlf };
    held = '';
    length = 0;
    return line;
  };
  return {
    add(text: string): Line[] {
      const lines: Line[] = [];
      let from = 0;
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
        hold(text.slice(from, end));
        lines.push(release());
        from = end + 1;
      }
      if (from < text.length) hold(text.slice(from));
      return lines;
    },
    end: (): Line[] => (length > 0 ? [release()] : []),
  };
}
