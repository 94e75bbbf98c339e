import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { PushInbox } from '../executors/remote/backend.js';
import { type DoorOptions, openDoor } from './http/door.js';

export interface PushInboxOptions extends Omit<DoorOptions, 'token'> {
  /** The address that peers are told, where it is another than the one listened on (behind a proxy). */
  publicUrl?: string;
}

export interface OpenPushInbox extends PushInbox {
  /** Where notifications come in; each task has an address below it. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * A small server that remote agents tell when there is news of a task, for `backend.push`. What it is told it does not
 * read: the task itself is looked at. Each task has an address and a token of its own, and anything else gets a bare 404.
 * It listens on 127.0.0.1; another address needs nothing more, for nothing is to be had here. Throws `INVALID_OPTION`
 * when it cannot listen.
 */
export async function openPushInbox(options: PushInboxOptions = {}): Promise<OpenPushInbox> {
  const { publicUrl, hosts = [], ...others } = options;
  const expected = new Map<string, { token: Buffer; onNews: () => void }>();
  const names = publicUrl === undefined ? hosts : [...hosts, new URL(publicUrl).host];
  const door = await openDoor(
    { ...others, hosts: names },
    async ({ request, response, url }) => {
      const one = request.method === 'POST' ? expected.get(url.pathname.split('/').at(-1) ?? '') : undefined;
      const isIt = one !== undefined && timingSafeEqual(one.token, digest(shownBy(request.headers)));
      request.resume();
      response.writeHead(isIt ? 204 : 404, { 'content-length': '0' });
      response.end();
      if (isIt) one.onNews();
    },
    () => true,
    true,
  );
  const base = (publicUrl ?? door.url).replace(/\/$/, '');
  return {
    url: base,
    expect(onNews) {
      const id = randomBytes(16).toString('hex');
      const token = randomBytes(24).toString('base64url');
      expected.set(id, { token: digest(token), onNews });
      return { url: `${base}/${id}`, token, close: () => void expected.delete(id) };
    },
    close: () => door.close(),
  };
}

const digest = (token: string): Buffer => createHash('sha256').update(token).digest();

function shownBy(headers: Record<string, string | string[] | undefined>): string {
  const { authorization, 'x-a2a-notification-token': token } = headers;
  if (typeof token === 'string') return token;
  return typeof authorization === 'string' ? authorization.replace(/^bearer /i, '') : '';
}
