import type {
  ContentPart,
  GenerationConfig,
  ModelMessage,
  ModelRequest,
  ToolDescriptor,
} from '../../contracts/index.js';
import { namesInHistory } from '../../kernel/history-names.js';
import { argsObject, type MediaPart, partText, splitResponse } from '../../kernel/part-text.js';
import { createWireNames, type WireNames } from '../../kernel/wire-names.js';
import { toOpenAiParameters, toResponseFormat } from './openai-schema.js';
import { pairMessages } from './pairing.js';
import { noSuchTool, partTools } from './provider-tools.js';
import { readReasoning } from './reasoning-details.js';
import { offeredTools } from './tool-choice.js';

type Fields = Record<string, unknown>;

/** Where endpoints that speak chat completions differ. */
export interface ChatDialect {
  /** The name of the limit on the answer's tokens. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** Extra fields of the body: `thinking` and the like. */
  readonly extras?: (config: GenerationConfig) => Fields;
  /** Reasoning goes back with the message that it belongs to. */
  readonly reasoningDetails?: boolean;
}

export interface ChatRequest {
  body: Fields;
  names: WireNames;
}

/** Settings of ours by the name that the endpoint knows. */
const SETTINGS: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  topP: 'top_p',
  stopSequences: 'stop',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  parallelToolCalls: 'parallel_tool_calls',
  reasoningEffort: 'reasoning_effort',
};

/** Set by the adapter, so that a request's `config` cannot. */
const RESERVED = new Set([
  'model',
  'messages',
  'tools',
  'tool_choice',
  'stream',
  'stream_options',
  'response_format',
  'n',
  'thinking',
]);

/** The body of a chat completion, without the model's name; the given request is not touched. */
export function toChatRequest(request: ModelRequest, dialect: ChatDialect): ChatRequest {
  const { functions: tools, provided } = partTools(offeredTools(request));
  if (provided[0] !== undefined) throw noSuchTool(provided[0], []);
  const names = createWireNames([...tools.map((tool) => tool.name), ...namesInHistory(request.messages)]);
  const body: Fields = {
    messages: toChatMessages(request, names, dialect),
    ...toSettings(request.config ?? {}, dialect),
  };
  if (tools.length > 0) {
    body.tools = tools.map((tool) => toChatTool(tool, names));
    const choice = toToolChoice(request, tools, names);
    if (choice !== undefined) body.tool_choice = choice;
  }
  if (request.outputSchema !== undefined) {
    const format = toResponseFormat(request.outputSchema);
    if (format !== undefined) body.response_format = format;
  }
  return { body, names };
}

function toChatMessages(request: ModelRequest, names: WireNames, dialect: ChatDialect): Fields[] {
  const messages: Fields[] = [];
  if (request.systemInstruction) messages.push({ role: 'system', content: request.systemInstruction });
  for (const message of pairMessages(request.messages)) {
    if (message.role === 'model') messages.push(...toAssistant(message, names, dialect));
    else if (message.role === 'system') messages.push({ role: 'system', content: textOfAll(message.content) });
    else messages.push(...toUser(message.content));
  }
  return messages;
}

function toAssistant({ content }: ModelMessage, names: WireNames, dialect: ChatDialect): Fields[] {
  const calls = content.filter((part) => part.type === 'function_call');
  const text = textOfAll(content.filter((part) => part.type !== 'function_call'));
  const message: Fields = { role: 'assistant', content: text === '' ? null : text };
  if (calls.length > 0) {
    message.tool_calls = calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: names.out(call.name), arguments: JSON.stringify(argsObject(call.args)) },
    }));
  }
  if (dialect.reasoningDetails) {
    const details = content.flatMap(readReasoning);
    if (details.length > 0) message.reasoning_details = details;
  }
  return text === '' && calls.length === 0 ? [] : [message];
}

/** The results of tools as messages of their own, first; then what the user said, and media that tools gave. */
function toUser(content: readonly ContentPart[]): Fields[] {
  const messages: Fields[] = [];
  const rest: ContentPart[] = [];
  const media: MediaPart[] = [];
  for (const part of content) {
    if (part.type !== 'function_response') {
      rest.push(part);
      continue;
    }
    const split = splitResponse(part.response);
    media.push(...split.media);
    messages.push({ role: 'tool', tool_call_id: part.id, content: resultText(split.value) });
  }
  const said = toUserContent([...media, ...rest]);
  if (said !== undefined) messages.push({ role: 'user', content: said });
  return messages;
}

/** `{ output: text }` is the text; everything else is JSON. */
function resultText(value: unknown): string {
  if (typeof value === 'string') return value;
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const [only] = fields;
  if (fields.length === 1 && only?.[0] === 'output' && typeof only[1] === 'string') return only[1];
  return JSON.stringify(value) ?? '';
}

/** Plain text where there is nothing else: every endpoint takes that. */
function toUserContent(parts: readonly ContentPart[]): string | Fields[] | undefined {
  if (!parts.some((part) => part.type === 'media')) {
    const text = textOfAll(parts);
    return text === '' ? undefined : text;
  }
  const content: Fields[] = [];
  for (const part of parts) {
    if (part.type === 'media') content.push(toMedia(part));
    else {
      const text = partText(part);
      if (text !== undefined && text !== '') content.push({ type: 'text', text });
    }
  }
  return content;
}

function toMedia(part: MediaPart): Fields {
  const { mimeType, data, uri } = part;
  const dataUrl = data === undefined ? undefined : `data:${mimeType};base64,${data}`;
  if (mimeType.startsWith('image/')) {
    const url = dataUrl ?? uri;
    if (url !== undefined) return { type: 'image_url', image_url: { url } };
  }
  if (mimeType.startsWith('audio/') && data !== undefined) {
    const format = /mpeg|mp3/.test(mimeType) ? 'mp3' : mimeType.slice('audio/'.length).replace(/^x-/, '');
    return { type: 'input_audio', input_audio: { data, format } };
  }
  if (dataUrl !== undefined) {
    const extension = mimeType.split('/')[1]?.replace(/[^a-z0-9].*$/i, '') || 'bin';
    return { type: 'file', file: { filename: `file.${extension}`, file_data: dataUrl } };
  }
  return { type: 'text', text: partText(part) ?? '' };
}

function textOfAll(parts: readonly ContentPart[]): string {
  let text = '';
  let previous: string | undefined;
  for (const part of parts) {
    const words = partText(part);
    if (words === undefined || words === '') continue;
    // Neighbouring texts are pieces of one; other kinds stand on lines of their own.
    if (previous !== undefined && !(previous === 'text' && part.type === 'text')) text += '\n';
    text += words;
    previous = part.type;
  }
  return text;
}

function toChatTool(tool: ToolDescriptor, names: WireNames): Fields {
  const parameters = toOpenAiParameters(tool.parametersSchema ?? {}, `tool "${tool.name}"`);
  return { type: 'function', function: { name: names.out(tool.name), description: tool.description, parameters } };
}

function toToolChoice(request: ModelRequest, tools: readonly ToolDescriptor[], names: WireNames): unknown {
  const [only] = tools;
  if (request.toolMode === 'none') return 'none';
  if (request.toolMode !== 'any') return request.toolMode === 'auto' ? 'auto' : undefined;
  if (request.allowedTools && tools.length === 1 && only)
    return { type: 'function', function: { name: names.out(only.name) } };
  return 'required';
}

/** Known settings by their wire names; unknown ones as they are where they look like fields of the wire. */
function toSettings(config: GenerationConfig, dialect: ChatDialect): Fields {
  const settings: Fields = {};
  for (const [key, value] of Object.entries(config)) {
    if (value === undefined || RESERVED.has(key)) continue;
    const wireKey = key === 'maxOutputTokens' ? dialect.maxTokens : SETTINGS[key];
    if (wireKey !== undefined) settings[wireKey] = value;
    else if (/^[a-z0-9_]+$/.test(key)) settings[key] = value;
  }
  return { ...settings, ...dialect.extras?.(config) };
}
