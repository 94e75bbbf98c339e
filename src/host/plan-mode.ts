import type { JsonSchema, PermissionMode, ToolDescriptor } from '../contracts/index.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { PLAN_FILE } from '../kernel/policy-rules.js';
import { errorResult } from '../kernel/tool-result.js';
import type { ToolEntry } from './agent-tools.js';
import { publish } from './session-tree.js';
import type { Thread, ToolOutcome, Tree } from './thread.js';
import { askFor, type Call } from './tool-call.js';

const NAME = 'exit_plan_mode';

const PARAMETERS: JsonSchema = {
  type: 'object',
  properties: { plan: { type: 'string', minLength: 1, description: 'The whole plan, as the person is to read it.' } },
  required: ['plan'],
};

const DESCRIPTOR: ToolDescriptor = {
  name: NAME,
  description:
    'Shows your plan to the person you work for, once it is complete. If it is approved, plan mode ends and you may ' +
    'carry it out; if not, you are told why and go on planning.',
  parametersSchema: PARAMETERS,
  annotations: { category: 'switch_mode', readOnly: true },
};

const ENTRY: ToolEntry = {
  modelName: NAME,
  registered: NAME,
  descriptor: DESCRIPTOR,
  builtin: NAME,
  // It has its place among the calls of a turn: those behind it wait for the answer.
  readOnly: false,
  idempotent: true,
};

/** Whoever acts for a leader works out no plan of its own. */
const mayExit = (thread: Thread): boolean => {
  for (let at = thread.parent; at !== undefined; at = at.parent) {
    if (at.agent.definition.leader !== undefined) return false;
  }
  return true;
};

const isPlanning = ({ tree }: Thread): boolean => tree.settings.permissionMode === 'plan';

/** The way out of plan mode as a tool of this thread; nothing for one that cannot take it. */
export function planExit(thread: Thread, name: string): ToolEntry | undefined {
  return name === NAME && isPlanning(thread) && mayExit(thread) ? ENTRY : undefined;
}

/** Tools of a thread, with the way out of plan mode while it is on. */
export function withPlanExit(thread: Thread, tools: readonly ToolDescriptor[]): readonly ToolDescriptor[] {
  if (!isPlanning(thread) || !mayExit(thread) || tools.some(({ name }) => name === NAME)) return tools;
  return [...tools, DESCRIPTOR];
}

/** The system instruction of a thread as it is to be read in the mode that is on. */
export function inMode(thread: Thread, instruction: string): string {
  if (!isPlanning(thread)) return instruction;
  const way = mayExit(thread)
    ? `When your plan is complete, call ${NAME} with all of it: it is shown to the person you work for, who approves it or not.`
    : 'Say in your answer what you would do.';
  const mayWrite = [...thread.agent.tools.byModelName.values()].some(({ registered }) => registered === 'write_file');
  const file = mayWrite ? ` You may write your plan to ${PLAN_FILE}, and to no other file.` : '';
  return `${instruction}\n\nPlan mode is on: look at what is there and plan, but change nothing. What changes something is denied.${file} ${way}`.trim();
}

/** Sets the mode of a whole tree, for every agent in it, and says so. */
export function setMode(tree: Tree, mode: PermissionMode): void {
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
    context: { kind: NAME, toolRequestId: call.requestId, principalPath: thread.principalPath, plan },
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
