import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfFolder } from '../extension/folder-digest.js';
import { readSkill } from '../skills/read-skill.js';
import type { SkillItem } from './items.js';
import { digestOf, namesIn, type Place } from './places.js';

/** The skills in `skills/` of a place. */
export async function readSkillItems({ origin, folder }: Place, shown: (path: string) => string): Promise<SkillItem[]> {
  const items: SkillItem[] = [];
  for (const name of await namesIn(join(folder, 'skills'))) {
    const path = join(folder, 'skills', name);
    const isFolder = await stat(path).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (!isFolder) continue;
    const reading = await readSkill(path, shown(path));
    const digest = await digestOfFolder(path);
    const fault = 'fault' in digest ? [`${shown(path)} ${digest.fault}`] : [];
    const place = { kind: 'skill', origin, path: shown(path), folder: path } as const;
    const hash = 'hash' in digest ? digest.hash : digestOf([digest.fault]);
    if ('problems' in reading) {
      const said = reading.problems.map(({ path: at, message }) => (at === undefined ? message : `${at}: ${message}`));
      items.push({ ...place, name, hash, warnings: [], problems: [...said, ...fault] });
      continue;
    }
    const { skill } = reading;
    const wanted = skill.allowedTools ?? [];
    items.push({
      ...place,
      name: skill.name,
      description: skill.description,
      hash,
      warnings: wanted.length > 0 ? [`asks for tools, which it does not get by that: ${wanted.join(', ')}`] : [],
      problems: fault,
    });
  }
  return items;
}

/** Digests of all that is in the folders of skills; a folder that cannot be looked at has none that stays. */
export async function digestsOf(folders: readonly string[]): Promise<{ hashes: string[]; problems: string[] }> {
  const hashes: string[] = [];
  const problems: string[] = [];
  for (const folder of folders) {
    const digest = await digestOfFolder(folder);
    if ('hash' in digest) hashes.push(digest.hash);
    else problems.push(`the skill in ${folder} ${digest.fault}`);
  }
  return { hashes, problems };
}
