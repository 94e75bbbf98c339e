import { badUse } from './report-error.js';

/** The port that an option names; 0, any that is free, without it. Wrong use where it is none. */
export function portOf(given: string | undefined): number {
  if (given === undefined) return 0;
  const port = Number(given);
  if (!/^\d{1,5}$/.test(given.trim()) || port > 65_535)
    throw badUse(`--port takes a number from 0 to 65535, not "${given}"`);
  return port;
}
