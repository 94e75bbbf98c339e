import type { ContentPart, ToolErrorType, ToolResultData } from '../contracts/index.js';
import { describeError } from './errors.js';

const PART_TYPES: ReadonlySet<string> = new Set([
  'text',
  'thought',
  'media',
  'reference',
  'refusal',
  'code',
  'code_result',
  'ui',
]);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isPart = (value: unknown): value is ContentPart =>
  isObject(value) && typeof value.type === 'string' && PART_TYPES.has(value.type);

/** A result that tells the model what went wrong. */
export const errorResult = (errorType: ToolErrorType, message: string): ToolResultData => ({
  llmContent: [{ type: 'text', text: message }],
  isError: true,
  errorType,
});

/**
 * What a tool returned, as a result: text and parts as they are, a whole result as it is, nothing as an empty text,
 * any other value as JSON text with the value in `data`. What is no JSON is an error result.
 */
export function toToolResult(output: unknown): ToolResultData {
  if (output === undefined || output === null) return { llmContent: [{ type: 'text', text: '' }] };
  if (typeof output === 'string') return { llmContent: [{ type: 'text', text: output }] };
  if (Array.isArray(output) && output.length > 0 && output.every(isPart)) return { llmContent: output };
  if (isObject(output) && Array.isArray(output.llmContent) && output.llmContent.every(isPart)) {
    return output as unknown as ToolResultData;
  }
  if (isPart(output)) return { llmContent: [output] };
  let text: string | undefined;
  try {
    text = JSON.stringify(output);
  } catch (thrown) {
    return errorResult('execution_failed', `the tool returned what is no JSON: ${describeError(thrown).message}`);
  }
  if (text === undefined)
    return errorResult('execution_failed', `the tool returned a ${typeof output}, which is no JSON`);
  return { llmContent: [{ type: 'text', text }], data: JSON.parse(text) };
}

/** A thrown error: its type and message, never its stack. */
export function thrownResult(thrown: unknown): ToolResultData {
  const { message } = describeError(thrown);
  const name =
    thrown instanceof Error && thrown.name !== 'Error' && thrown.name !== 'TroupeError' ? `${thrown.name}: ` : '';
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') return errorResult('no_space_left', message);
  return errorResult('execution_failed', `${name}${message}`);
}
