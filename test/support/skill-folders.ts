import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder of files that goes away with `await using`. */
export async function folderOf(
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'troupe-skills-'));
  for (const [name, text] of Object.entries(files)) {
    const file = join(path, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export const skillText = (name: string, { description = `About ${name}.`, body = `Do ${name}.`, more = '' } = {}) =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\n${body}\n`;
