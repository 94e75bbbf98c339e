import { join } from 'node:path';
import type { PolicyTier } from '../../kernel/policy-rules.js';
import { policyFromToml } from '../../policy/toml.js';
import { readTextFile } from '../files/read-text.js';
import type { PolicyItem } from './items.js';
import { digestOf, namesIn, type Place } from './places.js';
import { problemsOf } from './read-agents.js';

/** `policy.toml` and `policies/*.toml` of a place, with the standing that it has. */
export async function readPolicies({ origin, folder }: Place, shown: (path: string) => string): Promise<PolicyItem[]> {
  if (origin === 'built-in') return [];
  const more = (await namesIn(join(folder, 'policies'))).filter((name) => name.endsWith('.toml'));
  const own = (await namesIn(folder)).filter((name) => name === 'policy.toml');
  const paths = [...own, ...more.map((name) => join('policies', name))].map((name) => join(folder, name));
  return Promise.all(paths.map((path) => readPolicy(origin, path, shown(path))));
}

async function readPolicy(origin: PolicyItem['origin'], path: string, file: string): Promise<PolicyItem> {
  const read = await readTextFile(path);
  const item = { kind: 'policy', name: file, origin, path: file } as const;
  if ('fault' in read)
    return { ...item, hash: digestOf([read.fault]), warnings: [], problems: [`${file}: ${read.fault}`] };
  const hash = digestOf([read.hash]);
  try {
    const rules = policyFromToml(read.text, { file, tier: tierOf(origin) });
    return { ...item, hash, warnings: allowances(rules.rules), problems: [], rules };
  } catch (thrown) {
    return { ...item, hash, warnings: [], problems: problemsOf(thrown) };
  }
}

const tierOf = (origin: PolicyItem['origin']): PolicyTier =>
  origin === 'user' ? 'user' : origin === 'project' ? 'workspace' : 'extension';

const allowances = (rules: readonly { decision: string; toolName?: unknown; commandPrefix?: unknown }[]): string[] =>
  rules
    .filter(({ decision }) => decision === 'allow')
    .map(({ toolName, commandPrefix }) => {
      const what = commandPrefix === undefined ? String(toolName) : `${String(toolName)} "${String(commandPrefix)}"`;
      return `allows without asking: ${what}`;
    });
