import type { PolicyRequest } from '../contracts/index.js';
import { type Judged, judge } from './decide.js';
import type { RankedRule } from './ranked-rules.js';
import type { ShellCommand } from './shell/command.js';
import type * as Shell from './shell/index.js';
import { SHELL_TOOL } from './tool-names.js';

/** What was said of a command line. */
export interface JudgedLine {
  /** Of the command that decides. */
  readonly strictest: Judged;
  readonly each: readonly { readonly command: ShellCommand; readonly verdict: Judged }[];
  /** For a person, each as it is written. */
  readonly commands: readonly string[];
}

/**
 * The text that a call gives to a shell. The tool is one that runs commands: by name, by category, or because a rule
 * about commands names it.
 */
export function commandLineOf(
  { action, args, context }: PolicyRequest,
  rules: readonly RankedRule[],
): string | undefined {
  const { command } = (args ?? {}) as { command?: unknown };
  const isShell =
    action === SHELL_TOOL ||
    action.endsWith(`.${SHELL_TOOL}`) ||
    (command !== undefined &&
      (context?.annotations?.category === 'execute' ||
        rules.some((ranked) => ranked.command !== undefined && ranked.names.includes(action))));
  if (!isShell) return undefined;
  return typeof command === 'string' ? command : NOT_KNOWN;
}

/** No shell can be given this: what such a tool makes of arguments of another form is not known. */
const NOT_KNOWN = '\0';

/** The parser is large: it is there once a command line was seen. */
let loaded: typeof Shell | undefined;

/** Judges command lines by rules: a promise until the parser is there. */
export function createLineJudge(
  rules: readonly RankedRule[],
): (request: PolicyRequest, line: string) => JudgedLine | Promise<JudgedLine> {
  const judgeWith = (shell: typeof Shell, request: PolicyRequest, line: string): JudgedLine => {
    const { outcome, verdict, each } = shell.judgeCommand(line, (command) =>
      judge(rules, request, { kind: 'command', command, shell }),
    );
    // Of several that are as strict, the one that has more to say.
    const telling = each.find((one) => one.verdict.outcome === outcome && one.verdict.hint !== undefined);
    return {
      strictest: telling?.verdict ?? verdict,
      each,
      commands: shell.parsedCommands(line),
    };
  };
  return (request, line) => {
    if (loaded !== undefined) return judgeWith(loaded, request, line);
    return loadShell().then((shell) => judgeWith(shell, request, line));
  };
}

export async function loadShell(): Promise<typeof Shell> {
  loaded ??= await import('./shell/index.js');
  return loaded;
}
