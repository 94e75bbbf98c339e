// Takes out of the compiled package what nobody can reach: modules whose code is in the one file of the core, and the
// types of what no user imports. Several hundred small files take more room on a disk than all that is in them.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** @typedef {{ exports: Record<string, string | { types: string, default: string }>, bin: Record<string, string> }} Manifest */

/** Every relative path of a module that a file names, however it loads it. */
const NAMED = /['"`](\.{1,2}\/[^'"`\n]+?)\.js['"`]/g;

/**
 * @param {string} folder what the compiler made: `src`, `machines`, `compositions`
 * @param {Manifest} manifest
 */
export function pruneDist(folder, manifest) {
  const isEntry = isPublic(manifest);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'));
  const reached = new Set(files.filter(isEntry));
  for (const file of reached) {
    const extension = file.endsWith('.d.ts') ? '.d.ts' : '.js';
    for (const [, path] of readFileSync(join(folder, file), 'utf8').matchAll(NAMED)) {
      const target = join(dirname(file), `${path}${extension}`).replaceAll('\\', '/');
      if (existsSync(join(folder, target))) reached.add(target);
    }
  }
  for (const file of files) {
    if (/\.(js|d\.ts)$/.test(file) && !reached.has(file)) rmSync(join(folder, file));
  }
}

/**
 * Whether a path below `dist` is one that users import or run.
 * @param {Manifest} manifest
 * @returns {(file: string) => boolean}
 */
export function isPublic({ exports, bin }) {
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry.types, entry.default],
  );
  const patterns = [...entries, ...Object.values(bin)].map(
    (path) =>
      new RegExp(
        `^${path
          .replace(/^(\.\/)?dist\//, '')
          .replaceAll('.', '\\.')
          .replace('*', '[^/]+')}$`,
      ),
  );
  return (file) => patterns.some((pattern) => pattern.test(file));
}
