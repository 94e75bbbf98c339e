import type { Import, ImportGraph } from './import-graph.js';

/** One row of the table of floors: which files stand on it, and what they may import beside their own kind. */
interface Floor {
  readonly name: string;
  readonly holds: RegExp;
  /** Our own files that it may import. */
  readonly files: readonly RegExp[];
  /** Packages that it may import, by name; `any` is left to the rule about heavy packages. */
  readonly packages: readonly string[] | 'any';
  /** Builtins that touch the disk, the network or another process are kept out. */
  readonly io: boolean;
}

const contracts = /^src\/contracts\//;
const kernel = /^src\/kernel\//;
const machines = /^machines\//;
const agentLogic = /^machines\/agent-logic\.ts$/;
const compositions = /^compositions\//;
const host = /^src\/(host|engines)\//;
const parts = /^src\/(executors|models|context|policy|hooks|tools|stores|telemetry|drawing)\//;
const top = /^src\/((index|builtins)\.ts$|(define|surfaces|cli|studio|testing)\/)/;

const page = /^src\/studio\/web\//;

/** Lowest first. A file stands on the first floor that holds it. */
const floors: readonly Floor[] = [
  { name: '0 contracts', holds: contracts, files: [], packages: [], io: false },
  { name: '1 kernel', holds: kernel, files: [contracts], packages: ['ajv'], io: false },
  { name: '2 machines', holds: machines, files: [contracts, kernel], packages: ['xstate'], io: false },
  {
    name: '3a compositions',
    holds: compositions,
    files: [contracts, kernel, agentLogic],
    packages: ['xstate'],
    io: false,
  },
  { name: '3b host and engines', holds: host, files: [contracts, kernel, machines], packages: 'any', io: true },
  { name: '3c parts', holds: parts, files: [contracts, kernel], packages: 'any', io: true },
  {
    name: 'the page',
    holds: page,
    files: [contracts, kernel, /^src\/studio\/wire\.ts$/, /^src\/drawing\/(font|lit-states|style)\.ts$/],
    packages: ['react', 'react-dom'],
    io: false,
  },
  {
    name: '4 top',
    holds: top,
    files: [contracts, kernel, machines, compositions, host, parts],
    packages: 'any',
    io: true,
  },
];

/** Loaded when first needed, so that whoever does not use them does not wait for them. */
const heavy = ['elkjs', 'ajv', 'yaml', 'openai', '@google/genai', 'jiti', '@modelcontextprotocol/client'];

/** Code that stands on ADK is loaded when an agent of ADK first runs; what is loaded with the host knows its types only. */
const onAdk = /^src\/executors\/adk\//;
const adkFree =
  /^src\/executors\/adk\/(binding|brands|call-args|executor|failure|own-tools|parts|reader|schema|tool-names|translate)\.ts$/;

/** Not among our dependencies: a user's own, or for tests only. */
const forbidden = ['zod', 'arktype', 'fast-check', 'vitest', 'typescript'];

const ioBuiltins =
  /^node:(fs|net|http|http2|https|tls|dgram|dns|child_process|cluster|worker_threads|readline|repl|inspector|process|os)(\/|$)/;

/** Everything that breaks the table, one line each: `file:line imports target: rule`. Empty when all is well. */
export function floorViolations(graph: ImportGraph): string[] {
  const found: string[] = [];
  for (const [file, imports] of graph) {
    const floor = floorOf(file);
    if (!floor) {
      found.push(`${file} stands on no floor: give its folder a row in test/architecture/floors.ts`);
      continue;
    }
    for (const each of imports) {
      const rule = broken(file, floor, each);
      if (rule) found.push(`${file}:${each.line} imports ${each.target}: ${rule}`);
    }
  }
  return found.sort();
}

function floorOf(file: string): Floor | undefined {
  return floors.find((floor) => floor.holds.test(file));
}

function broken(file: string, floor: Floor, { target, kind }: Import): string | undefined {
  if (floorOf(target)) return brokenInside(file, floor, target, kind);
  if (/^(\.|src\/|machines\/|compositions\/|test\/|examples\/|scripts\/|dist\/|bench\/)/.test(target)) {
    return 'sources import only src, machines and compositions';
  }
  if (target.startsWith('node:')) {
    return !floor.io && ioBuiltins.test(target) ? `floor ${floor.name} does no input or output` : undefined;
  }
  return brokenPackage(file, floor, target, kind);
}

function brokenInside(file: string, floor: Floor, target: string, kind: Import['kind']): string | undefined {
  if (floor.name === '0 contracts' && kind !== 'type') return 'contracts emit no code: use import type';
  if (!floor.holds.test(target)) {
    return floor.files.some((allowed) => allowed.test(target))
      ? undefined
      : `floor ${floor.name} may not reach floor ${floorOf(target)?.name}`;
  }
  if (isComposition(file) && isComposition(target)) return 'one composition never imports another';
  if (part(file) !== part(target) && part(target) !== 'executors') return 'one part never imports another';
  if (file.startsWith('src/host/') && target.startsWith('src/engines/')) return 'the host never imports an engine';
  return undefined;
}

function brokenPackage(file: string, floor: Floor, target: string, kind: Import['kind']): string | undefined {
  const name = target.split('/', target.startsWith('@') ? 2 : 1).join('/');
  if (forbidden.includes(name)) return `${name} is for tests only`;
  if (floor.packages !== 'any' && !floor.packages.includes(name)) {
    return `floor ${floor.name} may import ${floor.packages.join(', ') || 'no package'}`;
  }
  if (name === '@google/adk' && kind === 'value' && (!onAdk.test(file) || adkFree.test(file))) {
    return `${name} is heavy: only what is loaded with the first turn of an ADK agent imports it`;
  }
  if (heavy.includes(name) && kind === 'value') return `${name} is heavy: load it with await import() where it is used`;
  return undefined;
}

function isComposition(file: string): boolean {
  return /^compositions\/.*\.machine\.ts$/.test(file);
}

/**
 * `models` is one part, `executors/local` another, `executors/adk` a third. What executors share lies beside their
 * folders, as the part `executors`.
 */
function part(file: string): string | undefined {
  if (!parts.test(file)) return undefined;
  const [, folder, ...rest] = file.split('/');
  return folder === 'executors' && rest.length > 1 ? `executors/${rest[0]}` : folder;
}
