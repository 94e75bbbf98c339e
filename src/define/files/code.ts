import { extname, resolve } from 'node:path';
import type { AgentDefinition, ToolDefinition } from '../../contracts/index.js';

const CODE = ['.ts', '.mts', '.js', '.mjs'];

export const isCodePath = (path: string): boolean => CODE.includes(extname(path).toLowerCase());

/** A sentence; `line` where it is known. */
interface CodeFault {
  readonly fault: string;
  readonly line?: number;
}

/**
 * Runs a code file and gives its default export, or a sentence about what went wrong. In it `troupe` and `troupe/…` are
 * this very package, whether it runs from its sources or built, so that what it makes is ours. The file and what it
 * imports are read anew at each call; nothing is written to disk.
 */
export async function loadCode(path: string): Promise<{ definition: AgentDefinition } | CodeFault> {
  const loaded = await runCode(path);
  if ('fault' in loaded) return loaded;
  const { exports } = loaded;
  if (isDefinition(exports.default)) return { definition: exports.default };
  const found = 'default' in exports ? 'its default export is no agent' : 'it has no default export';
  return { fault: `${found}; write: export default agent({ … }) or a team` };
}

/** The same for a file that makes tools: its default export is one, or a list of them. */
export async function loadToolCode(path: string): Promise<{ tools: readonly ToolDefinition[] } | CodeFault> {
  const loaded = await runCode(path);
  if ('fault' in loaded) return loaded;
  const given: unknown = loaded.exports.default;
  const tools: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (tools.every((one): one is ToolDefinition => Object(one).kind === 'tool')) return { tools };
  return { fault: 'its default export is no tool; write: export default tool({ … }), or a list of them' };
}

async function runCode(path: string): Promise<{ exports: Record<string, unknown> } | CodeFault> {
  const absolute = resolve(path);
  try {
    // It finds the others beside itself: a file of its own also when the package is built.
    const [{ createJiti }, { ownModules }] = await Promise.all([import('jiti'), import('./own-modules.js')]);
    const jiti = createJiti(absolute, {
      fsCache: false,
      moduleCache: false,
      // With it jiti would wrap the promises that stand for our modules.
      interopDefault: false,
      virtualModules: await ownModules(absolute),
    });
    return { exports: await jiti.import<Record<string, unknown>>(absolute) };
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    const line = lineIn(`${said}\n${thrown instanceof Error ? thrown.stack : ''}`, absolute);
    return { fault: `could not be run: ${said.split('\n')[0]?.trim()}`, ...(line !== undefined && { line }) };
  }
}

/** The first line of the file that is named, in what a parser says or in a stack. */
function lineIn(text: string, absolute: string): number | undefined {
  const at = text.indexOf(`${absolute}:`);
  const line = at === -1 ? Number.NaN : Number.parseInt(text.slice(at + absolute.length + 1), 10);
  return line > 0 ? line : undefined;
}

function isDefinition(value: unknown): value is AgentDefinition {
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== 'agent') return false;
  return 'descriptor' in value && typeof value.descriptor === 'object' && value.descriptor !== null;
}
