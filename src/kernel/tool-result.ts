import type { ContentPart, ToolErrorType, ToolResultData } from '../contracts/index.js';
import { describeError } from './errors.js';
import { jsonFault } from './json-value.js';
import { narrowContentPart } from './narrow.js';

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
const isTyped = (value: unknown): value is Record<string, unknown> & { type: string } =>
  isObject(value) && typeof value.type === 'string';
const isWhole = (value: unknown): boolean => narrowContentPart(value).kind !== 'invalid';
/** Of a known kind, with what it needs: any JSON may have a `type`. */
const isPart = (value: unknown): value is ContentPart => isTyped(value) && PART_TYPES.has(value.type) && isWhole(value);

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
  if (output instanceof Error) return thrownResult(output);
  if (output instanceof Map || output instanceof Set) {
    return errorResult(
      'execution_failed',
      'the tool returned a Map or a Set, which is no JSON; return an object or a list',
    );
  }
  const whole = wholeResult(output);
  if (whole === undefined) return valueResult(output);
  const fault = resultFault(whole);
  return fault === undefined ? whole : errorResult('execution_failed', `the tool returned what is no result: ${fault}`);
}

type Field = [name: keyof ToolResultData, isOne: (value: unknown) => boolean, what: string];
const isString = (value: unknown) => typeof value === 'string';
const FIELDS: readonly Field[] = [
  ['displayContent', (value) => Array.isArray(value) && value.every(isWhole), 'a list of content parts'],
  ['isError', (value) => typeof value === 'boolean', 'true or false'],
  ['errorType', isString, 'a text'],
  ['outputFile', isString, 'a text'],
  ['contentLength', (value) => Number.isFinite(value), 'a number'],
  [
    'tailCalls',
    (value) => Array.isArray(value) && value.every((one) => isObject(one) && isString(one.name) && one.name !== ''),
    'a list of calls, { name, args }',
  ],
];

/** What is wrong with the fields of a whole result (`tailCalls must be …`), and where it is no JSON; undefined: nothing. */
export function resultFault(result: unknown): string | undefined {
  if (!isObject(result) || !Array.isArray(result.llmContent)) return 'needs llmContent, a list of parts';
  for (const [at, part] of result.llmContent.entries()) {
    const read = narrowContentPart(part);
    if (read.kind === 'invalid') return `llmContent[${at}] is no content part: ${read.reason}`;
  }
  for (const [name, isOne, what] of FIELDS) {
    if (result[name] !== undefined && !isOne(result[name])) return `${name} must be ${what}`;
  }
  const fault = jsonFault(result);
  return fault === undefined ? undefined : `is no JSON: it${fault}`;
}

function wholeResult(output: unknown): ToolResultData | undefined {
  if (Array.isArray(output)) {
    return output.length > 0 && output.every(isPart) ? { llmContent: output } : undefined;
  }
  if (isObject(output) && Array.isArray(output.llmContent) && output.llmContent.every(isWhole)) {
    return output as unknown as ToolResultData;
  }
  return isPart(output) ? { llmContent: [output] } : undefined;
}

function valueResult(output: unknown): ToolResultData {
  if (output === undefined || output === null) return { llmContent: [{ type: 'text', text: '' }] };
  if (typeof output === 'string') return { llmContent: [{ type: 'text', text: output }] };
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

const PLAIN_ERRORS: ReadonlySet<string> = new Set(['Error', 'TroupeError']);

/** A thrown error: its type and message, never its stack. */
export function thrownResult(thrown: unknown): ToolResultData {
  const isError = thrown instanceof Error;
  const message = !isError && isObject(thrown) && typeof thrown.message === 'string' ? thrown.message : undefined;
  const said = message ?? describeError(thrown).message;
  const name = isError && !PLAIN_ERRORS.has(thrown.name) && said !== thrown.name ? `${thrown.name}: ` : '';
  const code = isObject(thrown) ? thrown.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') return errorResult('no_space_left', said);
  return errorResult('execution_failed', `${name}${said}`);
}
