import type { PermissionMode, PolicyRequest } from '../contracts/index.js';
import { canonicalJson } from '../kernel/json-value.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { PLAN_FILE, type PolicyRule } from '../kernel/policy-rules.js';
import type { RankedRule } from './ranked-rules.js';
import type { ShellCommand } from './shell/command.js';
import type * as Shell from './shell/index.js';
import { matchesName, matchesOwnName, toolsOf } from './tool-names.js';

/** What is judged: a call as it is, one command of its command line, or whatever arguments there may be. */
export type Subject =
  | { readonly kind: 'call' }
  | { readonly kind: 'command'; readonly command: ShellCommand; readonly shell: typeof Shell }
  | { readonly kind: 'scope' };

/** What was found for an agent: the rule that decides, and the first stricter one that may have been meant. */
export interface Found {
  readonly ranked: RankedRule | undefined;
  /** An ask or a deny of a higher rank: whether it is about the command is known only when it runs. */
  readonly doubt: RankedRule | undefined;
}

const NOTHING: Found = { ranked: undefined, doubt: undefined };

export const modeOf = ({ context }: PolicyRequest) => narrowPermissionMode(context?.mode ?? 'default');

/** What the team's structure permits, and what only reads. */
export const isFree = ({ context }: PolicyRequest) =>
  context?.structural === true || context?.annotations?.readOnly === true;

const PLAN_WRITERS = ['write_file', 'replace'];

/** Whether all that a call changes is the plan file, or may be: then rules about it count in plan mode as for what reads. */
export function writesPlan({ action, args, context }: PolicyRequest, subject: Subject): boolean {
  if (!PLAN_WRITERS.includes(action) || context?.annotations?.category !== 'edit') return false;
  if (subject.kind === 'scope') return true;
  const { path } = (args ?? {}) as { path?: unknown };
  return path === PLAN_FILE || path === `./${PLAN_FILE}`;
}

/** Whether a rule wants a sandbox where there is none: it denies what it is about, whatever else it says. */
export const lacksSandbox = ({ sandbox }: PolicyRule, { context }: PolicyRequest) =>
  sandbox === true && context?.annotations?.sandboxed !== true;

const denies = (rule: PolicyRule, request: PolicyRequest) => rule.decision === 'deny' || lacksSandbox(rule, request);

/** The first rule, by rank, that is about the subject. */
export function findRule(rules: readonly RankedRule[], request: PolicyRequest, subject: Subject): Found {
  if (rules.length === 0) return NOTHING;
  const mode = modeOf(request);
  const mayChange = !isFree(request) && !writesPlan(request, subject);
  let doubt: RankedRule | undefined;
  for (const ranked of rules) {
    const { rule, names, modes, command, args } = ranked;
    if (!matchesScope(ranked, mode, request)) continue;
    if (rule.decision !== 'deny') {
      if (mode === 'plan' && mayChange && modes === undefined) continue;
      // What runs out of the host's sight is allowed by its name, not in passing.
      if (rule.decision === 'allow' && request.context?.opaque === true && !names.includes(request.action)) continue;
    }
    // What only passes on is named by a rule about commands, or by none.
    if (subject.kind === 'command' && subject.command.passesOn && command === undefined) continue;
    const fits = command === undefined && args === undefined ? true : fitsSubject(ranked, request, subject);
    // Not known yet is not denied yet.
    if (fits === true || (subject.kind === 'scope' && !denies(rule, request))) return { ranked, doubt };
    if (subject.kind === 'scope') continue;
    if (fits === 'maybe' && rule.decision !== 'allow') doubt ??= ranked;
  }
  return doubt === undefined ? NOTHING : { ranked: undefined, doubt };
}

function matchesScope(ranked: RankedRule, mode: PermissionMode, request: PolicyRequest): boolean {
  const { rule, names, modes, annotations, context } = ranked;
  const { action, principal, principalPath = '', origin, context: facts = {} } = request;
  const isAllow = rule.decision === 'allow';
  const isMeant =
    names.some((name) => matchesName(name, action, facts.mcpName, isAllow)) ||
    (!isAllow && matchesOwnName(names, facts.mcpName, facts.mcpTool));
  if (!isMeant) return false;
  if (modes !== undefined && !modes.includes(mode)) return false;
  if (rule.mcpName !== undefined && rule.mcpName !== facts.mcpName) {
    // Where nobody vouches for the server, its name in the tool's is enough to be strict, and no more.
    const isNamed = facts.mcpName === undefined && action.startsWith(toolsOf(rule.mcpName));
    if (!isNamed || isAllow) return false;
  }
  if (rule.principal !== undefined && rule.principal !== principal && rule.principal !== origin) {
    if (!`${principalPath}/`.startsWith(`${rule.principal}/`)) return false;
  }
  for (const [key, value] of annotations) if (facts.annotations?.[key] !== value) return false;
  for (const [key, value] of context) if ((facts[key] ?? false) !== value) return false;
  return true;
}

/** Whether a rule about commands or arguments is about these. */
function fitsSubject({ rule, command, args }: RankedRule, request: PolicyRequest, subject: Subject): boolean | 'maybe' {
  if (subject.kind === 'scope') return 'maybe';
  if (args !== undefined && !args.find(argsText(request))) return false;
  if (command === undefined) return true;
  if (subject.kind === 'call') return false;
  const { covers, concerns } = subject.shell;
  return rule.decision === 'allow' ? covers(command, subject.command) : concerns(command, subject.command);
}

const texts = new WeakMap<PolicyRequest, string>();

/** The arguments as canonical JSON; worked out once for a request. */
function argsText(request: PolicyRequest): string {
  let text = texts.get(request);
  if (text === undefined) {
    text = canonicalJson(request.args ?? {});
    texts.set(request, text);
  }
  return text;
}
