import type { LlmRequest, LlmResponse } from '@google/adk';
import type { FunctionDeclaration, GenerateContentConfig, Tool } from '@google/genai';
import type {
  FinishReason,
  GenerationConfig,
  JsonSchema,
  ModelRequest,
  ModelResponse,
  ModelToolCall,
  ModelUsage,
  ToolDescriptor,
} from '../../contracts/index.js';
import { createWireNames } from '../../kernel/wire-names.js';
import { fromAdkPart, fromContents, toContents } from './parts.js';
import { toJsonSchema } from './schema.js';

/** Codes that ADK calls errors and that are none: the answer stands beside them. */
const NO_ERRORS: ReadonlySet<string> = new Set(['STOP', 'FUNCTION_CALL', 'MAX_TOKENS', 'FINISH_REASON_UNSPECIFIED']);
const REFUSALS: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
  'OTHER',
  'JAILBREAK',
  'MODEL_ARMOR',
]);
const MALFORMED: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
  'NO_IMAGE',
]);

/** How an answer of ADK ended: our reason, or that it failed; undefined while it goes on. */
export function finishOf({
  errorCode,
  finishReason,
}: Pick<LlmResponse, 'errorCode' | 'finishReason'>): FinishReason | undefined {
  const said = errorCode ?? finishReason;
  if (said === undefined) return undefined;
  if (said === 'MAX_TOKENS') return 'length';
  if (NO_ERRORS.has(said)) return 'stop';
  if (REFUSALS.has(said)) return 'refusal';
  if (MALFORMED.has(said)) return 'malformed';
  return errorCode === undefined ? undefined : 'error';
}

/** Tokens of one call as far as it has got; ADK repeats them, so that the last ones count. */
export function usageOf(meta: LlmResponse['usageMetadata']): ModelUsage | undefined {
  if (meta === undefined || meta === null) return undefined;
  const usage: ModelUsage = {};
  if (meta.promptTokenCount !== undefined) usage.inputTokens = meta.promptTokenCount;
  if (meta.candidatesTokenCount !== undefined) usage.outputTokens = meta.candidatesTokenCount;
  if (meta.cachedContentTokenCount !== undefined) usage.cachedTokens = meta.cachedContentTokenCount;
  if (meta.thoughtsTokenCount !== undefined) usage.thoughtTokens = meta.thoughtsTokenCount;
  return Object.keys(usage).length === 0 ? undefined : usage;
}

/** Calls of an answer, in its order. */
export function callsOf(response: LlmResponse): ModelToolCall[] {
  return (response.content?.parts ?? []).flatMap(({ functionCall, thoughtSignature }) => {
    if (!functionCall?.name) return [];
    const call: ModelToolCall = { name: functionCall.name, args: functionCall.args ?? {} };
    if (functionCall.id !== undefined) call.id = functionCall.id;
    if (thoughtSignature) call.thoughtSignature = thoughtSignature;
    return [call];
  });
}

/** An answer of an ADK model as ours. */
export function fromLlmResponse(response: LlmResponse): ModelResponse {
  const content = (response.content?.parts ?? []).flatMap((part) => fromAdkPart(part) ?? []);
  const toolCalls = callsOf(response);
  const usage = usageOf(response.usageMetadata);
  const finishReason = finishOf(response);
  return {
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(usage !== undefined && { usage }),
    ...(finishReason !== undefined && { finishReason }),
  };
}

const FINISH_WORDS: Readonly<Record<string, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'SAFETY',
  malformed: 'MALFORMED_FUNCTION_CALL',
};

/** An answer of ours as ADK takes it. `partial` holds text only: ADK would run a call in it, and again in the whole. */
export function toLlmResponse(response: ModelResponse, partial: boolean): LlmResponse {
  const names = createWireNames([]);
  const calls = (response.toolCalls ?? []).map(({ id, name, args, thoughtSignature }) => ({
    functionCall: { ...(id !== undefined && { id }), name, args: (args ?? {}) as Record<string, unknown> },
    ...(thoughtSignature !== undefined && { thoughtSignature }),
  }));
  const said = response.content.flatMap((part) =>
    part.type === 'thought' && part.thoughtSignature === undefined
      ? [{ text: part.thought, thought: true }]
      : (toContents([{ role: 'model', content: [part] }], names)[0]?.parts ?? []),
  );
  const parts = [...said, ...(partial ? [] : calls)];
  const { usage, finishReason } = response;
  const answer: LlmResponse = { partial };
  if (parts.length > 0) answer.content = { role: 'model', parts };
  if (usage !== undefined) {
    answer.usageMetadata = {
      ...(usage.inputTokens !== undefined && { promptTokenCount: usage.inputTokens }),
      ...(usage.outputTokens !== undefined && { candidatesTokenCount: usage.outputTokens }),
      ...(usage.cachedTokens !== undefined && { cachedContentTokenCount: usage.cachedTokens }),
      ...(usage.thoughtTokens !== undefined && { thoughtsTokenCount: usage.thoughtTokens }),
    };
  }
  const word = finishReason === undefined || partial ? undefined : FINISH_WORDS[finishReason];
  if (word !== undefined) answer.finishReason = word as NonNullable<LlmResponse['finishReason']>;
  if (word !== undefined && (word === 'MALFORMED_FUNCTION_CALL' || (word === 'SAFETY' && parts.length === 0))) {
    answer.errorCode = word;
    answer.errorMessage = `the model ended with ${finishReason}`;
  }
  return answer;
}

const GENERATION: readonly (keyof GenerationConfig & keyof GenerateContentConfig)[] = [
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'stopSequences',
];

/** What ADK asks a model, as a request of ours. A snapshot. */
export function toModelRequest(request: LlmRequest, own: Pick<ModelRequest, 'signal' | '_meta'> = {}): ModelRequest {
  const { config = {} } = request;
  const system = textOfInstruction(config.systemInstruction);
  const tools = (config.tools ?? []).flatMap((tool) =>
    ((tool as Tool).functionDeclarations ?? []).map((declaration) => toDescriptor(declaration)),
  );
  const schema = config.responseJsonSchema ?? config.responseSchema;
  const generation: GenerationConfig = {};
  for (const key of GENERATION) if (config[key] !== undefined) Object.assign(generation, { [key]: config[key] });
  if (config.thinkingConfig !== undefined) {
    const { thinkingBudget: budget, includeThoughts } = config.thinkingConfig;
    generation.thinking = {
      ...(budget !== undefined && { budget }),
      ...(includeThoughts !== undefined && { includeThoughts }),
    };
  }
  return {
    ...(system !== '' && { systemInstruction: system }),
    messages: fromContents(request.contents),
    ...(tools.length > 0 && { tools }),
    ...(config.toolConfig?.functionCallingConfig?.mode === 'NONE' && { toolMode: 'none' as const }),
    ...(schema !== undefined && { outputSchema: toJsonSchema(schema) }),
    ...(Object.keys(generation).length > 0 && { config: generation }),
    ...own,
  };
}

/** What a hook made of a request, put back into ADK's: instruction, history, settings; tools that are left. */
export function applyModelRequest(request: LlmRequest, changed: ModelRequest): void {
  request.config ??= {};
  const { config } = request;
  if (changed.systemInstruction === undefined) delete config.systemInstruction;
  else config.systemInstruction = changed.systemInstruction;
  request.contents = toContents(changed.messages, createWireNames([]));
  applyGeneration(config, changed.config);
  const kept = changed.toolMode === 'none' ? [] : (changed.tools ?? []).map(({ name }) => name);
  const allowed = new Set(
    changed.allowedTools === undefined ? kept : kept.filter((name) => changed.allowedTools?.includes(name)),
  );
  config.tools = (config.tools ?? []).flatMap((tool) => {
    const { functionDeclarations } = tool as Tool;
    if (functionDeclarations === undefined) return [tool];
    const left = functionDeclarations.filter(({ name }) => allowed.has(name ?? ''));
    return left.length > 0 ? [{ ...tool, functionDeclarations: left }] : [];
  });
  if (config.tools.length === 0) delete config.tools;
}

/** Settings of ours over those of the agent. */
export function applyGeneration(config: GenerateContentConfig, generation: GenerationConfig | undefined): void {
  if (generation === undefined) return;
  for (const key of GENERATION) if (generation[key] !== undefined) Object.assign(config, { [key]: generation[key] });
  const { thinking } = generation;
  if (thinking === undefined) return;
  config.thinkingConfig = {
    ...config.thinkingConfig,
    ...(thinking.budget !== undefined && { thinkingBudget: thinking.budget }),
    ...(thinking.includeThoughts !== undefined && { includeThoughts: thinking.includeThoughts }),
  };
}

export const textOfInstruction = (instruction: GenerateContentConfig['systemInstruction']): string => {
  if (instruction === undefined) return '';
  if (typeof instruction === 'string') return instruction;
  const parts = Array.isArray(instruction)
    ? instruction
    : ((instruction as { parts?: unknown[] }).parts ?? [instruction]);
  return parts.map((part) => (typeof part === 'string' ? part : ((part as { text?: string }).text ?? ''))).join('\n');
};

const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} };

/** A declared function as a descriptor. */
export function toDescriptor(declaration: FunctionDeclaration): ToolDescriptor {
  const { name = '', description = '', parametersJsonSchema, parameters } = declaration;
  const schema = parametersJsonSchema ?? parameters;
  return { name, description, parametersSchema: schema === undefined ? NO_PARAMETERS : toJsonSchema(schema) };
}
