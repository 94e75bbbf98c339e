import { readdir } from 'node:fs/promises';
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

/** Import name → promise of the module, made when it is first asked for. */
export async function ownModules(): Promise<Record<string, unknown>> {
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
  return modules;
}

async function moduleNames(folder: URL, extension: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(extension) && !name.endsWith('.d.ts'))
    .map((name) => name.slice(0, -extension.length));
}
