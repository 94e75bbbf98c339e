import { realpath, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { type Problem, TroupeError } from '../../kernel/errors.js';
import { readExtension } from '../extension/read-extension.js';
import type { ProjectItem } from './items.js';
import { extensionsIn, type Place } from './places.js';
import type { ProjectOptions } from './project.js';
import { readAgents } from './read-agents.js';
import { readPolicies } from './read-policies.js';
import { readSettings } from './read-settings.js';
import { readSkillItems } from './read-skills.js';
import { userFolder } from './trust-store.js';

/** A fault of a file, and the folder whose trust the file needs. */
export type PlacedProblem = Problem & { readonly root?: string };

/** All that a folder, the user and extensions bring, as it was read. Nothing of it has run. */
export async function readProject(
  options: ProjectOptions,
): Promise<{ items: ProjectItem[]; problems: PlacedProblem[] }> {
  const folder = resolve(options.folder ?? '.');
  await assertFolder(folder, options.folder ?? '.');
  const { hostTools } = options;
  const user = resolve(options.userFolder ?? userFolder());
  const own = join(folder, '.troupe');
  const items: ProjectItem[] = [];
  const problems: PlacedProblem[] = [];
  const installed = await extensionsIn(user);
  const named = (options.extensions ?? []).map((path) => resolve(path));
  for (const path of named) await assertFolder(path, path);
  const reals = new Set<string>();
  for (const { path, name } of [...installed, ...named.map((one) => ({ path: one, name: undefined }))]) {
    // One that is named and installed, or named twice, is one.
    const real = await realpath(path);
    if (reals.has(real)) continue;
    reals.add(real);
    const root = name === undefined ? path : undefined;
    const read = await readExtension(path, { root, hostTools, ...(name !== undefined && { installedAs: name }) });
    items.push(...read.items);
    problems.push(...read.problems.map((problem) => ({ ...problem, ...(root !== undefined && { root }) })));
  }
  const places: Place[] = [{ origin: 'user', folder: user }];
  // At home the two are one.
  if (own !== user) places.push({ origin: 'project', folder: own });
  for (const place of places) {
    const isProject = place.origin === 'project';
    const shown = (path: string) => (isProject ? relative(folder, path) : path);
    const settings = await readSettings(place, shown);
    const found: ProjectItem[] = [
      ...(await readAgents(place, { shown, hostTools })),
      ...settings.hooks,
      ...(await readPolicies(place, shown)),
      ...settings.servers,
      ...(await readSkillItems(place, shown)),
    ];
    const root = isProject ? { root: folder } : {};
    items.push(...found.map((item) => ({ ...item, ...root })));
    problems.push(...settings.problems.map((problem) => ({ ...problem, ...root })));
  }
  return { items: items.map((item) => withClash(item, items)), problems };
}

export async function assertFolder(path: string, shown: string): Promise<void> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new TroupeError({ code: 'BAD_USE', message: `${shown}: there is no such folder` });
}

/** What is not known by its name. */
const MAY_SHARE: readonly ProjectItem['kind'][] = ['hook', 'policy', 'tool', 'context'];

/** Two of one name: neither is taken, whoever they come from. */
function withClash(item: ProjectItem, items: readonly ProjectItem[]): ProjectItem {
  const others = items.filter(
    ({ kind, name }) => kind === item.kind && !MAY_SHARE.includes(kind) && name === item.name,
  );
  if (others.length < 2) return item;
  const where = others.map(({ path, origin }) => `${path} (${origin})`).join(' and ');
  return { ...item, problems: [...item.problems, `two are named "${item.name}": ${where}; rename one`] };
}
