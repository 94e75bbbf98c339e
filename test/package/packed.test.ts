import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { entryPoints } from '../../scripts/entry-points.mjs';
import { tsc } from '../../scripts/tsc.mjs';
import { bytesBelow, createPackedProject, type PackedProject, productionPackages, root } from './packed-project.js';
import '../support/process-limit.js';

let project: PackedProject;
beforeAll(() => {
  project = createPackedProject();
});
afterAll(() => project?.remove());

test('the tarball holds what is built, the licence and the notice, and nothing else', () => {
  expect(readdirSync(project.installed).sort()).toEqual(['LICENSE', 'NOTICE', 'README.md', 'dist', 'package.json']);
});

test('publint finds nothing', async () => {
  const { messages, pkg } = await publint({ pkgDir: project.installed, strict: true, pack: false });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

test('every entry point can be imported by plain node', () => {
  const specifiers = entryPoints(project.installed).map((entry) => entry.specifier);
  expect(specifiers).toEqual(expect.arrayContaining(['troupe', 'troupe/contracts', 'troupe/testing']));
  const failures = project.run(`
    const failures = [];
    for (const name of ${JSON.stringify(specifiers)}) {
      await import(name).catch((error) => failures.push(name + ': ' + error.message));
    }
    console.log(JSON.stringify(failures));
  `);
  expect(JSON.parse(failures)).toEqual([]);
});

test('the types of every entry point hold in a strict project of a user', () => {
  const specifiers = entryPoints(project.installed).map((entry) => entry.specifier);
  writeFileSync(
    join(project.folder, 'all.mts'),
    specifiers.map((name, index) => `export * as e${index} from '${name}';\n`).join(''),
  );
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
  };
  writeFileSync(join(project.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['all.mts'] }));
  expect(
    problemsOf(() => execFileSync(process.execPath, [tsc, '-p', '.'], { cwd: project.folder, stdio: 'pipe' })),
  ).toBe('');
});

test('the types hold for whoever names no library of types, `await using` included', () => {
  writeFileSync(
    join(project.folder, 'plain.mts'),
    "import { createHost } from 'troupe';\nawait using host = createHost();\nexport const { close } = host;\n",
  );
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', 'plain.mts', '--ignoreConfig'];
  expect(
    problemsOf(() => execFileSync(process.execPath, [tsc, ...options], { cwd: project.folder, stdio: 'pipe' })),
  ).toBe('');
});

test('importing changes nothing: no output, no new globals, nothing left running', () => {
  const added = project.run(`
    const before = new Set(Reflect.ownKeys(globalThis));
    await import('troupe');
    const added = Reflect.ownKeys(globalThis).filter((key) => !before.has(key)).map(String);
    process.once('exit', () => console.log(JSON.stringify(added)));
  `);
  expect(JSON.parse(added)).toEqual([]);
});

test('what a user installs is at most 30 packages and 15 MB', () => {
  const packages = productionPackages();
  const bytes = [project.installed, ...packages.map((each) => each.folder)].map(bytesBelow);
  expect(packages.length + 1).toBeLessThanOrEqual(30);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(15 * 1024 * 1024);
});

test('the command answers --help', () => {
  const { bin } = JSON.parse(readFileSync(join(project.installed, 'package.json'), 'utf8'));
  const command = join(project.installed, bin.troupe);
  const help = execFileSync(process.execPath, [command, '--help'], { cwd: project.folder, encoding: 'utf8' });
  expect(help).toContain('Usage: troupe');
});

test('the command draws a team as a picture, with the layout engine that comes along', () => {
  const { bin } = JSON.parse(readFileSync(join(project.installed, 'package.json'), 'utf8'));
  const command = join(project.installed, bin.troupe);
  const team =
    '{"name":"duo","pattern":"sequential","children":[{"name":"a","description":"A."},{"name":"b","description":"B."}]}';
  writeFileSync(join(project.folder, 'duo.team.json'), team);
  const draw = ['graph', 'duo.team.json', '--format', 'svg'];
  const svg = execFileSync(process.execPath, [command, ...draw], { cwd: project.folder, encoding: 'utf8' });
  expect(svg).toMatch(/^<svg [\s\S]*data-ref="duo"[\s\S]*<\/svg>\n$/);
  expect(readFileSync(join(project.installed, 'NOTICE'), 'utf8')).toContain('Eclipse Public License 2.0');
});

describe('in a project without the heavy packages', () => {
  let bare: PackedProject;
  beforeAll(() => {
    bare = createPackedProject(['xstate', 'p-queue']);
  });
  afterAll(() => bare?.remove());

  test.each(['ajv', 'yaml', 'jiti', 'zod', 'openai', '@google/genai', '@google/adk'])('%s is not there', (name) => {
    expect(() => bare.run(`await import('${name}')`)).toThrow('ERR_MODULE_NOT_FOUND');
  });

  test.each(['troupe', 'troupe/contracts', 'troupe/testing', 'troupe/executors/adk'])('%s can be imported', (name) => {
    expect(() => bare.run(`await import('${name}')`)).not.toThrow();
  });

  test('what needs ADK says how to install it', () => {
    const said = bare.run(`
      import { agent, createHost } from 'troupe';
      import { HostModel, toAdkTool } from 'troupe/executors/adk';
      const says = async (act) => { try { await act(); return 'nothing'; } catch (error) { return error.code + ' ' + error.message; } };
      const lines = [await says(() => new HostModel({})), await says(() => toAdkTool({}, {}))];
      const host = createHost({});
      const backend = { agent: async () => new (await import('@google/adk')).LlmAgent({ name: 'a' }) };
      lines.push(await says(() => host.run(agent({ name: 'a', executor: 'adk', backend }), 'go').result));
      console.log(JSON.stringify(lines));
    `);
    const wanted = expect.stringMatching(/^MISSING_PACKAGE .*npm i @google\/adk/);
    expect(JSON.parse(said)).toEqual([wanted, wanted, wanted]);
  });
});

/** What a command printed when it failed, or nothing. */
function problemsOf(run: () => void): string {
  try {
    run();
    return '';
  } catch (error) {
    return String((error as { stdout?: Buffer }).stdout ?? error);
  }
}
