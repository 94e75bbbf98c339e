/** Cuts a stream of bytes into lines, which come without their end; `\r` before it goes too. */
export interface MessageLines {
  /** Throws a `RangeError` once a line is longer than the limit. Nothing comes after that. */
  push(chunk: Uint8Array): string[];
}

const NEWLINE = 0x0a;

/** Takes time and memory in proportion to what comes, however small the pieces are. */
export function createMessageLines(longestBytes: number): MessageLines {
  let pieces: Uint8Array[] = [];
  let held = 0;
  return {
    push(chunk) {
      const lines: string[] = [];
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        const end = chunk.subarray(from, at);
        if (held + end.length > longestBytes) throw tooLong(longestBytes);
        const text = held === 0 ? textOf(end) : textOf(Buffer.concat([...pieces, end]));
        lines.push(text.endsWith('\r') ? text.slice(0, -1) : text);
        pieces = [];
        held = 0;
        from = at + 1;
      }
      const rest = chunk.subarray(from);
      held += rest.length;
      if (held > longestBytes) throw tooLong(longestBytes);
      if (rest.length > 0) pieces.push(rest);
      return lines;
    },
  };
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

const tooLong = (longestBytes: number): RangeError =>
  new RangeError(`it sent a message of more than ${Math.floor(longestBytes / 1_048_576)} MB`);
