import type { ModelMessage, ModelRequest, ToolDescriptor, TurnContext } from '../contracts/index.js';
import type { Thread } from './thread.js';

const GRACE_INSTRUCTION = 'You have reached a limit. No tools can be called any more: answer now with what you have.';

/** What goes to the model; its signal is made only when it is read. */
export class TurnRequest implements ModelRequest {
  readonly systemInstruction?: string;
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ToolDescriptor[];
  readonly toolMode?: 'none';
  readonly outputSchema?: Exclude<ModelRequest['outputSchema'], undefined>;
  readonly config?: Exclude<ModelRequest['config'], undefined>;
  readonly _meta: Exclude<ModelRequest['_meta'], undefined>;
  #turn: TurnContext;

  constructor(turn: TurnContext, thread: Thread) {
    this.#turn = turn;
    const { driver } = thread.agent;
    const { systemInstruction, toolsOff } = turn;
    if (systemInstruction !== '' || toolsOff) {
      this.systemInstruction = toolsOff ? `${systemInstruction}\n\n${GRACE_INSTRUCTION}`.trim() : systemInstruction;
    }
    this.messages = turn.messages();
    const tools = turn.tools();
    if (tools.length > 0) this.tools = tools;
    if (toolsOff) this.toolMode = 'none';
    const { outputSchema } = driver.descriptor;
    if (outputSchema !== undefined) this.outputSchema = outputSchema;
    const { generation } = thread.tree.settings;
    const config = generation === undefined ? driver.generation : { ...driver.generation, ...generation };
    if (config !== undefined) this.config = config;
    const _meta: TurnRequest['_meta'] = { agent: turn.agentId, sessionId: turn.sessionId, purpose: 'turn' };
    if (turn.threadId !== undefined) _meta.threadId = turn.threadId;
    this._meta = _meta;
  }

  get signal(): AbortSignal {
    return this.#turn.signal;
  }
}
