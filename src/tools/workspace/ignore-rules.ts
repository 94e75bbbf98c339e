import type { Ignore } from 'ignore';
import { openFileInside } from './open-inside.js';
import type { Workspace } from './place.js';
import { WorkspaceRefusal } from './refusal.js';

/** The rules of `.gitignore` files from the root down to one folder. */
export interface IgnoreRules {
  /** `path` is relative to the root. A deeper file overrides a higher one; the last rule that matches decides. */
  ignores(path: string, isFolder: boolean): boolean;
  /** The rules one folder further down, with that folder's `.gitignore` when it has one. */
  into(folder: { absolute: string; path: string }): Promise<IgnoreRules>;
}

export interface IgnoreNotes {
  /** `.gitignore` files or lines that were not applied: unreadable, a link, too large, or too costly to match. */
  skippedRules: number;
}

interface Level {
  /** `''` or a path that ends with `/`. */
  readonly prefix: string;
  readonly rules: Ignore;
}

const MAX_BYTES = 256 * 1024;
const MAX_LINE = 1_000;
// Matching `a/**/b/**/…` grows with depth to the power of the number of `**`.
const MAX_GLOBSTARS = 3;

/** No rules at all: the start, above the root. */
export function noRules(workspace: Workspace, notes: IgnoreNotes): IgnoreRules {
  return rulesOf(workspace, notes, []);
}

function rulesOf(workspace: Workspace, notes: IgnoreNotes, levels: readonly Level[]): IgnoreRules {
  return {
    ignores(path, isFolder) {
      for (let at = levels.length - 1; at >= 0; at--) {
        const level = levels[at];
        if (level === undefined || !path.startsWith(level.prefix)) continue;
        const { ignored, unignored } = level.rules.test(path.slice(level.prefix.length) + (isFolder ? '/' : ''));
        if (ignored || unignored) return ignored;
      }
      return false;
    },
    async into(folder) {
      const text = await readRules(workspace, `${folder.absolute}/.gitignore`, notes);
      if (text === undefined) return this;
      const { default: ignore } = await import('ignore');
      const rules = ignore({ ignorecase: process.platform === 'win32' || process.platform === 'darwin' });
      rules.add(affordable(text, notes));
      const prefix = folder.path === '.' ? '' : `${folder.path}/`;
      return rulesOf(workspace, notes, [...levels, { prefix, rules }]);
    },
  };
}

async function readRules(workspace: Workspace, absolute: string, notes: IgnoreNotes): Promise<string | undefined> {
  try {
    const { handle, size } = await openFileInside(workspace, absolute, '.gitignore');
    try {
      if (size > MAX_BYTES) {
        notes.skippedRules++;
        return undefined;
      }
      return (await handle.readFile()).toString('utf8');
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (!(thrown instanceof WorkspaceRefusal)) throw thrown;
    if (thrown.errorType !== 'file_not_found') notes.skippedRules++;
    return undefined;
  }
}

function affordable(text: string, notes: IgnoreNotes): string[] {
  return text.split(/\r?\n/).filter((line) => {
    const isCostly = line.length > MAX_LINE || (line.match(/\*\*/g)?.length ?? 0) > MAX_GLOBSTARS;
    if (isCostly) notes.skippedRules++;
    return !isCostly;
  });
}
