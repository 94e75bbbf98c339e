import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { supportsUnicode } from './run-progress.js';
import { styleFor } from './style.js';

export interface DoctorReport {
  ok: boolean;
  node: { version: string; needed: string; ok: boolean };
  packages: { name: string; for: string; version?: string; present: boolean; install: string }[];
  /** Whether a variable is set. What it holds is never read out. */
  keys: { name: string; for: string; set: boolean }[];
  terminal: { stdin: boolean; stdout: boolean; stderr: boolean; columns?: number; colours: boolean; unicode: boolean };
}

export interface DoctorParts {
  /** As in `process.versions.node`. */
  nodeVersion: string;
  /** The version of an installed package; nothing when it is not there. */
  packageVersion(name: string): string | undefined;
}

const neededNode = [20, 19] as const;
const packages = [
  { name: '@google/genai', for: 'models of "gemini/…"', install: 'npm install @google/genai@2.32.0' },
  { name: 'openai', for: 'models of "openai/…" and "openrouter/…"', install: 'npm install openai@6' },
  {
    name: 'google-auth-library',
    for: 'Google identities in place of a key',
    install: 'npm install google-auth-library@10',
  },
] as const;
const keys = [
  { name: 'GEMINI_API_KEY', for: 'gemini' },
  { name: 'GOOGLE_API_KEY', for: 'gemini, in place of GEMINI_API_KEY' },
  { name: 'GOOGLE_GEMINI_BASE_URL', for: 'gemini at another address' },
  { name: 'OPENAI_API_KEY', for: 'openai' },
  { name: 'OPENAI_BASE_URL', for: 'openai at another address' },
  { name: 'OPENROUTER_API_KEY', for: 'openrouter' },
  { name: 'OPENROUTER_BASE_URL', for: 'openrouter at another address' },
] as const;

/**
 * Says what is there and what is missing. 1 only when nothing can run; nothing is asked of the network. With
 * `executors` it says in its place what each executor supports.
 */
export async function doctorCommand(
  options: { json?: boolean | undefined; executors?: boolean | undefined },
  io: CommandIo,
  parts: DoctorParts,
): Promise<number> {
  if (options.executors === true) {
    const { executorReport, executorTable } = await import('./executor-table.js');
    const { json } = options;
    await io.stdout.write(json === true ? `${JSON.stringify(executorReport(), undefined, 2)}\n` : executorTable());
    return exitCodes.completed;
  }
  const report = examine(io, parts);
  await io.stdout.write(options.json === true ? `${JSON.stringify(report, undefined, 2)}\n` : textReport(report));
  return report.ok ? exitCodes.completed : exitCodes.failed;
}

function examine(io: CommandIo, parts: DoctorParts): DoctorReport {
  const [major = 0, minor = 0] = parts.nodeVersion.split('.').map(Number);
  const nodeOk = major > neededNode[0] || (major === neededNode[0] && minor >= neededNode[1]);
  const { columns } = io.stdout;
  return {
    ok: nodeOk,
    node: { version: parts.nodeVersion, needed: `>=${neededNode.join('.')}`, ok: nodeOk },
    packages: packages.map((wanted) => {
      const version = parts.packageVersion(wanted.name);
      return { ...wanted, ...(version === undefined ? {} : { version }), present: version !== undefined };
    }),
    keys: keys.map((key) => ({ ...key, set: (io.env[key.name] ?? '') !== '' })),
    terminal: {
      stdin: io.stdin.isTTY === true,
      stdout: io.stdout.isTTY,
      stderr: io.stderr.isTTY,
      ...(columns === undefined ? {} : { columns }),
      colours: styleFor(io.stderr, io.env)('bold', 'x') !== 'x',
      unicode: supportsUnicode(io.env),
    },
  };
}

function textReport({ node, packages, keys, terminal }: DoctorReport): string {
  const mark = (good: boolean) => (good ? 'ok     ' : 'missing');
  const lines = [
    node.ok ? `ok       Node ${node.version}` : `too old  Node ${node.version}: install Node ${node.needed}`,
    '',
    'Optional packages',
    ...packages.map(
      (one) =>
        `${mark(one.present)}  ${one.name}${one.version === undefined ? '' : ` ${one.version}`}, for ${one.for}${one.present ? '' : `: ${one.install}`}`,
    ),
    '',
    'Environment',
    ...keys.map((key) => `${key.set ? 'set    ' : 'not set'}  ${key.name}, for ${key.for}`),
    '',
    'Terminal',
    `         questions ${terminal.stdin && terminal.stderr ? 'can be asked' : 'are denied: stdin or stderr is no terminal'}`,
    `         progress is ${terminal.stdout && terminal.stderr ? 'a live tree' : 'plain lines: stdout or stderr is no terminal'}`,
    `         ${terminal.colours ? 'colours' : 'no colours'}, ${terminal.unicode ? 'Unicode' : 'ASCII'}${terminal.columns === undefined ? '' : `, ${terminal.columns} columns`}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Looks for the package as this one would import it. */
export function installedVersion(name: string): string | undefined {
  try {
    let folder = dirname(fileURLToPath(import.meta.resolve(name)));
    for (;;) {
      const manifest = readManifest(join(folder, 'package.json'));
      if (manifest?.name === name) return manifest.version;
      const above = dirname(folder);
      if (above === folder) return undefined;
      folder = above;
    }
  } catch {
    return undefined;
  }
}

function readManifest(path: string): { name?: string; version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { name?: string; version?: string };
  } catch {
    return undefined;
  }
}
