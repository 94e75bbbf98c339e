/**
 * The part of vitest's JSON report that is counted.
 * @typedef {object} TestReport
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {{ status: string, assertionResults: { status: string }[] }[]} testResults one per file
 */

/**
 * `N passed, N failed`, and `, N skipped` if any were. A file that did not load counts as one failure, and so does
 * whatever else made vitest fail: its counts alone would say that all is well.
 * @param {TestReport | undefined} report absent when vitest wrote none
 * @param {boolean} passed whether vitest said so
 */
export function closingLine(report, passed) {
  const unloaded = (report?.testResults ?? []).filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((each) => each.status === 'failed'),
  );
  const failed = (report?.numFailedTests ?? 0) + unloaded.length;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  const line = `${report?.numPassedTests ?? 0} passed, ${failed === 0 && !passed ? 1 : failed} failed`;
  return skipped > 0 ? `${line}, ${skipped} skipped` : line;
}
