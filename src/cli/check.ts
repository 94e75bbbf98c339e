import type { AgentDefinition } from '../contracts/index.js';
import { analyseTeam, type HostInventory, type TeamAnalysis } from '../define/analyse.js';
import { type Problem, TroupeError } from '../kernel/errors.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';
import { plural } from './tree-figures.js';

export interface CheckCommand {
  /** As it was typed, for the report. */
  file: string;
  json?: boolean | undefined;
}

export interface CheckParts {
  loadDefinition(): Promise<{ definition: AgentDefinition; notices: readonly string[] }>;
  /** What `run` has. */
  inventory(): Promise<HostInventory>;
}

/** Says what would go wrong when the file is run, and the most model calls that a run can make. 0, or 2 with problems. */
export async function checkCommand(
  command: CheckCommand,
  io: Pick<CommandIo, 'stdout'>,
  parts: CheckParts,
): Promise<number> {
  const { analysis, notices } = await analyse(parts);
  const text = command.json === true ? jsonReport(analysis) : textReport(command.file, analysis, notices);
  await io.stdout.write(text);
  return analysis.problems.length === 0 ? exitCodes.completed : exitCodes.badUse;
}

async function analyse(parts: CheckParts): Promise<{ analysis: TeamAnalysis; notices: readonly string[] }> {
  try {
    const { definition, notices } = await parts.loadDefinition();
    return { analysis: analyseTeam(definition, await parts.inventory()), notices };
  } catch (thrown) {
    // A file with faults is what this command is for; one that is not there is wrong use.
    if (!(thrown instanceof TroupeError) || thrown.problems.length === 0) throw thrown;
    return {
      analysis: { problems: [...thrown.problems], worstCase: { modelCalls: undefined, assumptions: [] } },
      notices: [],
    };
  }
}

function jsonReport({ problems, worstCase }: TeamAnalysis): string {
  const report = {
    problems: problems.map(({ code, path, message }) => ({ code, path: path ?? '', message })),
    worstCase: {
      // JSON has no infinity: null is a number without a bound.
      modelCalls: worstCase.modelCalls ?? null,
      ...(worstCase.usd === undefined ? {} : { usd: worstCase.usd }),
      assumptions: worstCase.assumptions,
    },
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

function textReport(file: string, { problems, worstCase }: TeamAnalysis, notices: readonly string[]): string {
  const lines = [
    `${visibleLine(file)}: ${problems.length === 0 ? 'no problems' : plural(problems.length, 'problem')}`,
    ...problems.map(problemLine),
    ...notices.map((notice) => `  note: ${visibleLine(notice)}`),
  ];
  if (worstCase.modelCalls !== undefined) {
    const cost = worstCase.usd === undefined ? '' : `, $${worstCase.usd}`;
    lines.push(`worst case: ${plural(worstCase.modelCalls, 'model call')}${cost}`);
  } else lines.push('worst case: cannot be said');
  lines.push(...worstCase.assumptions.map((assumption) => `  provided that: ${visibleLine(assumption)}`));
  return `${lines.join('\n')}\n`;
}

function problemLine({ code, path, message }: Problem): string {
  return `  ${code}${path === undefined ? '' : ` at ${visibleLine(path)}`}: ${visibleLine(message)}`;
}
