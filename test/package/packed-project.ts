import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROCESS_LIMIT_MS } from '../support/process-limit.js';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** A package that a user gets with ours. `folder` is below our own node_modules. */
export interface InstalledPackage {
  readonly name: string;
  readonly folder: string;
}

/** What the lock says is installed beside us without development or optional peers. */
export function productionPackages(): InstalledPackage[] {
  interface Entry {
    dev?: boolean;
    devOptional?: boolean;
    peer?: boolean;
  }
  const lock: { packages: Record<string, Entry> } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path !== '' && !entry.dev && !entry.devOptional && !entry.peer)
    .map(([path]) => ({ name: path.slice('node_modules/'.length), folder: join(root, path) }));
}

/** A user's project, outside of the repository, in which the packed package is installed. */
export interface PackedProject {
  readonly folder: string;
  /** The unpacked package. */
  readonly installed: string;
  /** Runs ES module code in the project, under plain node. Returns what it prints; throws, with its output, when it fails. */
  run(code: string): string;
  remove(): void;
}

/**
 * Packs what `npm run build` made and installs it without the network: the tarball is unpacked, the named production
 * packages are linked to those of the repository. `packages` absent: all of them.
 */
export function createPackedProject(packages?: readonly string[]): PackedProject {
  if (!existsSync(join(root, 'dist'))) throw new Error('there is no dist: run npm run build first');
  const folder = mkdtempSync(join(tmpdir(), 'troupe-packed-'));
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  const flags = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  execFileSync('npm', flags, { cwd: root, shell: process.platform === 'win32', stdio: 'pipe' });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (!tarball) throw new Error('npm pack made no tarball');
  execFileSync('tar', ['-xzf', tarball, '-C', 'node_modules'], { cwd: folder });
  const installed = join(modules, 'troupe');
  renameSync(join(modules, 'package'), installed);
  for (const { name, folder: source } of productionPackages()) {
    if (packages && !packages.includes(name)) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(source, join(modules, name), 'junction');
  }
  return {
    folder,
    installed,
    run: (code) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', code], {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: PROCESS_LIMIT_MS / 2,
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Bytes of all files below a folder, its own node_modules aside. */
export function bytesBelow(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== 'node_modules')
    .map((entry) => join(folder, entry.name))
    .reduce((sum, path) => sum + (statSync(path).isDirectory() ? bytesBelow(path) : statSync(path).size), 0);
}
