import type { Bag, JsonSchema } from '../../contracts/index.js';
import { oneLine } from './clipped.js';

export interface Choice {
  /** Its place among the choices. */
  readonly key: string;
  readonly value: unknown;
  readonly label: string;
  readonly hint?: string;
}

/** One thing that a question asks for. */
export interface AnswerField {
  readonly key: string;
  readonly label: string;
  readonly hint: string;
  readonly required: boolean;
  readonly kind: 'text' | 'long' | 'secret' | 'number' | 'flag' | 'one' | 'many' | 'json';
  readonly choices: readonly Choice[];
  /** As it stands in the form at first. */
  readonly initial: FieldValue;
  readonly schema: JsonSchema;
}

/** A text, a flag, or the keys of what was chosen. */
export type FieldValue = string | boolean | readonly string[];

const MOST_FIELDS = 100;
const MOST_CHOICES = 500;

/** The fields of a schema of an object, in its order; empty where it asks for nothing. */
export function answerFields(schema: JsonSchema | undefined, isSecret: boolean): AnswerField[] {
  if (!isRecord(schema) || !isRecord(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties)
    .slice(0, MOST_FIELDS)
    .map(([key, inner]) => fieldOf(key, isRecord(inner) ? inner : {}, required.includes(key), isSecret));
}

function fieldOf(key: string, schema: JsonSchema, required: boolean, isSecret: boolean): AnswerField {
  const many = schema.type === 'array' && isRecord(schema.items) ? choicesOf(schema.items) : undefined;
  const choices = choicesOf(schema) ?? many ?? [];
  const kind = kindOf(schema, choices, many !== undefined, isSecret);
  return {
    key,
    label: oneLine(typeof schema.title === 'string' && schema.title !== '' ? schema.title : key),
    hint: typeof schema.description === 'string' ? oneLine(schema.description, 500) : '',
    required,
    kind,
    choices,
    initial: initialOf(schema.default, kind, choices),
    schema,
  };
}

function kindOf(
  schema: JsonSchema,
  choices: readonly Choice[],
  isMany: boolean,
  isSecret: boolean,
): AnswerField['kind'] {
  if (choices.length > 0) return isMany ? 'many' : 'one';
  switch (schema.type) {
    case 'boolean':
      return 'flag';
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
    case 'object':
      return 'json';
    default:
      if (isSecret || schema.format === 'password' || schema.writeOnly === true) return 'secret';
      return typeof schema.maxLength === 'number' && schema.maxLength <= 200 ? 'text' : 'long';
  }
}

/** `enum`, or `oneOf`/`anyOf` of constants with titles. */
function choicesOf(schema: JsonSchema): Choice[] | undefined {
  if (Array.isArray(schema.enum)) {
    const names: readonly unknown[] = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum
      .slice(0, MOST_CHOICES)
      .map((value: unknown, at) => ({ key: String(at), value, label: oneLine(asText(names[at] ?? value)) }));
  }
  const options: unknown = Array.isArray(schema.oneOf) ? schema.oneOf : schema.anyOf;
  if (!Array.isArray(options) || options.length === 0) return undefined;
  if (!options.every((option) => isRecord(option) && 'const' in option)) return undefined;
  return options.slice(0, MOST_CHOICES).map((option: Bag, at) => ({
    key: String(at),
    value: option.const,
    label: oneLine(typeof option.title === 'string' ? option.title : asText(option.const)),
    ...(typeof option.description === 'string' ? { hint: oneLine(option.description, 500) } : {}),
  }));
}

function initialOf(value: unknown, kind: AnswerField['kind'], choices: readonly Choice[]): FieldValue {
  const keyOf = (wanted: unknown) => choices.find((choice) => asText(choice.value) === asText(wanted))?.key;
  switch (kind) {
    case 'flag':
      return value === true;
    case 'one':
      return value === undefined ? '' : (keyOf(value) ?? '');
    case 'many':
      return Array.isArray(value) ? value.map(keyOf).filter((key) => key !== undefined) : [];
    default:
      return value === undefined ? '' : asText(value);
  }
}

export type ReadAnswer = { readonly content: Bag } | { readonly faults: Readonly<Record<string, string>> };

/** What was filled in as an answer's content, or what is wrong with it by field. The host judges the whole. */
export function readAnswer(
  fields: readonly AnswerField[],
  values: Readonly<Record<string, FieldValue | undefined>>,
): ReadAnswer {
  const content: Bag = Object.create(null);
  const faults: Record<string, string> = Object.create(null);
  for (const field of fields) {
    const read = readField(field, values[field.key] ?? field.initial);
    if (read.fault !== undefined) faults[field.key] = read.fault;
    else if (read.value !== undefined) content[field.key] = read.value;
  }
  return Object.keys(faults).length > 0 ? { faults } : { content };
}

function readField(field: AnswerField, given: FieldValue): { value?: unknown; fault?: string } {
  const { kind, schema, required, choices } = field;
  if (kind === 'flag') return { value: given === true };
  if (kind === 'many') {
    const keys = Array.isArray(given) ? given : [];
    if (keys.length === 0 && !required) return {};
    return { value: choices.filter(({ key }) => keys.includes(key)).map(({ value }) => value) };
  }
  const text = typeof given === 'string' ? given : '';
  if (kind === 'one') {
    const choice = choices.find(({ key }) => key === text);
    if (choice !== undefined) return { value: choice.value };
    return required ? { fault: 'Choose one.' } : {};
  }
  if (text === '') {
    if (!required) return {};
    const isFree = schema.type === 'string' || schema.type === undefined;
    return isFree && kind !== 'secret' ? { value: '' } : { fault: 'An answer is needed.' };
  }
  if (kind === 'number') {
    const value = Number(text);
    if (!Number.isFinite(value)) return { fault: 'A number is needed.' };
    if (schema.type === 'integer' && !Number.isInteger(value)) return { fault: 'A whole number is needed.' };
    return { value };
  }
  if (kind !== 'json') return { value: text };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { fault: `JSON is needed, as ${schema.type === 'array' ? '["a", "b"]' : '{"key": "value"}'}.` };
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : String(JSON.stringify(value));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
