import type { PermissionMode } from '../contracts/index.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import {
  DECISIONS,
  type PolicyRule,
  type PolicyRuleSet,
  type PolicyTier,
  STANDINGS,
  TIERS,
} from '../kernel/policy-rules.js';
import { readAnnotations } from './annotations.js';
import { type Pattern, readPolicyPattern } from './pattern.js';
import type { CommandCondition } from './shell/conditions.js';
import { readPrefix } from './shell/prefix-words.js';

/** A rule as it is matched. */
export interface RankedRule {
  readonly rule: PolicyRule;
  readonly names: readonly string[];
  readonly modes: readonly PermissionMode[] | undefined;
  readonly annotations: readonly (readonly [string, unknown])[];
  readonly context: readonly (readonly [string, unknown])[];
  /** About one command of a shell. */
  readonly command: CommandCondition | undefined;
  /** About the arguments. */
  readonly args: Pattern | undefined;
  /** Tier + priority / 1000. */
  readonly rank: number;
  readonly tier: PolicyTier;
  readonly line: number | undefined;
  /** Where it stands: `policy.toml[0]`. */
  readonly says: string;
}

/** Highest rank first; among equals the stricter. The rules have no faults. */
export function rankRules(ruleSets: readonly PolicyRuleSet[]): RankedRule[] {
  const ranked = ruleSets.flatMap((set) => set.rules.map((rule, index) => rankRule(set, rule, index)));
  return ranked.sort((a, b) => b.rank - a.rank || strictness(b.rule.decision) - strictness(a.rule.decision));
}

export const strictness = (outcome: PolicyRule['decision']) => DECISIONS.indexOf(outcome);

function rankRule(set: PolicyRuleSet, rule: PolicyRule, index: number): RankedRule {
  const { tier = 'user', standing, file, lines } = set;
  const { toolName, modes, annotations = {}, context = {}, argsPattern } = rule;
  const fixed = standing ?? (rule.always === true ? 'always' : undefined);
  return {
    rule,
    names: typeof toolName === 'string' ? [toolName] : toolName,
    modes: modes?.map(narrowPermissionMode),
    annotations: readAnnotations(annotations),
    context: Object.entries(context),
    command: commandCondition(rule),
    args: argsPattern === undefined ? undefined : patternOf(argsPattern),
    rank: fixed === undefined ? TIERS.indexOf(tier) + 1 + (rule.priority ?? 0) / 1000 : STANDINGS[fixed],
    tier,
    line: lines?.[index],
    says: `${file ?? (standing === undefined ? `${tier} rules` : standing.replace('_', ' '))}[${index}]`,
  };
}

function commandCondition({ commandPrefix, commandRegex }: PolicyRule): CommandCondition | undefined {
  if (commandRegex !== undefined) return { regex: patternOf(commandRegex) };
  if (commandPrefix === undefined) return undefined;
  const read = readPrefix(commandPrefix);
  if ('fault' in read) throw new TypeError(read.fault);
  return { prefix: read.words };
}

function patternOf(source: string): Pattern {
  const read = readPolicyPattern(source);
  if ('fault' in read) throw new TypeError(read.fault);
  return read;
}
