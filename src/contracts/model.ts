import type { ContentPart } from './content.js';
import type { Bag, Open } from './open.js';
import type { JsonSchema } from './schema.js';
import type { ToolDescriptor } from './tools.js';

export interface ModelMessage {
  role: 'user' | 'model' | 'system';
  content: ContentPart[];
}

export interface GenerationConfig {
  temperature?: number;
  topP?: number;
  topK?: number;
  maxOutputTokens?: number;
  stopSequences?: string[];
  thinking?: { budget?: number; includeThoughts?: boolean };
  [key: string]: unknown;
}

export interface ModelRequest {
  systemInstruction?: string;
  /** A snapshot: it does not change after the call. Every call has its response, in call order, in one `user` message. */
  messages: readonly ModelMessage[];
  /** Names here are what the model sees and says. */
  tools?: readonly ToolDescriptor[];
  toolMode?: Open<'auto' | 'any' | 'none'>;
  allowedTools?: readonly string[];
  outputSchema?: JsonSchema;
  config?: GenerationConfig;
  /** An adapter makes no call when it is already aborted, and closes its socket when it fires. */
  readonly signal?: AbortSignal;
  /** Who asks: `agent` (name), `threadId`, `sessionId`, `model` (name after the provider), `purpose` (`turn`, `summary` …). Not sent to a provider. */
  _meta?: ModelRequestMeta;
}

export interface ModelRequestMeta extends Bag {
  agent?: string;
  threadId?: string;
  sessionId?: string;
  purpose?: Open<'turn' | 'summary' | 'classify'>;
}

export interface ModelToolCall {
  /** The provider's id; absent, repeated and reused ids are normal. */
  id?: string;
  name: string;
  args: unknown;
  /** Set when the arguments could not be read: the text as it came. The call is answered with an error and never runs. */
  brokenArgs?: string;
  thoughtSignature?: string;
}

/** Tokens of one model call. A field that the provider did not give is absent, never 0. */
export interface ModelUsage {
  inputTokens?: number;
  outputTokens?: number;
  cachedTokens?: number;
  thoughtTokens?: number;
  cost?: { usd?: number };
}

export type FinishReason = Open<'stop' | 'tool_calls' | 'length' | 'refusal' | 'malformed' | 'error'>;

/**
 * From `generate` the whole answer; from `generateStream` an increment: contents and calls concatenate, the last
 * `usage` counts (cumulative), the last `finishReason` counts. An adapter throws where an answer broke off; a stream that
 * ends without a `finishReason` has said all that it had to say.
 */
export interface ModelResponse {
  content: ContentPart[];
  toolCalls?: ModelToolCall[];
  usage?: ModelUsage;
  finishReason?: FinishReason;
  _raw?: unknown;
}

/** Failures are thrown as `ModelError` (`kernel/errors`): `code`, `message`, `retryable`, `retryAfterMs?`. */
export interface ModelInterface {
  generate(request: ModelRequest): Promise<ModelResponse>;
  generateStream(request: ModelRequest): AsyncGenerator<ModelResponse>;
}

/** Makes the model of a provider by its name (what stands after `provider/`). */
export type ModelFactory = (name: string) => ModelInterface | Promise<ModelInterface>;

export interface ModelConfig {
  resolve(request: {
    agent: string;
    requested?: string | ModelInterface | undefined;
    purpose?: string;
    retry?: boolean;
  }): Promise<ResolvedModel> | ResolvedModel;
}

export interface ResolvedModel {
  /** `provider/name`, or the name given to a model object. */
  name: string;
  provider: string;
  model: ModelInterface;
}
