import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface SampleFolder {
  readonly root: string;
  write(path: string, text: string | Uint8Array): void;
  remove(): void;
}

export function sampleFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): SampleFolder {
  const root = mkdtempSync(join(tmpdir(), 'troupe-demo-'));
  const folder: SampleFolder = {
    root,
    write(path, text) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
  for (const [path, text] of Object.entries(files)) folder.write(path, text);
  return folder;
}

/**
 * Forty-odd files of several kinds: a hub that all import, one large file, markers, a box, names with spaces. The markers
 * are put together here, so that this file holds none.
 */
export function smallProject(): SampleFolder {
  const folder = sampleFolder({
    'src/hub.ts': 'export const hub = 1;\n',
    'src/large.ts': [
      "import { hub } from './hub.js';",
      "import { part3 } from './parts/part-3.js';",
      'import {\n  part4,\n} from "./parts/part-4.js";',
      ...Array.from({ length: 117 }, (_, at) => `export const large${at} = [hub, part3, part4];`),
      `// ${'TODO'}: split this file`,
    ].join('\n'),
    'src/naïve name.ts': `export * from './hub.js';\n/* ${'FIXME'}(kim): says too little */\n`,
    'docs/plan.md': '# Plan\n\n- [x] begin\n- [ ] ship it\n\nNothing here is a TODO for anybody.\n',
    'scripts/old.cjs': "const path = require('node:path');\nmodule.exports = path;\n",
    'image.png': new Uint8Array([137, 80, 78, 71, 0, 1, 2]),
    LICENSE: 'Do what you like.\n',
  });
  for (let at = 0; at < 36; at++) {
    folder.write(
      `src/parts/part-${at}.ts`,
      `import { hub } from '../hub.js';\nexport const part${at} = hub + ${at};\n`,
    );
  }
  return folder;
}

export interface CountedFile {
  /** From the root, parts joined by `/`. */
  readonly path: string;
  readonly text: string;
  /** 0 for a binary file. */
  readonly lines: number;
}

/** All files of a folder, read by other means than the demo's. */
export function countFiles(root: string): CountedFile[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(root, path)).isFile())
    .map((path) => {
      const bytes = readFileSync(join(root, path));
      const text = bytes.toString('utf8');
      const lines = bytes.includes(0) || text === '' ? 0 : text.replace(/\n$/, '').split('\n').length;
      return { path: path.replaceAll('\\', '/'), text, lines };
    });
}
