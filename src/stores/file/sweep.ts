import { TroupeError } from '../../kernel/errors.js';

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** An age in milliseconds: a number of them, or a number with a unit. Throws `INVALID_OPTION` for anything else. */
export function ageToMs(maxAge: number | string): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(String(maxAge)) ?? [];
  const ms = typeof maxAge === 'number' ? maxAge : Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  throw new TroupeError({
    code: 'INVALID_OPTION',
    message: `maxAge: ${JSON.stringify(maxAge)} is no age; milliseconds, or a number with a unit: 12h, 30d, 8w`,
  });
}
