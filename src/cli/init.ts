import { constants } from 'node:fs';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { CommandIo } from './command-io.js';
import { starterFiles, starterPrompt } from './init-files.js';
import { badUse } from './report-error.js';

/** Makes a project that runs offline at once. Writes nothing when one of its files is there already. */
export async function initCommand(folder: string, io: Pick<CommandIo, 'stdout' | 'cwd'>): Promise<number> {
  const root = resolve(io.cwd, folder);
  const taken = await existing(Object.keys(starterFiles).map((name) => join(root, name)));
  if (taken.length > 0) {
    const names = taken.map((path) => relative(io.cwd, path)).join(', ');
    throw badUse(`nothing was written, as there is already ${names}: choose another folder`);
  }
  for (const [name, text] of Object.entries(starterFiles)) {
    const path = join(root, name);
    await mkdir(dirname(path), { recursive: true });
    // `wx`: a file that came up in between is not overwritten either.
    await writeFile(path, text, { flag: 'wx' });
  }
  const place = relative(io.cwd, root);
  const lines = [
    `Made a team in ${place === '' ? 'this folder' : place}:`,
    ...Object.keys(starterFiles).map((name) => `  ${join(place, name)}`),
    '',
    'It runs offline, on a scripted model. Next:',
    ...(place === '' ? [] : [`  cd ${shellWord(place)}`]),
    `  npx troupe run team.yaml "${starterPrompt}"`,
  ];
  await io.stdout.write(`${lines.join('\n')}\n`);
  return 0;
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map((path) =>
      access(path, constants.F_OK).then(
        () => [path],
        () => [],
      ),
    ),
  );
  return found.flat();
}

function shellWord(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
