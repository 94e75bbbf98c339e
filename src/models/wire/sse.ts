/** One dispatched event. `data` holds its data lines, joined by a line feed. */
export interface SseEvent {
  event?: string;
  data: string;
}

export interface SseParser {
  /** The events that `bytes` completes, in order. Bytes may be cut anywhere, inside a character too. */
  push(bytes: Uint8Array): SseEvent[];
  /** The event that the end of the stream left without its empty line, when it has data. */
  end(): SseEvent | undefined;
}

const LINE_BREAK = /[\r\n]/g;

/**
 * Reads server-sent events: LF, CR and CRLF end a line; comments and events without data are skipped. JSON that stands
 * there bare (a body that is no stream, an error that a proxy wrote into one) is an event too, up to an empty line
 * behind it that leaves it whole, else to the end.
 */
export function createSseParser(): SseParser {
  const decoder = new TextDecoder();
  // Pieces, not one growing text: a long line fed byte by byte stays linear.
  let line: string[] = [];
  let skipLineFeed = false;
  let name: string | undefined;
  let data: string[] = [];
  let bare: string[] = [];

  function dispatch(): SseEvent | undefined {
    const event: SseEvent | undefined = data.length === 0 ? undefined : { data: data.join('\n') };
    if (event !== undefined && name !== undefined) event.event = name;
    name = undefined;
    data = [];
    return event;
  }

  function dispatchBare(): SseEvent | undefined {
    if (bare.length === 0) return undefined;
    const event = { data: bare.join('\n') };
    bare = [];
    return event;
  }

  function endLine(): SseEvent | undefined {
    const text = line.join('');
    line = [];
    if (bare.length > 0 || (data.length === 0 && /^\s*[{[]/.test(text))) {
      if (text !== '' || !isJson(bare.join('\n'))) bare.push(text);
      else return dispatchBare();
      return undefined;
    }
    if (text === '') return dispatch();
    const colon = text.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') name = value;
    return undefined;
  }

  function take(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    let from = skipLineFeed && text.startsWith('\n') ? 1 : 0;
    if (text !== '') skipLineFeed = false;
    for (;;) {
      LINE_BREAK.lastIndex = from;
      const at = LINE_BREAK.exec(text)?.index;
      if (at === undefined) break;
      line.push(text.slice(from, at));
      from = at + 1;
      if (text[at] === '\r') {
        if (from === text.length) skipLineFeed = true;
        else if (text[from] === '\n') from++;
      }
      const event = endLine();
      if (event !== undefined) events.push(event);
    }
    if (from < text.length) line.push(text.slice(from));
    return events;
  }

  return {
    push: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end() {
      const [event] = take(decoder.decode());
      return event ?? endLine() ?? dispatch() ?? dispatchBare();
    },
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
