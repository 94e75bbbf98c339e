import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Subpaths of the package by folder: what the files there are called. */
const SUBPATHS: readonly { folder: string; subpath: string; file: (name: string) => string | undefined }[] = [
  { folder: 'machines', subpath: 'machines', file: (name) => /^(.+)\.machine$/.exec(name)?.[1] },
  { folder: 'compositions', subpath: 'compositions', file: (name) => /^(.+)\.machine$/.exec(name)?.[1] },
  { folder: 'src/models', subpath: 'models', file: (name) => name },
  { folder: 'src/stores', subpath: 'stores', file: (name) => name },
  { folder: 'src/tools', subpath: 'tools', file: (name) => name },
  { folder: 'src/telemetry', subpath: 'telemetry', file: (name) => name },
  { folder: 'src/surfaces', subpath: 'surfaces', file: (name) => name },
];

/** Large packages of others, whose objects the host is given: read as they are, which takes a twentieth of the time. */
const AS_THEY_ARE = ['@google/adk', '@google/genai'];

/** Import name, as in the code file `path`, → promise of the module, made when it is first asked for. */
export async function ownModules(path: string): Promise<Record<string, unknown>> {
  const extension = extname(fileURLToPath(import.meta.url));
  const root = new URL('../../../', import.meta.url);
  const modules: Record<string, unknown> = {};
  const add = (name: string, file: string) => {
    const url = new URL(`${file}${extension}`, root).href;
    Object.defineProperty(modules, name, { enumerable: true, get: () => import(url) });
  };
  add('troupe', 'src/index');
  add('troupe/contracts', 'src/contracts/index');
  add('troupe/testing', 'src/testing/index');
  for (const { folder, subpath, file } of SUBPATHS) {
    for (const name of await moduleNames(new URL(`${folder}/`, root), extension)) {
      const known = file(name);
      if (known !== undefined) add(`troupe/${subpath}/${known}`, `${folder}/${name}`);
    }
  }
  for (const entry of await readdir(new URL('src/executors/', root), { withFileTypes: true }).catch(() => [])) {
    if (entry.isDirectory()) add(`troupe/executors/${entry.name}`, `src/executors/${entry.name}/index`);
  }
  for (const name of AS_THEY_ARE) {
    if (isSameCopy(name, path)) Object.defineProperty(modules, name, { enumerable: true, get: () => import(name) });
  }
  return modules;
}

/** The file would import what this package imports. */
function isSameCopy(name: string, path: string): boolean {
  try {
    const manifest = `${name}/package.json`;
    return createRequire(path).resolve(manifest) === createRequire(import.meta.url).resolve(manifest);
  } catch {
    return false;
  }
}

async function moduleNames(folder: URL, extension: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(extension) && !name.endsWith('.d.ts'))
    .map((name) => name.slice(0, -extension.length));
}
