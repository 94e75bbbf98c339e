import { resolve } from 'node:path';
import type { Project, ProjectOptions } from '../project/project.js';
import { assertFolder } from '../project/read-project.js';
import { trustFile } from '../project/trust-store.js';
import { whatCounts } from '../project/what-counts.js';
import { readExtension } from './read-extension.js';

/** What one extension brings to a host: `hooks`, `policy`, `mcpServers`, `skills`, `tools()`, `agent(name)`. */
export interface Extension extends Project {
  /** `ext:<name>`: what rules know it by. Absent where its manifest cannot be read. */
  readonly origin?: string;
  readonly version?: string;
}

/**
 * Reads an extension: a folder with `troupe-extension.json`, or `gemini-extension.json`. Nothing of it runs, and nothing
 * counts, before the folder is trusted (`trustProject({ folder })`, or `trusted: true` for this time); whatever file of it
 * changes, it is trusted no more. Rejects with every fault of one that is trusted.
 */
export async function openExtension(
  folder: string,
  options: Pick<ProjectOptions, 'trust' | 'trusted' | 'hostTools'> = {},
): Promise<Extension> {
  const root = resolve(folder);
  await assertFolder(root, folder);
  const { items, problems } = await readExtension(root, { root, hostTools: options.hostTools });
  const read = { items, problems: problems.map((problem) => ({ ...problem, root })) };
  const { trust = trustFile(), trusted: forNow = false } = options;
  const counting = await whatCounts(read, { folder: root, trust, forNow });
  const itself = items.find((item) => item.kind === 'extension');
  return {
    ...counting,
    ...(itself !== undefined && { origin: itself.origin }),
    ...(itself?.version !== undefined && { version: itself.version }),
  };
}
