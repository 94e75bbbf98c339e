import type { Ajv, ErrorObject, Options } from 'ajv';
import type { JsonSchema } from '../contracts/index.js';
import { describeError } from './errors.js';

type AjvClass = new (options: Options) => Ajv;
type Check = (value: unknown) => string[];
type Compiled = { check: Check; fault?: undefined } | { check: Check; fault: string };
type Draft = '2020-12' | '2019-09' | '07';

const OPTIONS: Options = {
  allErrors: true,
  strict: false,
  validateFormats: false,
  // Without it `required: ['constructor']` is met by every object.
  ownProperties: true,
  logger: false,
};

// Ajv takes 35–50 ms to load, so it is loaded at the first validation and its classes are kept for the process.
const classes = new Map<Draft, AjvClass>();
const shared = new Map<Draft, Ajv>();
const compiled = new WeakMap<JsonSchema, Compiled>();

/**
 * What is wrong with `value`, all of it, such as `/query must be string`; empty when it fits. Compiled once per schema
 * object, which must not change afterwards. A promise only until the validator is loaded, later at once. Formats are
 * not enforced; defaults are not filled in. A schema that cannot be compiled fits nothing: the one message says why.
 */
export function validateJson(schema: JsonSchema, value: unknown): string[] | Promise<string[]> {
  const entry = compile(schema);
  return entry instanceof Promise ? entry.then((one) => one.check(value)) : entry.check(value);
}

/** Why a schema cannot be compiled; undefined when it can. For sources that pass such a schema on unchecked. */
export function schemaCompileFault(schema: JsonSchema): string | undefined | Promise<string | undefined> {
  const entry = compile(schema);
  return entry instanceof Promise ? entry.then((one) => one.fault) : entry.fault;
}

function compile(schema: JsonSchema): Compiled | Promise<Compiled> {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const draft = draftOf(schema);
  const Class = classes.get(draft);
  return Class === undefined
    ? load(draft).then((loaded) => compileWith(loaded, draft, schema))
    : compileWith(Class, draft, schema);
}

function compileWith(Class: AjvClass, draft: Draft, schema: JsonSchema): Compiled {
  const entry = build(Class, draft, schema);
  compiled.set(schema, entry);
  return entry;
}

function build(Class: AjvClass, draft: Draft, schema: JsonSchema): Compiled {
  const fault = (message: string): Compiled => ({ check: () => [message], fault: message });
  try {
    // An id is remembered by the instance that read it and could shadow another schema's, so such a schema gets its own.
    const named = JSON.stringify(schema).includes('"$id"');
    const ajv = named ? new Class(OPTIONS) : sharedInstance(Class, draft);
    // Kept while it is compiled: a recursive schema refers to itself.
    const validate = ajv.compile(schema);
    if (!named) ajv.removeSchema(schema);
    if ('$async' in validate) return fault('the schema cannot be used: $async is not supported');
    return { check: (value) => (validate(value) ? [] : messages(validate.errors ?? [])) };
  } catch (thrown) {
    return fault(`the schema cannot be used: ${describeError(thrown).message}`);
  }
}

function sharedInstance(Class: AjvClass, draft: Draft): Ajv {
  const known = shared.get(draft);
  if (known !== undefined) return known;
  const made = new Class(OPTIONS);
  shared.set(draft, made);
  return made;
}

/** An unknown `$schema` is read as 2020-12, where compiling it fails with its name. */
function draftOf(schema: JsonSchema): Draft {
  const said = String(schema.$schema ?? '');
  if (said.includes('draft-07')) return '07';
  return said.includes('2019-09') ? '2019-09' : '2020-12';
}

async function load(draft: Draft): Promise<AjvClass> {
  const Class = (await importDraft(draft)) as unknown as AjvClass;
  classes.set(draft, Class);
  return Class;
}

async function importDraft(draft: Draft): Promise<unknown> {
  if (draft === '07') return (await import('ajv')).Ajv;
  if (draft === '2019-09') return (await import('ajv/dist/2019.js')).Ajv2019;
  return (await import('ajv/dist/2020.js')).Ajv2020;
}

function messages(errors: readonly ErrorObject[]): string[] {
  return [...new Set(errors.map(say))];
}

function say({ instancePath, keyword, message, params }: ErrorObject): string {
  const text = `${message ?? `fails ${keyword}`}${detail(keyword, params)}`;
  return instancePath === '' ? text : `${instancePath} ${text}`;
}

function detail(keyword: string, params: Record<string, unknown>): string {
  switch (keyword) {
    case 'additionalProperties':
      return `: ${JSON.stringify(params.additionalProperty)}`;
    case 'unevaluatedProperties':
      return `: ${JSON.stringify(params.unevaluatedProperty)}`;
    case 'enum':
      return `: ${(params.allowedValues as unknown[]).map((one) => JSON.stringify(one)).join(', ')}`;
    case 'const':
      return `: ${JSON.stringify(params.allowedValue)}`;
    default:
      return '';
  }
}
