// Puts what is left beside the core into few files: one for each that users import, that is loaded late, or that finds
// others by its own place, and those that they share. A disk holds a small file in no less than four kilobytes.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { rolldown } from 'rolldown';

/** Without white space; names stay, so that a stack can be read. */
export const PLAIN = { compress: false, mangle: false, codegen: { removeWhitespace: true } };

const OF_THE_CORE =
  /^(?:import ?\{[^}]*\} ?from ?"[./]*core\.js"; ?)?export ?\{[^}]*\}(?: ?from ?"[./]*core\.js")?;?\s*$/;
const LOADED_LATE = /\bimport\(\s*['"`](\.{1,2}\/[^'"`\n]+?\.js)['"`]/g;

/**
 * Rewrites in place the compiled modules below `folder` other than the core's one file.
 * @param {string} folder
 * @param {(file: string) => boolean} isPublic whether users import it; a path below `folder`
 */
export async function bundleRest(folder, isPublic) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.js') && file !== 'core.js' && !file.includes('/web/'));
  const kept = new Set(files.filter(isPublic));
  /** They stay as they are: they only hand on what the core has, or find others by their own place. */
  const fixed = new Set();
  for (const file of [...files, 'core.js']) {
    const code = readFileSync(join(folder, file), 'utf8');
    const isFixed = isPublic(file) ? OF_THE_CORE.test(code) : /import\.meta\.url|\.cjs'/.test(code);
    if (isFixed && file !== 'core.js') fixed.add(file);
    for (const [, path] of code.matchAll(LOADED_LATE)) {
      kept.add(posix.join(dirname(file), /** @type {string} */ (path)));
    }
  }
  const bundle = await rolldown({
    input: Object.fromEntries(
      [...kept].filter((file) => !fixed.has(file)).map((file) => [file.slice(0, -'.js'.length), join(folder, file)]),
    ),
    external: /^[^./]/,
    plugins: [
      {
        name: 'beside',
        resolveId(id, importer) {
          if (!id.startsWith('.') || importer === undefined) return null;
          const path = join(dirname(importer), id);
          const file = relative(folder, path).replaceAll('\\', '/');
          const isBeside = file === 'core.js' || file.endsWith('.cjs') || fixed.has(file);
          return isBeside ? { id: `beside:${file}`, external: true } : null;
        },
      },
    ],
    platform: 'node',
    treeshake: false,
    logLevel: 'warn',
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name]-[hash].js',
    minify: PLAIN,
  });
  await bundle.close();
  for (const chunk of output) {
    if (chunk.type !== 'chunk') continue;
    const from = dirname(chunk.fileName);
    const code = chunk.code.replace(/(["'`])beside:([^"'`]+)\1/g, (_, quote, file) => {
      const path = posix.relative(from, file);
      return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
    });
    writeFileSync(join(folder, chunk.fileName), code);
  }
  const written = new Set(output.map(({ fileName }) => fileName));
  for (const file of files) if (!written.has(file) && !fixed.has(file)) rmSync(join(folder, file));
}
