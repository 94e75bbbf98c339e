// Everything that must hold, in order, stopping at the first failure. `npm test`; with names, only those steps:
// `npm test -- lint types`. The last line is `N passed, N failed` (and `, N skipped`), of the tests.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process, { argv, execPath, exit, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { closingLine } from './closing-line.mjs';
import { tsc } from './tsc.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const scratch = mkdtempSync(join(tmpdir(), 'troupe-verify-'));
const results = join(scratch, 'tests.json');
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

/**
 * `live` steps show their output as it comes, the others only when they fail.
 * @typedef {{ name: string, command: string[], live?: boolean }} Step
 */

/** @type {Step[]} */
const steps = [
  { name: 'lint', command: [binOf('@biomejs/biome', 'biome'), 'check', '--error-on-warnings', '.'] },
  { name: 'build', command: [join(root, 'scripts', 'build.mjs')] },
  // After the build: the examples import the package by its name, and so see the types that users get.
  { name: 'types', command: [tsc, '--noEmit'] },
  // Studio's page runs in a browser: it sees other globals.
  { name: 'page', command: [tsc, '--noEmit', '-p', join(root, 'src', 'studio', 'web')] },
  { name: 'knip', command: [binOf('knip', 'knip'), '--no-progress'] },
  {
    name: 'tests',
    command: [
      binOf('vitest', 'vitest'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${results}`,
    ],
    live: true,
  },
];

/**
 * The script behind a command of a package: the shims in node_modules/.bin differ between systems.
 * @param {string} name
 * @param {string} command
 */
function binOf(name, command) {
  const manifest = join(root, 'node_modules', name, 'package.json');
  /** @type {{ bin: string | Record<string, string> }} */
  const { bin } = createRequire(import.meta.url)(manifest);
  return join(dirname(manifest), typeof bin === 'string' ? bin : /** @type {string} */ (bin[command]));
}

/**
 * @param {Step} step
 * @returns {Promise<boolean>} whether it passed
 */
async function run({ name, command, live }) {
  stdout.write(live ? `── ${name}\n` : `── ${name} `);
  const start = performance.now();
  const child = spawn(execPath, command, {
    cwd: root,
    stdio: ['ignore', live ? 'inherit' : 'pipe', live ? 'inherit' : 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve) => child.on('error', () => resolve(1)).on('close', resolve));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  stdout.write(
    `${live ? `── ${name} ` : ''}${code === 0 ? 'passed' : `FAILED (exit status ${code})`} in ${seconds} s\n`,
  );
  if (code !== 0) stdout.write(output);
  return code === 0;
}

const wanted = argv.slice(2);
const unknown = wanted.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`no step ${unknown.join(', ')}; there are: ${steps.map((step) => step.name).join(', ')}`);
  exit(2);
}

let passed = true;
let tested = false;
for (const step of steps) {
  if (wanted.length > 0 && !wanted.includes(step.name)) continue;
  passed = await run(step);
  tested = step.name === 'tests';
  if (!passed) break;
}
const report = existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')) : undefined;
if (tested) console.log(closingLine(report, passed));
process.exitCode = passed ? 0 : 1;
