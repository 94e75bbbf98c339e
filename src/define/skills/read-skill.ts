import { basename, join, resolve } from 'node:path';
import type { Skill } from '../../contracts/index.js';
import type { SkillReading } from '../../host/skills.js';
import type { Problem } from '../../kernel/errors.js';
import { readTextInside } from '../../tools/skills/skill-files.js';
import { WorkspaceRefusal } from '../../tools/workspace/refusal.js';
import { splitFrontMatter } from '../files/front-matter.js';
import { parseYaml } from '../files/parse.js';
import { describeRaw, type RawMap } from '../files/raw.js';
import { quotePlainTexts } from '../files/repair.js';
import { openSection, type Section } from '../files/section.js';

const FILE = 'SKILL.md';
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const LONGEST = { name: 64, description: 1_024, compatibility: 500 };

/**
 * Reads the `SKILL.md` of a folder, in the public form of Agent Skills: front matter with `name` and `description`, and
 * `license`, `compatibility`, `metadata` and `allowed-tools` where they are; other keys are left alone. The file must lie
 * in the folder, also behind links. `shown` is how the folder is called in problems. Never rejects.
 */
export async function readSkill(folder: string, shown: string = folder): Promise<SkillReading> {
  const file = join(shown, FILE);
  const read = await readTextInside(folder, FILE).catch((thrown: unknown) => {
    if (!(thrown instanceof WorkspaceRefusal)) throw thrown;
    return thrown;
  });
  if (read instanceof WorkspaceRefusal) {
    if (read.errorType === 'file_not_found') return fault(undefined, `${JSON.stringify(shown)} has no ${FILE}`);
    return fault(file, read.message.replace(/^"[^"]*" /, '').replace(/\.$/, ''));
  }
  const split = splitFrontMatter(read.text.replace(/^\uFEFF/, ''));
  if ('fault' in split) return fault(`${file}:${split.line}`, split.fault);
  const { problems, map } = await parseFront(file, split.front, split.frontLine);
  if (map === undefined) return { problems };
  const skill: Skill = {
    ...readFields(openSection({ file, problems, notices: [] }, map), basename(resolve(folder))),
    folder: resolve(folder),
    body: split.body,
    hash: read.hash,
  };
  return problems.length > 0 ? { problems } : { skill };
}

/** Many hold `description: Use it when: …`, which is no YAML: read as it is meant. */
async function parseFront(file: string, front: string, line: number): Promise<{ problems: Problem[]; map?: RawMap }> {
  let parsed = await parseYaml(file, front, line);
  const repaired = parsed.root === undefined ? quotePlainTexts(front) : undefined;
  if (repaired !== undefined) parsed = await parseYaml(file, repaired, line);
  const { root, problems } = parsed;
  if (root?.kind === 'map') return { problems, map: root };
  if (problems.length === 0) {
    const what = root === undefined ? 'nothing' : describeRaw(root);
    return fault(`${file}:${root?.line ?? line}`, `must hold keys with values, not ${what}`);
  }
  return { problems };
}

function readFields(section: Section, folderName: string): Omit<Skill, 'folder' | 'body' | 'hash'> {
  const name = readText(section, 'name') ?? '';
  if (name.length > LONGEST.name) section.say('name', `is ${name.length} characters long; at most ${LONGEST.name}`);
  else if (name !== '' && !NAME.test(name)) {
    section.say('name', `${JSON.stringify(name)} is no name of a skill: lower-case letters, digits and single hyphens`);
  } else if (name !== '' && name !== folderName) {
    section.say('name', `is "${name}", but the folder is named ${JSON.stringify(folderName)}; give both one name`);
  }
  const description = readText(section, 'description') ?? '';
  refuseLonger(section, 'description', description);
  const compatibility = section.has('compatibility') ? section.text('compatibility') : undefined;
  refuseLonger(section, 'compatibility', compatibility);
  const license = section.has('license') ? section.text('license') : undefined;
  const metadata = readMetadata(section);
  const allowedTools = readAllowedTools(section);
  return {
    name,
    description: description.trim(),
    ...(license !== undefined && { license }),
    ...(compatibility !== undefined && { compatibility }),
    ...(metadata !== undefined && { metadata }),
    ...(allowedTools !== undefined && { allowedTools }),
  };
}

/** Says so where it is missing, empty or no text. */
function readText(section: Section, key: 'name' | 'description'): string | undefined {
  if (!section.has(key)) return section.say(key, 'is missing');
  const text = section.text(key);
  return text?.trim() === '' ? section.say(key, 'is empty') : text;
}

function refuseLonger(section: Section, key: 'description' | 'compatibility', text: string | undefined): void {
  const length = [...(text ?? '')].length;
  if (length > LONGEST[key]) section.say(key, `is ${length} characters long; at most ${LONGEST[key]}`);
}

function readMetadata(section: Section): Record<string, string> | undefined {
  const inner = section.names('metadata');
  if (inner === undefined) return undefined;
  const entries = inner.keys().map((key): [string, string] => {
    const value = inner.raw(key);
    if (value?.kind !== 'scalar' || value.value === null) inner.say(key, 'must be a text');
    return [key, String(value?.kind === 'scalar' ? value.value : '')];
  });
  return Object.fromEntries(entries);
}

/** Names with spaces or commas between them, or a list. */
function readAllowedTools(section: Section): string[] | undefined {
  const value = section.raw('allowed-tools');
  if (value === undefined) return undefined;
  if (value.kind === 'list') return section.texts('allowed-tools');
  const text = section.text('allowed-tools');
  return text?.match(/(?:\([^)]*\)|[^\s,(])+/g)?.map(String) ?? [];
}

function fault(path: string | undefined, message: string): { problems: Problem[] } {
  return { problems: [{ code: 'INVALID_DEFINITION', ...(path !== undefined && { path }), message }] };
}
