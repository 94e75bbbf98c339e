import type { ElicitationResponse, JsonSchema, PolicyDecision, ToolResultData } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { canonicalJson } from '../kernel/json-value.js';
import { narrowPolicyDecision } from '../kernel/narrow.js';
import { validateJson } from '../kernel/schema.js';
import { nearest } from '../kernel/text.js';
import { errorResult } from '../kernel/tool-result.js';
import { fireHook } from './fire-hook.js';
import { ask, nobodyToAsk } from './questions.js';
import { publish } from './session-tree.js';
import { type Call, signal } from './tool-call.js';

/**
 * Whether a call may run: known tool → arguments fit → `before_tool` hooks (then the arguments again) → policy →
 * approval. Resolves with nothing when it may, else with the error result that tells the model why. Never rejects.
 */
export async function judge(call: Call): Promise<ToolResultData | undefined> {
  try {
    const { entry } = call;
    if (entry === undefined) return unknownTool(call);
    if (isHidden(call)) return errorResult('policy_denied', `denied: ${call.name} is not permitted here`);
    if (call.brokenArgs !== undefined) {
      return errorResult('invalid_tool_params', `the arguments are no JSON: ${call.brokenArgs.slice(0, 200)}`);
    }
    const unfit = validateArgs(call);
    const faults = unfit instanceof Promise ? await unfit : unfit;
    if (faults !== undefined) return faults;
    const { hooks } = call.thread.tree.host;
    let raised: string | undefined;
    if (hooks !== undefined) {
      const verdict = await askHooks(call);
      if (verdict.refusal !== undefined) return verdict.refusal;
      raised = verdict.ask;
    }
    return await judgeByPolicy(call, raised);
  } catch (thrown) {
    // Whatever breaks at the gate closes it.
    return errorResult('policy_denied', `denied: the check of ${call.name} failed: ${describeError(thrown).message}`);
  }
}

function unknownTool(call: Call): ToolResultData {
  const names = [...call.thread.agent.tools.byModelName.keys()];
  const close = nearest(call.name, names);
  const advice = close.length > 0 ? `did you mean ${close.join(' or ')}?` : `available: ${names.join(', ') || 'none'}`;
  return errorResult('tool_not_registered', `no tool "${call.name}"; ${advice}`);
}

function isHidden(call: Call): boolean {
  const { thread } = call;
  const { policy } = thread.tree.host;
  const hidden = policy.getExcluded?.({
    mode: thread.tree.settings.permissionMode,
    principal: thread.agentId,
    principalPath: thread.principalPath,
  });
  return hidden?.includes(call.name) ?? false;
}

function validateArgs(call: Call): undefined | ToolResultData | Promise<ToolResultData | undefined> {
  const { entry } = call;
  // Built-in tools say themselves what they take.
  if (entry === undefined || entry.builtin !== undefined) return isPlainObject(call.args) ? undefined : noObject(call);
  const errors = validateJson(entry.descriptor.parametersSchema, call.args);
  return errors instanceof Promise ? errors.then((list) => parseArgs(call, list)) : parseArgs(call, errors);
}

const isPlainObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const noObject = (call: Call) => errorResult('invalid_tool_params', `the arguments of ${call.name} must be an object`);

function parseArgs(call: Call, errors: string[]): undefined | ToolResultData | Promise<ToolResultData | undefined> {
  if (errors.length > 0) {
    return errorResult('invalid_tool_params', `the arguments of ${call.name} do not fit: ${errors.join('; ')}`);
  }
  const validator = call.entry?.tool?.validate;
  if (validator === undefined) return undefined;
  const parsed = validator['~standard'].validate(call.args);
  const take = (result: Awaited<typeof parsed>): ToolResultData | undefined => {
    if (result.issues === undefined) {
      call.parsedArgs = { value: result.value };
      return undefined;
    }
    const said = result.issues.map((issue) => {
      const path = (issue.path ?? []).map((key) => `/${String(typeof key === 'object' ? key.key : key)}`).join('');
      return `${path} ${issue.message}`.trim();
    });
    return errorResult('invalid_tool_params', `the arguments of ${call.name} do not fit: ${said.join('; ')}`);
  };
  return parsed instanceof Promise ? parsed.then(take) : take(parsed);
}

async function askHooks(call: Call): Promise<{ refusal?: ToolResultData; ask?: string }> {
  const { name: tool, args: given, requestId } = call;
  const verdict = await fireHook(call.thread, 'before_tool', { tool, args: given, requestId });
  if (verdict === undefined) return {};
  if (verdict.action !== 'proceed') {
    return { refusal: errorResult('policy_denied', `denied by a hook: ${verdict.reason ?? 'no reason given'}`) };
  }
  const { args, ask: raised } = (verdict.modifications ?? {}) as { args?: unknown; ask?: unknown };
  if (args !== undefined) {
    call.args = args;
    const unfit = await validateArgs(call);
    if (unfit !== undefined) return { refusal: unfit };
  }
  return typeof raised === 'string' ? { ask: raised } : {};
}

async function judgeByPolicy(call: Call, raisedByHook: string | undefined): Promise<ToolResultData | undefined> {
  let decision = await evaluate(call);
  if (decision.outcome === 'deny') return denied(call, decision);
  let hint = decision.outcome === 'ask_user' ? decision.hint : undefined;
  let mustAsk = decision.outcome === 'ask_user' || raisedByHook !== undefined;
  hint ??= raisedByHook;
  const confirm = call.entry?.tool?.confirm;
  if (confirm !== undefined) {
    const { thread } = call;
    const raised = await confirm(argsFor(call) as never, {
      sessionId: thread.tree.sessionId,
      threadId: thread.threadId,
      agentId: thread.agentId,
    });
    if (raised !== false) {
      mustAsk = true;
      if (typeof raised === 'string') hint ??= raised;
    }
  }
  if (!mustAsk || isAlwaysAllowed(call)) return undefined;
  if (call.thread.tree.settings.permissionMode === 'dont_ask') {
    return errorResult('policy_denied', `denied: ${call.name} would need approval, and this mode asks nobody`);
  }
  const reason = nobodyToAsk(call.thread.tree);
  if (reason !== undefined) return errorResult('policy_denied', `denied: ${call.name} needs approval, and ${reason}`);

  const answer = await askApproval(call, hint, decision.rule);
  if (call.run.stop !== undefined) return errorResult('cancelled', 'cancelled: the run is being stopped');
  if (answer.action !== 'accept') return declined(call, answer);
  const content = answer.content ?? {};
  const outcome = typeof content.outcome === 'string' ? content.outcome : 'proceed_once';
  if (outcome === 'cancel') return declined(call, answer);
  remember(call, outcome);
  if (content.modifiedArgs === undefined) return undefined;
  // What a person changed is checked like anything else; only the question itself is answered.
  call.args = content.modifiedArgs;
  const unfit = await validateArgs(call);
  if (unfit !== undefined) return unfit;
  decision = await evaluate(call);
  return decision.outcome === 'deny' ? denied(call, decision) : undefined;
}

async function evaluate(call: Call): Promise<PolicyDecision> {
  const { thread, entry } = call;
  const { host, settings } = thread.tree;
  const { annotations } = entry?.descriptor ?? {};
  return narrowPolicyDecision(
    await host.policy.evaluate({
      action: call.name,
      args: call.args,
      principal: thread.agentId,
      principalPath: thread.principalPath,
      context: {
        mode: settings.permissionMode,
        executor: thread.agent.driver.descriptor.executor,
        ...(annotations !== undefined && { annotations }),
        // What the team's own structure permits: its children, its targets, the host's tools for ending a task.
        structural: entry?.builtin !== undefined || entry?.childIndex !== undefined,
      },
    }),
  );
}

const denied = (call: Call, decision: PolicyDecision & { outcome: 'deny' }) =>
  errorResult('policy_denied', `denied: ${call.name}: ${decision.reason}`);

function declined(call: Call, answer: ElicitationResponse): ToolResultData {
  const reason = answer._meta?.reason;
  const text = answer.action === 'decline' ? 'by the user' : 'the question got no answer';
  return errorResult('declined', `declined: ${call.name} was not run (${text}${reason ? `: ${String(reason)}` : ''})`);
}

const APPROVAL_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    outcome: {
      enum: ['proceed_once', 'proceed_always', 'proceed_always_tool', 'modify', 'cancel'],
      default: 'proceed_once',
    },
    modifiedArgs: { type: 'object' },
  },
};

function askApproval(call: Call, hint: string | undefined, rule: string | undefined): Promise<ElicitationResponse> {
  const { thread } = call;
  call.stage = 'asking';
  signal(call, 'call.asked');
  publish(thread, { type: 'tool_update', requestId: call.requestId, status: 'awaiting_approval' });
  const { category } = call.entry?.descriptor.annotations ?? {};
  return ask(thread, {
    kind: 'tool_confirmation',
    message: hint ?? `${thread.agentId} wants to run ${call.name}`,
    requestedSchema: APPROVAL_SCHEMA,
    context: {
      toolRequestId: call.requestId,
      tool: call.name,
      args: call.args,
      principalPath: thread.principalPath,
      actionHash: actionKey(call),
      kind: category === 'edit' || category === 'execute' ? category : 'info',
      ...(rule !== undefined && { rule }),
    },
  });
}

const toolKey = (call: Call) => `${call.thread.principalPath}|${call.name}`;
/** The exact action: who, what, with which arguments. */
const actionKey = (call: Call) => `${toolKey(call)}|${canonicalJson(call.args)}`;

function isAlwaysAllowed(call: Call): boolean {
  const { always } = call.thread.tree;
  return always.size > 0 && (always.has(toolKey(call)) || always.has(actionKey(call)));
}

function remember(call: Call, outcome: string): void {
  const { always } = call.thread.tree;
  if (outcome === 'proceed_always') always.add(actionKey(call));
  if (outcome === 'proceed_always_tool') always.add(toolKey(call));
}

/** What the tool is given: the validator's output where there is one (defaults and transforms applied). */
export const argsFor = (call: Call): unknown => (call.parsedArgs === undefined ? call.args : call.parsedArgs.value);
