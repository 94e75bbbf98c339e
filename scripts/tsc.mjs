import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The compiler's script, to be run with node: the shims in node_modules/.bin differ between systems. */
export const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
