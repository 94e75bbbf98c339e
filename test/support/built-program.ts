import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'vite';
import { root } from '../architecture/import-graph.js';

/** A TypeScript file of the tests as a program that starts at once. `remove` takes it away again. */
export async function buildProgram(file: string) {
  const outDir = join(root, 'node_modules', '.cache', `${basename(file, '.ts')}-${process.pid}`);
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: { ssr: join(root, file), outDir, emptyOutDir: true, minify: false, target: 'node20' },
  });
  const program = join(outDir, basename(file).replace(/\.ts$/, '.js'));
  return {
    /** Resolves with what it said on stderr, and with what ended it: an exit code, or a signal. */
    run(args: readonly string[]): Promise<{ err: string; ended: number | string | null }> {
      const child = spawn(process.execPath, [program, ...args], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
      let err = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        err += text;
      });
      return new Promise((resolve) => child.on('close', (code, signal) => resolve({ err, ended: signal ?? code })));
    },
    remove: () => rm(outDir, { recursive: true, force: true }),
  };
}
