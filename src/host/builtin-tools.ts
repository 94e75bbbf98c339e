import type { ToolResultData } from '../contracts/index.js';
import { errorResult } from '../kernel/tool-result.js';
import type { BuiltinName } from './agent-tools.js';
import { exitPlanMode } from './exit-plan-mode.js';
import { MAX_OUTPUT_FAULTS, readValue } from './output.js';
import type { ToolOutcome } from './thread.js';
import { askFor, type Call } from './tool-call.js';
import { callTransfer } from './transfer-call.js';

/** What each tool of the host itself does. Their arguments are checked here, not against a schema. */
export const builtinTools: Readonly<Record<BuiltinName, (call: Call) => ToolOutcome | Promise<ToolOutcome>>> = {
  exit_loop: (call) => {
    const isOver = handedOver(call);
    if (isOver !== undefined) return { result: isOver };
    const reason = textArg(call, 'reason');
    return { result: says('The loop ends.'), ending: { escalate: reason === undefined ? {} : { reason } } };
  },

  async complete_task(call) {
    const { outputSchema = {} } = call.thread.agent.driver.descriptor;
    const given = outputSchema.type === 'object' ? call.args : (call.args as { output?: unknown }).output;
    const { faults, value } = await readValue(call.thread, outputSchema, given);
    const isOver = handedOver(call);
    if (isOver !== undefined) return { result: isOver };
    if (faults.length === 0) {
      const ending = { complete: { value } };
      // Taken at once: a handover in the same turn must see it.
      if (!isDone(call)) call.run.ending = ending;
      return { result: says('The task is complete.'), ending };
    }
    const text = `the result does not fit: ${faults.join('; ')}`;
    const result = errorResult('invalid_tool_params', text);
    if (call.run.outputFaults++ < MAX_OUTPUT_FAULTS) return { result };
    return { result, ending: { failure: { code: 'OUTPUT_INVALID', message: text } } };
  },

  exit_plan_mode: exitPlanMode,

  transfer_to_agent: (call) => callTransfer(call, textArg(call, 'target') ?? '', textArg(call, 'reason')),

  async ask_user(call) {
    const question = textArg(call, 'question');
    if (question === undefined) return { result: errorResult('invalid_tool_params', '/question must be a text') };
    const args = call.args as { header?: unknown; options?: unknown; multiSelect?: unknown };
    const given = Array.isArray(args.options) ? [...new Set(args.options.map(String))] : [];
    const options = given.length > 0 ? given : undefined;
    const answers =
      options === undefined
        ? { type: 'string' }
        : args.multiSelect === true
          ? { type: 'array', items: { enum: options }, uniqueItems: true }
          : { enum: options };
    const answer = await askFor(call, {
      kind: 'clarification',
      message: question,
      ...(typeof args.header === 'string' && { title: args.header }),
      requestedSchema: { type: 'object', properties: { answers }, required: ['answers'] },
      context: {
        toolRequestId: call.requestId,
        questions: [{ question, ...(options && { options, multiSelect: args.multiSelect === true }) }],
      },
    });
    if (answer.action !== 'accept') {
      const reason = answer._meta?.reason;
      const text =
        answer.action === 'decline' ? 'the user declined to answer' : `no answer${reason ? `: ${String(reason)}` : ''}`;
      return { result: errorResult('declined', `declined: ${text}`) };
    }
    const said = answer.content?.answers;
    return { result: says(typeof said === 'string' ? said : JSON.stringify(said)) };
  },
};

const isDone = (call: Call): boolean => call.stage === 'done';

/** Why nothing else ends a turn that hands the conversation over; undefined where it does not. */
function handedOver({ run }: Call): ToolResultData | undefined {
  if (run.ending?.handoff === undefined) return undefined;
  const text = `the conversation was already handed over to ${run.ending.handoff.target} in this turn`;
  return errorResult('execution_failed', text);
}

const says = (text: string) => ({ llmContent: [{ type: 'text' as const, text }] });

function textArg(call: Call, key: string): string | undefined {
  const value = (call.args as Record<string, unknown>)[key];
  return typeof value === 'string' ? value : undefined;
}
