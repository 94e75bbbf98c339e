export interface StreamMessage<Data> {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: Data;
}

/** Server-sent events as a client hears them, comments left out. `close` leaves. */
export async function readEventStream<Data>(
  url: URL,
  headers: Record<string, string> = {},
): Promise<{
  readonly status: number;
  readonly messages: AsyncGenerator<StreamMessage<Data>, void, undefined>;
  close(): Promise<void>;
}> {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal });
  const messages = parse<Data>(response.body as unknown as AsyncIterable<Uint8Array>);
  return {
    status: response.status,
    messages,
    async close() {
      leaving.abort();
    },
  };
}

async function* parse<Data>(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamMessage<Data>, void, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(text.slice(0, end).split('\n').map(fieldOf));
      text = text.slice(end + 2);
      const name = fields.get('event');
      if (name === undefined) continue;
      yield { name, id: fields.get('id'), data: JSON.parse(fields.get('data') ?? 'null') as Data };
    }
  }
}

const fieldOf = (line: string): [string, string] => [
  line.slice(0, line.indexOf(':')),
  line.slice(line.indexOf(':') + 2),
];
