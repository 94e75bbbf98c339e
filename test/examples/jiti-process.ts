import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../architecture/import-graph.js';

/** `troupe` and its subpaths as the sources that they are built from. */
const alias = JSON.stringify({
  'troupe/testing': join(root, 'src', 'testing', 'index.ts'),
  'troupe/tools/workspace': join(root, 'src', 'tools', 'workspace.ts'),
  troupe: join(root, 'src', 'index.ts'),
});

const keyless = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/KEY|BASE_URL|NO_COLOR/.test(name)));

/** Runs a TypeScript file of the repository as a program of its own, without keys. Ends it with `signal` once `until` matches. */
export function runFile(
  file: string,
  args: readonly string[],
  options: { env?: Record<string, string>; until?: RegExp; signal?: NodeJS.Signals } = {},
): Promise<{ code: number | null; out: string; err: string }> {
  const jiti = join(root, 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs');
  const child = spawn(process.execPath, [jiti, join(root, file), ...args], {
    cwd: root,
    env: { ...keyless, INIT_CWD: root, JITI_ALIAS: alias, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  let isStopped = false;
  const { until, signal = 'SIGINT' } = options;
  const add = (to: 'out' | 'err') => (text: string) => {
    said[to] += text;
    if (isStopped || until?.test(said.out + said.err) !== true) return;
    isStopped = true;
    child.kill(signal);
  };
  child.stdout.setEncoding('utf8').on('data', add('out'));
  child.stderr.setEncoding('utf8').on('data', add('err'));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...said })));
}
