import { readdir } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentDefinition } from '../../contracts/index.js';

const CODE = ['.ts', '.mts', '.js', '.mjs'];

export const isCodePath = (path: string): boolean => CODE.includes(extname(path).toLowerCase());

/** Subpaths of the package by folder: what the files there are called. */
const SUBPATHS: readonly { folder: string; subpath: string; file: (name: string) => string | undefined }[] = [
  { folder: 'machines', subpath: 'machines', file: (name) => /^(.+)\.machine$/.exec(name)?.[1] },
  { folder: 'compositions', subpath: 'compositions', file: (name) => /^(.+)\.machine$/.exec(name)?.[1] },
  { folder: 'src/models', subpath: 'models', file: (name) => name },
  { folder: 'src/stores', subpath: 'stores', file: (name) => name },
  { folder: 'src/tools', subpath: 'tools', file: (name) => name },
  { folder: 'src/surfaces', subpath: 'surfaces', file: (name) => name },
];

/**
 * Runs a code file and gives its default export, or a sentence about what went wrong. In it `troupe` and `troupe/…` are
 * this very package, whether it runs from its sources or built, so that what it makes is ours. The file and what it
 * imports are read anew at each call; nothing is written to disk.
 */
export async function loadCode(path: string): Promise<{ definition: AgentDefinition } | { fault: string }> {
  try {
    const { createJiti } = await import('jiti');
    const absolute = resolve(path);
    const jiti = createJiti(absolute, {
      fsCache: false,
      moduleCache: false,
      // With it jiti would wrap the promises that stand for our modules.
      interopDefault: false,
      virtualModules: await ownModules(),
    });
    const module = await jiti.import<Record<string, unknown>>(absolute);
    const exported = module.default;
    if (isDefinition(exported)) return { definition: exported };
    const found = 'default' in module ? 'its default export is no agent' : 'it has no default export';
    return { fault: `${found}; write: export default agent({ … }) or a team` };
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    return { fault: `could not be run: ${said.split('\n')[0]}` };
  }
}

function isDefinition(value: unknown): value is AgentDefinition {
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== 'agent') return false;
  return 'descriptor' in value && typeof value.descriptor === 'object' && value.descriptor !== null;
}

/** Import name → promise of the module, made when it is first asked for. */
async function ownModules(): Promise<Record<string, unknown>> {
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
