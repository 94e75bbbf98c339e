// What the `exports` of package.json let a user import, as the files that a build made.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * One name that a user may import. `types` and `code` are paths from the package's folder.
 * @typedef {{ specifier: string, types: string, code: string }} EntryPoint
 */

/**
 * The entry points that exist below `folder`, in the order of `exports`, wildcards spelled out by name. A wildcard stands
 * for one name: deeper files can be reached through it but are no promise.
 * @param {string} folder holds package.json
 * @param {string} [built] holds what the targets name, if that is not `folder`
 * @returns {EntryPoint[]}
 */
export function entryPoints(folder, built = folder) {
  /** @type {{ name: string, exports: Record<string, string | { types: string, default: string }> }} */
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === 'string') return [];
    return namesFor(target.types, built).flatMap((each) => {
      const types = target.types.replace('*', each).slice(2);
      const code = target.default.replace('*', each).slice(2);
      const specifier = path.replace('*', each).replace('.', name);
      return existsSync(join(built, types)) ? [{ specifier, types, code }] : [];
    });
  });
}

/**
 * @param {string} pattern a target such as `./dist/machines/*.machine.d.ts`
 * @param {string} folder
 */
function namesFor(pattern, folder) {
  const star = pattern.indexOf('*');
  if (star < 0) return [''];
  const within = join(folder, pattern.slice(0, star));
  const after = pattern.slice(star + 1);
  if (!existsSync(within)) return [];
  const names = readdirSync(within, { withFileTypes: true });
  return names
    .filter((entry) => (after.startsWith('/') ? entry.isDirectory() : entry.isFile() && entry.name.endsWith(after)))
    .map((entry) => (after.startsWith('/') ? entry.name : entry.name.slice(0, -after.length)))
    .sort();
}
