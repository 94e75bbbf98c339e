import type { ContentPart, GenerationConfig, ModelRequest, ToolDescriptor } from '../../contracts/index.js';
import { namesInHistory } from '../../kernel/history-names.js';
import { argsObject, type MediaPart, partText, splitResponse } from '../../kernel/part-text.js';
import { createWireNames, type WireNames } from '../../kernel/wire-names.js';
import { toGeminiParameters, toGeminiSchema } from './gemini-schema.js';
import { pairMessages } from './pairing.js';
import { noSuchTool, partTools } from './provider-tools.js';
import { offeredTools } from './tool-choice.js';

/** A part as Gemini has it; exactly one of its fields beside `thought` and `thoughtSignature`. */
export interface GeminiPart {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  inlineData?: { mimeType: string; data: string };
  fileData?: { mimeType: string; fileUri: string };
  functionCall?: { id?: string; name?: string; args?: Record<string, unknown> };
  functionResponse?: { id: string; name: string; response: Record<string, unknown> };
}

export interface GeminiContent {
  role: 'user' | 'model';
  parts: GeminiPart[];
}

export interface GeminiRequest {
  contents: GeminiContent[];
  /** In the client's own spelling: generation settings, tools and instructions on one level. */
  config: Record<string, unknown>;
  names: WireNames;
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Set here or by the adapter, so that a request's `config` cannot. */
const RESERVED = new Set([
  'thinking',
  'systemInstruction',
  'tools',
  'toolConfig',
  'abortSignal',
  'httpOptions',
  'responseSchema',
  'responseJsonSchema',
  'responseMimeType',
  'candidateCount',
  'automaticFunctionCalling',
  'automaticContinuation',
]);

/** The request in Gemini's form; the given one is not touched. */
export function toGeminiRequest(request: ModelRequest): GeminiRequest {
  const { functions: tools, provided } = partTools(offeredTools(request));
  const names = createWireNames([...tools.map((tool) => tool.name), ...namesInHistory(request.messages)]);
  const { system, contents } = toContents(request, names);
  const config: Fields = { ...toGeneration(request.config ?? {}) };
  if (system !== '') config.systemInstruction = system;
  if (provided.length > 0) config.tools = provided.map(toProvided);
  if (tools.length > 0) {
    config.tools = [
      { functionDeclarations: tools.map((tool) => toDeclaration(tool, names)) },
      ...((config.tools as Fields[] | undefined) ?? []),
    ];
    const functionCallingConfig = toCallingConfig(request, tools, names);
    if (functionCallingConfig) config.toolConfig = { functionCallingConfig };
  } else if (request.outputSchema !== undefined && provided.length === 0) {
    // Together with tools a response schema is refused.
    config.responseMimeType = 'application/json';
    config.responseSchema = toGeminiSchema(request.outputSchema, 'the output schema');
  }
  return { contents, config, names };
}

function toContents(request: ModelRequest, names: WireNames): { system: string; contents: GeminiContent[] } {
  const system: string[] = request.systemInstruction ? [request.systemInstruction] : [];
  const contents: GeminiContent[] = [];
  for (const message of pairMessages(request.messages)) {
    if (message.role === 'system' && contents.length === 0) {
      system.push(message.content.map(partText).join('\n'));
      continue;
    }
    const role = message.role === 'model' ? 'model' : 'user';
    const parts = toGeminiParts(message.content, names);
    const last = contents.at(-1);
    if (parts.length === 0) continue;
    if (last?.role === role) last.parts.push(...parts);
    else contents.push({ role, parts });
  }
  return { system: system.join('\n\n'), contents };
}

/** Responses stand first and together; media of their results behind them. */
function toGeminiParts(content: readonly ContentPart[], names: WireNames): GeminiPart[] {
  const parts: GeminiPart[] = [];
  const media: MediaPart[] = [];
  const rest: GeminiPart[] = [];
  for (const part of content) {
    if (part.type !== 'function_response') {
      rest.push(...toGeminiPart(part, names));
      continue;
    }
    const split = splitResponse(part.response);
    media.push(...split.media);
    parts.push({ functionResponse: { id: part.id, name: names.out(part.name), response: toStruct(split.value) } });
  }
  return [...parts, ...media.flatMap((part) => toGeminiPart(part, names)), ...rest];
}

function toGeminiPart(part: ContentPart, names: WireNames): GeminiPart[] {
  switch (part.type) {
    case 'text':
      return signed({ text: part.text }, part._meta?.thoughtSignature, part.text === '');
    case 'thought':
      // Without its signature a thought is for people only.
      return signed({ text: part.thought, thought: true }, part.thoughtSignature, true);
    case 'media':
      if (part.data !== undefined) {
        return signed(
          { inlineData: { mimeType: part.mimeType, data: part.data } },
          part._meta?.thoughtSignature,
          false,
        );
      }
      return part.uri === undefined ? [] : [{ fileData: { mimeType: part.mimeType, fileUri: part.uri } }];
    case 'function_call': {
      const functionCall = { id: part.id, name: names.out(part.name), args: argsObject(part.args) };
      return signed({ functionCall }, part.thoughtSignature, false);
    }
    default: {
      const text = partText(part);
      return text === undefined || text === '' ? [] : [{ text }];
    }
  }
}

/** `part` with the signature, verbatim; nothing when it is pointless without one. */
function signed(part: GeminiPart, signature: unknown, needsSignature: boolean): GeminiPart[] {
  if (isSignature(signature)) return [{ ...part, thoughtSignature: signature }];
  return needsSignature ? [] : [part];
}

/** Gemini's are base64. Another provider's reasoning, kept as JSON, must not reach it. */
const isSignature = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && !/^[[{]/.test(value);

/**
 * An object, as Gemini insists. `$ref` inside a response is taken as a pointer to an attached part and refused when
 * there is none, so a value that has such a key travels as JSON text.
 */
function toStruct(value: unknown): Fields {
  if (!isFields(value) || Object.hasOwn(value, '$ref'))
    return { output: hasRef(value) ? JSON.stringify(value) : value };
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, hasRef(inner) ? JSON.stringify(inner) : inner]),
  );
}

function hasRef(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '$ref') || Object.values(value).some(hasRef);
}

/** What Gemini runs itself, by its name there. */
const PROVIDED: ReadonlyMap<string, string> = new Map([
  ['google_search', 'googleSearch'],
  ['code_execution', 'codeExecution'],
  ['url_context', 'urlContext'],
]);

function toProvided(name: string): Fields {
  const key = PROVIDED.get(name);
  if (key === undefined) throw noSuchTool(name, [...PROVIDED.keys()]);
  return { [key]: {} };
}

function toDeclaration(tool: ToolDescriptor, names: WireNames): Fields {
  const parameters = toGeminiParameters(tool.parametersSchema ?? {}, `tool "${tool.name}"`);
  return { name: names.out(tool.name), description: tool.description, ...(parameters ? { parameters } : {}) };
}

function toCallingConfig(
  request: ModelRequest,
  tools: readonly ToolDescriptor[],
  names: WireNames,
): Fields | undefined {
  if (request.toolMode === 'none') return { mode: 'NONE' };
  if (request.toolMode === 'any') {
    // Names are permitted in this mode only; in the others just these tools are declared.
    return request.allowedTools
      ? { mode: 'ANY', allowedFunctionNames: tools.map((tool) => names.out(tool.name)) }
      : { mode: 'ANY' };
  }
  return request.toolMode === 'auto' ? { mode: 'AUTO' } : undefined;
}

function toGeneration(config: GenerationConfig): Fields {
  const generation = Object.fromEntries(
    Object.entries(config).filter(([key, value]) => !RESERVED.has(key) && value !== undefined),
  ) as Fields;
  const { thinking } = config;
  if (thinking) {
    const thinkingConfig: Fields = {};
    if (thinking.budget !== undefined) thinkingConfig.thinkingBudget = thinking.budget;
    if (thinking.includeThoughts !== undefined) thinkingConfig.includeThoughts = thinking.includeThoughts;
    generation.thinkingConfig = thinkingConfig;
  }
  return generation;
}
