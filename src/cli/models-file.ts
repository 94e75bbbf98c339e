import { readFile } from 'node:fs/promises';
import type { HostOptions } from '../host/types.js';
import { TroupeError } from '../kernel/errors.js';
import { didYouMean } from '../kernel/text.js';

/** What a file may say of models: the options of `createHost` of the same names. */
export type ModelSettings = Pick<HostOptions, 'aliases' | 'prices' | 'fallbacks'>;

const KEYS: readonly (keyof ModelSettings)[] = ['aliases', 'prices', 'fallbacks'];

/** Reads a file of models, YAML or JSON. What stands under its keys is checked by the host. `shown`: its name in messages. */
export async function loadModelsFile(path: string, shown = path): Promise<ModelSettings> {
  const text = await read(path, shown);
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault !== undefined) throw invalid(`${shown}: ${fault.message.split('\n')[0]}`);
  const settings: unknown = document.toJS();
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw invalid(`${shown}: it must be an object with ${KEYS.join(', ')}`);
  for (const key of Object.keys(settings)) {
    if (!(KEYS as readonly string[]).includes(key))
      throw invalid(`${shown}: no key "${key}"${didYouMean(key, KEYS)}; keys: ${KEYS.join(', ')}`);
  }
  return settings as ModelSettings;
}

async function read(path: string, shown: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const { code } = cause as { code?: string };
    const why = code === 'ENOENT' ? 'there is no such file' : (cause as Error).message;
    throw new TroupeError({ code: 'INVALID_OPTION', message: `${shown}: ${why}`, cause });
  }
}

const invalid = (message: string) => new TroupeError({ code: 'INVALID_OPTION', message });
