import { extname, resolve } from 'node:path';
import type { AgentDefinition } from '../../contracts/index.js';

const CODE = ['.ts', '.mts', '.js', '.mjs'];

export const isCodePath = (path: string): boolean => CODE.includes(extname(path).toLowerCase());

/**
 * Runs a code file and gives its default export, or a sentence about what went wrong. In it `troupe` and `troupe/…` are
 * this very package, whether it runs from its sources or built, so that what it makes is ours. The file and what it
 * imports are read anew at each call; nothing is written to disk.
 */
export async function loadCode(path: string): Promise<{ definition: AgentDefinition } | { fault: string }> {
  try {
    // It finds the others beside itself: a file of its own also when the package is built.
    const [{ createJiti }, { ownModules }] = await Promise.all([import('jiti'), import('./own-modules.js')]);
    const absolute = resolve(path);
    const jiti = createJiti(absolute, {
      fsCache: false,
      moduleCache: false,
      // With it jiti would wrap the promises that stand for our modules.
      interopDefault: false,
      virtualModules: await ownModules(absolute),
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
