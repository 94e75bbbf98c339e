import { keyOf, type ProjectItem } from './items.js';
import type { FolderTrust } from './trust-store.js';

/**
 * Paths of policies of `root` that a person has agreed to and that are there no more: their denials would be lifted
 * without a word. `items` is all that was read. A folder may be trusted as a project and as an extension, and be used as
 * one of them: only what it is used as is looked at.
 */
export function gonePolicies(
  trust: FolderTrust | undefined,
  { root, folder, items }: { root: string; folder: string; items: readonly ProjectItem[] },
): string[] {
  const found = items.filter((item) => item.root === root);
  const there = new Set(found.map(keyOf));
  const origins = new Set([...found.map(({ origin }) => origin), ...(root === folder ? ['project'] : [])]);
  const isUsed = (key: string) => [...origins].some((origin) => key.startsWith(`policy:${origin}:`));
  return Object.keys(trust?.acknowledged ?? {})
    .filter((key) => isUsed(key) && !there.has(key))
    .map((key) => /^policy:(?:ext:)?[^:]+:(.*):/s.exec(key)?.[1] ?? key);
}
