/**
 * Whether a script of `sed` only prints, changes, joins and drops lines, or reads files: no `w`, no `e`. Where readings
 * differ (GNU, BSD), it is read as the one that runs more. Whatever is not understood is not plain. With `mayWrite` it
 * may write files too.
 */
export function isPlainSed(script: string, mayWrite = false): boolean {
  if (script.endsWith('\\')) return false;
  let at = 0;
  while (at < script.length) {
    const next = afterOrder(script, at, mayWrite);
    if (next === undefined) return false;
    at = next;
  }
  return true;
}

/** The place after one order and what ends it. */
function afterOrder(script: string, from: number, mayWrite: boolean): number | undefined {
  let at = skip(script, from, /[\s;}]*/y);
  if (at >= script.length) return at;
  const address = afterAddresses(script, at);
  if (address === undefined) return undefined;
  at = skip(script, address, /[\s!]*/y);
  const order = script[at] as string;
  at++;
  switch (order) {
    case '{':
      return at;
    case '#':
    case 'a':
    case 'i':
    case 'c':
    case 'r':
    case 'R':
      return afterLine(script, at);
    case ':':
    case 'b':
    case 't':
    case 'T':
      return afterEnd(script, skip(script, at, /[^\S\n]*[^\s;}]*/y));
    case 's': {
      const end = afterPair(script, at, /[gpiIMm\d]*/y);
      return mayWrite && end !== undefined && script[end] === 'w' ? afterLine(script, end) : afterEnd(script, end);
    }
    case 'w':
    case 'W':
      return mayWrite ? afterLine(script, at) : undefined;
    case 'y':
      return afterEnd(script, afterPair(script, at, /(?:)/y));
    default:
      return /[pdnNDPhHgGxzlqQF=]/.test(order) ? afterEnd(script, skip(script, at, /[^\S\n]*\d*/y)) : undefined;
  }
}

function skip(script: string, at: number, pattern: RegExp): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(script)?.[0].length ?? 0);
}

function afterEnd(script: string, at: number | undefined): number | undefined {
  if (at === undefined) return undefined;
  const end = skip(script, at, /[^\S\n]*/y);
  return end >= script.length || /[;\n}#]/.test(script[end] as string) ? end : undefined;
}

/** A text, a file name or a comment: to the end of the line, and on where that is escaped. */
function afterLine(script: string, from: number): number {
  let at = from;
  while (at < script.length && script[at] !== '\n') at += script[at] === '\\' ? 2 : 1;
  return at;
}

function afterAddresses(script: string, from: number): number | undefined {
  const first = afterAddress(script, from);
  if (first === undefined || first === from) return first;
  const comma = skip(script, first, /\s*/y);
  if (script[comma] !== ',') return first;
  const second = skip(script, comma + 1, /\s*/y);
  const relative = skip(script, second, /[+~]\d+/y);
  if (relative > second) return relative;
  const end = afterAddress(script, second);
  return end === second ? undefined : end;
}

function afterAddress(script: string, from: number): number | undefined {
  const char = script[from];
  if (char === '$') return from + 1;
  if (char === '/') return flagged(script, afterPattern(script, from + 1, '/'));
  if (char === '\\') return flagged(script, afterPattern(script, from + 2, script[from + 1]));
  return skip(script, from, /\d+(?:~\d+)?/y);
}

const flagged = (script: string, at: number | undefined) => (at === undefined ? undefined : skip(script, at, /[IM]*/y));

/** After the closing delimiter. A delimiter between brackets is read in two ways: that is not plain. */
function afterPattern(script: string, from: number, delimiter: string | undefined): number | undefined {
  if (delimiter === undefined || /[\s\\\w[\]]/.test(delimiter)) return undefined;
  let isInBrackets = false;
  for (let at = from; at < script.length; at++) {
    const char = script[at];
    if (char === '\n') return undefined;
    if (char === '\\') {
      if (isInBrackets) return undefined;
      at++;
    } else if (char === delimiter) return isInBrackets ? undefined : at + 1;
    else if (char === '[' && !isInBrackets) {
      isInBrackets = true;
      // A closing bracket that stands first is a member.
      at = skip(script, at + 1, /\^?\]?/y) - 1;
    } else if (char === ']') isInBrackets = false;
  }
  return undefined;
}

/** The two halves of `s` and `y`, and what stands behind them. */
function afterPair(script: string, from: number, flags: RegExp): number | undefined {
  const delimiter = script[from];
  const half = afterPattern(script, from + 1, delimiter);
  if (half === undefined) return undefined;
  for (let at = half; at < script.length; at++) {
    const char = script[at];
    if (char === '\\') at++;
    else if (char === '\n') return undefined;
    else if (char === delimiter) return skip(script, at + 1, flags);
  }
  return undefined;
}
