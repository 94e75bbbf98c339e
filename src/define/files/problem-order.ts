import type { Problem } from '../../kernel/errors.js';

/** Problems file by file, as the files first appear, and in each from its first line to its last. */
export function inFileOrder(problems: readonly Problem[]): Problem[] {
  const files: string[] = [];
  const ranked = problems.map((problem) => {
    const [, file = problem.path ?? '', line = '0'] = /^(.+?):(\d+)(?::|$)/.exec(problem.path ?? '') ?? [];
    if (!files.includes(file)) files.push(file);
    return { problem, file: files.indexOf(file), line: Number(line) };
  });
  return ranked.sort((one, other) => one.file - other.file || one.line - other.line).map(({ problem }) => problem);
}
