// Compiles src, machines and compositions to dist, and puts Studio's page beside its server. Compiles beside it first, so
// that a failed build leaves the last good one standing and nobody imports half of a new one.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { breakLines } from './break-lines.mjs';
import { buildPage } from './build-page.mjs';
import { bundleCore } from './bundle-core.mjs';
import { bundleRest } from './bundle-rest.mjs';
import { isPublic, pruneDist } from './prune-dist.mjs';
import { tsc } from './tsc.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const fresh = join(root, `dist.${process.pid}`);

/** @param {string} folder */
const remove = (folder) => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });

process.on('exit', () => remove(fresh));
/** The code without its comments, which stay in the types. */
for (const what of [['--declaration', 'false', '--removeComments'], ['--emitDeclarationOnly']]) {
  const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh, ...what], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

const bin = join(fresh, 'src', 'cli', 'main.js');
if (existsSync(bin)) chmodSync(bin, 0o755);
// The layout engine is one file of a large package: it comes along, packed, so that nobody installs the rest.
const engine = join('src', 'drawing', 'elk.js');
const bundled = 'elk.bundled.cjs';
const packed = `${bundled}.br`;
const whole = readFileSync(join(root, 'node_modules', 'elkjs', 'lib', 'elk.bundled.js'));
writeFileSync(join(fresh, 'src', 'drawing', packed), brotliCompressSync(whole));
writeFileSync(
  join(fresh, 'src', 'drawing', bundled),
  `const { readFileSync } = require('node:fs');
const { compileFunction } = require('node:vm');
const { brotliDecompressSync } = require('node:zlib');
const code = brotliDecompressSync(readFileSync(\`\${__dirname}/${packed}\`)).toString();
compileFunction(code, ['module', 'exports', 'require'], { filename: __filename })(module, module.exports, require);
`,
);
copyFileSync(join(root, 'node_modules', 'elkjs', 'LICENSE.md'), join(fresh, 'src', 'drawing', 'elk.LICENSE.md'));
const code = readFileSync(join(fresh, engine), 'utf8');
const ours = code.replace(/import\(['"]elkjs\/lib\/elk\.bundled\.js['"]\)/, `import('./${bundled}')`);
if (ours === code) throw new Error(`${engine} does not import the layout engine where it is looked for`);
writeFileSync(join(fresh, engine), ours);

await bundleCore(fresh);
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
pruneDist(fresh, manifest);
await bundleRest(fresh, isPublic(manifest));
breakLines(fresh);
await buildPage(join(fresh, 'src', 'studio', 'web'));

remove(dist);
renameSync(fresh, dist);
