import type { Bag, ToolContext, ToolDefinition, ToolResultData } from '../../../contracts/index.js';
import { askValidator } from '../../../kernel/ask-validator.js';
import { textOf } from '../../../kernel/content.js';
import { describeError } from '../../../kernel/errors.js';
import { validateJson } from '../../../kernel/schema.js';
import { errorResult, thrownResult, toToolResult } from '../../../kernel/tool-result.js';
import { type BridgeHost, decide, fire, portsOf } from './ports.js';
import {
  BaseTool,
  type Context,
  type FunctionDeclaration,
  type RunAsyncToolRequest,
  type ToolConfirmation,
} from './sdk.js';

export interface AdkToolOptions {
  host: BridgeHost<'policyEngine' | 'hookSystem' | 'elicitation'>;
}

/**
 * A tool of ours for an agent of ADK, under the host's policy and hooks: what policy refuses is an `error` for the model,
 * what it wants asked goes ADK's way, as a confirmation of the call.
 */
export const toAdkTool = (tool: ToolDefinition, options: AdkToolOptions): BaseTool => new HostTool(tool, options);

class HostTool extends BaseTool {
  constructor(
    private readonly tool: ToolDefinition,
    private readonly options: AdkToolOptions,
  ) {
    const { description, annotations } = tool.descriptor;
    super({ name: tool.name, description, isLongRunning: annotations?.longRunning === true });
  }

  override _getDeclaration(): FunctionDeclaration {
    const { name, description } = this;
    return { name, description, parametersJsonSchema: this.tool.descriptor.parametersSchema };
  }

  /** ADK asks this before it believes an approval: it must say the same as when the call was held. */
  override async checkRequireConfirmation(args: Record<string, unknown>, toolContext?: Context): Promise<boolean> {
    return (await this.#judge(args, agentOf(toolContext))).kind === 'ask';
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    return answerOf(await this.#run(copyOf(args), toolContext));
  }

  async #run(given: Record<string, unknown>, toolContext: Context): Promise<ToolResultData> {
    const { name } = this;
    const agent = agentOf(toolContext);
    const whose = { agent, sessionId: toolContext.sessionId };
    const requestId = toolContext.functionCallId ?? '';
    const { hookSystem } = portsOf(this.options.host);
    let args = given;
    const said = await fire(hookSystem, 'before_tool', whose, { tool: name, args: copyOf(args), requestId });
    if (said !== undefined && said.action !== 'proceed' && said.action !== 'ask')
      return errorResult('policy_denied', `denied by a hook: ${said.reason ?? 'no reason given'}`);
    if (said?.modifications?.args !== undefined) args = copyOf(said.modifications.args as Record<string, unknown>);
    const faults = await validateJson(this.tool.descriptor.parametersSchema, args);
    if (faults.length > 0) return errorResult('invalid_tool_params', `${name}: ${faults.join('; ')}`);
    const verdict = await this.#judge(args, agent);
    if (verdict.kind === 'deny') return errorResult('policy_denied', `denied: ${verdict.reason}`);
    const mustAsk =
      verdict.kind === 'ask' ? verdict.reason : said?.action === 'ask' ? (said.reason ?? 'a hook asks') : undefined;
    if (mustAsk !== undefined) {
      const { toolConfirmation } = toolContext as { toolConfirmation?: ToolConfirmation };
      if (toolConfirmation === undefined) return this.#hold(toolContext, mustAsk);
      if (!toolConfirmation.confirmed) return errorResult('declined', 'This tool call is rejected.');
    }
    const result = await this.#execute(args, toolContext, requestId);
    return this.#after(result, args, requestId, whose);
  }

  #hold(toolContext: Context, why: string): ToolResultData {
    toolContext.requestConfirmation({ hint: `May ${this.name} run? ${why}` });
    toolContext.actions.skipSummarization = true;
    return errorResult('policy_denied', 'This tool call requires confirmation, please approve or reject.');
  }

  async #judge(
    args: Record<string, unknown>,
    agent: string,
  ): Promise<{ kind: 'allow' } | { kind: 'deny' | 'ask'; reason: string }> {
    const { policyEngine } = portsOf(this.options.host);
    const { annotations } = this.tool.descriptor;
    const decision = await decide(policyEngine, { agent }, { tool: this.name, args, annotations });
    if (decision.outcome === 'ask_user') return { kind: 'ask', reason: String(decision.hint ?? '') };
    if (decision.outcome !== 'allow') {
      const { reason } = decision as { reason?: unknown };
      return { kind: 'deny', reason: typeof reason === 'string' ? reason : `policy said "${decision.outcome}"` };
    }
    try {
      const asks = await this.tool.confirm?.(args as never, {
        sessionId: '',
        threadId: undefined,
        agentId: agent,
        permissionMode: 'default',
      });
      return asks ? { kind: 'ask', reason: typeof asks === 'string' ? asks : '' } : { kind: 'allow' };
    } catch (thrown) {
      return { kind: 'deny', reason: `the check of ${this.name} failed: ${describeError(thrown).message}` };
    }
  }

  async #execute(args: Record<string, unknown>, toolContext: Context, requestId: string): Promise<ToolResultData> {
    try {
      const { validate, execute } = this.tool;
      let parsed: unknown = args;
      if (validate !== undefined) {
        const { faults, value } = await askValidator(validate, args);
        if (faults.length > 0) return errorResult('invalid_tool_params', `${this.name}: ${faults.join('; ')}`);
        parsed = value;
      }
      const returned: unknown = await execute(parsed as never, this.#contextOf(toolContext, requestId));
      return toToolResult(await lastOf(returned));
    } catch (thrown) {
      return thrownResult(thrown);
    }
  }

  #contextOf(toolContext: Context, requestId: string): ToolContext {
    const { elicitation } = portsOf(this.options.host);
    const { state, abortSignal = NEVER } = toolContext;
    return {
      signal: abortSignal,
      sessionId: toolContext.sessionId,
      threadId: undefined,
      agentId: agentOf(toolContext),
      userId: toolContext.userId,
      requestId,
      state: {
        get: (key) => state.get(key),
        set: (key, value) => state.set(key, value),
        values: () => Object.freeze({ ...state.toRecord() }),
      },
      async elicit({ kind = 'user_approval', expiresAt, requestedSchema, ...question }) {
        const { action, content } = await elicitation.ask(
          {
            kind,
            ...question,
            ...(requestedSchema !== undefined && { requestedSchema: requestedSchema as Bag }),
            ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
          },
          { signal: abortSignal },
        );
        return content === undefined ? { action } : { action, content };
      },
      // ADK's own way to a credential is open to tools of ADK.
      credentials: { get: async () => undefined },
      progress() {},
      log() {},
    };
  }

  async #after(
    result: ToolResultData,
    args: Record<string, unknown>,
    requestId: string,
    whose: { agent: string; sessionId: string },
  ): Promise<ToolResultData> {
    const { hookSystem } = portsOf(this.options.host);
    const said = await fire(hookSystem, 'after_tool', whose, {
      tool: this.name,
      args: copyOf(args),
      requestId,
      result,
    });
    if (said === undefined) return result;
    if (said.action !== 'proceed')
      return errorResult('policy_denied', `withheld by a hook: ${said.reason ?? 'no reason given'}`);
    const more = said.modifications?.additionalContext;
    if (typeof more !== 'string') return result;
    return { ...result, llmContent: [...result.llmContent, { type: 'text', text: more }] };
  }
}

const NEVER = new AbortController().signal;

const agentOf = (toolContext: Context | undefined): string => toolContext?.agentName ?? 'adk';

const copyOf = <T>(value: T): T => structuredClone(value);

/** A generator's result; what it yields on the way has nobody to see it here. */
async function lastOf(returned: unknown): Promise<unknown> {
  if (typeof returned !== 'object' || returned === null || !(Symbol.asyncIterator in returned)) return returned;
  const steps = (returned as AsyncGenerator<unknown, unknown>)[Symbol.asyncIterator]();
  for (;;) {
    const step = await steps.next();
    if (step.done) return step.value;
  }
}

/** As ADK puts it before a model: an object as it is, a text under `result`, a fault under `error`. */
function answerOf(result: ToolResultData): Record<string, unknown> {
  const text = textOf(result.llmContent);
  if (result.isError) return { error: text, ...(result.errorType !== undefined && { errorType: result.errorType }) };
  const { data } = result;
  const isPlain = typeof data === 'object' && data !== null && !Array.isArray(data) && result.llmContent.length === 1;
  return isPlain ? (data as Record<string, unknown>) : { result: text };
}
