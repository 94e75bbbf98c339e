// How much an installation of a package takes: the package and what it needs, read from a lock file and its folder.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Packages that `names` need at run time, as paths of the lock (`node_modules/a/node_modules/b`), themselves included.
 * Follows dependencies, optional dependencies that were installed, and peers that are not optional.
 */
function closure(lock, names) {
  const found = new Set();
  const visit = (name, from) => {
    const path = resolve(lock, name, from);
    if (path === undefined || found.has(path)) return;
    found.add(path);
    for (const needed of needs(lock.packages[path])) visit(needed, path);
  };
  for (const name of names) visit(name, '');
  return [...found];
}

function needs({ dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} }) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers];
}

/** The nearest `node_modules/<name>` as Node finds it from the package at `from`; undefined when it is not installed. */
function resolve(lock, name, from) {
  const segments = from === '' ? [] : from.split('/node_modules/');
  for (let depth = segments.length; depth >= 0; depth--) {
    const at = segments.slice(0, depth).join('/node_modules/');
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (lock.packages[path] !== undefined) return path;
  }
  return undefined;
}

/** Bytes on disk of a folder without the packages nested in it; 0 when it is not there. */
function bytesOf(folder) {
  let bytes = 0;
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return 0;
  }
  for (const entry of entries) {
    if (entry.name === 'node_modules') continue;
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? bytesOf(path) : lstatSync(path).blocks * 512;
  }
  return bytes;
}

const lockIn = (root) => JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

const sum = (root, paths, own = 0) => ({
  megabytes: (own + paths.reduce((bytes, path) => bytes + bytesOf(join(root, path)), 0)) / 1e6,
  packages: paths.length,
});

/** A package that is installed in `root`. */
export function installed(root, name) {
  return sum(root, closure(lockIn(root), [name]));
}

/** The package whose source `root` is: what it publishes and its production dependencies. */
export function installedFromSource(root) {
  const lock = lockIn(root);
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const paths = closure(lock, Object.keys(lock.packages[''].dependencies ?? {}));
  const published = own.files.reduce((bytes, entry) => bytes + bytesOf(join(root, entry)), 0);
  const { megabytes, packages } = sum(root, paths, published);
  return { megabytes, packages: packages + 1 };
}
