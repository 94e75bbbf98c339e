const RESERVED = new Set(
  '! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while'.split(' '),
);

/** The words of a prefix; `never`: why no command begins so, though it can be read. */
export interface Prefix {
  readonly words: readonly string[];
  readonly never?: string | undefined;
}

/**
 * The words of a prefix as a rule gives it, quotes taken away. A reason instead, when it is not the beginning of one
 * simple command that is known.
 */
export function readPrefix(prefix: string): Prefix | { readonly fault: string } {
  const words: string[] = [];
  let never: string | undefined;
  let word: string | undefined;
  for (let at = 0; at < prefix.length; at++) {
    const char = prefix[at] as string;
    if (/\s/.test(char)) {
      if (char === '\n') return { fault: 'must be one line' };
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === '\\') {
      word = (word ?? '') + (prefix[++at] ?? '');
    } else if (char === "'" || char === '"') {
      const end = prefix.indexOf(char, at + 1);
      const text = prefix.slice(at + 1, end);
      if (end < 0) return { fault: `has no end to its ${char}` };
      if (char === '"' && /[$`\\]/.test(text)) return { fault: 'must not hold what the shell expands' };
      word = (word ?? '') + text;
      at = end;
    } else if (/[;&|<>()`$]/.test(char)) {
      return { fault: `is the beginning of one simple command: no "${char}" can stand in it` };
    } else {
      if (/[*?]/.test(char)) never = `has no patterns: what follows it matches anyway, and "${char}" is only itself`;
      word = (word ?? '') + char;
    }
  }
  if (word !== undefined) words.push(word);
  const [first] = words;
  if (first === undefined) return { fault: 'must hold at least one word' };
  if (RESERVED.has(first)) never = `begins with "${first}", which is a word of the shell: name what stands behind it`;
  if (/^\w+\+?=/.test(first)) never = 'begins with an assignment: name what stands behind it';
  return { words, never };
}
