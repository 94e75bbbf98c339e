import type { PolicyEvaluator } from '../contracts/index.js';
import type { Problem } from '../kernel/errors.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { DECISIONS, type PolicyRuleSet, STANDINGS, TIERS } from '../kernel/policy-rules.js';
import { didYouMean } from '../kernel/text.js';
import { conditionFaults, type Report } from './condition-faults.js';

const MAX_PRIORITY = 999;
export const RULE_KEYS = [
  'toolName',
  'decision',
  'priority',
  'commandPrefix',
  'commandRegex',
  'argsPattern',
  'mcpName',
  'modes',
  'annotations',
  'principal',
  'context',
  'allowRedirection',
  'allowEnv',
  'sandbox',
  'grant',
  'always',
  'denyMessage',
  'allowMessage',
];
const UNSEEN = /[\p{Z}\p{Cf}]/u;
/** What stands in no name of an agent, and a path that is not whole. */
const NO_PRINCIPAL = /[*\p{Z}\p{C}]|^\/|\/\/|\/$/u;
const CONTEXT_KEYS = ['executor', 'opaque'];
const SET_KEYS = ['rules', 'tier', 'file', 'lines', 'standing'];

/** Every fault of what a host was given as policy, each with its place; empty when there is none. Never throws. */
export function policyFaults(sources: readonly unknown[]): Problem[] {
  const problems: Problem[] = [];
  const say = (path: string, message: string) => problems.push({ code: 'POLICY_INVALID', path, message });
  sources.forEach((source, index) => {
    if (isEvaluator(source)) return;
    if (isRecord(source) && 'rules' in source) faultsOfSet(source, say);
    else {
      say(`policy[${index}]`, 'must be { rules } or an evaluator, that is { evaluate(request) }');
    }
  });
  return problems;
}

function faultsOfSet(set: Record<string, unknown>, say: (path: string, message: string) => void): void {
  const { rules, tier, file, lines, standing } = set as Partial<Record<keyof PolicyRuleSet, unknown>>;
  const from = typeof file === 'string' && file !== '' ? file : 'policy';
  unknownKeys(set, SET_KEYS, (key, message) => say(`${from}:${key}`, message));
  if (file !== undefined && typeof file !== 'string') say(`${from}:file`, 'must be a text');
  if (tier !== undefined && !isOneOf(TIERS, tier)) say(`${from}:tier`, `must be one of ${TIERS.join(', ')}`);
  if (standing !== undefined && !isOneOf(Object.keys(STANDINGS), standing)) {
    say(`${from}:standing`, `must be one of ${Object.keys(STANDINGS).join(', ')}`);
  }
  if (standing !== undefined && tier === 'extension') say(`${from}:standing`, 'an extension has no other standing');
  if (!Array.isArray(rules)) return say(`${from}:rules`, 'must be a list of rules');
  rules.forEach((rule: unknown, index) => {
    const line: unknown = Array.isArray(lines) ? lines[index] : undefined;
    const at = `${from}:${typeof line === 'number' ? `${line}:` : ''}rules[${index}]`;
    ruleFaults(rule, tier, (key, message) => say(key === '' ? at : `${at}.${key}`, message));
  });
}

/** Every fault of one rule of a tier. */
export function ruleFaults(rule: unknown, tier: unknown, fault: Report): void {
  if (!isRecord(rule)) return fault('', 'must be a rule, that is { toolName, decision }');
  unknownKeys(rule, RULE_KEYS, fault);
  const { toolName, decision, priority, modes, principal, context, grant, always } = rule;
  const names: unknown[] = Array.isArray(toolName) ? toolName : [toolName];
  if (names.length === 0 || !names.every((name) => typeof name === 'string' && name !== '')) {
    fault('toolName', 'must be a tool name, "*", a prefix such as "mcp_*", or a list of them');
  } else if (names.some((name) => (name as string).slice(0, -1).includes('*'))) {
    fault('toolName', 'a "*" may stand at the end only');
  } else if (names.some((name) => /\p{Cc}/u.test(name as string))) {
    fault('toolName', 'can never match: no name of a tool holds a control character');
  } else if (names.some((name) => UNSEEN.test(name as string))) {
    fault('toolName', 'can never match: no name of a tool holds a space, or a character that is not seen');
  }
  if (!isOneOf(DECISIONS, decision)) {
    const meant = typeof decision === 'string' ? didYouMean(decision, DECISIONS) : '';
    fault('decision', `must be one of ${DECISIONS.join(', ')}${meant}`);
  }
  if (
    priority !== undefined &&
    !(Number.isInteger(priority) && Number(priority) >= 0 && Number(priority) <= MAX_PRIORITY)
  )
    fault('priority', `must be a whole number from 0 to ${MAX_PRIORITY}`);
  if (modes !== undefined) faultsOfModes(modes, tier, fault);
  if (principal !== undefined && (typeof principal !== 'string' || principal === '')) {
    fault('principal', 'must be an agent name or a path such as "lead/reviewer"');
  } else if (principal !== undefined && NO_PRINCIPAL.test(principal)) {
    fault('principal', 'can never match: it is the name of one agent, or a path such as "lead/reviewer", as it is');
  }
  if (context !== undefined) faultsOfContext(context, fault);
  for (const key of ['denyMessage', 'allowMessage']) {
    if (rule[key] !== undefined && typeof rule[key] !== 'string') fault(key, 'must be a text');
  }
  for (const key of ['grant', 'always', 'sandbox', 'allowRedirection']) {
    if (rule[key] !== undefined && typeof rule[key] !== 'boolean') fault(key, 'must be true or false');
  }
  if (grant === true && decision !== 'allow') fault('grant', 'only an allow can be granted');
  if (grant === true && principal === undefined) fault('grant', 'needs the principal that it is granted to');
  if (always === true && (decision !== 'allow' || (tier !== undefined && tier !== 'user'))) {
    fault('always', 'is for an allow of the user, chosen at a question');
  }
  conditionFaults(rule, names, fault);
  if (tier !== 'extension') return;
  if (decision === 'allow') fault('decision', 'an extension cannot allow');
  if (grant === true) fault('grant', 'an extension cannot grant');
}

function faultsOfContext(context: unknown, fault: Report): void {
  if (!isRecord(context)) return fault('context', `must be an object of ${CONTEXT_KEYS.join(', ')}`);
  unknownKeys(context, CONTEXT_KEYS, (key, message) => fault(`context.${key}`, message));
  const { executor, opaque } = context;
  if (executor !== undefined && typeof executor !== 'string') fault('context.executor', 'must be a text');
  if (opaque !== undefined && typeof opaque !== 'boolean') fault('context.opaque', 'must be true or false');
}

function faultsOfModes(modes: unknown, tier: unknown, fault: Report): void {
  if (!Array.isArray(modes) || modes.length === 0) return fault('modes', 'must be a list of permission modes');
  for (const mode of modes) {
    const meant = narrowPermissionMode(mode);
    if (mode !== 'default' && meant === 'default') {
      fault('modes', `no permission mode ${JSON.stringify(mode)}${didYouMean(String(mode), MODES)}`);
    }
    if (tier === 'extension' && meant === 'autonomous') {
      fault('modes', 'an extension has no say in the autonomous mode');
    }
  }
}

const MODES = ['default', 'auto_edit', 'autonomous', 'plan', 'dont_ask'];

export function unknownKeys(object: Record<string, unknown>, known: readonly string[], fault: Report): void {
  for (const key of Object.keys(object)) {
    if (!known.includes(key)) fault(key, `unknown key${didYouMean(key, known)}; known: ${known.join(', ')}`);
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isOneOf = (list: readonly string[], value: unknown) => typeof value === 'string' && list.includes(value);
/** Whatever else it holds: an evaluator may well keep rules of its own. */
export const isEvaluator = (source: unknown): source is PolicyEvaluator =>
  typeof source === 'object' && source !== null && 'evaluate' in source && typeof source.evaluate === 'function';
