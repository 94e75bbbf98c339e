import type { Content, Part } from '@google/genai';
import type { ContentPart, ModelMessage } from '../../contracts/index.js';
import { argsObject, partText, splitResponse } from '../../kernel/part-text.js';
import type { WireNames } from '../../kernel/wire-names.js';

/** A part of a kind that only ADK knows: kept whole, and given back as it came. */
interface ForeignPart {
  type: 'adk_part';
  part: unknown;
}

const foreignIn = (part: { type: string }): Part | undefined =>
  part.type === 'adk_part' ? ((part as ForeignPart).part as Part) : undefined;

/**
 * A thread's history in ADK's form, tool names as the wire takes them. Responses of one message stand first and
 * together, media of their results behind them. What says nothing is left out.
 */
export function toContents(messages: readonly ModelMessage[], names: WireNames): Content[] {
  const contents: Content[] = [];
  for (const { role, content } of messages) {
    const answers: Part[] = [];
    const rest: Part[] = [];
    for (const part of content) {
      if (part.type !== 'function_response') {
        rest.push(...toAdkParts(part, names));
        continue;
      }
      const { value, media } = splitResponse(part.response);
      answers.push({ functionResponse: { id: part.id, name: names.out(part.name), response: objectOf(value) } });
      rest.push(...media.flatMap((one) => toAdkParts(one, names)));
    }
    const parts = [...answers, ...rest];
    if (parts.length > 0) contents.push({ role: role === 'model' ? 'model' : 'user', parts });
  }
  return contents;
}

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : { output: value };

function toAdkParts(part: ContentPart, names: WireNames): Part[] {
  switch (part.type) {
    case 'text':
      return signed({ text: part.text }, part._meta?.thoughtSignature, part.text === '');
    case 'thought':
      // Without its signature a thought is for people only.
      return signed({ text: part.thought, thought: true }, part.thoughtSignature, true);
    case 'media':
      if (part.data !== undefined)
        return signed({ inlineData: { mimeType: part.mimeType, data: part.data } }, part._meta?.thoughtSignature);
      return part.uri === undefined ? [] : [{ fileData: { mimeType: part.mimeType, fileUri: part.uri } }];
    case 'function_call': {
      const functionCall = { id: part.id, name: names.out(part.name), args: argsObject(part.args) };
      return signed({ functionCall }, part.thoughtSignature);
    }
    default: {
      const foreign = foreignIn(part);
      if (foreign !== undefined) return [foreign];
      const text = partText(part);
      return text === undefined || text === '' ? [] : [{ text }];
    }
  }
}

/** `part` with the signature, verbatim; nothing when it is pointless without one. */
function signed(part: Part, signature: unknown, needsSignature = false): Part[] {
  if (typeof signature === 'string' && signature !== '') return [{ ...part, thoughtSignature: signature }];
  return needsSignature ? [] : [part];
}

/** A part as ours; nothing for a call or its answer, which are events, and for what says nothing. */
export function fromAdkPart(part: Part): ContentPart | undefined {
  const { thoughtSignature, text } = part;
  const meta = thoughtSignature ? { _meta: { thoughtSignature } } : {};
  if (part.functionCall !== undefined || part.functionResponse !== undefined) return undefined;
  if (part.thought === true) {
    if (!text && !thoughtSignature) return undefined;
    return { type: 'thought', thought: text ?? '', ...(thoughtSignature && { thoughtSignature }) };
  }
  if (part.inlineData !== undefined) {
    const { mimeType = 'application/octet-stream', data = '' } = part.inlineData;
    return { type: 'media', mimeType, data, ...meta };
  }
  if (part.fileData !== undefined) {
    const { mimeType = 'application/octet-stream', fileUri = '' } = part.fileData;
    return { type: 'media', mimeType, uri: fileUri, ...meta };
  }
  if (part.executableCode !== undefined) {
    const { language = '', code = '' } = part.executableCode;
    return { type: 'code', language: String(language).toLowerCase(), code, ...meta };
  }
  if (part.codeExecutionResult !== undefined) {
    const { outcome, output = '' } = part.codeExecutionResult;
    return { type: 'code_result', output, exitCode: outcome === 'OUTCOME_OK' ? 0 : 1, ...meta };
  }
  if (text !== undefined) return text === '' && !thoughtSignature ? undefined : { type: 'text', text, ...meta };
  if (thoughtSignature) return { type: 'text', text: '', ...meta };
  return Object.keys(part).length === 0 ? undefined : ({ type: 'adk_part', part } as unknown as ContentPart);
}

/** Contents of an ADK request as a history of ours; calls and their answers included. */
export function fromContents(contents: readonly Content[]): ModelMessage[] {
  return contents.map(({ role, parts = [] }, at) => ({
    role: role === 'model' ? 'model' : 'user',
    content: parts.flatMap((part, index) => fromHistoryPart(part, `${at}.${index}`)),
  }));
}

function fromHistoryPart(part: Part, place: string): ContentPart[] {
  const { functionCall, functionResponse, thoughtSignature } = part;
  if (functionCall !== undefined) {
    const { id = place, name = '', args = {} } = functionCall;
    return [{ type: 'function_call', id, name, args, ...(thoughtSignature && { thoughtSignature }) }];
  }
  if (functionResponse !== undefined) {
    const { id = place, name = '', response = {} } = functionResponse;
    return [{ type: 'function_response', id, name, response }];
  }
  const ours = fromAdkPart(part);
  return ours === undefined ? [] : [ours];
}
