import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { initCommand } from '../../src/cli/init.js';
import { analyseTeam } from '../../src/define/analyse.js';
import { loadAgentFile } from '../../src/define/files/load.js';
import { fakeIo } from './fake-io.js';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'troupe-init-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

test('a new project has no problems, and says what to do next', async () => {
  const io = fakeIo({ cwd });
  expect(await initCommand('demo', io)).toBe(0);
  expect(io.stdout.text).toContain('  cd demo\n  npx troupe run team.yaml "What is this project?"\n');
  const { definition, script, notices } = await loadAgentFile(join(cwd, 'demo', 'team.yaml'));
  const hostTools = ['read_file', 'list_directory', 'glob', 'search_text'];
  expect(analyseTeam(definition, { hostTools })).toMatchObject({ problems: [], worstCase: { modelCalls: 20 } });
  expect(script).toBe(join(cwd, 'demo', 'demo.script.yaml'));
  expect(notices).toEqual([]);
  const readme = await readFile(join(cwd, 'demo', 'README.md'), 'utf8');
  expect(readme).toContain('npx troupe run team.yaml "What is this project?"');
});

test('in the current folder there is nowhere to go', async () => {
  const io = fakeIo({ cwd });
  await initCommand('.', io);
  expect(io.stdout.text).toContain('Made a team in this folder:');
  expect(io.stdout.text).not.toContain('cd ');
});

test('what is there already is not overwritten, and nothing else is written', async () => {
  await mkdir(join(cwd, 'demo'));
  await writeFile(join(cwd, 'demo', 'team.yaml'), 'mine');
  await expect(initCommand('demo', fakeIo({ cwd }))).rejects.toThrow(
    'nothing was written, as there is already demo/team.yaml',
  );
  expect(await readdir(join(cwd, 'demo'))).toEqual(['team.yaml']);
  expect(await readFile(join(cwd, 'demo', 'team.yaml'), 'utf8')).toBe('mine');
});
