import { randomUUID } from 'node:crypto';
import type { StreamResponse, TaskPushNotificationConfig } from '@a2a-js/sdk';
import type { PushNotificationStore, ServerCallContext } from '@a2a-js/sdk/server';
import type { Clock } from '../../contracts/index.js';
import { addressOf } from './push-options.js';
import { nameOf } from './task-store.js';

/** What is sent: its body, by the version of the protocol that the caller spoke. */
export type Serialize = (version: string, event: StreamResponse) => { body: string; contentType: string };
/** Makes the error that a caller is answered with. */
export type Refuse = (message: string) => Error;

interface Target {
  readonly config: TaskPushNotificationConfig;
  readonly version: string;
  /** What is still to be sent, in order. */
  readonly queue: StreamResponse[];
  isSending: boolean;
}

const MOST_PER_TASK = 4;
const MOST_TASKS = 1_000;
/** What waits for a target that is slow; older news that is not the last is left out. */
const MOST_WAITING = 32;
const ATTEMPTS = 3;
const FIRST_WAIT_MS = 500;
const TIMEOUT_MS = 5_000;

/**
 * Tells callers of their tasks where they asked for it: each target gets its news in order, up to three times until it
 * takes them. What is told goes to the permitted origins only, follows no redirect, and waits for nobody. A caller sees
 * and changes its own targets only.
 */
export class PushDesk implements PushNotificationStore {
  readonly #byUser = new Map<string, Map<string, Target[]>>();
  readonly #closing = new AbortController();
  readonly #timers = new Set<() => void>();

  constructor(
    private readonly origins: ReadonlySet<string>,
    private readonly ports: { clock: Clock; send: typeof fetch; serialize: Serialize; refuse: Refuse },
  ) {}

  async save(taskId: string, context: ServerCallContext, config: TaskPushNotificationConfig): Promise<void> {
    const { refuse } = this.ports;
    const url = addressOf(config.url);
    if (url === undefined || !this.origins.has(url.origin) || url.username !== '' || url.password !== '')
      throw refuse(`notifications cannot be sent to ${url?.origin ?? 'an address that is none'}`);
    const user = nameOf(context);
    const tasks = this.#byUser.get(user) ?? new Map<string, Target[]>();
    this.#byUser.set(user, tasks);
    config.id ||= randomUUID();
    const others = (tasks.get(taskId) ?? []).filter((target) => target.config.id !== config.id);
    if (others.length >= MOST_PER_TASK) throw refuse(`a task tells ${MOST_PER_TASK} addresses at most`);
    const version = context.requestedVersion || '0.3';
    tasks.set(taskId, [...others, { config: structuredClone(config), version, queue: [], isSending: false }]);
    const [oldest] = tasks.keys();
    if (tasks.size > MOST_TASKS && oldest !== undefined) tasks.delete(oldest);
  }

  load(taskId: string, context: ServerCallContext): Promise<TaskPushNotificationConfig[]> {
    const targets = this.#byUser.get(nameOf(context))?.get(taskId) ?? [];
    return Promise.resolve(targets.map(({ config }) => structuredClone(config)));
  }

  async delete(taskId: string, context: ServerCallContext, configId: string = taskId): Promise<void> {
    const tasks = this.#byUser.get(nameOf(context));
    const left = (tasks?.get(taskId) ?? []).filter(({ config }) => config.id !== configId);
    if (left.length > 0) tasks?.set(taskId, left);
    else tasks?.delete(taskId);
  }

  /** Never throws, and waits for nothing. `isLast`: the task is over. */
  tell(user: string, taskId: string, event: StreamResponse, isLast: boolean): void {
    const tasks = this.#byUser.get(user);
    for (const target of tasks?.get(taskId) ?? []) {
      target.queue.push(event);
      if (target.queue.length > MOST_WAITING) target.queue.splice(1, 1);
      if (!target.isSending) void this.#send(target);
    }
    if (isLast) tasks?.delete(taskId);
  }

  close(): void {
    this.#closing.abort();
    for (const cancel of this.#timers) cancel();
    this.#byUser.clear();
  }

  async #send(target: Target): Promise<void> {
    target.isSending = true;
    for (let next = target.queue[0]; next !== undefined && !this.#isClosed; next = target.queue[0]) {
      const { body, contentType } = this.ports.serialize(target.version, next);
      for (let attempt = 1; attempt <= ATTEMPTS && !this.#isClosed; attempt++) {
        if (await this.#post(target.config, body, contentType)) break;
        if (attempt < ATTEMPTS) await this.#rest(FIRST_WAIT_MS * 4 ** (attempt - 1));
      }
      const at = target.queue.indexOf(next);
      if (at >= 0) target.queue.splice(at, 1);
    }
    target.isSending = false;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Whether it was taken. */
  async #post(config: TaskPushNotificationConfig, body: string, contentType: string): Promise<boolean> {
    const stop = new AbortController();
    const cancel = this.ports.clock.schedule(() => stop.abort(), TIMEOUT_MS);
    const onClose = () => stop.abort();
    this.#closing.signal.addEventListener('abort', onClose, { once: true });
    this.#timers.add(cancel);
    try {
      const headers = { 'content-type': contentType, ...credentialsOf(config) };
      const options: RequestInit = { method: 'POST', headers, body, redirect: 'error', signal: stop.signal };
      const response = await this.ports.send(config.url, options);
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    } finally {
      cancel();
      this.#timers.delete(cancel);
      this.#closing.signal.removeEventListener('abort', onClose);
    }
  }

  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#closing.signal.removeEventListener('abort', done);
        cancel();
        resolve();
      };
      const cancel = this.ports.clock.schedule(done, ms);
      this.#closing.signal.addEventListener('abort', done, { once: true });
    });
  }
}

/** What shows the target that the news is from here. */
function credentialsOf({ token, authentication }: TaskPushNotificationConfig): Record<string, string> {
  const { scheme = '', credentials = '' } = authentication ?? {};
  return {
    ...(token !== '' && { 'x-a2a-notification-token': token }),
    ...(scheme !== '' && credentials !== '' && { authorization: `${scheme} ${credentials}` }),
  };
}
