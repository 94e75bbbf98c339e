import { describeError, TroupeError } from '../kernel/errors.js';
import { jsonFault } from '../kernel/json-value.js';
import { narrowContentPart } from '../kernel/narrow.js';
import { didYouMean } from '../kernel/text.js';

const isObject = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null && !Array.isArray(given);

const isText = (given: unknown): boolean => given === undefined || typeof given === 'string';

/** A list of parts: each says its type, and has what a known type needs. */
export const areParts = (given: unknown): boolean => partsFault(given) === undefined;

/** What is wrong with a list of parts (`/0 is no content part: …`); undefined: nothing. What is inside need be no JSON. */
export function partsFault(given: unknown): string | undefined {
  if (!Array.isArray(given)) return 'it must be a list of content parts';
  for (const [at, part] of given.entries()) {
    const read = narrowContentPart(part);
    if (read.kind === 'invalid') return `/${at} is no content part: ${read.reason}`;
  }
  return undefined;
}

/** The parts of which a model's history is made: they come from calls, and from nobody's words. */
const HISTORY_PARTS: ReadonlySet<unknown> = new Set(['function_call', 'function_response']);

/** The same for what a person says: not nothing, and none of the parts that only a model's history has. */
export function wordsFault(given: unknown): string | undefined {
  if (Array.isArray(given) && given.length === 0) return 'a list of content parts needs at least one';
  const fault = partsFault(given);
  if (fault !== undefined) return fault;
  const at = (given as { type: unknown }[]).findIndex(({ type }) => HISTORY_PARTS.has(type));
  return at < 0
    ? undefined
    : `/${at} stands in a model’s history only: calls and their results are the host’s to write`;
}

/** Why a value would not come out of the log as it went in; also where it cannot even be read. */
export function dataFault(given: unknown): string | undefined {
  try {
    return jsonFault(given);
  } catch (thrown) {
    return ` cannot be read: ${describeError(thrown).message}`;
  }
}

const STEER_KEYS = ['message', 'action', 'data'];

/** Throws `INVALID_INPUT` for what is no `SteerData`: words that are none would break the turn that takes them. */
export function assertSteer(given: unknown): void {
  const fault = steerFault(given);
  if (fault === undefined) return;
  throw new TroupeError({
    code: 'INVALID_INPUT',
    message: `steer takes { message?, action?, data? }, a text or parts, a name, an object: ${fault}`,
  });
}

function steerFault(given: unknown): string | undefined {
  if (!isObject(given)) return 'this is no object';
  const fault = dataFault(given);
  if (fault !== undefined) return `${fault.trim()}, which is no JSON`;
  const { message, action, data } = given;
  if (!isText(message)) {
    const wrong = wordsFault(message);
    if (wrong !== undefined) return `message: ${wrong}`;
  }
  if (!isText(action) || action === '') return 'action must be a name, such as "interrupt"';
  if (data !== undefined && !isObject(data)) return 'data must be an object';
  const unknown = unknownKey(given, STEER_KEYS);
  if (unknown !== undefined) return unknown;
  return message === undefined && action === undefined ? 'one of message and action must be there' : undefined;
}

const UPDATE_KEYS = ['permissionMode', 'model', 'tools', 'title', 'config'];

/** Throws `INVALID_OPTION` for what is no `SessionUpdateData`. What its values mean is looked at elsewhere. */
export function assertUpdate(given: unknown): void {
  const fault = updateFault(given);
  if (fault === undefined) return;
  throw new TroupeError({
    code: 'INVALID_OPTION',
    message: `update takes { permissionMode?, model?, tools?, title?, config? }: ${fault}`,
  });
}

function updateFault(given: unknown): string | undefined {
  if (!isObject(given)) return 'this is no object';
  const { permissionMode, model, tools, title, config } = given;
  if (!isText(permissionMode)) return 'permissionMode must be a name';
  if (!isText(title)) return 'title must be a text';
  if (model !== undefined && typeof model !== 'string' && !isObject(model)) return 'model must be a name, or a model';
  if (tools !== undefined && !(Array.isArray(tools) && tools.every(isObject)))
    return 'tools must be a list of descriptors';
  if (config !== undefined && !isObject(config)) return 'config must be an object';
  const fault = dataFault({ tools, config });
  if (fault !== undefined) return `${fault.trim().replace(/^\./, '')}, which is no JSON`;
  const unknown = unknownKey(given, UPDATE_KEYS);
  if (unknown !== undefined) return unknown;
  return UPDATE_KEYS.every((key) => given[key] === undefined) ? 'one of them must be there' : undefined;
}

function unknownKey(given: object, known: readonly string[]): string | undefined {
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  return unknown === undefined ? undefined : `there is no "${unknown}"${didYouMean(unknown, known)}`;
}
