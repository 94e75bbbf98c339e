import type { PolicyActor, PolicyRequest } from '../contracts/index.js';
import type { PolicyRule } from '../kernel/policy-rules.js';
import { cutText } from '../kernel/text.js';
import { findRule, isFree, lacksSandbox, modeOf, type Subject, writesPlan } from './matching.js';
import { type RankedRule, strictness } from './ranked-rules.js';

/** What the rules say, and why. */
export interface Judged {
  readonly outcome: PolicyRule['decision'];
  /** The rule that decided; none where the mode's default did. */
  readonly ranked: RankedRule | undefined;
  readonly reason: string;
  /** Why a person is asked, where that is more than a rule's or the mode's saying so. */
  readonly hint?: string | undefined;
  /** The leader whose rights bound it. */
  readonly boundBy?: PolicyActor;
}

/**
 * What the rules say of the agent itself, and of every leader that acts through it: the strictest. A grant for the one
 * that is judged lifts what the leaders above it may not, save what an administrator denies them.
 * Undefined: nothing is said of a command that only passes on to others.
 */
export function judge(rules: readonly RankedRule[], request: PolicyRequest, subject: Subject): Judged | undefined {
  let judged = judgeAlone(rules, request, subject);
  let isGranted = isGrantFor(judged, request);
  for (const actor of request.actingFor ?? []) {
    const { principal, principalPath, origin = '' } = actor;
    const asLeader = { ...request, principal, principalPath, origin };
    const theirs = judgeAlone(rules, asLeader, subject);
    if (theirs === undefined) continue;
    const counts =
      !isGranted || (theirs.outcome === 'deny' && theirs.ranked?.tier === 'admin' && judged?.ranked?.tier !== 'admin');
    if (counts && (judged === undefined || strictness(theirs.outcome) > strictness(judged.outcome))) {
      judged = { ...theirs, boundBy: actor };
    }
    isGranted ||= isGrantFor(theirs, asLeader);
  }
  return judged;
}

/** By name: the agent, or its whole path. */
function isGrantFor(judged: Judged | undefined, { principal, principalPath }: PolicyRequest): boolean {
  const rule = judged?.ranked?.rule;
  if (rule?.grant !== true || judged?.outcome !== 'allow') return false;
  return rule.principal === principal || rule.principal === principalPath;
}

function judgeAlone(rules: readonly RankedRule[], request: PolicyRequest, subject: Subject): Judged | undefined {
  const { ranked, doubt } = findRule(rules, request, subject);
  const passesOn = subject.kind === 'command' && subject.command.passesOn;
  if (passesOn && doubt === undefined && ranked?.rule.decision !== 'deny' && ranked?.rule.decision !== 'ask_user') {
    return undefined;
  }
  const judged = ranked === undefined ? byDefault(request, subject) : byRule(ranked, request, subject);
  if (doubt === undefined || judged.outcome !== 'allow') return judged;
  const reason = `it is known only when it runs whether ${doubt.says} is about ${nameOf(request, subject)}`;
  return { outcome: 'ask_user', ranked: doubt, reason, hint: reason };
}

function byRule(ranked: RankedRule, request: PolicyRequest, subject: Subject): Judged {
  const { rule, says } = ranked;
  const what = nameOf(request, subject);
  if (rule.decision === 'deny') {
    return { outcome: 'deny', ranked, reason: rule.denyMessage ?? `${what} is denied by ${says}` };
  }
  if (lacksSandbox(rule, request)) {
    return { outcome: 'deny', ranked, reason: `${says} lets ${what} run in a sandbox only, and there is none` };
  }
  if (rule.decision === 'ask_user') return { outcome: 'ask_user', ranked, reason: `${says} asks about ${what}` };
  const more = subject.kind === 'command' ? beyondRule(rule, subject) : undefined;
  // In the mode in which all is allowed, a rule that allows less is no reason to ask.
  if (more !== undefined && modeOf(request) !== 'autonomous') {
    return { outcome: 'ask_user', ranked, reason: `${says} allows ${what}, but ${more}`, hint: `${what}: ${more}` };
  }
  return { outcome: 'allow', ranked, reason: `${says} allows ${what}` };
}

const LONGEST_SHOWN = 200;

/** What is judged, as a person would call it. */
function nameOf({ action }: PolicyRequest, subject: Subject): string {
  return subject.kind === 'command' && subject.command.text !== ''
    ? `"${cutText(subject.command.text, LONGEST_SHOWN)}"`
    : action;
}

/** What a command does beside running, that the rule would have to name. */
function beyondRule(rule: PolicyRule, { command, shell }: Subject & { kind: 'command' }): string | undefined {
  const [write] = command.writes;
  if (write !== undefined && rule.allowRedirection !== true) return `it writes by a redirection: ${write}`;
  const set = command.assigns.find((name) => rule.allowEnv?.includes(name) !== true || shell.isDangerousVariable(name));
  return set === undefined ? undefined : `it sets ${set}`;
}

/** No rule is about it: what the team's structure permits and what only reads may run, anything else is asked about. */
function byDefault(request: PolicyRequest, subject: Subject): Judged {
  const what = nameOf(request, subject);
  const say = (outcome: Judged['outcome'], reason: string, hint?: string): Judged => ({
    outcome,
    ranked: undefined,
    reason: `no rule is about it, and ${reason}`,
    hint,
  });
  if (request.context?.structural === true) return say('allow', `the structure of the team permits ${what}`);
  if (isFree(request)) return say('allow', `${what} only reads`);
  switch (modeOf(request)) {
    case 'autonomous':
      return say('allow', 'the mode is autonomous');
    case 'auto_edit':
      if (request.context?.annotations?.category === 'edit') return say('allow', `the mode allows edits`);
      break;
    case 'plan':
      if (writesPlan(request, subject)) return say('allow', `${what} writes the plan`);
      return { ...say('deny', ''), reason: `${what} may change things, and plan mode only reads` };
    default:
  }
  const special = subject.kind === 'command' ? specialIn(subject) : undefined;
  if (special === undefined) return say('ask_user', `${what} may change things`);
  return say('ask_user', `of ${what}: ${special}`, `${what}: ${special}`);
}

/** Why no rule about commands may be about this one, where that does not meet the eye. */
function specialIn({ command }: Subject & { kind: 'command' }): string | undefined {
  if (command.unknown !== undefined) return command.unknown;
  const [reach] = command.reaches;
  if (reach === undefined) return undefined;
  const { option, maybe } = reach;
  return maybe === true
    ? `what ${option} stands for is known only when it runs`
    : `it may run or write more by ${option}`;
}
