import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

export interface Witnessed {
  event: string;
  data?: unknown;
}

/** What processes under test tell of themselves, and that they are gone: their sockets close with them. */
export interface Witness {
  /** To be handed to the process. */
  readonly env: { WITNESS_PORT: string };
  readonly events: readonly Witnessed[];
  /** The n-th event of that name (from 1), which may have happened already. */
  event(name: string, nth?: number): Promise<Witnessed>;
  /** Resolves when every process that was connected is gone. */
  allGone(): Promise<void>;
  close(): Promise<void>;
}

export async function createWitness(): Promise<Witness> {
  const events: Witnessed[] = [];
  const sockets = new Set<Socket>();
  let changed: (() => void)[] = [];
  const change = () => {
    const told = changed;
    changed = [];
    for (const tell of told) tell();
  };
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise<void>((resolve) => changed.push(resolve));
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) events.push(JSON.parse(line) as Witnessed);
      change();
    });
    socket.on('close', () => {
      sockets.delete(socket);
      change();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    env: { WITNESS_PORT: String((server.address() as AddressInfo).port) },
    events,
    async event(name, nth = 1) {
      const found = () => events.filter((one) => one.event === name)[nth - 1];
      await until(() => found() !== undefined);
      return found() as Witnessed;
    },
    allGone: () => until(() => sockets.size === 0),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
