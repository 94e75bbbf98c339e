// What `npm run bench` starts: installs bench's own packages when they are not what the lock says, then runs.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/** True when every package of the lock is installed in the version that it names; optional ones may be absent. */
function isInstalled() {
  const record = join(here, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return false;
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages;
  const { packages } = JSON.parse(readFileSync(join(here, 'package-lock.json'), 'utf8'));
  return Object.entries(packages).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
}

if (!isInstalled()) {
  console.log('Installing what the benchmark compares with …');
  const { status } = spawnSync('npm', ['ci', '--prefix', here, '--no-audit', '--no-fund', '--loglevel', 'error'], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
}

const { status } = spawnSync(process.execPath, [join(here, 'run.mjs'), ...process.argv.slice(2)], { stdio: 'inherit' });
process.exit(status ?? 1);
