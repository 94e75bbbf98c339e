import type { JsonSchema, ToolDescriptor } from '../contracts/index.js';
import { PLAN_FILE } from '../kernel/policy-rules.js';
import type { ToolEntry } from './agent-tools.js';
import type { Thread } from './thread.js';

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

export const isPlanning = ({ tree }: Thread): boolean => tree.settings.permissionMode === 'plan';

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
