import { TroupeError } from '../kernel/errors.js';
import { jsonFault } from '../kernel/json-value.js';
import { narrowContentPart } from '../kernel/narrow.js';

const isObject = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null && !Array.isArray(given);

/** A list of parts: each says its type, and has what a known type needs. */
export const areParts = (given: unknown): boolean =>
  Array.isArray(given) && given.every((part) => narrowContentPart(part).kind !== 'invalid');

const isText = (given: unknown): boolean => given === undefined || typeof given === 'string';

/** Throws `INVALID_INPUT` for what is no `SteerData`: words that are none would break the turn that takes them. */
export function assertSteer(given: unknown): void {
  if (isObject(given)) {
    const { message, action } = given;
    const areWords = isText(message) || (areParts(message) && jsonFault(message) === undefined);
    if (areWords && isText(action)) return;
  }
  throw new TroupeError({
    code: 'INVALID_INPUT',
    message: 'steer takes { message?, action? }: a text or parts, a name',
  });
}

/** Throws `INVALID_OPTION` for what is no `SessionUpdateData`. What its values mean is looked at elsewhere. */
export function assertUpdate(given: unknown): void {
  if (isObject(given)) {
    const { permissionMode, tools, title, config } = given;
    const isList = tools === undefined || (Array.isArray(tools) && tools.every(isObject));
    const isBag = config === undefined || (isObject(config) && jsonFault(config) === undefined);
    if (isText(permissionMode) && isText(title) && isList && isBag) return;
  }
  throw new TroupeError({
    code: 'INVALID_OPTION',
    message:
      'update takes { permissionMode?, model?, tools?, title?, config? }: tools a list of descriptors, config JSON',
  });
}
