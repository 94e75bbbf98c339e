import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readImportGraph, root } from './import-graph.js';

const folder = mkdtempSync(join(root, 'dist.graph-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every way to name another file is seen, and told apart', () => {
  writeFileSync(
    join(folder, 'all.ts'),
    `// import './comment.js'
import './value-bare.js';
import { a } from './value-named.js';
import { type B } from './value-emptied.js';
import type { C } from './type-import.js';
export { d } from './value-export.js';
export * from './value-star.js';
export type { E } from './type-export.js';
declare module './type-augmented.js' { interface X { a: string } }
export type F = import('./type-inline.js').F | typeof import('pkg-type');
export const g = async (name: string) => [a, await import('./dynamic.js'), await import(name)];
export const text = "import('./string.js')";
export type H = B | C;
`,
  );
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { module: 'nodenext', types: [] }, files: ['all.ts'] }),
  );
  const graph = readImportGraph(join(folder, 'tsconfig.json'));
  expect([...graph.values()].flat().map(({ target, kind, line }) => [line, target.split('/').at(-1), kind])).toEqual([
    [2, 'value-bare.js', 'value'],
    [3, 'value-named.js', 'value'],
    [4, 'value-emptied.js', 'value'],
    [5, 'type-import.js', 'type'],
    [6, 'value-export.js', 'value'],
    [7, 'value-star.js', 'value'],
    [8, 'type-export.js', 'type'],
    [9, 'type-augmented.js', 'type'],
    [10, 'type-inline.js', 'type'],
    [10, 'pkg-type', 'type'],
    [11, 'dynamic.js', 'dynamic'],
  ]);
});

test('imports of our own files carry the name of the source, not of what it compiles to', () => {
  const graph = readImportGraph();
  expect(graph.get('src/host/types.ts')).toContainEqual(
    expect.objectContaining({ target: 'src/contracts/index.ts', kind: 'type' }),
  );
});
