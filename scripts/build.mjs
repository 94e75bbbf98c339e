// Compiles src, machines and compositions to dist. Compiles beside it first, so that a failed build leaves the last
// good one standing and nobody imports half of a new one.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tsc } from './tsc.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const fresh = join(root, `dist.${process.pid}`);

/** @param {string} folder */
const remove = (folder) => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });

process.on('exit', () => remove(fresh));
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh], {
  cwd: root,
  stdio: 'inherit',
});
if (status !== 0) process.exit(status ?? 1);

const bin = join(fresh, 'src', 'cli', 'main.js');
if (existsSync(bin)) chmodSync(bin, 0o755);
remove(dist);
renameSync(fresh, dist);
