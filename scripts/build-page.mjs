// Bundles Studio's page to three files of fixed names: index.html, assets/app.js, assets/app.css.
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { build } from 'vite';

const page = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src', 'studio', 'web');

/**
 * Rejects when the page cannot be bundled. The same sources give the same bytes.
 * @param {string} folder
 */
export async function buildPage(folder) {
  await build({
    root: page,
    configFile: false,
    envDir: false,
    logLevel: 'warn',
    plugins: [react()],
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'es2023',
      modulePreload: false,
      assetsInlineLimit: 0,
      cssCodeSplit: false,
      rolldownOptions: {
        input: join(page, 'main.tsx'),
        output: {
          codeSplitting: false,
          entryFileNames: 'assets/app.js',
          assetFileNames: 'assets/app[extname]',
        },
      },
    },
  });
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(page, 'index.html'), join(folder, 'index.html'));
}
