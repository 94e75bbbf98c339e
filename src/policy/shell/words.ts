import type { CommandArgument, DoubleQuotedChild, Word, WordPart } from 'unbash';
import type { ShellWord } from './command.js';

/** What a part adds to its word: a text that is known, or how many words something not known may make of it. */
type Piece = { readonly known: string } | ShellWord['many'];

const BRACES = /\{[\s\S]*(?:,|\.\.)[\s\S]*\}/;
/** A tilde stands for a folder where a value may begin, also in words that only look like assignments. */
const TILDE_IN_VALUE = /^([A-Za-z_]\w*\+?=)[\s\S]*~/;

/** What is known of a word after the shell has taken quotes and backslashes away, without running anything. */
export function readWord(word: Word): ShellWord {
  const { text, parts } = word;
  // A tilde at the beginning becomes a folder, where it is one's own or the current one; a name may stay as it is.
  if (text.startsWith('~')) {
    return unknownWord(text, /^~[-+]?(?:\/|$)/.test(text) ? '/' : '', parts === undefined ? 'one' : 'any');
  }
  const [, name] = TILDE_IN_VALUE.exec(text) ?? [];
  if (name !== undefined) return unknownWord(text, name, parts === undefined ? 'one' : 'any');
  // What the parser takes for no braces may be some to the shell.
  const [brace] = BRACES.exec(text) ?? [];
  if (parts === undefined) {
    return brace === undefined
      ? { text, value: word.value, head: word.value, many: 'one' }
      : unknownWord(text, '', 'any');
  }
  let head = '';
  let isKnown = true;
  let many: ShellWord['many'] = 'one';
  for (const part of parts) {
    if (brace !== undefined && part.type === 'Literal' && part.text.includes('{')) {
      isKnown = false;
      many = 'any';
    }
    for (const piece of readPart(part)) {
      if (typeof piece === 'object') {
        if (isKnown) head += piece.known;
      } else {
        isKnown = false;
        if (piece === 'any' || (piece === 'alike' && many === 'one')) many = piece;
      }
    }
  }
  return isKnown ? { text, value: head, head, many: 'one' } : unknownWord(text, head, many);
}

const unknownWord = (text: string, head: string, many: ShellWord['many']): ShellWord => ({
  text,
  value: undefined,
  head,
  many,
});

function readPart(part: WordPart): Piece[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [{ known: part.value }];
    case 'DoubleQuoted':
      return part.parts.map(readQuoted);
    // What it says depends on the language of the machine.
    case 'LocaleString':
      return ['one'];
    case 'ProcessSubstitution':
      return [{ known: '/dev/fd/' }, 'one'];
    case 'Glob':
      return [part.parts?.some(({ type }) => type !== 'Literal') ? 'any' : 'alike'];
    case 'BraceExpansion':
      return [part.parts === undefined ? 'alike' : 'any'];
    default:
      return ['any'];
  }
}

/** Between double quotes nothing is split, save the lists that are made to be. */
function readQuoted(part: DoubleQuotedChild): Piece {
  if (part.type === 'Literal') return { known: part.value };
  return /[@*]/.test(part.text) && part.type !== 'CommandExpansion' ? 'any' : 'one';
}

/** An argument that looks like an assignment is a word as well. */
export function readArgument(argument: CommandArgument): ShellWord {
  if (argument.type === 'Word') return readWord(argument);
  const { text, name, value, append, index } = argument;
  const head = `${name}${append ? '+=' : '='}`;
  if (index !== undefined || value.type !== 'Word') return unknownWord(text, name, 'one');
  const read = readWord(value);
  return read.value === undefined || read.text.includes('~')
    ? unknownWord(text, `${head}${read.head}`, 'one')
    : { text, value: head + read.value, head: head + read.value, many: 'one' };
}
