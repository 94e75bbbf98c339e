export const VIEWS = ['transcript', 'statechart', 'team', 'timeline', 'compare'] as const;
export type View = (typeof VIEWS)[number];

/** What the page shows, as its address says it: `#/host/session/thread?seq=…&view=…&with=host/session`. */
export interface Route {
  readonly host?: string | undefined;
  readonly session?: string | undefined;
  /** Empty for the root. */
  readonly thread: string;
  /** A moment of the past; absent: as it is now. */
  readonly seq?: number | undefined;
  readonly view: View;
  /** The session to compare with. */
  readonly other?: { readonly host: string; readonly session: string } | undefined;
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [host, session, thread] = path.split('/').map(decode);
  const asked = new URLSearchParams(query);
  const seq = Number(asked.get('seq') ?? Number.NaN);
  const view = VIEWS.find((one) => one === asked.get('view')) ?? 'transcript';
  const [otherHost, otherSession] = (asked.get('with') ?? '').split('/').map(decode);
  return {
    host: host || undefined,
    session: session || undefined,
    thread: thread ?? '',
    seq: Number.isSafeInteger(seq) && seq >= 0 ? seq : undefined,
    view,
    other: otherHost && otherSession ? { host: otherHost, session: otherSession } : undefined,
  };
}

export function formatRoute({ host, session, thread, seq, view, other }: Route): string {
  if (host === undefined || session === undefined) return '#/';
  const query = new URLSearchParams();
  if (seq !== undefined) query.set('seq', String(seq));
  if (view !== 'transcript') query.set('view', view);
  if (other !== undefined) query.set('with', `${encoded(other.host)}/${encoded(other.session)}`);
  const path = [host, session, thread].map(encoded).join('/');
  return `#/${path}${query.size > 0 ? `?${query}` : ''}`;
}

/** Half a character cannot stand in an address. */
export const encoded = (part: string): string =>
  encodeURIComponent(part.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd'));

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
