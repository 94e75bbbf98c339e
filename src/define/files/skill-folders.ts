import { access } from 'node:fs/promises';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { readSkill } from '../skills/read-skill.js';
import type { Notice } from './foreign-tools.js';
import { describeRaw } from './raw.js';
import type { Section } from './section.js';

const NAME = /^[^/\\]+$/;

/**
 * The folders that `skills` names, absolute: paths relative to the file, or names of skills in `skills/` beside the file
 * or beside its folder. What is wrong in a `SKILL.md` is told at its place in that file. With `notice`, for files of other
 * programs, the value may be a text with commas, and a skill that is not there is left out.
 */
export async function readSkillFolders(
  section: Section,
  folder: string,
  notice?: Notice,
): Promise<string[] | undefined> {
  const named = namesIn(section, notice !== undefined);
  if (named === undefined) return undefined;
  const found = new Map<string, string>();
  for (const { name, index } of named) {
    const shown = await folderOf(name, folder);
    const reading = await readSkill(shown);
    if ('skill' in reading) {
      const { name: own, folder: absolute } = reading.skill;
      const first = found.get(own);
      if (first === undefined) found.set(own, absolute);
      else section.say('skills', `two skills are named "${own}": ${first} and ${absolute}; keep one`, index);
      continue;
    }
    for (const problem of reading.problems) {
      if (problem.path !== undefined) section.report.problems.push(problem);
      else if (notice === undefined) section.say('skills', `${JSON.stringify(name)} has no SKILL.md`, index);
      else notice('skills', `"${name}" is left out: there is no skill of that name`);
    }
  }
  return [...found.values()];
}

interface Named {
  readonly name: string;
  /** In the list of the file. */
  readonly index: number;
}

function namesIn(section: Section, isForeign: boolean): Named[] | undefined {
  const raw = section.raw('skills');
  if (isForeign && raw?.kind === 'scalar' && typeof raw.value === 'string') {
    const names = raw.value.split(',').map((name) => name.trim());
    return names.filter((name) => name !== '').map((name, index) => ({ name, index }));
  }
  return section.list('skills')?.items.flatMap((item, index) => {
    const name = item.kind === 'scalar' && typeof item.value === 'string' ? item.value.trim() : '';
    if (name !== '' && !name.includes('\0')) return [{ name, index }];
    section.say('skills', `must be the path of a folder, not ${describeRaw(item)}`, index);
    return [];
  });
}

/** A file of the system may be named too: the folder that a `SKILL.md` lies in is meant. */
async function folderOf(named: string, base: string): Promise<string> {
  const given = basename(named) === 'SKILL.md' ? join(named, '..') : named;
  const direct = isAbsolute(given) ? given : join(base, given);
  if (!NAME.test(given)) return direct;
  for (const folder of [direct, join(base, 'skills', given), join(resolve(base), '..', 'skills', given)]) {
    if (await isThere(join(folder, 'SKILL.md'))) return folder;
  }
  return direct;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
