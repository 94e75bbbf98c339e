const NEWLINE = 0x0a;

/**
 * The same bytes, until there are too many: of the whole body or, in a stream of events, of one event. Then reading
 * fails and the source is cancelled.
 */
export function boundedBody(
  source: ReadableStream<Uint8Array>,
  { longestBytes, isStream }: { longestBytes: number; isStream: boolean },
): ReadableStream<Uint8Array> {
  let held = 0;
  let endsLine = false;
  return source.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const blank = isStream ? lastBlankLine(chunk, endsLine) : -1;
        held = blank === -1 ? held + chunk.length : chunk.length - blank;
        endsLine = chunk.at(-1) === NEWLINE;
        if (held > longestBytes) {
          const most = Math.floor(longestBytes / 1_048_576);
          throw new RangeError(`it sent ${isStream ? 'a message' : 'an answer'} of more than ${most} MB`);
        }
        controller.enqueue(chunk);
      },
    }),
  );
}

/** Where the last event in a chunk ends; -1: none does. */
function lastBlankLine(chunk: Uint8Array, endsLine: boolean): number {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const last = Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\n\r\n'), text.lastIndexOf('\r\r'));
  if (last !== -1) return last;
  return endsLine && (chunk[0] === NEWLINE || (chunk[0] === 0x0d && chunk[1] === NEWLINE)) ? 0 : -1;
}
