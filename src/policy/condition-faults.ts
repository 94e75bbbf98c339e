import { didYouMean } from '../kernel/text.js';
import { readAnnotations } from './annotations.js';
import { readPolicyPattern } from './pattern.js';
import { readPrefix } from './shell/prefix-words.js';
import { runsNoCommand, toolsOf } from './tool-names.js';

/** Tells a fault of a key; the empty key is the rule itself. */
export type Report = (key: string, message: string) => void;

/** Faults of what a rule asks of commands, arguments, servers and annotations; above all what can never match. */
export function conditionFaults(rule: Record<string, unknown>, names: readonly unknown[], fault: Report): void {
  const { commandPrefix, commandRegex, argsPattern, mcpName, annotations, allowEnv } = rule;
  if (commandPrefix !== undefined && commandRegex !== undefined) {
    fault('commandRegex', 'cannot stand beside commandPrefix: write two rules');
  }
  if (commandPrefix !== undefined) {
    if (typeof commandPrefix !== 'string') fault('commandPrefix', 'must be a text');
    else {
      const read = readPrefix(commandPrefix);
      const never = 'fault' in read ? read.fault : rule.decision === 'allow' ? undefined : read.never;
      if (never !== undefined) fault('commandPrefix', `can never match: it ${never}`);
    }
  }
  pattern('commandRegex', commandRegex);
  pattern('argsPattern', argsPattern);
  if (typeof argsPattern === 'string' && argsPattern.includes('": ')) {
    fault('argsPattern', 'can never match: in canonical JSON no space stands behind a colon');
  }
  for (const [key, value] of [
    ['commandPrefix', commandPrefix],
    ['commandRegex', commandRegex],
  ] as const) {
    const other = names.find((name) => typeof name === 'string' && runsNoCommand(name));
    if (value !== undefined && other !== undefined) fault(key, `can never match: ${String(other)} runs no command`);
  }
  if (mcpName !== undefined) {
    if (typeof mcpName !== 'string' || mcpName === '') fault('mcpName', 'must be the name of an MCP server');
    else if (mcpName.endsWith('*')) {
      fault(
        'mcpName',
        'can never match: it is the name of one server; leave it out and write toolName = "mcp_*" for all',
      );
    } else if (!names.some((name) => mayBeOfServer(name, mcpName))) {
      fault('mcpName', `can never match: no tool of the server ${mcpName} is called ${names.join(' or ')}`);
    }
  }
  if (annotations !== undefined && !areAnnotations(annotations)) {
    fault('annotations', 'must be an object of texts, numbers and booleans, or a list of names');
  } else if (annotations !== undefined) {
    const wrong = annotationFault(annotations as object);
    if (wrong !== undefined) fault('annotations', wrong);
  }
  if (allowEnv !== undefined && !(Array.isArray(allowEnv) && allowEnv.every(isVariable))) {
    fault('allowEnv', 'must be a list of names of variables');
  }

  function pattern(key: string, source: unknown): void {
    if (source === undefined) return;
    if (typeof source !== 'string') return fault(key, 'must be a pattern, as a text');
    const read = readPolicyPattern(source);
    if ('fault' in read) fault(key, read.fault);
  }
}

/** The names of the tools of a server with a plain name begin with it; of another one it is not said. */
function mayBeOfServer(name: unknown, server: string): boolean {
  if (typeof name !== 'string') return false;
  const own = /^[\w.-]{1,36}$/.test(server) ? toolsOf(server) : 'mcp_';
  if (name.endsWith('*') && own.startsWith(name.slice(0, -1))) return true;
  return name.startsWith(own);
}

const TRUTHS = new Set(['readOnly', 'destructive', 'longRunning', 'idempotent', 'polling', 'openWorld']);
const OURS = new Set([...TRUTHS, 'category']);

/** What is wrong with a value that is asked of an annotation of ours. */
function annotationFault(annotations: object): string | undefined {
  for (const [name, value] of readAnnotations(annotations as Record<string, unknown>)) {
    const meant = OURS.has(name) ? '' : didYouMean(name, [...OURS]);
    if (meant !== '') return `no annotation ${JSON.stringify(name)}${meant}`;
    if (TRUTHS.has(name) && typeof value !== 'boolean') return `can never match: ${name} is true or false`;
    if (name === 'category' && typeof value !== 'string') return 'can never match: category is a text';
  }
  return undefined;
}

const isVariable = (name: unknown) => typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name);

function areAnnotations(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((name) => typeof name === 'string' && name !== '');
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => ['string', 'number', 'boolean'].includes(typeof one))
  );
}
