import { readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { type Problem, TroupeError } from '../kernel/errors.js';
import type { PolicyRuleSet } from '../kernel/policy-rules.js';
import { policyFromToml } from '../policy/toml.js';
import type { CommandIo } from './command-io.js';

/**
 * The rules of policy files, as a user's, and every fault of all of them. `file#sha256=…` pins a file to its digest. A file
 * that cannot be read is a fault as well.
 */
export async function readPolicyFiles(
  files: readonly string[],
  { cwd }: Pick<CommandIo, 'cwd'>,
): Promise<{ sets: PolicyRuleSet[]; problems: Problem[] }> {
  const sets: PolicyRuleSet[] = [];
  const problems: Problem[] = [];
  for (const given of files) {
    const { typed, sha256 } = readPin(given);
    const path = resolve(cwd, typed);
    // As short as it was typed: this is how the file is called in every message.
    const file = isAbsolute(typed) ? typed : relative(cwd, path);
    const text = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
      const message = `cannot be read (${thrown.code ?? 'unknown fault'})`;
      problems.push({ code: 'POLICY_INVALID', path: file, message });
      return undefined;
    });
    if (text === undefined) continue;
    try {
      sets.push(policyFromToml(text, { file, tier: 'user', ...(sha256 !== undefined && { sha256 }) }));
    } catch (thrown) {
      if (!(thrown instanceof TroupeError)) throw thrown;
      problems.push(...thrown.problems);
    }
  }
  return { sets, problems };
}

/** Where "always and save" writes: in the user's own folder, never in the project's. */
export function userPolicyFile({ env }: Pick<CommandIo, 'env'>): string | undefined {
  const config = env.XDG_CONFIG_HOME || (env.HOME && join(env.HOME, '.config'));
  return config === undefined || !isAbsolute(config) ? undefined : join(config, 'troupe', 'policy.toml');
}

/** `policy.toml#sha256=…`: the file must have that digest. */
function readPin(given: string): { typed: string; sha256?: string } {
  const [, typed, sha256] = /^(.+)#sha256[=:-]([0-9A-Fa-f]*)$/.exec(given) ?? [];
  return typed === undefined || sha256 === undefined ? { typed: given } : { typed, sha256 };
}
