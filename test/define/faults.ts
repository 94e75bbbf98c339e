import { TroupeError } from '../../src/kernel/errors.js';

/** What a definition function complains of: `path: message`, one for each problem; empty when it does not throw. */
export function faultsOf(define: () => unknown): string[] {
  try {
    define();
    return [];
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) throw thrown;
    return thrown.problems.map(({ path, message }) => `${path}: ${message}`);
  }
}
