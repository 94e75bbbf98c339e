import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readImportGraph, root } from '../../architecture/import-graph.js';

test('what is loaded with the host reaches nothing of ADK', () => {
  const graph = readImportGraph();
  const seen = new Set<string>(['src/index.ts']);
  for (const file of seen) {
    for (const { target, kind } of graph.get(file) ?? []) if (kind === 'value') seen.add(target);
  }
  expect(seen).toContain('src/executors/adk/executor.ts');
  expect([...seen].filter((one) => one.startsWith('@google/') || one === 'src/executors/adk/index.ts')).toEqual([]);
});

test('ADK and what it brings along share one copy of the Gemini client', () => {
  const copies = ['', '@google/adk/node_modules/', '@google-cloud/vertexai/node_modules/'];
  const found = copies.filter((place) => existsSync(join(root, 'node_modules', place, '@google/genai/package.json')));
  expect(found).toEqual(['']);
});
