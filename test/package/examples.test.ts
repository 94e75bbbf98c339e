import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../architecture/import-graph.js';
import { countFiles, smallProject } from '../examples/sample-folder.js';
import '../support/process-limit.js';

const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/KEY|BASE_URL|JITI/.test(name)));
const npm = (args: readonly string[]) =>
  spawnSync('npm', args, { cwd: root, env, encoding: 'utf8', shell: process.platform === 'win32' });

test.each(readdirSync(join(root, 'examples')).filter((name) => /^0[1-8].*\.ts$/.test(name)))(
  '%s runs on the built package',
  (name) => {
    const { status, stderr } = npm(['exec', '--', 'jiti', `examples/${name}`]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  },
);

test('npm run demo reports on the folder that it is given', () => {
  const folder = smallProject();
  const { status, stdout } = npm(['run', '--silent', 'demo', '--', folder.root]);
  const files = countFiles(folder.root);
  folder.remove();
  expect(status).toBe(0);
  expect(stdout).toContain(
    `${files.length} files with ${files.reduce((sum, file) => sum + file.lines, 0)} lines of text.`,
  );
});
