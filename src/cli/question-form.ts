import type { Bag, ElicitationAnswer, ElicitationRequest, JsonSchema } from '../contracts/index.js';
import { askConfirmation, askPlan, confirmationLines } from './confirmation.js';
import type { PreviewCall } from './edit-call.js';
import type { Editable } from './editor.js';
import { indented, visibleLine, visibleLines } from './plain-text.js';

export interface Choice<Value> {
  value: Value;
  label: string;
  hint?: string;
}

/** How a form talks to a person. Every call rejects with `FormStopped` when the person leaves or the signal fires. */
export interface Prompter {
  say(lines: readonly string[]): void;
  choose<Value>(question: {
    message: string;
    choices: readonly Choice<Value>[];
    initial?: Value | undefined;
  }): Promise<Value>;
  chooseMany<Value>(question: {
    message: string;
    choices: readonly Choice<Value>[];
    initial: readonly Value[];
    required: boolean;
  }): Promise<Value[]>;
  /** A text in the person's own editor. Rejects with `TroupeError` when there is no editor, or it fails. */
  edit(text: Editable): Promise<string>;
  confirm(question: { message: string; initial: boolean }): Promise<boolean>;
  /** `check` returns what is wrong with the text, or nothing. */
  text(question: {
    message: string;
    initial?: string | undefined;
    secret: boolean;
    check: (text: string) => string | undefined;
  }): Promise<string>;
}

/** `cancelled`: Escape. `interrupted`: Ctrl-C. `withdrawn`: the question is no longer open. */
export class FormStopped extends Error {
  readonly why: 'cancelled' | 'interrupted' | 'withdrawn';

  constructor(why: 'cancelled' | 'interrupted' | 'withdrawn') {
    super(`the form was ${why}`);
    this.why = why;
  }
}

export interface Question {
  request: ElicitationRequest;
  agentName: string;
  /** What was wrong with the answer before, when it is asked again. */
  fault?: string | undefined;
  /** Shows a call anew after a person has changed it. */
  preview?: PreviewCall | undefined;
}

/** Asks one question and returns its answer. Rejects with `FormStopped` when the person was interrupted. */
export async function askQuestion(question: Question, prompter: Prompter): Promise<ElicitationAnswer> {
  const { request, fault } = question;
  const lines = request.kind === 'tool_confirmation' ? confirmationLines(question) : questionLines(question);
  prompter.say(fault === undefined ? lines : [...lines, `That answer was not taken: ${visibleLine(fault)}`]);
  try {
    if (request.kind === 'tool_confirmation') return await askConfirmation(question, prompter);
    if (request.context?.kind === 'exit_plan_mode') return await askPlan(question, prompter);
    return await askFields(request, prompter);
  } catch (thrown) {
    if (thrown instanceof FormStopped && thrown.why === 'cancelled') return { action: 'cancel' };
    throw thrown;
  }
}

function questionLines({ request, agentName }: Question): string[] {
  const title = request.title === undefined ? '' : `: ${visibleLine(request.title)}`;
  const lines = [`${visibleLine(agentName)} asks${title}`, ...indented(visibleLines(request.message))];
  if (request.expiresAt !== undefined) lines.push(`Open until ${visibleLine(request.expiresAt)}`);
  return lines;
}

async function askFields(request: ElicitationRequest, prompter: Prompter): Promise<ElicitationAnswer> {
  const fields = fieldsOf(request.requestedSchema);
  const asksForData = request.kind === 'clarification' || request.kind === 'auth_required';
  if (fields.length === 0 || !asksForData) {
    const goOn = await prompter.confirm({ message: fields.length === 0 ? 'Accept?' : 'Answer it?', initial: true });
    if (!goOn) return { action: 'decline' };
  }
  const content: Bag = {};
  for (const field of fields) {
    const value = await askField(field, fields.length === 1, prompter, request.kind === 'auth_required');
    if (value !== undefined) content[field.key] = value;
  }
  return fields.length === 0 ? { action: 'accept' } : { action: 'accept', content };
}

interface Field {
  key: string;
  schema: JsonSchema;
  required: boolean;
}

/** The properties of an object schema, in its order. */
function fieldsOf(schema: JsonSchema | undefined): Field[] {
  if (!isRecord(schema) || !isRecord(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties).map(([key, inner]) => ({
    key,
    schema: isRecord(inner) ? inner : {},
    required: required.includes(key),
  }));
}

/** The value, or nothing for an optional field that was left out. */
async function askField(field: Field, isOnly: boolean, prompter: Prompter, secret: boolean): Promise<unknown> {
  const { schema, required } = field;
  const message = fieldMessage(field, isOnly);
  const choices = choicesOf(schema);
  if (choices !== undefined) {
    const leaveOut: Choice<unknown>[] = required ? [] : [{ value: undefined, label: '(no answer)' }];
    return prompter.choose({ message, choices: [...choices, ...leaveOut], initial: schema.default });
  }
  if (schema.type === 'boolean') return prompter.confirm({ message, initial: schema.default === true });
  const items = schema.type === 'array' && isRecord(schema.items) ? choicesOf(schema.items) : undefined;
  if (items !== undefined) {
    const initial = Array.isArray(schema.default) ? schema.default : [];
    const needsOne = required && typeof schema.minItems === 'number' && schema.minItems > 0;
    const picked = await prompter.chooseMany({ message, choices: items, initial, required: needsOne });
    return picked.length === 0 && !required ? undefined : picked;
  }
  const text = await prompter.text({
    message,
    initial: initialText(schema),
    secret: secret || schema.format === 'password' || schema.writeOnly === true,
    check: (typed) => checkText(typed, field),
  });
  return text === '' && !required ? undefined : readText(text, schema).value;
}

function fieldMessage({ key, schema, required }: Field, isOnly: boolean): string {
  const title = typeof schema.title === 'string' ? schema.title : isOnly ? 'Your answer' : key;
  const description =
    typeof schema.description === 'string' && schema.description !== '' ? `: ${schema.description}` : '';
  return visibleLine(`${title}${description}${required ? '' : ' (optional)'}`);
}

/** `enum`, or `oneOf`/`anyOf` of constants with titles. */
function choicesOf(schema: JsonSchema): Choice<unknown>[] | undefined {
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, index) => ({ value, label: visibleLine(asText(names[index] ?? value)) }));
  }
  const options = Array.isArray(schema.oneOf) ? schema.oneOf : schema.anyOf;
  if (!Array.isArray(options) || !options.every((option) => isRecord(option) && 'const' in option)) return undefined;
  return options.map((option: JsonSchema) => ({
    value: option.const,
    label: visibleLine(typeof option.title === 'string' ? option.title : asText(option.const)),
    ...(typeof option.description === 'string' ? { hint: visibleLine(option.description) } : {}),
  }));
}

function initialText(schema: JsonSchema): string | undefined {
  if (schema.default === undefined) return undefined;
  return typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default);
}

/** What can be said at once; the host validates the whole answer against the schema. */
function checkText(text: string, { schema, required }: Field): string | undefined {
  if (text === '') return required && schema.type !== 'string' ? 'An answer is needed.' : undefined;
  const read = readText(text, schema);
  if (read.fault !== undefined) return read.fault;
  if (typeof read.value === 'number') {
    if (typeof schema.minimum === 'number' && read.value < schema.minimum) return `At least ${schema.minimum}.`;
    if (typeof schema.maximum === 'number' && read.value > schema.maximum) return `At most ${schema.maximum}.`;
  }
  if (typeof read.value === 'string') {
    if (typeof schema.minLength === 'number' && read.value.length < schema.minLength)
      return `At least ${schema.minLength} characters.`;
    if (typeof schema.maxLength === 'number' && read.value.length > schema.maxLength)
      return `At most ${schema.maxLength} characters.`;
  }
  return undefined;
}

function readText(text: string, schema: JsonSchema): { value?: unknown; fault?: string } {
  if (schema.type === 'number' || schema.type === 'integer') {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value)) return { fault: 'A number is needed.' };
    if (schema.type === 'integer' && !Number.isInteger(value)) return { fault: 'A whole number is needed.' };
    return { value };
  }
  if (schema.type === 'array' || schema.type === 'object') {
    try {
      return { value: JSON.parse(text) as unknown };
    } catch {
      return { fault: `JSON is needed, as ${schema.type === 'array' ? '["a", "b"]' : '{"key": "value"}'}.` };
    }
  }
  return { value: text };
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
