// Puts everything that `import 'troupe'` needs into one file: to find and read some three hundred would take longer than
// to run them. Every module keeps its own path beside it, handing on what the one file holds, so that all that users
// import, and what is loaded late, stays where it was and is the same code.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { PLAIN } from './bundle-rest.mjs';

const STATIC_IMPORT = /^(?:import|export)\b[^'"]*?from\s*['"](\.[^'"]+)['"]|^import\s*['"](\.[^'"]+)['"]/gm;

/**
 * Rewrites in place those compiled modules below `folder` that are loaded with `src/index.js`.
 * @param {string} folder as the compiler left it: `src`, `machines`, `compositions`
 */
export async function bundleCore(folder) {
  const core = reachableFrom(join(folder, 'src', 'index.js'));
  const bundle = await rolldown({
    input: Object.fromEntries([...core].map((file) => [relative(folder, file).slice(0, -'.js'.length), file])),
    // What is loaded late stays a file of its own, under its own name.
    external: (id, importer) => !core.has(isAbsolute(id) ? id : join(dirname(importer ?? ''), id)),
    makeAbsoluteExternalsRelative: true,
    platform: 'node',
    treeshake: { moduleSideEffects: false },
    logLevel: 'warn',
  });
  try {
    await bundle.write({
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name].js',
      minify: PLAIN,
      codeSplitting: { groups: [{ name: 'core' }] },
    });
  } finally {
    await bundle.close();
  }
}

/**
 * What is loaded with a module, itself included; what it loads later is not.
 * @param {string} start
 */
function reachableFrom(start) {
  const found = new Set([start]);
  for (const file of found) {
    for (const [, from, bare] of readFileSync(file, 'utf8').matchAll(STATIC_IMPORT)) {
      const target = join(dirname(file), /** @type {string} */ (from ?? bare));
      if (existsSync(target)) found.add(target);
    }
  }
  return found;
}
