import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { apiReport, reportFile } from '../../scripts/api-report.mjs';
import { readPublicSurface } from '../../scripts/public-surface.mjs';
import { root } from './packed-project.js';
import '../support/process-limit.js';

let surface: ReturnType<typeof readPublicSurface>;
// It starts the compiler, which has to share a busy machine.
beforeAll(() => {
  surface = readPublicSurface();
});

test('contracts emit no code', () => {
  const folder = join(root, 'dist', 'src', 'contracts');
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
  expect(files).toContain('index.js');
  const code = files.map((name) => [name, readFileSync(join(folder, name), 'utf8').trim()]);
  expect(code.filter(([, text]) => text !== 'export {};')).toEqual([]);
});

test('whoever imports the package loads one file of ours', () => {
  const imports = (path: string) =>
    [...readFileSync(join(root, 'dist', path), 'utf8').matchAll(/^(?:import|export)\b[^'"]*["'](\.[^"']+)["']/gm)].map(
      ([, from]) => from,
    );
  expect(imports('src/index.js')).toEqual(['../core.js']);
  expect(imports('core.js')).toEqual([]);
});

test('every statement begins a line: an error that nobody catches shows that line, not a whole file', () => {
  const dist = join(root, 'dist');
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.js') && !/[\\/]web[\\/]/.test(name),
  );
  const lines = files.flatMap((name) => readFileSync(join(dist, name), 'utf8').split('\n'));
  expect(lines.filter((line) => /\bthrow\b/.test(line) && line.length > 2_000)).toEqual([]);
  expect(lines.filter((line) => line.length > 20_000)).toEqual([]);
});

test('no any is written in what users see', () => {
  const found = surface.declarations.filter((each) => each.usesAny).map((each) => `${each.file}: ${each.name}`);
  expect(found).toEqual([]);
});

test('the committed report of the public surface is the present one: else run npm run api and review the change', () => {
  expect(apiReport(surface)).toBe(readFileSync(reportFile, 'utf8').replaceAll('\r\n', '\n'));
});

test('the package is small on a disk that gives each file four kilobytes at least', () => {
  const files = readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const blocks = files.map(({ parentPath, name }) => Math.ceil(statSync(join(parentPath, name)).size / 4096));
  expect(blocks.reduce((sum, count) => sum + count, 0) * 4096).toBeLessThan(3_600_000);
});
