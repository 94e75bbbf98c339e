import { type ChildProcess, spawn } from 'node:child_process';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { OWN_ERROR } from './failure.js';
import { createMessageLines } from './message-lines.js';
import { forgetGroup, guardGroup, signalGroup } from './process-group.js';
import type { Sdk } from './sdk.js';

export interface StdioCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** A transport over the pipes of a process. `close()` resolves when the process and its group are gone. */
export interface StdioTransport extends Transport {
  /** Both stand here for the client: by them it knows that it speaks to a process. */
  readonly pid: number | null;
  readonly stderr: null;
  /** How the connection ended, in a few words; undefined while it stands. */
  readonly ending: string | undefined;
  /** The last lines that the process wrote to its standard error. */
  errorTail(): string;
  close(options?: { atOnce?: boolean }): Promise<void>;
}

const LONGEST_MESSAGE_BYTES = 16 * 1_048_576;
/** A server may write some text between its messages, by mistake; beyond this it is no server. */
const MOST_GARBAGE_LINES = 10_000;
const LONGEST_ERROR_TAIL = 4_096;
/** By the real clock: an operating system does not wait for a virtual one. */
const GRACE_MS = 1_000;
const LAST_WORDS_MS = 100;

/**
 * Starts the process with `start()`. When its output ends, it exits, or says what is no message again and again, the
 * connection is over at once and what is left of it is ended: first its input, then SIGTERM, then SIGKILL, each a
 * second after the other, to the whole group.
 */
export function createStdioTransport(sdk: Pick<Sdk, 'parseJSONRPCMessage'>, plan: StdioCommand): StdioTransport {
  let child: ChildProcess | undefined;
  let leader: number | undefined;
  let exit: string | undefined;
  let ending: string | undefined;
  let ended: Promise<void> | undefined;
  let lastWords: NodeJS.Timeout | undefined;
  let isOutputOver = false;
  let isTaking = false;
  const waiting: string[] = [];
  let garbage = 0;
  let tail = '';
  const lines = createMessageLines(LONGEST_MESSAGE_BYTES);

  const transport: StdioTransport = {
    get pid() {
      return leader ?? null;
    },
    stderr: null,
    get ending() {
      return ending;
    },
    errorTail: () => tail,
    start,
    async send(message: JSONRPCMessage) {
      if (child?.stdin == null || ended !== undefined) throw new Error(`not connected: ${ending ?? 'not started'}`);
      child.stdin.write(`${JSON.stringify(message)}\n`);
    },
    close: ({ atOnce = false } = {}) => end('it was closed', atOnce),
  };

  function start(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (child !== undefined || ended !== undefined) return reject(new Error('a transport starts once'));
      const started = spawn(plan.command, [...plan.args], {
        env: { ...plan.env },
        ...(plan.cwd !== undefined && { cwd: plan.cwd }),
        stdio: ['pipe', 'pipe', 'pipe'],
        // A group of its own: whatever the server starts can be ended with it, and Ctrl-C here does not reach it.
        detached: process.platform !== 'win32',
        windowsHide: true,
      });
      child = started;
      leader = started.pid;
      if (leader !== undefined) guardGroup(leader);
      started.once('spawn', resolve);
      started.on('error', (error) => {
        exit ??= error.message;
        reject(error);
        void end(error.message, true);
      });
      started.once('exit', (code, signal) => {
        exit = signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
        endSoon();
      });
      for (const stream of [started.stdin, started.stdout, started.stderr]) {
        // A pipe that breaks is told of by the exit.
        stream?.on('error', () => {});
      }
      started.stdout?.on('data', take);
      started.stdout?.once('close', () => {
        isOutputOver = true;
        endSoon();
      });
      started.stderr?.on('data', (chunk: Buffer) => {
        tail = (tail + chunk.toString('utf8')).slice(-LONGEST_ERROR_TAIL);
      });
    });
  }

  function take(chunk: Buffer): void {
    if (ended !== undefined) return;
    try {
      waiting.push(...lines.push(chunk));
    } catch (thrown) {
      return void end((thrown as Error).message, true);
    }
    if (!isTaking) void takeWaiting();
  }

  /** One by one: the client handles a notice a moment after it has come, and an answer at once, which forgets the call. */
  async function takeWaiting(): Promise<void> {
    isTaking = true;
    for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
      takeLine(line);
      await undefined;
    }
    isTaking = false;
  }

  function takeLine(line: string): void {
    if (line.trim() === '' || ended !== undefined) return;
    const message = readMessage(sdk, line);
    if (message === undefined) {
      if (++garbage > MOST_GARBAGE_LINES) void end('it writes what is no MCP message', true);
      return;
    }
    garbage = 0;
    try {
      transport.onmessage?.(message);
    } catch (thrown) {
      transport.onerror?.(thrown as Error);
    }
  }

  /** What it still had to say is read before its end is told; whoever else holds its pipe is not waited for. */
  function endSoon(): void {
    if (isOutputOver && exit !== undefined) return void end(exit, true);
    lastWords ??= setTimeout(() => void end(exit ?? 'it closed its output', true), LAST_WORDS_MS);
  }

  function end(why: string, atOnce: boolean): Promise<void> {
    if (ended !== undefined) return ended;
    ending = why;
    clearTimeout(lastWords);
    ended = reap(atOnce);
    transport.onclose?.();
    return ended;
  }

  async function reap(atOnce: boolean): Promise<void> {
    if (child === undefined || leader === undefined) return;
    child.stdin?.end();
    child.stdout?.resume();
    if (!atOnce) await exited(child, GRACE_MS);
    if (isRunning(child)) {
      signalGroup(leader, 'SIGTERM');
      await exited(child, GRACE_MS);
    }
    // Also when it is gone by itself: what it started may still be there.
    signalGroup(leader, 'SIGKILL');
    await exited(child, Number.POSITIVE_INFINITY);
    forgetGroup(leader);
    child.stdin?.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }

  return transport;
}

/** An answer of the wrong form fails its request at once: otherwise that would wait for another. */
function readMessage(sdk: Pick<Sdk, 'parseJSONRPCMessage'>, line: string): JSONRPCMessage | undefined {
  let read: unknown;
  try {
    read = JSON.parse(line);
    return sdk.parseJSONRPCMessage(read);
  } catch {
    const { id, method } = (read ?? {}) as { id?: unknown; method?: unknown };
    if (method !== undefined || (typeof id !== 'number' && typeof id !== 'string')) return undefined;
    return { jsonrpc: '2.0', id, error: { code: OWN_ERROR, message: 'its answer is no MCP message' } };
  }
}

const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

function exited(child: ChildProcess, withinMs: number): Promise<void> {
  if (!isRunning(child)) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = Number.isFinite(withinMs) ? setTimeout(done, withinMs) : undefined;
    function done(): void {
      clearTimeout(timer);
      child.off('exit', done);
      resolve();
    }
    child.once('exit', done);
  });
}
