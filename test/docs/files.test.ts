import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadAgentFile } from '../../src/define/files/load.js';
import { loadScriptFile } from '../../src/define/files/script.js';
import { readSkill } from '../../src/define/skills/read-skill.js';
import { createHost } from '../../src/index.js';
import { TroupeError } from '../../src/kernel/errors.js';
import { scriptedModel } from '../../src/testing/index.js';
import { workspaceTools } from '../../src/tools/workspace.js';
import { root } from '../architecture/import-graph.js';
import { runFile } from '../examples/jiti-process.js';
import { collect } from '../support/team.js';
import { blocksOf, documents, textOf } from './blocks.js';
import '../support/process-limit.js';

const named = (mark: string) =>
  documents.flatMap(blocksOf).flatMap((block) => {
    const found = block.marks.find((one) => one.startsWith(`${mark}=`));
    return found === undefined ? [] : [{ ...block, name: found.slice(mark.length + 1) }];
  });
const files = named('file');

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-docs-files-'));
  for (const { name, code } of [...files, ...named('bad')]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), code);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const load = (name: string) => {
  const hostTools = workspaceTools({ root }).map((tool) => tool.name);
  return loadAgentFile(relative('', join(folder, name)), { hostTools });
};

test.each(files.filter(({ name }) => /\.(agent\.md|team\.yaml)$/.test(name)).map(({ name }) => name))(
  'the file %s of the guide loads, and a host takes it',
  async (name) => {
    const { definition, notices } = await load(name);
    expect(notices).toEqual([]);
    await using host = createHost({ models: { scripted: scriptedModel([]) }, tools: workspaceTools({ root }) });
    expect(host.describe(definition).name).toBe(name.split('.')[0]);
  },
);

test('the skill of the guide is one', async () => {
  const [skill] = files.filter(({ name }) => name.endsWith('SKILL.md'));
  const reading = await readSkill(dirname(join(folder, skill?.name ?? '')));
  expect(reading).toMatchObject({ skill: { name: 'release-notes', license: 'Apache-2.0' } });
});

test('the team of the guide runs on its script', async () => {
  const { definition, script } = await load('report.team.yaml');
  const model = scriptedModel(await loadScriptFile(script ?? ''));
  await using host = createHost({ models: { scripted: model }, tools: workspaceTools({ root: folder }) });
  const run = host.run(definition, 'Write a report.');
  await collect(run);
  expect((await run.result).result).toEqual({ title: 'Licence', text: 'It is Apache-2.0.' });
  expect(model.requests.at(-1)?.systemInstruction).toContain('The licence is Apache-2.0.');
  model.assertConsumed();
});

test('what the guide says of a file with faults is what is said', async () => {
  const [bad] = named('bad');
  const blocks = blocksOf('docs/agent-files.md');
  const said = blocks[blocks.findIndex((block) => block.line === bad?.line) + 1];
  const thrown: unknown = await load(bad?.name ?? '').catch((error: unknown) => error);
  const problems = thrown instanceof TroupeError ? thrown.problems : [];
  const shown = problems.map(({ path, message }) => `${path?.slice(path.lastIndexOf('/') + 1)}: ${message}\n`);
  expect(shown.join('')).toBe(said?.code);
});

test('every link leads to a file, and to a heading that is there', () => {
  const anchorsOf = (file: string) =>
    [...textOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^a-z0-9 _-]/g, '')
        .replaceAll(' ', '-'),
    );
  const broken: string[] = [];
  for (const file of documents) {
    for (const [, target = ''] of textOf(file).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const linked = path === '' ? file : join(dirname(file), path);
      if (!existsSync(join(root, linked))) broken.push(`${file}: ${target}`);
      else if (anchor !== undefined && !anchorsOf(linked).includes(anchor)) broken.push(`${file}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

test('every guide is named in the README', () => {
  const guides = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  expect(guides.filter((name) => !textOf('README.md').includes(`](docs/${name})`))).toEqual([]);
});

test('the architecture names files that are there', () => {
  const text = textOf('ARCHITECTURE.md');
  const paths = [...text.matchAll(/(?:src|machines|compositions)\/[\w/.-]*\w\.ts\b/g)].map(([path]) => path);
  expect(paths.length).toBeGreaterThan(12);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the picture in the README is what `troupe graph` draws', async () => {
  const drawn = blocksOf('README.md').find((block) => block.language === 'mermaid');
  const { code, out } = await runFile('src/cli/main.ts', ['graph', 'examples/demo/team.ts']);
  expect(code).toBe(0);
  expect(out).toBe(drawn?.code);
});

test('the guide to the command line names every command and every option, and no others', async () => {
  const text = textOf('docs/cli.md');
  const { out } = await runFile('src/cli/main.ts', ['--help']);
  const commands = [...out.matchAll(/^ {2}([a-z]+) (?:\[|<)/gm)]
    .map(([, name]) => name)
    .filter((name) => name !== 'help');
  expect([...text.matchAll(/^\| `([a-z]+)(?: [^`]*)?` +\|/gm)].map(([, name]) => name)).toEqual(commands);
  const known = new Set<string>();
  for (const command of commands) {
    const help = await runFile('src/cli/main.ts', [command ?? '', '--help']);
    for (const [option] of help.out.matchAll(/--[a-z-]+/g)) known.add(option);
  }
  const named = new Set([...text.matchAll(/--[a-z][a-z-]*/g)].map(([option]) => option));
  expect([...named].filter((option) => !known.has(option))).toEqual([]);
  expect([...known].filter((option) => !named.has(option))).toEqual([]);
});

test('the set-up commands in the README are scripts of the package', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(textOf('README.md')).toContain('```sh\nnpm ci && npm run demo\n```');
  expect(textOf('README.md')).toContain('```sh\nnpm ci && npm test\n```');
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['demo', 'test']));
});
