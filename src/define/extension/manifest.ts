import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../kernel/errors.js';
import { visibleLine } from '../../kernel/visible-text.js';
import { readTextInside } from '../../tools/skills/skill-files.js';
import { WorkspaceRefusal } from '../../tools/workspace/refusal.js';
import { parseJson } from '../files/parse.js';
import type { RawMap } from '../files/raw.js';
import { openSection } from '../files/section.js';

const OURS = 'troupe-extension.json';
const FILES = [OURS, 'gemini-extension.json'];
const KEYS = ['name', 'version', 'description', 'mcpServers', 'contextFileName', 'excludeTools'];
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const LONGEST_NAME = 24;

export interface Manifest {
  /** As it is shown. */
  readonly file: string;
  readonly name: string;
  readonly version: string | undefined;
  readonly description: string | undefined;
  readonly servers: RawMap | undefined;
  /** Texts beside the manifest. */
  readonly contextFiles: readonly string[];
  /** Of Gemini's form, which may hold what there is nothing for here. */
  readonly notices: readonly string[];
  /** Names of tools that nobody is to call while the extension is there. */
  readonly excludeTools: readonly string[];
}

/** The manifest that a folder has, by its name; undefined: it is no extension. */
export async function manifestIn(folder: string): Promise<string | undefined> {
  for (const file of FILES) {
    const isThere = await access(join(folder, file)).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return undefined;
}

/** Reads `troupe-extension.json`, or `gemini-extension.json` as far as its keys have a counterpart. Undefined after a problem. */
export async function readManifest(
  folder: string,
  { file, shown, problems }: { file: string; shown: string; problems: Problem[] },
): Promise<Manifest | undefined> {
  const before = problems.length;
  const say = (path: string, message: string) => {
    problems.push({ code: 'EXTENSION_INVALID', path, message });
    return undefined;
  };
  const read = await readTextInside(folder, file).catch((thrown: unknown) => {
    if (!(thrown instanceof WorkspaceRefusal)) throw thrown;
    return thrown;
  });
  if (read instanceof WorkspaceRefusal) return say(shown, read.message);
  const { root, problems: faults } = await parseJson(shown, read.text);
  problems.push(...faults.map((problem) => ({ ...problem, code: 'EXTENSION_INVALID' })));
  if (root?.kind !== 'map') return faults.length > 0 ? undefined : say(`${shown}:1`, 'must be an object');
  const notices: string[] = [];
  const told: Problem[] = [];
  const section = openSection({ file: shown, problems: told, notices }, root);
  if (file === OURS) section.refuseOthers(KEYS);
  else
    for (const key of section.keys())
      if (!KEYS.includes(key)) notices.push(`${visibleLine(key)} has no counterpart here and is not used`);
  const name = section.has('name') ? (section.text('name') ?? '') : (section.say('name', 'is missing') ?? '');
  if (section.has('name') && (!NAME.test(name) || name.length > LONGEST_NAME)) {
    const what = `${JSON.stringify(name)} is no name of an extension`;
    section.say('name', `${what}: lower-case letters, digits and single hyphens, at most ${LONGEST_NAME}`);
  }
  const version = section.text('version');
  if (version === undefined && !section.has('version')) section.say('version', 'is missing');
  const servers = section.section('mcpServers')?.map;
  const context = section.raw('contextFileName');
  const contextFiles = context?.kind === 'list' ? section.texts('contextFileName') : [section.text('contextFileName')];
  const manifest: Manifest = {
    file: shown,
    name,
    version,
    description: section.text('description'),
    servers,
    contextFiles: (contextFiles ?? []).filter((one) => one !== undefined),
    notices,
    excludeTools: section.texts('excludeTools') ?? [],
  };
  problems.push(...told.map((problem) => ({ ...problem, code: 'EXTENSION_INVALID' })));
  return problems.length > before ? undefined : manifest;
}
