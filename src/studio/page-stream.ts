import type { ServerResponse } from 'node:http';
import type { StreamMessages } from './wire.js';

/** As often as a page can draw. */
const FLUSH_MS = 16;
/** Nothing said for so long may look like a lost connection. */
const ALIVE_MS = 15_000;

/** Server-sent events to one page, those of a moment together. It begins the answer, and ends with it. */
export class Page {
  isGone = false;
  isBehind = false;
  onGone: () => void = () => {};
  onFlush: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #onDrain: (() => void) | undefined;
  readonly #alive: NodeJS.Timeout;

  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.flushHeaders();
    this.#alive = setInterval(() => this.#stayAlive(), ALIVE_MS);
    this.#alive.unref();
    response.on('drain', () => {
      this.isBehind = false;
      this.#onDrain?.();
      // What came meanwhile.
      this.wake();
    });
    response.on('close', () => {
      this.isGone = true;
      clearTimeout(this.#timer);
      clearInterval(this.#alive);
      this.#onDrain?.();
      this.onGone();
    });
  }

  wake(): void {
    if (this.#timer !== undefined || this.isGone) return;
    this.#timer = setTimeout(() => this.flush(), FLUSH_MS);
    this.#timer.unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.onFlush();
  }

  write<Name extends keyof StreamMessages>(name: Name, data: StreamMessages[Name], id?: string): void {
    this.writeText(name, JSON.stringify(data), id);
  }

  /** `json`: in one line. */
  writeText(name: string, json: string, id?: string): void {
    if (this.isGone) return;
    const head = id === undefined ? `event: ${name}\n` : `event: ${name}\nid: ${id}\n`;
    if (!this.response.write(`${head}data: ${json}\n\n`)) this.isBehind = true;
  }

  #stayAlive(): void {
    if (!this.isGone && !this.isBehind) this.response.write(': \n\n');
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrain = () => {
        this.#onDrain = undefined;
        resolve();
      };
      if (!this.isBehind || this.isGone) this.#onDrain();
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#alive);
    if (!this.isGone) this.response.end();
  }
}
