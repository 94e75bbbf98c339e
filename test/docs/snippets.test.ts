import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { format } from 'node:util';
import { createJiti } from 'jiti';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { tsc } from '../../scripts/tsc.mjs';
import { root } from '../architecture/import-graph.js';
import { type Block, blocksOf, documents } from './blocks.js';
import '../support/process-limit.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-docs-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  vi.restoreAllMocks();
});

const blocks = documents.flatMap(blocksOf);
const code = blocks.filter((block) => block.language === 'ts');
const runnable = code.filter((block) => block.marks.includes('run'));
const place = ({ file, line }: Block) => `${file}:${line}`;

test('the documents hold programs', () => {
  expect(documents).toContain('docs/getting-started.md');
  expect(runnable.length).toBeGreaterThan(10);
});

test('every program in the documents type-checks', () => {
  const names = code.map((block) => `${place(block).replace(/[^a-zA-Z0-9]+/g, '-')}.mts`);
  code.forEach((block, at) => {
    writeFileSync(join(folder, names[at] ?? ''), block.code);
  });
  const source = (path: string) => [join(root, 'src', path)];
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2023', lib: ['ES2023', 'ESNext.Disposable'], strict: true, noEmit: true },
    ...{ skipLibCheck: true, types: ['node'], typeRoots: [join(root, 'node_modules', '@types')] },
    noUncheckedIndexedAccess: true,
    paths: {
      troupe: source('index.ts'),
      'troupe/contracts': source('contracts/index.ts'),
      'troupe/testing': source('testing/index.ts'),
      'troupe/executors/*': source('executors/*/index.ts'),
      'troupe/compositions/*': [join(root, 'compositions', '*.machine.ts')],
      xstate: [join(root, 'node_modules', 'xstate')],
      'troupe/*': source('*.ts'),
    },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: names }));
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
  const faults = stdout
    .split('\n')
    .filter((line) => names.some((name) => line.includes(name)))
    .map((line) => names.reduce((text, name, at) => text.replace(name, place(code[at] as Block)), line));
  expect(faults).toEqual([]);
});

test.each(runnable.map((block): [string, Block] => [place(block), block]))(
  '%s prints what is written below it',
  async (name, block) => {
    const following = blocks[blocks.indexOf(block) + 1];
    expect(following, `a text block behind ${name}`).toMatchObject({ file: block.file, language: 'text' });
    const file = join(folder, `${name.replace(/[^a-zA-Z0-9]+/g, '-')}-run.ts`);
    writeFileSync(file, block.code);
    let out = '';
    const add = (text: string) => {
      out += text;
      return true;
    };
    vi.spyOn(console, 'log').mockImplementation((...values) => void add(`${format(...values)}\n`));
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => add(String(text)));
    const jiti = createJiti(root, {
      fsCache: false,
      moduleCache: false,
      interopDefault: false,
      virtualModules: await modules(),
    });
    await jiti.import(file);
    expect(out).toBe(following?.code);
  },
);

/** What the programs import, from our sources: modules of theirs would know other classes. */
async function modules(): Promise<Record<string, unknown>> {
  const named = new Set(
    runnable.flatMap(({ code: text }) => [...text.matchAll(/from '(troupe\/[^']+)'/g)].map(([, name]) => name ?? '')),
  );
  const found: Record<string, unknown> = {
    troupe: await import('../../src/index.js'),
    xstate: await import('xstate'),
    zod: await import('zod'),
  };
  for (const name of named) {
    const path = name.slice('troupe/'.length);
    const isFolder = ['contracts', 'testing'].includes(path) || path.startsWith('executors/');
    const isMachine = path.startsWith('compositions/');
    const file = isMachine ? `${path}.machine.ts` : join('src', isFolder ? `${path}/index.ts` : `${path}.ts`);
    found[name] = await import(join(root, file));
  }
  return found;
}
