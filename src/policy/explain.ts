import type { PolicyRequest } from '../contracts/index.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import type { PolicyRule, PolicyTier } from '../kernel/policy-rules.js';
import type { Judged } from './decide.js';
import type { ShellCommand } from './shell/command.js';

/** What would be decided, by which rule, and why; plain JSON. */
export interface PolicyExplanation {
  outcome: PolicyRule['decision'];
  /** Where the rule stands: `policy.toml[0]`. Null where the mode's default decides. */
  rule: string | null;
  tier: PolicyTier | null;
  reason: string;
  /** The rule's line in its file. */
  line?: number;
  /** The rule is a grant: what the leaders above may not does not bind. */
  grant?: true;
  /** The leader above, by its path, whose rights are narrower. */
  boundBy?: string;
  /** Of a command line: each command that it would run. */
  commands?: { command: string; outcome: PolicyRule['decision']; rule: string | null; reason: string }[];
}

export function explainDecision(
  request: PolicyRequest,
  judged: Judged,
  each?: readonly { readonly command: ShellCommand; readonly verdict: Judged }[],
): PolicyExplanation {
  const { ranked, boundBy } = judged;
  return {
    ...plain(request, judged),
    ...(ranked?.line !== undefined && { line: ranked.line }),
    ...(ranked?.rule.grant === true && { grant: true as const }),
    ...(boundBy !== undefined && { boundBy: boundBy.principalPath }),
    ...(each !== undefined && {
      commands: each.map(({ command, verdict }) => {
        const { outcome, rule, reason } = plain(request, verdict);
        return { command: command.text, outcome, rule, reason };
      }),
    }),
  };
}

function plain({ context }: PolicyRequest, { outcome, ranked, reason, boundBy }: Judged) {
  const asked = outcome === 'ask_user' && narrowPermissionMode(context?.mode) === 'dont_ask';
  const bound = boundBy === undefined ? '' : ` (by the rights of ${boundBy.principalPath}, which acts through it)`;
  return {
    outcome: asked ? ('deny' as const) : outcome,
    rule: ranked?.says ?? null,
    tier: ranked?.tier ?? null,
    reason: `${reason}${bound}${asked ? '; it would be asked about, and this mode asks nobody' : ''}`,
  };
}
