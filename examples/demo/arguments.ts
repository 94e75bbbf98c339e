import { readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

export interface Arguments {
  /** Absolute. */
  readonly folder: string;
  readonly model: string | undefined;
  readonly help: boolean;
}

/** Wrong use of the demo: said in one sentence, exit code 2. */
export class BadUse extends Error {}

/** Reads the command line. Throws `BadUse`. `npm run` changes to the package's folder: `INIT_CWD` is where it was typed. */
export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parse(args);
  if (positionals.length > 1) throw new BadUse(`one folder at a time, not ${positionals.length}`);
  const [given] = positionals;
  const repository = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
  const folder = given === undefined ? repository : resolve(process.env.INIT_CWD ?? '.', given);
  const { model, help = false } = values;
  if (!help) checkFolder(folder, given ?? folder);
  return { folder, model, help };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { model: { type: 'string', short: 'm' }, help: { type: 'boolean', short: 'h' } },
    });
  } catch (thrown) {
    throw new BadUse(thrown instanceof Error ? `${thrown.message.split('. ')[0]}; see --help` : String(thrown));
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a folder',
  EACCES: 'cannot be read: permission denied',
};

function checkFolder(folder: string, given: string): void {
  try {
    readdirSync(folder);
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
    throw new BadUse(`${JSON.stringify(given)} ${reasons[code] ?? `cannot be read (${code})`}`);
  }
}
