import {
  type Command,
  type CommandArgument,
  forEachChild,
  type ParsedScript,
  parse,
  type Redirection,
  type SyntaxNode,
} from 'unbash';
import { type IsTainted, isPlainArithmetic, isPlainIndex, isPlainNumber } from './arithmetic.js';
import { builtinFault, declaredBy } from './builtins.js';
import { type ShellCommand, type ShellWord, shownWords } from './command.js';
import { launchOf } from './launch.js';
import { reachesOf } from './reach.js';
import { reachesOut } from './redirections.js';
import { allTainted, taintOf } from './taint.js';
import { isDangerousVariable } from './variables.js';
import { readArgument, readWord } from './words.js';

const LONGEST = 100_000;
const MOST_COMMANDS = 400;
const DEEPEST = 16;
/** Read by bash and by the plain shell in two ways. */
const BASH_ONLY = /\$['"[]|\[\[|\(\(|&>|<<<|[<>]\(|\|&|;&|\{\w+\}[<>]|\b(?:coproc|select|function)\b/;

/** Escapes between `$'` and `'` that stand for one character whatever the language of the machine. */
const PLAIN_ESCAPES = /\\(?:[\\'"?abeEfnrtv]|x[0-7][\da-fA-F]|[01]?[0-7]{1,2}(?!\d))/g;
/** The shell reads `$$` here in one way to find the end of a word, and in another to expand it. */
const DOUBLE_DOLLAR = /\$\$[{(['"`]/;

/** The shell takes these away before it looks at what they part: `$` and `(` on two lines are a substitution. */
const SPLIT_BY_LINE = /[^ \t\n]\\\n/;

/** What all commands of one part of a script have in common. */
interface Place {
  /** What the positions of its nodes refer to. */
  readonly source: string;
  readonly isTainted: IsTainted;
  /** Redirections of what they stand in. */
  readonly writes: readonly string[];
  readonly assigns: readonly string[];
  readonly depth: number;
  /** A program runs it, with words of its own as `$@`. */
  readonly isGiven?: boolean;
}

/**
 * Every simple command that a command line would run, in order, those that another command starts behind it. Where
 * something is not known before it runs there is an entry that says so. Never empty, never throws.
 */
export function parseCommands(line: string): ShellCommand[] {
  const found: ShellCommand[] = [];
  try {
    readScript(line, 'bash', { isTainted: allTainted, writes: [], assigns: [], depth: 0 }, found);
  } catch {
    // Deeper than the stack, or more than is sensible: what was found by then is not all.
    found.push(notKnown(line, 'it is too long or too deep to be read'));
  }
  if (found.every(({ passesOn }) => passesOn)) found.push(command({ text: line.trim(), words: [] }));
  return found;
}

const command = (parts: Partial<ShellCommand> & Pick<ShellCommand, 'text' | 'words'>): ShellCommand => ({
  reaches: [],
  assigns: [],
  writes: [],
  unknown: undefined,
  passesOn: false,
  ...parts,
});

const notKnown = (text: string, unknown: string): ShellCommand => command({ text, words: [], unknown });

function readScript(text: string, shell: 'bash' | 'sh', place: Omit<Place, 'source'>, found: ShellCommand[]): void {
  if (text.length > LONGEST || place.depth > DEEPEST) {
    found.push(notKnown(text, 'it is too long or too deep to be read'));
    return;
  }
  // What stands for arguments without a text.
  if (text === '\0') {
    found.push(notKnown('', 'its command is no text'));
    return;
  }
  if (text.includes('\0')) found.push(notKnown(text, 'it holds a character that no command can hold'));
  if (SPLIT_BY_LINE.test(text)) found.push(notKnown(text, 'a line is broken within a word'));
  if (DOUBLE_DOLLAR.test(text)) found.push(notKnown(text, 'what stands behind "$$" could be read in two ways'));
  if (shell === 'sh' && BASH_ONLY.test(text)) found.push(notKnown(text, 'not every shell reads it in the same way'));
  const script = parse(text);
  const isTainted = place.depth === 0 ? taintOf(script) : allTainted;
  readParsed(script, { ...place, source: text, isTainted }, found);
}

function readParsed(script: ParsedScript, place: Place, found: ShellCommand[]): void {
  const source = script.source ?? place.source;
  if (script.errors !== undefined && script.errors.length > 0) {
    found.push(notKnown(source.slice(script.pos, script.end) || source, 'it is no complete command'));
  }
  for (const statement of script.commands) read(statement, { ...place, source }, found);
}

/** Goes through everything that is run, evaluated or expanded. */
function read(node: SyntaxNode, place: Place, found: ShellCommand[]): void {
  const note = (reason: string) => found.push(notKnown(place.source.slice(node.pos, node.end), reason));
  const children = () => forEachChild(node, (child) => read(child, place, found));
  switch (node.type) {
    case 'Script':
      return readParsed(node, place, found);
    case 'Command':
      return readCommand(node, place, found);
    case 'Redirected': {
      const before = found.length;
      const writes = [...place.writes, ...writesOf(node.redirects, place)];
      read(node.command, { ...place, writes }, found);
      if (found.length === before)
        found.push(command({ text: place.source.slice(node.pos, node.end), words: [], writes }));
      for (const redirect of node.redirects) read(redirect, place, found);
      return;
    }
    case 'CommandExpansion':
    case 'ProcessSubstitution':
    case 'ArithmeticCommandExpansion':
      if (node.script === undefined) note('what it runs could not be read');
      else if (node.type === 'ProcessSubstitution' && node.script.commands.length === 0) note('nothing runs in it');
      else if (listsBehindDocument(node.script)) note('what stands behind a here-document could be read in two ways');
      if (node.text.startsWith('${')) note('not every shell reads it in the same way');
      if (node.text.startsWith('`') && node.text.includes('\\\n')) note('a line is broken within it');
      return children();
    case 'ParameterExpansion': {
      const { parameter, prefix, index, operation } = node;
      // Whether a single quote is one there depends on what it stands in; not every reading is the shell's.
      if (node.text.includes("'") && /[`$]/.test(node.text.slice(1)))
        note('what stands between its quotes could be read in two ways');
      if (prefix === '!' && operation?.type !== 'Names')
        note('which variable it stands for is known only when it runs');
      if (index !== undefined && !isPlainIndex(index, place.isTainted))
        note('it works out a place in a list as it runs');
      if (operation?.type === 'Unknown') note('what it stands for could not be read');
      if (operation?.type === 'Transform' && !/^[QULKkuAa]$/.test(operation.operand.text))
        note('it expands a text once more');
      if (operation?.type === 'Default' && operation.operator.includes('=')) bind(parameter);
      if (operation?.type === 'Slice') {
        const ends = [operation.offset, operation.length];
        if (!ends.every((end) => end === undefined || isPlainNumber(end.text, place.isTainted))) {
          note('it works out a place in a text as it runs');
        }
      }
      return children();
    }
    case 'ExtendedGlob':
      note('not every shell reads this pattern in the same way');
      return children();
    case 'ArithmeticExpansion':
    case 'ArithmeticCommand':
      if (!isPlainArithmetic(node.expression, place.isTainted)) note('it works out something as it runs');
      return children();
    case 'ArithmeticFor':
      for (const one of [node.initialize, node.test, node.update]) {
        if (!isPlainArithmetic(one, place.isTainted)) note('it works out something as it runs');
      }
      return children();
    case 'TestUnary':
      if (/^-[vR]$/.test(node.operator) && (node.operand.parts !== undefined || node.operand.value.includes('['))) {
        note('which variable it tests is known only when it runs');
      }
      return children();
    case 'TestBinary':
      if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator)) {
        for (const side of [node.left, node.right]) {
          if (!isPlainNumber(side.text, place.isTainted)) note('it works out a number as it runs');
        }
      }
      return children();
    case 'For':
    case 'Select':
      bind(node.name.value);
      return children();
    case 'Function': {
      const between = place.source.slice(node.name.end, node.body.pos);
      if (!/^\s*(?:\(\s*\)\s*)?$/.test(between) || node.body.type === 'CompoundList') note('it is no complete command');
      return children();
    }
    case 'HereDoc':
      if (!isPlainDelimiter(node.delimiter?.text ?? '')) note('where its here-document ends could not be read');
      return children();
    case 'Coproc':
      if (node.name !== undefined) bind(node.name.value);
      return children();
    case 'FileDescriptorVariable':
      return bind(node.name);
    case 'Literal':
      if (holdsExpansion(node.text)) note('what it stands for could not be read');
      return;
    case 'Word':
      if (node.parts === undefined && (holdsExpansion(node.text) || /[<>]\(/.test(node.text))) {
        note('what it stands for could not be read');
      }
      return children();
    case 'AnsiCQuoted':
      if (node.text.replace(PLAIN_ESCAPES, '').includes('\\')) note('what it stands for could be read in two ways');
      return;
    case 'ArrayValue':
      for (const { text } of node.elements) {
        const index = /^\[[^\]]*\]?/.exec(text)?.[0];
        if (index !== undefined && /\]\+?=/.test(text) && !isPlainNumber(index.slice(1, -1), place.isTainted))
          note('it works out a place in a list as it runs');
      }
      return children();
    case 'Assignment':
      if (node.value.type === 'Word' && node.value.text.startsWith('(')) note('what it stands for could not be read');
      if (node.index !== undefined && !isPlainIndex(node.index, place.isTainted))
        note('it works out a place in a list as it runs');
      return children();
    default:
      return children();
  }

  function bind(name: string): void {
    if (isDangerousVariable(name)) note(`it sets ${name}`);
  }
}

/** A word, all of it between quotes of one kind or none. */
const isPlainDelimiter = (text: string): boolean => /^(?:[^\s'"`$\\]+|'[^']*'|"[^"`$\\]*"|\\\w+)$/.test(text);

/**
 * Whether a substitution holds a here-document and more than one command: bash 5.2 writes such a text anew before it
 * runs it, and may lose what parts the commands.
 */
function listsBehindDocument(script: SyntaxNode): boolean {
  let documents = 0;
  let commands = 0;
  const count = (node: SyntaxNode): void => {
    if (node.type === 'HereDoc') documents++;
    if (node.type === 'Command') commands++;
    forEachChild(node, count);
  };
  count(script);
  return documents > 0 && commands > 1;
}

/** Something that the shell expands, in a text that was taken as it stands: the reading cannot be right. */
const holdsExpansion = (text: string): boolean => /`|\$[({[]/.test(text.replace(/\\[\s\S]/g, ''));

const writesOf = (redirections: readonly Redirection[], { source }: Place): string[] =>
  redirections.flatMap((one) => (one.type === 'Redirect' && reachesOut(one) ? [source.slice(one.pos, one.end)] : []));

function readCommand(node: Command, place: Place, found: ShellCommand[]): void {
  const { name, prefix, args, redirects } = node;
  const words = name === undefined ? [] : [readWord(name), ...args.map(place.isGiven ? readGiven : readArgument)];
  const set = prefix.flatMap((one) => (one.type === 'Assignment' ? [one.name] : []));
  const text = place.source.slice(node.pos, node.end);
  // bash 5.2 loses a `;` behind such a command, where a here-document stands in the same substitution.
  if (name !== undefined && prefix.some((one) => one.type === 'Assignment' && one.value.type !== 'Word')) {
    found.push(notKnown(text, 'a list cannot be set for one command'));
  }
  // The parser passes over the beginning of a function that is none.
  if (name !== undefined && /^[ \t]*\(/.test(place.source.slice(name.end))) {
    found.push(notKnown(text, 'it is no complete command'));
  }
  const own = {
    ...place,
    writes: [...place.writes, ...writesOf(redirects, place)],
    assigns: [...place.assigns, ...set],
  };
  // `a<(b)c` is one word to the shell.
  const parts = [...prefix, ...(name === undefined ? [] : [name]), ...node.suffix];
  if (
    parts.some(
      ({ end, type }, at) => end === parts[at + 1]?.pos && type !== 'Redirect' && parts[at + 1]?.type === 'Word',
    )
  ) {
    found.push(notKnown(text, 'where its words end could be read in two ways'));
  }
  addCommand(words, text, own, found);
  forEachChild(node, (child) => read(child, place, found));
}

function readGiven(argument: CommandArgument): ShellWord {
  const word = readArgument(argument);
  return word.text === '"$@"' ? { ...word, isGiven: true } : word;
}

/** A command, and behind it what it starts. */
function addCommand(words: readonly ShellWord[], text: string, place: Place, found: ShellCommand[]): void {
  if (found.length >= MOST_COMMANDS) throw new RangeError('more commands than are read');
  const { writes, depth } = place;
  const assigns = [...place.assigns, ...declaredBy(words)];
  const launch = words.length === 0 ? undefined : launchOf(words);
  const unknown = unknownIn(words, place.isTainted) ?? launch?.unknown;
  const reaches = reachesOf(words);
  const passesOn = launch?.passesOn === true && unknown === undefined;
  found.push({ text, words, reaches, assigns, writes, unknown, passesOn });
  if (launch === undefined && reaches.every(({ runs }) => runs === undefined)) return;
  const inner = { ...place, assigns: [...assigns, ...(launch?.assigns ?? [])], depth: depth + 1, isGiven: false };
  if (inner.depth > DEEPEST) {
    found.push(notKnown(text, 'it is too deep to be read'));
    return;
  }
  for (const started of launch?.commands ?? []) addCommand(started, shownWords(started), inner, found);
  for (const script of launch?.scripts ?? []) readScript(script.text, script.shell, inner, found);
  for (const { runs, appends = false } of reaches) {
    if (runs !== undefined) readScript(appends ? `${runs} "$@"` : runs, 'sh', { ...inner, isGiven: appends }, found);
  }
}

function unknownIn(words: readonly ShellWord[], isTainted: IsTainted): string | undefined {
  const [first] = words;
  if (first === undefined) return undefined;
  if (first.value === undefined) return 'which command it is is known only when it runs';
  return builtinFault(words, isTainted);
}
