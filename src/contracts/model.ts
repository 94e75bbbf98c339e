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
  /** How many tokens its provider counts for these messages, by a request of its own. Absent: they are estimated. */
  countTokens?(request: Pick<ModelRequest, 'messages' | 'signal'>): Promise<number>;
  /** `usage.cost` says what a call cost: of every call, or of those that cost anything. Absent: only a price tells. */
  readonly reportsCost?: 'always' | 'where_it_costs' | undefined;
  /** True: `outputTokens` holds the `thoughtTokens` too. Absent: they stand beside them. */
  readonly countsThoughtsAsOutput?: boolean | undefined;
}

/** Makes the model of a provider by its name (what stands after `provider/`). */
export type ModelFactory = (name: string) => ModelInterface | Promise<ModelInterface>;

export type ModelChoice = string | ModelInterface;

export interface ModelConfig {
  resolve(request: {
    agent: string;
    requested?: ModelChoice | undefined;
    purpose?: string;
    /** An earlier try of the same call has failed. */
    retry?: boolean;
  }): Promise<ResolvedModel> | ResolvedModel;
}

export interface ResolvedModel {
  /** `provider/name`, or the name given to a model object. */
  name: string;
  provider: string;
  model: ModelInterface;
  /** Parameters that its alias gives it: they stand below those of the agent and the run. */
  generation?: GenerationConfig;
}

export type UsdPerMillionTokens = number;

export interface ModelPrice {
  input: UsdPerMillionTokens;
  output: UsdPerMillionTokens;
  /** Of the input tokens that came from a cache. Default: `input`. */
  cached?: UsdPerMillionTokens;
  /** Default: `output`. */
  thought?: UsdPerMillionTokens;
  /** The most tokens that one answer can have, thoughts included; a budget reckons with them. Default 65,536. */
  maxOutputTokens?: number;
  /** The most tokens that one request can have: what `troupe check` reckons with. Default 1,000,000. */
  maxInputTokens?: number;
}

/** A name for a model and its parameters. Where neither it nor what it extends names a model, it is its own name. */
export interface ModelAlias {
  /** Another alias: what is not said here is as there. Objects are merged, lists replaced. */
  extends?: string;
  /** A model, or another alias. */
  model?: string;
  generation?: GenerationConfig;
  overrides?: readonly ModelOverride[];
}

/** Of those that fit a request the one with the most conditions wins; of equal ones the last. */
export interface ModelOverride {
  when: { agent?: string; purpose?: string; retry?: boolean };
  model?: string;
  generation?: GenerationConfig;
}

/** What a strategy of the router chooses by. */
export interface RouteRequest {
  /** What the model will see; a snapshot. */
  readonly history: readonly ModelMessage[];
  readonly request: ModelRequest;
  /** The agent's own model; undefined: it names none. */
  readonly requested: ModelChoice | undefined;
  readonly agent: string;
  readonly threadId: string | undefined;
  readonly permissionMode: string;
  readonly signal: AbortSignal;
  /** Asks a model for the router: counted and paid like every call, never routed itself. Rejects when it fails. */
  ask(model: ModelChoice, request: ModelRequest): Promise<ModelResponse>;
}

/** A model, or one with the reason why; undefined: the next strategy is asked. */
export type RouteAnswer = ModelChoice | { readonly model: ModelChoice; readonly reason?: string } | undefined;

/** Must not throw for want of an answer: one that throws, or gives none within 30 s, is passed over, with a notice. */
export interface RouterStrategy {
  readonly name: string;
  route(request: RouteRequest): RouteAnswer | Promise<RouteAnswer>;
}

/** Models that stand in for one that cannot be had, in order. */
export interface ModelFallbacks {
  /** For every model; or by model or alias (`*`: for all others). */
  readonly models: readonly string[] | Readonly<Record<string, readonly string[]>>;
  /** Default `silent`, with a notice. `ask`: a person is asked each time (`model_fallback`). */
  readonly consent?: 'silent' | 'ask';
}

/** `sticky_retry`: it failed last. `terminal`: it is not asked until it is reset, or `until` (epoch ms) has come. */
export interface ModelHealth {
  readonly state: 'healthy' | 'sticky_retry' | 'terminal' | 'banned';
  readonly until?: number;
  readonly reason?: string;
}

/** A model that may answer a call, and what its alias makes of it. */
export interface ModelCandidate {
  readonly choice: ModelChoice;
  /** Without aliases: what health and prices go by. Undefined for a model object, of which nothing is kept. */
  readonly name: string | undefined;
  readonly generation: GenerationConfig | undefined;
}

/** What a host knows of a name. */
export interface ModelStatus {
  readonly name: string;
  /** The model that an alias stands for where no override applies. */
  readonly model?: string;
  readonly health: ModelHealth;
  /** Why it cannot be used, as things stand: no such provider, no key. */
  readonly fault?: string;
  readonly price?: ModelPrice;
}
