import type { PolicyRequest, ToolAnnotations } from '../contracts/index.js';
import { type Problem, throwProblems } from '../kernel/errors.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import type { PolicyRuleSet } from '../kernel/policy-rules.js';
import { didYouMean } from '../kernel/text.js';
import { createPolicyEngine } from '../policy/engine.js';
import type { PolicyExplanation } from '../policy/explain.js';
import { strictness } from '../policy/ranked-rules.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';
import { readPolicyFiles } from './policy-files.js';
import { badUse } from './report-error.js';
import { plural } from './tree-figures.js';

export interface PolicyCheckCommand {
  files: readonly string[];
  json?: boolean | undefined;
}

export interface PolicyExplainCommand {
  tool: string;
  /** The arguments of the call, as JSON. */
  args: string;
  /** Files of rules. */
  policy?: readonly string[] | undefined;
  mode?: string | undefined;
  /** An agent's name, or its path from the root: `lead/reviewer`. */
  principal?: string | undefined;
  /** Paths of the leaders that act through it, nearest first. */
  ledBy?: readonly string[] | undefined;
  /** The MCP server that the tool belongs to. */
  mcp?: string | undefined;
  json?: boolean | undefined;
}

/** What is known of the host's own tools. */
export interface PolicyParts {
  annotationsOf(tool: string): ToolAnnotations | undefined;
  isStructural(tool: string): boolean;
  /** The arguments in the spelling of the tool, where they are judged by that too. */
  plainArgs(tool: string, args: unknown): unknown;
  /** The rules that count for a run in the current folder without being named: the user's, and those of what is trusted. */
  standing(): Promise<readonly PolicyRuleSet[]>;
}

const MODES = ['default', 'auto_edit', 'autonomous', 'plan', 'dont_ask'];

/** Says every fault of policy files. 0, or 2 with problems. */
export async function policyCheckCommand(
  { files, json }: PolicyCheckCommand,
  io: Pick<CommandIo, 'stdout' | 'cwd'>,
): Promise<number> {
  const { sets, problems } = await readPolicyFiles(files, io);
  const count = sets.reduce((sum, { rules }) => sum + rules.length, 0);
  await io.stdout.write(json === true ? jsonOf({ problems: problems.map(told) }) : checkText(files, count, problems));
  return problems.length === 0 ? exitCodes.completed : exitCodes.badUse;
}

const jsonOf = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`;
const told = ({ code, path, message }: Problem) => ({ code, path: path ?? '', message });

function checkText(files: readonly string[], count: number, problems: readonly Problem[]): string {
  const checked = files.map(visibleLine).join(', ');
  if (problems.length === 0) return `${checked}: no problems (${plural(count, 'rule')})\n`;
  const lines = problems.map(({ path = '', message }) => `  ${visibleLine(path)}: ${visibleLine(message)}`);
  return `${checked}: ${plural(problems.length, 'problem')}\n${lines.join('\n')}\n`;
}

/**
 * Says what would be decided about a call in a run here, by which rule and why. 0 whatever that is; faults of the files
 * are thrown.
 */
export async function policyExplainCommand(
  command: PolicyExplainCommand,
  io: Pick<CommandIo, 'stdout' | 'cwd'>,
  parts: PolicyParts,
): Promise<number> {
  const request = requestOf(command, parts);
  const { sets, problems } = await readPolicyFiles(command.policy ?? [], io);
  throwProblems(problems, 'POLICY_INVALID');
  const engine = createPolicyEngine([...sets, ...(await parts.standing())]);
  const asSaid = await engine.explain(request);
  const args = await parts.plainArgs(command.tool, request.args);
  const asMeant = args === undefined ? asSaid : await engine.explain({ ...request, args });
  const explanation = strictness(asMeant.outcome) > strictness(asSaid.outcome) ? asMeant : asSaid;
  await io.stdout.write(command.json === true ? jsonOf(explanation) : explanationText(explanation));
  return exitCodes.completed;
}

function requestOf(command: PolicyExplainCommand, parts: PolicyParts): PolicyRequest {
  const { tool, mode = 'default', principal, ledBy = [], mcp } = command;
  if (mode !== 'default' && narrowPermissionMode(mode) === 'default') {
    throw badUse(`no permission mode "${mode}"${didYouMean(mode, MODES)}; known: ${MODES.join(', ')}`);
  }
  const annotations = parts.annotationsOf(tool);
  return {
    action: tool,
    args: argsOf(command.args),
    ...(principal !== undefined && actorAt(principal)),
    ...(ledBy.length > 0 && { actingFor: ledBy.map(actorAt) }),
    context: {
      mode,
      ...(annotations !== undefined && { annotations }),
      ...(mcp !== undefined && { mcpName: mcp }),
      executor: 'local',
      structural: parts.isStructural(tool),
    },
  };
}

const actorAt = (path: string) => ({ principal: path.slice(path.lastIndexOf('/') + 1), principalPath: path });

function argsOf(text: string): unknown {
  try {
    const args: unknown = JSON.parse(text);
    if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args;
  } catch {
    // Said below.
  }
  throw badUse(`the arguments of a call are a JSON object, as '{"path":"a.txt"}', and not ${text.slice(0, 80)}`);
}

function explanationText(explanation: PolicyExplanation): string {
  const { outcome, reason, rule, tier, line, grant, boundBy, commands = [] } = explanation;
  const place = line === undefined ? '' : `, line ${line}`;
  const lines = [
    `${outcome}: ${reason}`,
    rule === null ? '  rule: none' : `  rule: ${rule}${place} (tier ${tier})${grant === true ? ', a grant' : ''}`,
  ];
  if (boundBy !== undefined) lines.push(`  bound by: ${boundBy}`);
  // One command says no more than the line.
  if (commands.length > 1) {
    lines.push('  commands:', ...commands.map((one) => `    ${one.outcome}: ${one.command} (${one.reason})`));
  }
  return `${lines.map(visibleLine).join('\n')}\n`;
}
