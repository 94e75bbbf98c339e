import type { Command, CommandResult, LogPage, Overview, SessionPlan, StreamMessages, ToldSteps } from '../wire.js';
import { encoded } from './route.js';

/** As it stands in addresses. */
const token = document.querySelector('meta[name=troupe-token]')?.getAttribute('content') ?? '';

const AGAIN_MS = 2_000;
const HIDDEN_MS = 5_000;

/** What the server refuses, in its words. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

async function ask<T>(path: string, init?: RequestInit): Promise<{ readonly value: T; readonly characters: number }> {
  let response: Response;
  try {
    response = await fetch(`api/${path}${path.includes('?') ? '&' : '?'}token=${token}`, init);
  } catch {
    throw new Refusal('OFFLINE', 'Studio does not answer. Is the process that serves it still running?');
  }
  const text = await response.text();
  if (response.status === 403)
    throw new Refusal('FORBIDDEN', 'The token is not valid any more: open the address that was printed anew.');
  const value = JSON.parse(text) as T & { code?: string; message?: string };
  if (!response.ok) throw new Refusal(value.code ?? String(response.status), value.message ?? response.statusText);
  return { value, characters: text.length };
}

const pathOf = (host: string, session: string) => `sessions/${encoded(host)}/${encoded(session)}`;

export const fetchPlan = async (host: string, session: string): Promise<SessionPlan> =>
  (await ask<SessionPlan>(`${pathOf(host, session)}/plan`)).value;

export const fetchLog = (host: string, session: string, after: number, limit?: number) =>
  ask<LogPage>(`${pathOf(host, session)}/log?after=${after}${limit === undefined ? '' : `&limit=${limit}`}`);

export const fetchSteps = async (host: string, session: string, thread: string): Promise<ToldSteps> =>
  (await ask<ToldSteps>(`${pathOf(host, session)}/steps?thread=${encoded(thread)}`)).value;

export const sendCommand = async (command: Command): Promise<CommandResult> =>
  (
    await ask<CommandResult>('command', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(command),
    })
  ).value;

export interface StreamListener {
  message<Name extends keyof StreamMessages>(name: Name, data: StreamMessages[Name], characters: number): void;
  connected(isConnected: boolean): void;
}

export interface StreamPlace {
  readonly host: string;
  readonly session: string;
  readonly hearsSteps: boolean;
  /** The position behind which it begins: asked each time that the stream is opened. */
  after(): number;
}

/** Listens until it is called off; a lost connection is taken up again by itself, behind what was heard last. */
export function openStream({ host, session, hearsSteps, after }: StreamPlace, listener: StreamListener): () => void {
  const steps = hearsSteps ? '&steps=1' : '';
  const heard = ['events', 'states', 'hears', 'resync'] as const;
  return keepOpen(
    () => `${pathOf(host, session)}/stream?after=${after()}${steps}&`,
    heard.map((name) => [
      name,
      (data) => listener.message(name, JSON.parse(data) as StreamMessages[typeof name], data.length),
    ]),
    (isConnected) => listener.connected(isConnected),
  );
}

/**
 * Listens until it is called off. A page that nobody sees asks now and then, so that its title still says who waits: a
 * browser keeps six connections to one server, for all its pages together, and a seventh page would not even load.
 */
export function openOverview(tell: (overview: Overview) => void, connected: (is: boolean) => void): () => void {
  const heard = (data: string) => tell(JSON.parse(data) as Overview);
  let end = () => {};
  const look = () => {
    end();
    end =
      document.visibilityState === 'visible'
        ? keepOpen(() => 'overview/stream?', [['overview', heard]], connected)
        : askAgain(async () => tell((await ask<Overview>('overview')).value));
  };
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    document.removeEventListener('visibilitychange', look);
    end();
  };
}

/** At once, and then every so often, until it is called off; what fails is tried again. */
function askAgain(once: () => Promise<void>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const next = async () => {
    await once().catch(() => {});
    if (!isOver) timer = setTimeout(() => void next(), HIDDEN_MS);
  };
  void next();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** A browser tries again by itself where a connection broke off, but not where it was refused, by a server that starts, say. */
function keepOpen(
  path: () => string,
  listeners: readonly (readonly [string, (data: string) => void])[],
  connected: (is: boolean) => void,
): () => void {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    source = new EventSource(`api/${path()}token=${token}`);
    for (const [name, hear] of listeners) source.addEventListener(name, ({ data }: MessageEvent<string>) => hear(data));
    source.addEventListener('open', () => connected(true));
    source.addEventListener('error', () => {
      connected(false);
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN_MS);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
