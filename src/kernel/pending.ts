import { TroupeError } from './errors.js';
import { jsonFault } from './json-value.js';

/** No JSON can look like it. */
const MARK = Symbol('pending');

/** What a tool returns that has no result yet. */
export interface Pending {
  readonly [MARK]: true;
  /** Plain JSON; shown with the call, for whoever is to answer it. */
  readonly ticket: unknown;
}

/**
 * Returned by a tool in place of a result: its call stays open until `run.respond(requestId, { result })` or a
 * `tool_result` answers it, once. No time limit counts meanwhile. Throws `INVALID_INPUT` for a ticket that is no JSON.
 */
export function pending(ticket?: unknown): Pending {
  const fault = ticket === undefined ? undefined : jsonFault(ticket);
  if (fault !== undefined) throw new TroupeError({ code: 'INVALID_INPUT', message: `the ticket is no JSON:${fault}` });
  return { [MARK]: true, ticket: ticket === undefined ? undefined : JSON.parse(JSON.stringify(ticket)) };
}

export const isPending = (value: unknown): value is Pending =>
  typeof value === 'object' && value !== null && MARK in value;
