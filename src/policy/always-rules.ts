import type { PolicyRequest } from '../contracts/index.js';
import { canonicalJson } from '../kernel/json-value.js';
import type { PolicyRule } from '../kernel/policy-rules.js';
import type { JudgedLine } from './command-line.js';
import { readPolicyPattern } from './pattern.js';
import { type ShellCommand, shownWords } from './shell/command.js';
import type * as Shell from './shell/index.js';
import { readPrefix } from './shell/prefix-words.js';

/** What they are given decides what they harm: of these no other command is meant by "always" than the very same. */
const BY_OPERAND = new Set(
  (
    'rm rmdir unlink shred mv cp ln install dd truncate tee chmod chown chgrp mkfifo mknod touch mkdir kill pkill killall ' +
    'curl wget scp sftp rsync ssh nc ncat socat docker podman kubectl systemctl service crontab at mount umount ' +
    'make gmake ninja rake just task'
  ).split(' '),
);

/** Of git, what only looks. */
const GIT_LOOKS = new Set('status log diff show blame shortlog describe rev-parse ls-files ls-tree'.split(' '));
/** As a word of a command, one that acts on the world: what stands behind it may be anything. */
const ACTS = new Set(
  'publish unpublish install uninstall add remove update upgrade exec dlx deploy apply destroy delete login'.split(' '),
);

/** A word that names nothing outside of the program: an option, or a sub-command. */
const PLAIN_WORD = /^-{0,2}[A-Za-z][\w:-]*$/;

/** The rule for a call with exactly these arguments. Undefined: no pattern of a rule can say them. */
export function alwaysRuleForCall({ action, args, context }: PolicyRequest): PolicyRule | undefined {
  const argsPattern = `^${escaped(canonicalJson(args ?? {}))}$`;
  if ('fault' in readPolicyPattern(argsPattern)) return undefined;
  return {
    toolName: action,
    ...(context?.mcpName !== undefined && { mcpName: context.mcpName }),
    decision: 'allow',
    always: true,
    argsPattern,
  };
}

/**
 * One rule for each command of a line that is not allowed yet; what only starts others (`env`, `timeout`) gets none, for
 * they stand in the list themselves. Undefined: of one of them no rule can be made that means it and little else.
 */
export function alwaysRulesForLine(
  { action }: PolicyRequest,
  { each }: JudgedLine,
  shell: typeof Shell,
): PolicyRule[] | undefined {
  const rules: PolicyRule[] = [];
  const said = new Set<string>();
  for (const { command, verdict } of each) {
    if (verdict.outcome === 'allow') continue;
    const condition = conditionFor(command, shell);
    if (condition === undefined) return undefined;
    const text = JSON.stringify(condition);
    if (!said.has(text)) rules.push({ toolName: action, decision: 'allow', always: true, ...condition });
    said.add(text);
  }
  return rules.length > 0 ? rules : undefined;
}

function conditionFor(
  command: ShellCommand,
  shell: typeof Shell,
): Pick<PolicyRule, 'commandPrefix' | 'commandRegex'> | undefined {
  const { words, unknown, assigns, writes } = command;
  if (unknown !== undefined || assigns.length > 0 || writes.length > 0) return undefined;
  if (words.length === 0 || words.some(({ value }) => value === undefined)) return undefined;
  if (shell.startsOthers(words)) return undefined;
  const text = shownWords(words);
  if (isPlain(command)) {
    const read = readPrefix(text);
    if (!('fault' in read) && shell.covers({ prefix: read.words }, command)) return { commandPrefix: text };
  }
  const commandRegex = `${escaped(text)}$`;
  const regex = readPolicyPattern(commandRegex);
  if ('fault' in regex || !shell.covers({ regex }, command)) return undefined;
  return { commandRegex };
}

/** More words behind it would make it no worse, as far as can be told. A program alone says nothing of what it is given. */
function isPlain(command: ShellCommand): boolean {
  const { words } = command;
  if (words.length < 2) return false;
  const [program = '', second = ''] = words.map(({ value = '' }) => value);
  if (BY_OPERAND.has(program) || command.reaches.length > 0) return false;
  if (program === 'git' && !GIT_LOOKS.has(second)) return false;
  return words.every(({ value = '' }) => PLAIN_WORD.test(value) && !ACTS.has(value));
}

/** As a pattern that matches the text itself and nothing else. */
const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
