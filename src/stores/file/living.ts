import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf, type FilePort, type LivingPort } from './file-port.js';

/**
 * A name on this machine that only one process can hold, and that is free in the moment that process dies: an abstract
 * socket on Linux, a named pipe on Windows, elsewhere a socket file that is probed.
 */
function addressOf(name: string): string {
  if (process.platform === 'linux') return `\0troupe-${name}`;
  if (process.platform === 'win32') return `\\\\.\\pipe\\troupe-${name}`;
  return join(tmpdir(), `troupe-${name}.sock`);
}

/** Holds the name until the server is closed; undefined while another process, or this one, holds it. */
function hold(address: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => (codeOf(error) === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(address, () => resolve(server));
    server.unref();
  });
}

/** Whether somebody holds the name. */
function isHeld(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const end = (held: boolean) => {
      socket.destroy();
      resolve(held);
    };
    socket.once('connect', () => end(true));
    // A full queue of callers, or a socket of another user, is somebody too.
    socket.once('error', (error) => end(!['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(String(codeOf(error)))));
  });
}

const onThisMachine: LivingPort = {
  hold: (name) => hold(addressOf(name)),
  isHeld: (name) => isHeld(addressOf(name)),
};

export const livingOf = ({ living }: FilePort): LivingPort => living ?? onThisMachine;

/** Where names are seen: processes of another place cannot be asked whether they live. */
export interface Standpoint {
  readonly host: string;
  /** Empty where the system tells none. */
  readonly network: string;
  /** Another one after a restart of the machine. */
  readonly boot: string;
}

const quietly = (read: () => string): string => {
  try {
    return read().trim();
  } catch {
    return '';
  }
};

export const standpoint = (boot?: string): Standpoint => ({
  host: hostname(),
  network: quietly(() => readlinkSync('/proc/self/ns/net')),
  boot: boot ?? quietly(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
});

export const newToken = (): string => randomBytes(12).toString('hex');
