import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tsc } from '../../scripts/tsc.mjs';
import { root } from '../architecture/import-graph.js';

export interface TroupeProcess {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves once stdout and stderr together match; rejects when the process ends before. */
  until(pattern: RegExp): Promise<void>;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
}

const keyless = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/KEY|BASE_URL|NO_COLOR|DEBUG/.test(name)),
);

/** The command line, built apart from `dist`, where packages are found all the same. */
const built = join(root, 'node_modules', '.cache', `troupe-cli-${process.pid}`);
const main = join(built, 'src', 'cli', 'main.js');

/** Builds it: a process starts several times faster than from sources. Returns what removes the build. */
export function buildTroupe(): () => void {
  mkdirSync(built, { recursive: true });
  const options = [
    '-p',
    'tsconfig.build.json',
    '--outDir',
    built,
    '--declaration',
    'false',
    '--noEmitOnError',
    'false',
  ];
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, ...options], { cwd: root, encoding: 'utf8' });
  if (!existsSync(main)) throw new Error(`nothing was built: ${stdout}${stderr}`);
  copyFileSync(join(root, 'package.json'), join(built, 'package.json'));
  return () => rmSync(built, { recursive: true, force: true });
}

/** The real command line as a process without a terminal. */
export function startTroupe(
  args: readonly string[],
  options: { cwd: string; stdin?: string; env?: Record<string, string> },
): TroupeProcess {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: options.cwd,
    env: { ...keyless, ...options.env },
    stdio: 'pipe',
  });
  let out = '';
  let err = '';
  const watchers = new Set<() => void>();
  const seen = (more: () => void) => {
    more();
    for (const watcher of [...watchers]) watcher();
  };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => seen(() => (out += chunk)));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => seen(() => (err += chunk)));
  child.stdin.on('error', () => {});
  child.stdin.end(options.stdin ?? '');
  return {
    child,
    stdout: () => out,
    stderr: () => err,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        child.on('close', () => reject(new Error(`ended without ${pattern}: ${out}${err}`)));
        const watcher = () => {
          if (!pattern.test(out + err)) return;
          watchers.delete(watcher);
          resolve();
        };
        watchers.add(watcher);
        watcher();
      }),
    ended: new Promise((resolve) => child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))),
  };
}

/** Runs it to its end. */
export async function troupe(
  args: readonly string[],
  options: { cwd: string; stdin?: string; env?: Record<string, string> },
) {
  const run = startTroupe(args, options);
  const code = await run.ended;
  return { code, out: run.stdout(), err: run.stderr() };
}
