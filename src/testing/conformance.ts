import { TroupeError } from '../kernel/errors.js';

/** One thing that every implementation must do. `run` rejects with what is wrong; it needs no test framework. */
export interface ConformanceCase<Make, Setup = undefined> {
  readonly name: string;
  run(make: Make, setup?: Setup): Promise<void>;
}

const LONGEST_CASE_MS = 10_000;

/** The cases with a bound on time: what hangs fails too. */
export const bounded = <Make, Setup = undefined>(
  cases: readonly ConformanceCase<Make, Setup>[],
): readonly ConformanceCase<Make, Setup>[] =>
  cases.map(({ name, run }) => ({
    name,
    run(make, setup) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<never>((_, reject) => {
        const fail = () => reject(new Error(`did not end within ${LONGEST_CASE_MS / 1000} s`));
        timer = setTimeout(fail, LONGEST_CASE_MS);
      });
      return Promise.race([run(make, setup), late]).finally(() => clearTimeout(timer));
    },
  }));

/** What one implementation cannot do. A skip without a reason is a fault. */
export interface ConformanceSkip {
  /** Name of the case. */
  readonly case: string;
  readonly reason: string;
}

/**
 * The cases to run, and those that are skipped with their reasons, both in their order. Throws `INVALID_OPTION` for a
 * skip that names no case, is given twice, or says no reason: a list of skips must not outlive what it was made for.
 */
export function withSkips<Case extends { readonly name: string }>(
  cases: readonly Case[],
  skips: readonly ConformanceSkip[],
): { run: Case[]; skipped: { name: string; reason: string }[] } {
  const reasons = new Map<string, string>();
  const faults: string[] = [];
  for (const skip of skips) {
    if (!cases.some(({ name }) => name === skip.case)) faults.push(`no case "${skip.case}"`);
    if (skip.reason.trim() === '') faults.push(`no reason to skip "${skip.case}"`);
    if (reasons.has(skip.case)) faults.push(`"${skip.case}" is skipped twice`);
    reasons.set(skip.case, skip.reason);
  }
  if (faults.length > 0) throw new TroupeError({ code: 'INVALID_OPTION', message: faults.join('; ') });
  return {
    run: cases.filter(({ name }) => !reasons.has(name)),
    skipped: cases.flatMap(({ name }) => {
      const reason = reasons.get(name);
      return reason === undefined ? [] : [{ name, reason }];
    }),
  };
}
