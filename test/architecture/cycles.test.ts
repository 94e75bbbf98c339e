import { expect, test } from 'vitest';
import { runtimeCycles } from './cycles.js';
import { type Import, readSources } from './import-graph.js';

test('no source file needs itself at run time', () => {
  expect(runtimeCycles(readSources())).toEqual([]);
});

test('a cycle is told once, as the shortest way round', () => {
  const graph = graphOf({
    'a.ts': ['b.ts'],
    'b.ts': ['c.ts', 'd.ts'],
    'c.ts': ['a.ts'],
    'd.ts': ['c.ts'],
    'e.ts': ['a.ts'],
  });
  expect(runtimeCycles(graph)).toEqual(['a.ts → b.ts → c.ts → a.ts', 'd.ts → c.ts → a.ts → b.ts → d.ts']);
});

test('a file that imports itself is a cycle', () => {
  expect(runtimeCycles(graphOf({ 'a.ts': ['a.ts'] }))).toEqual(['a.ts → a.ts']);
});

test('a way round that is closed by a lazy import is a cycle, one closed by a type is none', () => {
  const back = (kind: Import['kind']) =>
    new Map<string, Import[]>([
      ['a.ts', [{ target: 'b.ts', kind: 'value', line: 1 }]],
      ['b.ts', [{ target: 'a.ts', kind, line: 1 }]],
    ]);
  expect(runtimeCycles(back('dynamic'))).toEqual(['a.ts → b.ts → a.ts']);
  expect(runtimeCycles(back('type'))).toEqual([]);
});

function graphOf(imports: Record<string, string[]>) {
  return new Map(
    Object.entries(imports).map(([file, targets]) => [
      file,
      targets.map((target): Import => ({ target, kind: 'value', line: 1 })),
    ]),
  );
}
