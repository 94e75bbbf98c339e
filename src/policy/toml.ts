import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { type Problem, throwProblems } from '../kernel/errors.js';
import { type PolicyRule, type PolicyRuleSet, type PolicyTier, TIERS } from '../kernel/policy-rules.js';
import { isRecord, ruleFaults, unknownKeys } from './rule-faults.js';
import { findRuleLines } from './toml-lines.js';
import { meantTool } from './tool-names.js';

export interface PolicyFileOptions {
  /** Default `user`. */
  tier?: PolicyTier;
  /** Shown in every message and when a rule decides. Default `policy.toml`. */
  file?: string;
  /** The text must have this digest (hex). */
  sha256?: string;
  /** Names of tools beside ours, so that one that is like a name of ours is not taken for a slip. */
  tools?: readonly string[];
}

const LONGEST = 1_000_000;

/**
 * The rules of a policy file. Throws `POLICY_INVALID` with every fault at once, each with file, line, rule and key:
 * of a file with one bad rule nothing is loaded.
 */
export function policyFromToml(text: string, options: PolicyFileOptions = {}): PolicyRuleSet {
  const { tier = 'user', file = 'policy.toml', sha256, tools } = options;
  const problems: Problem[] = [];
  const say = (path: string, message: string) => problems.push({ code: 'POLICY_INVALID', path, message });
  if (!TIERS.includes(tier)) say(`${file}:tier`, `must be one of ${TIERS.join(', ')}`);
  if (sha256 !== undefined) {
    const fault = digestFault(text, sha256);
    if (fault !== undefined) say(file, fault);
  }
  const parsed = typeof text === 'string' ? parse(text, file, say) : say(file, 'the policy is no text');
  throwIf(problems);
  const document = parsed as Record<string, unknown>;
  const where = findRuleLines(text);
  unknownKeys(document, ['rules'], (key, message) => say(`${file}:${where.lineOfTop(key)}:${key}`, message));
  const { rules = [] } = document;
  if (!Array.isArray(rules))
    say(`${file}:${where.lineOfTop('rules')}:rules`, 'must be a list: write [[rules]] before each rule');
  else {
    rules.forEach((rule: unknown, index) => {
      const fault = (key: string, message: string) =>
        say(`${file}:${where.lineOf(index, key)}:rules[${index}]${key === '' ? '' : `.${key}`}`, message);
      ruleFaults(rule, tier, fault);
      if (isRecord(rule)) misspeltTools(rule, tools, fault);
    });
  }
  throwIf(problems);
  return { rules: rules as PolicyRule[], tier, file, lines: where.rules };
}

const throwIf = (problems: readonly Problem[]) => throwProblems(problems, 'POLICY_INVALID');

/** Loaded when the first file is read, and at once: a policy that does not load stops the start. */
function parse(text: string, file: string, say: (path: string, message: string) => void): unknown {
  if (text.length > LONGEST) return say(file, `is longer than ${LONGEST} characters`);
  const toml = createRequire(import.meta.url)('smol-toml') as typeof import('smol-toml');
  try {
    return toml.parse(text.replace(/^\ufeff/, ''), { maxDepth: 20 });
  } catch (thrown) {
    if (thrown instanceof toml.TomlError) {
      const [said = ''] = thrown.message.replace(/^Invalid TOML document: /, '').split('\n');
      return say(`${file}:${thrown.line}`, `is no TOML at column ${thrown.column}: ${said}`);
    }
    return say(file, 'is no TOML that can be read');
  }
}

function digestFault(text: string, sha256: string): string | undefined {
  const wanted = sha256.toLowerCase().replace(/^sha256[:-]/, '');
  if (!/^[0-9a-f]{64}$/.test(wanted)) return 'is pinned by something that is no SHA-256 (64 hexadecimal digits)';
  const is = createHash('sha256').update(text).digest('hex');
  return is === wanted ? undefined : `is not the file that is pinned: its SHA-256 is ${is}`;
}

function misspeltTools(
  { toolName }: Record<string, unknown>,
  tools: readonly string[] | undefined,
  fault: (key: string, message: string) => void,
): void {
  for (const name of Array.isArray(toolName) ? toolName : [toolName]) {
    const meant = typeof name === 'string' ? meantTool(name, tools) : undefined;
    if (meant !== undefined) fault('toolName', `no tool "${name}" is known (did you mean "${meant}"?)`);
  }
}
