import type { JsonSchema, PermissionMode } from '../contracts/index.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { errorResult } from '../kernel/tool-result.js';
import { isPlanning } from './plan-mode.js';
import { publish } from './session-tree.js';
import type { ToolOutcome, Tree } from './thread.js';
import { askFor, type Call } from './tool-call.js';

/** Sets the mode of a whole tree, for every agent in it, and says so. */
function setMode(tree: Tree, mode: PermissionMode): void {
  tree.settings.permissionMode = mode;
  publish(tree.root, { type: 'session_update', permissionMode: mode, source: 'user' });
}

const ANSWER: JsonSchema = {
  type: 'object',
  properties: {
    mode: { enum: ['default', 'auto_edit'], default: 'default', title: 'Mode to go on in' },
    feedback: { type: 'string', title: 'What is to be changed in the plan' },
  },
};

/** Asks a person about the plan. On accept the mode changes as answered, for all; else nothing changes. */
export async function exitPlanMode(call: Call): Promise<ToolOutcome> {
  const { plan } = call.args as { plan?: unknown };
  if (typeof plan !== 'string' || plan.trim() === '') {
    return { result: errorResult('invalid_tool_params', '/plan must be a text: the whole plan') };
  }
  const { thread } = call;
  if (!isPlanning(thread)) return { result: errorResult('execution_failed', 'plan mode is not on') };
  const { action, content, _meta } = await askFor(call, {
    kind: 'user_approval',
    message: `${thread.agentId} has a plan. Is it to be carried out?`,
    title: 'Plan',
    requestedSchema: ANSWER,
    context: { kind: 'exit_plan_mode', toolRequestId: call.requestId, principalPath: thread.principalPath, plan },
  });
  const feedback = typeof content?.feedback === 'string' && content.feedback !== '' ? content.feedback : undefined;
  if (action !== 'accept') {
    const why = feedback ?? (typeof _meta?.reason === 'string' ? _meta.reason : undefined);
    const text = `declined: the plan was not approved${why === undefined ? '' : `: ${why}`}; plan mode is still on`;
    return { result: errorResult('declined', text) };
  }
  // What a person has set meanwhile stands.
  if (isPlanning(thread)) setMode(thread.tree, narrowPermissionMode(content?.mode ?? 'default'));
  const mode = thread.tree.settings.permissionMode;
  const more = feedback === undefined ? '' : ` The person adds: ${feedback}`;
  const text = `The plan is approved, and the mode is ${mode}: carry it out.${more}`;
  return { result: { llmContent: [{ type: 'text', text }] } };
}
