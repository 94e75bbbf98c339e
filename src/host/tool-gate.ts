import type { ElicitationResponse, PolicyDecision, ToolResultData } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { nearest } from '../kernel/text.js';
import { errorResult } from '../kernel/tool-result.js';
import { askApproval, isAlwaysAllowed, isStillApproved, rememberAlways } from './approval.js';
import { fireHook } from './fire-hook.js';
import { nobodyToAsk } from './questions.js';
import { argsFor, copyArgs, validateArgs } from './tool-args.js';
import type { Call } from './tool-call.js';
import { evaluate, hiddenTools, visibleTools } from './tool-policy.js';
import { previewOf } from './tool-preview.js';
import { isLeftOut } from './tool-selection.js';

/**
 * Whether a call may run: known tool → arguments fit → `before_tool` hooks (then the arguments again) → policy →
 * approval. Resolves with nothing when it may, else with the error result that tells the model why. Never rejects;
 * never settles where a hook or an evaluator does not, so who waits for it watches the call's end too.
 */
export async function judge(call: Call): Promise<ToolResultData | undefined> {
  try {
    if (call.entry === undefined) return unknownTool(call);
    if (hiddenTools(call.thread).includes(call.name)) return await hidden(call);
    if (isLeftOut(call))
      return errorResult('policy_denied', `denied by a hook: ${call.name} is not to be called in this turn`);
    if (call.brokenArgs !== undefined) {
      return errorResult('invalid_tool_params', `the arguments are no JSON: ${call.brokenArgs.slice(0, 200)}`);
    }
    const unfit = validateArgs(call);
    const faults = unfit instanceof Promise ? await unfit : unfit;
    if (faults !== undefined) return faults;
    if (!call.thread.tree.host.hookPoints.has('before_tool')) return await judgeByPolicy(call, undefined);
    const verdict = await askHooks(call);
    return verdict.refusal ?? (await judgeByPolicy(call, verdict.raised));
  } catch (thrown) {
    // Whatever breaks at the gate closes it.
    return errorResult('policy_denied', `denied: the check of ${call.name} failed: ${describeError(thrown).message}`);
  }
}

/** Whatever the arguments: the rule that denies says why, and before anybody else is asked. */
async function hidden(call: Call): Promise<ToolResultData> {
  const decision = await evaluate(call);
  if (decision.outcome === 'deny') return denied(call, decision);
  return errorResult('policy_denied', `denied: ${call.name} is not permitted here`);
}

function unknownTool(call: Call): ToolResultData {
  const names = visibleTools(call.thread).map((tool) => tool.name);
  const close = nearest(call.name, names);
  const advice = close.length > 0 ? `did you mean ${close.join(' or ')}?` : `available: ${names.join(', ') || 'none'}`;
  return errorResult('tool_not_registered', `no tool "${call.name}"; ${advice}`);
}

/** What the hooks make of a call; changed arguments are validated like those of the model. */
async function askHooks(call: Call): Promise<{ refusal?: ToolResultData | undefined; raised?: string }> {
  const { name: tool, requestId } = call;
  const mcp = call.entry?.tool?.mcp;
  const payload = { tool, args: copyArgs(call.args), requestId, ...(mcp !== undefined && { mcp: { ...mcp } }) };
  const verdict = await fireHook(call.thread, 'before_tool', payload);
  if (verdict === undefined) return {};
  const { action, reason, modifications } = verdict;
  if (action !== 'proceed' && action !== 'ask') {
    return { refusal: errorResult('policy_denied', `denied by a hook: ${reason ?? 'no reason given'}`) };
  }
  const raised = action === 'ask' ? { raised: reason ?? 'a hook wants this to be asked' } : {};
  if (modifications?.args === undefined) return raised;
  call.args = copyArgs(modifications.args);
  return { refusal: await validateArgs(call), ...raised };
}

/** A call that was let through, and has to wait: what a person approved of it is looked at again when it would run. */
export function noteWait(call: Call): void {
  if (call.shown !== undefined) call.judgedIn = undefined;
}

/** Whether the mode has changed since the call was let through, or it has waited: then that says nothing. */
export const isOutdated = (call: Call): boolean => call.judgedIn !== call.thread.tree.settings.permissionMode;

/** Judges a call again that `isOutdated`. Settles as `judge`. */
export async function judgeAgain(call: Call): Promise<ToolResultData | undefined> {
  try {
    return await judgeByPolicy(call, undefined);
  } catch (thrown) {
    return errorResult('policy_denied', `denied: the check of ${call.name} failed: ${describeError(thrown).message}`);
  }
}

async function judgeByPolicy(call: Call, raisedByHook: string | undefined): Promise<ToolResultData | undefined> {
  call.judgedIn = call.thread.tree.settings.permissionMode;
  const said = evaluate(call);
  const decision = said instanceof Promise ? await said : said;
  if (decision.outcome === 'deny') return denied(call, decision);
  if (call.isApproved && (await isStillApproved(call))) return undefined;
  const asked = raisedByHook ?? raisedByTool(call);
  const raised = asked instanceof Promise ? await asked : asked;
  if ((decision.outcome === 'allow' && raised === undefined) || isAlwaysAllowed(call)) return undefined;
  const { tree } = call.thread;
  if (tree.settings.permissionMode === 'dont_ask') {
    return errorResult('policy_denied', `denied: ${call.name} would need approval, and this mode asks nobody`);
  }
  // What was asked before the process ended stays asked.
  const nobody = tree.recovery?.hasApproval(call) ? undefined : nobodyToAsk(tree);
  if (nobody !== undefined) return errorResult('policy_denied', `denied: ${call.name} needs approval, and ${nobody}`);
  const hint = decision.outcome === 'ask_user' ? decision.hint : undefined;
  // It was cancelled while somebody thought about it.
  if (call.stage === 'done') return errorResult('cancelled', 'cancelled: its run has ended');
  const { rule, commands } = decision;
  const answer = await askApproval(call, { hint: hint ?? (raised || undefined), rule, commands });
  return takeAnswer(call, answer);
}

/** A tool can only raise allow to ask: its reason, or an empty one. */
function raisedByTool(call: Call): undefined | Promise<string | undefined> {
  const confirm = call.entry?.tool?.confirm;
  if (confirm === undefined) return undefined;
  const { thread } = call;
  const { sessionId, settings } = thread.tree;
  const asked = confirm(argsFor(call) as never, {
    sessionId,
    threadId: thread.threadId,
    agentId: thread.agentId,
    permissionMode: settings.permissionMode,
  });
  return Promise.resolve(asked).then((raised) =>
    raised === false ? undefined : typeof raised === 'string' ? raised : '',
  );
}

/** An answer allows this one action. What it changed is checked like anything else, and a deny stands whatever it says. */
async function takeAnswer(call: Call, answer: ElicitationResponse): Promise<ToolResultData | undefined> {
  if (call.run.stop !== undefined) return errorResult('cancelled', 'cancelled: the run is being stopped');
  const { outcome, modifiedArgs } = answer.content ?? {};
  if (answer.action !== 'accept' || outcome === 'cancel') return declined(call, answer);
  if (outcome === 'modify' && modifiedArgs === undefined) return declined(call, { ...answer, action: 'cancel' });
  if (modifiedArgs !== undefined) {
    call.args = copyArgs(modifiedArgs);
    const unfit = await validateArgs(call);
    if (unfit !== undefined) return unfit;
    if (call.shown !== undefined) call.shown = await previewOf(call);
  }
  // Judged again as it will run: the arguments, the mode or the rules may be others by now.
  call.judgedIn = call.thread.tree.settings.permissionMode;
  const decision = await evaluate(call);
  if (decision.outcome === 'deny') return denied(call, decision);
  call.isApproved = true;
  await rememberAlways(call, outcome);
  return undefined;
}

const denied = (call: Call, decision: PolicyDecision & { outcome: 'deny' }) =>
  errorResult('policy_denied', `denied: ${call.name}: ${decision.reason}`);

function declined(call: Call, { action, content, _meta }: ElicitationResponse): ToolResultData {
  const reason = content?.reason ?? _meta?.reason;
  const text = action === 'cancel' ? 'the question got no answer' : 'by the user';
  return errorResult('declined', `declined: ${call.name} was not run (${text}${reason ? `: ${String(reason)}` : ''})`);
}
