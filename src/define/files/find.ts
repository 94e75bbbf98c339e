import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../kernel/errors.js';
import type { Dialect } from './dialect.js';
import { type ReadDocument, readDocument } from './document.js';
import { toPlain } from './raw.js';

/** An agent or team file that was found; what is in it has been looked at, not checked. */
export interface FoundAgentFile {
  /** The folder joined with the file's name. */
  path: string;
  name?: string;
  description?: string;
  dialect: Dialect;
  /** What keeps it from being read. */
  problems: readonly Problem[];
}

const OURS = /\.(agent\.md|(agent|team)\.(ya?ml|json))$/i;

/**
 * The agent files that stand directly in a folder, by name: `*.agent.md`, `*.team.yaml`, `.yml`, `.json` (`*.agent.…`
 * too), and other `*.md` whose front matter has a name and a description. Runs no code. Empty when there is no such
 * folder; rejects when it cannot be read.
 */
export async function listAgentFiles(folder: string): Promise<FoundAgentFile[]> {
  const names = await readdir(folder).catch((thrown: unknown) => {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return [];
    throw thrown;
  });
  const found: FoundAgentFile[] = [];
  for (const name of names.sort()) {
    if (!OURS.test(name) && !/\.md$/i.test(name)) continue;
    const file = await look(join(folder, name));
    const hasBoth = file.name !== undefined && file.description !== undefined;
    if (OURS.test(name) || (hasBoth && file.problems.length === 0)) found.push(file);
  }
  return found;
}

async function look(path: string): Promise<FoundAgentFile> {
  const problems: Problem[] = [];
  const document = await readDocument(path, { problems, notices: [] });
  if ('fault' in document) {
    return { path, dialect: 'troupe', problems: [{ code: 'INVALID_DEFINITION', path, message: document.fault }] };
  }
  const [name, description] = [textOf(document, 'name'), textOf(document, 'description')];
  return {
    path,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    dialect: document.dialect,
    problems,
  };
}

function textOf({ root }: ReadDocument, key: string): string | undefined {
  const entry = root?.entries.get(key);
  const value = entry && toPlain(entry.value);
  return typeof value === 'string' ? value : undefined;
}
