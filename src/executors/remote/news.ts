import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import type { PushInbox, RemoteBackend } from './backend.js';
import type { Connection } from './connect.js';

/** News of one task, told by the peer. What it says is not believed: it is a reason to look, and no more than that. */
export class News {
  #address: ReturnType<PushInbox['expect']> | undefined;
  #has = false;
  #wake: () => void = () => {};

  get isExpected(): boolean {
    return this.#address !== undefined;
  }

  /** Where the peer is to tell; nothing where it does not, or nobody could hear it. */
  ask({ pushes }: Connection, { push }: Pick<RemoteBackend, 'push'>): TaskPushNotificationConfig | undefined {
    if (!pushes || push === undefined) return undefined;
    this.#address ??= push.expect(() => {
      this.#has = true;
      this.#wake();
    });
    const { url, token } = this.#address;
    return { tenant: '', id: '', taskId: '', url, token, authentication: undefined };
  }

  /** Resolves to true at the next news, however much of it there was since the last time. */
  async next(): Promise<boolean> {
    if (!this.#has)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#has = false;
    return true;
  }

  close(): void {
    this.#address?.close();
    this.#address = undefined;
  }
}

const NOT_SUPPORTED = -32003;

export function isPushRefused(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const { envelopeCode } = thrown as { envelopeCode?: unknown };
  return envelopeCode === NOT_SUPPORTED || thrown.name.endsWith('PushNotificationNotSupportedError');
}
