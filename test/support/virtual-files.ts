import { basename, dirname } from 'node:path';
import type { FilePort } from '../../src/stores/file.js';

interface Node {
  readonly ino: number;
  readonly isDirectory: boolean;
  bytes: Buffer;
  /** What a loss of power leaves of it; of a directory, the names in it. */
  durable: Buffer;
  durableNames: Map<string, Node>;
  mtimeMs: number;
}

const failed = (code: string, path: string) => Object.assign(new Error(`${code}: ${path}`), { code });

export interface VirtualFiles extends FilePort {
  /** Bytes that can still be written; then ENOSPC, in the middle of a write. */
  room: number;
  /** Every change fails with this. */
  refuseWith: string | undefined;
  /** Every sync fails with this. */
  syncFailsWith: string | undefined;
  readonly syncs: number;
  /** Bytes read so far, by path. */
  readonly reads: Map<string, number>;
  text(path: string): string;
  bytes(path: string): Buffer;
  put(path: string, bytes: Buffer | string): void;
  paths(): string[];
  /** Another disk with the same content. */
  copy(): VirtualFiles;
  /** The disk as it is after the power went: names and bytes that were synced, nothing else. */
  afterPowerLoss(): VirtualFiles;
}

/** A disk in memory that can be full, read-only, or lose its power. */
export function virtualFiles(): VirtualFiles {
  return make(new Map());
}

let inodes = 1_000;

function make(names: Map<string, Node>, boot = 1): VirtualFiles {
  const open = new Map<number, { path: string; node: Node }>();
  const reads = new Map<string, number>();
  let descriptors = 10;
  let now = 1;
  let syncs = 0;

  const newNode = (isDirectory: boolean): Node => ({
    ino: ++inodes,
    isDirectory,
    bytes: Buffer.alloc(0),
    durable: Buffer.alloc(0),
    durableNames: new Map(),
    mtimeMs: ++now,
  });
  const get = (path: string): Node => {
    const node = names.get(path);
    if (node === undefined) throw failed('ENOENT', path);
    return node;
  };
  const at = (fd: number) => open.get(fd) as { path: string; node: Node };
  const assertRoom = (path: string) => {
    if (files.refuseWith !== undefined) throw failed(files.refuseWith, path);
  };
  const assertParent = (path: string) => {
    if (names.get(dirname(path))?.isDirectory !== true) throw failed('ENOENT', path);
  };
  const factsOf = (node: Node) => ({
    size: node.bytes.length,
    mtimeMs: node.mtimeMs,
    ino: node.ino,
    dev: 1,
    isDirectory: () => node.isDirectory,
    isFile: () => !node.isDirectory,
  });
  const inside = (path: string) => [...names.keys()].filter((name) => name.startsWith(`${path}/`));
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

  const files: VirtualFiles = {
    boot: `boot ${boot}`,
    room: Number.POSITIVE_INFINITY,
    refuseWith: undefined,
    syncFailsWith: undefined,
    get syncs() {
      return syncs;
    },
    reads,
    async open(path, flags) {
      if (flags === 'r') get(path);
      else assertRoom(path);
      if (flags === 'r+') get(path);
      if (flags === 'wx' && names.has(path)) throw failed('EEXIST', path);
      let node = names.get(path);
      if (node === undefined) {
        assertParent(path);
        node = newNode(false);
        names.set(path, node);
      } else if (flags === 'w') node.bytes = Buffer.alloc(0);
      open.set(++descriptors, { path, node });
      return descriptors;
    },
    async write(fd, bytes, position) {
      const { node, path } = at(fd);
      assertRoom(path);
      if (files.room <= 0) throw failed('ENOSPC', path);
      const taken = Buffer.from(bytes.subarray(0, Math.min(bytes.length, files.room)));
      files.room -= taken.length;
      const start = position ?? node.bytes.length;
      const end = Math.max(node.bytes.length, start + taken.length);
      const next = Buffer.alloc(end);
      node.bytes.copy(next);
      taken.copy(next, start);
      node.bytes = next;
      node.mtimeMs = ++now;
      return taken.length;
    },
    async read(fd, into, position) {
      const { node, path } = at(fd);
      const count = node.bytes.copy(into, 0, position, position + into.length);
      reads.set(path, (reads.get(path) ?? 0) + count);
      return count;
    },
    async datasync(fd) {
      await turn();
      if (files.syncFailsWith !== undefined) throw failed(files.syncFailsWith, at(fd).path);
      syncs++;
      const { node } = at(fd);
      node.durable = Buffer.from(node.bytes);
    },
    async sync(fd) {
      await files.datasync(fd);
      const { path } = at(fd);
      const { node } = at(fd);
      node.durableNames = new Map([...names].filter(([name]) => name !== '/' && dirname(name) === path));
      node.durableNames = new Map([...node.durableNames].map(([name, child]) => [basename(name), child]));
    },
    async close(fd) {
      open.delete(fd);
    },
    async truncate(fd, size) {
      const { node, path } = at(fd);
      assertRoom(path);
      node.bytes = Buffer.from(node.bytes.subarray(0, size));
      node.mtimeMs = ++now;
    },
    facts: async (fd) => factsOf(at(fd).node),
    factsAt: async (path) => factsOf(get(path)),
    readFile: async (path) => Buffer.from(get(path).bytes),
    readIfChanged(path, seen) {
      const node = names.get(path);
      if (node === undefined) return undefined;
      const stamp = `${node.ino}:${node.mtimeMs}`;
      return stamp === seen ? undefined : { text: node.bytes.toString('utf8'), seen: stamp };
    },
    async mkdir(path, recursive) {
      assertRoom(path);
      if (names.has(path)) {
        if (recursive) return;
        throw failed('EEXIST', path);
      }
      if (recursive) {
        if (path === dirname(path)) return;
        await files.mkdir(dirname(path), true);
      } else assertParent(path);
      names.set(path, newNode(true));
    },
    async names(path) {
      get(path);
      return [...names.keys()].filter((name) => dirname(name) === path).map((name) => name.slice(path.length + 1));
    },
    async rename(from, to) {
      assertRoom(from);
      const node = get(from);
      if (node.isDirectory && inside(to).length > 0) throw failed('ENOTEMPTY', to);
      for (const path of inside(from)) {
        names.set(to + path.slice(from.length), get(path));
        names.delete(path);
      }
      names.set(to, node);
      names.delete(from);
    },
    async link(from, to) {
      assertRoom(to);
      assertParent(to);
      if (names.has(to)) throw failed('EEXIST', to);
      names.set(to, get(from));
    },
    async unlink(path) {
      assertRoom(path);
      get(path);
      names.delete(path);
    },
    async removeAll(path) {
      assertRoom(path);
      for (const name of [path, ...inside(path)]) names.delete(name);
    },
    text: (path) => get(path).bytes.toString('utf8'),
    bytes: (path) => Buffer.from(get(path).bytes),
    put(path, bytes) {
      const node = names.get(path) ?? newNode(false);
      node.bytes = Buffer.from(bytes);
      node.mtimeMs = ++now;
      names.set(path, node);
    },
    paths: () => [...names.keys()],
    copy() {
      const copied = new Map<string, Node>();
      for (const [path, node] of names) {
        copied.set(path, { ...newNode(node.isDirectory), bytes: Buffer.from(node.bytes), durable: node.durable });
      }
      return make(copied);
    },
    afterPowerLoss() {
      const left = new Map<string, Node>();
      const keep = (path: string, node: Node): Node => {
        const { durable } = node;
        const kept: Node = { ...node, bytes: Buffer.from(durable), durableNames: new Map() };
        left.set(path, kept);
        for (const [name, child] of node.durableNames) {
          kept.durableNames.set(name, keep(path === '/' ? `/${name}` : `${path}/${name}`, child));
        }
        return kept;
      };
      keep('/', get('/'));
      return make(left, boot + 1);
    },
  };
  if (!names.has('/')) names.set('/', newNode(true));
  return files;
}
