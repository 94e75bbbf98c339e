import type { PolicyRule } from '../../kernel/policy-rules.js';
import { DECISIONS } from '../../kernel/policy-rules.js';
import type { ShellCommand } from './command.js';
import { parseCommands } from './parse.js';

/** What was said of a whole command line: the strictest of what was said of its commands, and of which. */
export interface LineVerdict<Verdict> {
  readonly outcome: PolicyRule['decision'];
  readonly verdict: Verdict;
  readonly command: ShellCommand;
  /** Of every command, in order. */
  readonly each: readonly { readonly command: ShellCommand; readonly verdict: Verdict }[];
}

/**
 * Takes a command line apart and has every simple command that would run judged on its own. A deny overrides, then an
 * ask; it is an allow only if each of them is. `judgeOne` says nothing (`undefined`) of a command only if it
 * `passesOn` to others; elsewhere that is an error. Never throws for what a line holds.
 */
export function judgeCommand<Verdict extends { readonly outcome: PolicyRule['decision'] }>(
  line: string,
  judgeOne: (command: ShellCommand) => Verdict | undefined,
): LineVerdict<Verdict> {
  const each: { command: ShellCommand; verdict: Verdict }[] = [];
  for (const command of parseCommands(line)) {
    const verdict = judgeOne(command);
    if (verdict !== undefined) each.push({ command, verdict });
    else if (!command.passesOn) throw new TypeError(`nothing was said of ${command.text}`);
  }
  let [strictest] = each;
  for (const one of each) {
    if (strictest === undefined || strictness(one.verdict) > strictness(strictest.verdict)) strictest = one;
  }
  // There is always a command that is not only passed on.
  if (strictest === undefined) throw new TypeError(`nothing was said of ${line}`);
  return { outcome: strictest.verdict.outcome, ...strictest, each };
}

const strictness = ({ outcome }: { readonly outcome: PolicyRule['decision'] }) => DECISIONS.indexOf(outcome);

/** The commands that a command line would run, each as it is written, for a person to read. */
export function parsedCommands(line: string): string[] {
  const texts = parseCommands(line).flatMap(({ text, words }) => (words.length > 0 ? [text] : []));
  if (texts.length === 0) return line === '\0' ? [] : [line];
  return [...new Set(texts)];
}
