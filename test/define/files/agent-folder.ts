import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';
import { type LoadOptions, loadAgentFile } from '../../../src/define/files/load.js';
import { loadScriptFile } from '../../../src/define/files/script.js';
import { TroupeError } from '../../../src/kernel/errors.js';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A folder with these files, gone after the test. Contents by path. */
export async function agentFolder(files: Record<string, string | Uint8Array>): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-files-')));
  folders.push(folder);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

/** Loads the first of these files. */
export async function load(files: Record<string, string | Uint8Array>, options?: LoadOptions) {
  const folder = await agentFolder(files);
  const loaded = await loadAgentFile(join(folder, Object.keys(files)[0] ?? ''), options);
  return { ...loaded, folder };
}

/** What is wrong with the first of these files: `file:line:key: message`, without the folder. */
export async function faults(files: Record<string, string | Uint8Array>, options?: LoadOptions): Promise<string[]> {
  const folder = await agentFolder(files);
  return faultsOf(folder, loadAgentFile(join(folder, Object.keys(files)[0] ?? ''), options));
}

export async function scriptFaults(name: string, text: string): Promise<string[]> {
  const folder = await agentFolder({ [name]: text });
  return faultsOf(folder, loadScriptFile(join(folder, name)));
}

export async function faultsOf(folder: string, loading: Promise<unknown>): Promise<string[]> {
  try {
    await loading;
    return [];
  } catch (thrown) {
    if (!(thrown instanceof TroupeError) || thrown.code !== 'INVALID_DEFINITION') throw thrown;
    const said = thrown.problems.map(({ path, message }) => `${path}: ${message}`);
    return said.map((text) => text.replaceAll(`${folder}/`, ''));
  }
}

export const agentFile = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\nBe ${name}.\n`;
