import { executorCases } from '../testing/executor-cases.js';
import { type CaseSupport, type ExecutorSupport, executorSupport, supportOf } from '../testing/executor-support.js';

/** What each executor that comes with the host supports, for programs. */
export interface ExecutorReport {
  executors: (Omit<ExecutorSupport, 'skips'> & { cases: CaseSupport[] })[];
}

export const executorReport = (): ExecutorReport => ({
  executors: executorSupport.map(({ skips, ...support }) => ({ ...support, cases: supportOf({ skips, ...support }) })),
});

/** The same for people, in Markdown: what is driven, what holds, and why the rest does not. */
export function executorTable(): string {
  const { executors } = executorReport();
  const reasons: string[] = [];
  const mark = ({ holds, reason, missing }: CaseSupport): string => {
    if (holds) return 'yes';
    const text = `${reason}: it does not declare \`${missing}\`.`;
    if (!reasons.includes(text)) reasons.push(text);
    return `no (${reasons.indexOf(text) + 1})`;
  };
  const about = executors.map(({ name, drives, capabilities, opaque }) => [
    name,
    drives,
    capabilities?.map((one) => `\`${one}\``).join(', ') ?? 'as its definition declares',
    opaque ? 'yes' : 'no',
  ]);
  const cases = executorCases.map(({ name }, at) => [
    name,
    ...executors.map((executor) => mark(executor.cases[at] as CaseSupport)),
  ]);
  return [
    ...rows(['executor', 'drives', 'capabilities', 'opaque'], about),
    '',
    ...rows(['case', ...executors.map(({ name }) => name)], cases),
    '',
    ...reasons.map((reason, at) => `${at + 1}. ${reason}`),
    '',
  ].join('\n');
}

function rows(head: string[], body: string[][]): string[] {
  const widths = head.map((_, at) => Math.max(...[head, ...body].map((row) => row[at]?.length ?? 0)));
  const line = (cells: string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)];
}
