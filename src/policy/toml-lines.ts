/** Where the rules of a policy file stand in its text. Lines count from 1. */
export interface RuleLines {
  /** Of each rule, in order. */
  readonly rules: readonly number[];
  /** Of a key of a rule, `context.executor` for one inside it; the rule's own where it is not found. */
  lineOf(rule: number, key: string): number;
  /** Of a key outside of rules. */
  lineOfTop(key: string): number;
}

interface Scan {
  readonly text: string;
  at: number;
  line: number;
}

/** Finds the rules and keys of a text that is valid TOML. */
export function findRuleLines(text: string): RuleLines {
  const scan: Scan = { text, at: 0, line: 1 };
  const rules: number[] = [];
  const keys: Map<string, number>[] = [];
  const top = new Map<string, number>();
  let below = '';
  let current: Map<string, number> = top;
  const startRule = (line: number) => {
    rules.push(line);
    current = new Map();
    keys.push(current);
    below = '';
  };
  while (skipBlank(scan)) {
    const { line } = scan;
    if (scan.text[scan.at] === '[') {
      const path = readHeader(scan);
      const [first, ...rest] = path;
      if (first !== 'rules') {
        current = top;
        top.set(path.join('.'), line);
      } else if (rest.length === 0) startRule(line);
      else {
        below = `${rest.join('.')}.`;
        current.set(rest.join('.'), line);
      }
      continue;
    }
    const path = readKey(scan);
    const name = path.join('.');
    current.set(below + name, line);
    // `context.executor = …` is a place in `context` as well.
    if (path.length > 1) current.set(below + (path[0] as string), line);
    if (current === top && name === 'rules') {
      readValue(
        scan,
        (depth, at) => {
          if (depth === 2) startRule(at);
        },
        (key, at) => current.set(key, at),
      );
      current = top;
    } else
      readValue(
        scan,
        () => {},
        (key, at) => current.set(`${below}${name}.${key}`, at),
      );
  }
  const ruleLine = (rule: number) => rules[rule] ?? 1;
  return {
    rules,
    lineOf: (rule, key) => keys[rule]?.get(key) ?? keys[rule]?.get(key.split('.')[0] as string) ?? ruleLine(rule),
    lineOfTop: (key) => top.get(key) ?? [...top].find(([path]) => path.startsWith(`${key}.`))?.[1] ?? 1,
  };
}

/** To the next thing that is neither blank nor a comment. False at the end. */
function skipBlank(scan: Scan): boolean {
  for (;;) {
    const char = scan.text[scan.at];
    if (char === undefined) return false;
    if (char === '#') {
      while (scan.at < scan.text.length && scan.text[scan.at] !== '\n') scan.at++;
    } else if (/\s|\ufeff/.test(char)) advance(scan, 1);
    else return true;
  }
}

function advance(scan: Scan, count: number): void {
  for (let step = 0; step < count && scan.at < scan.text.length; step++) {
    if (scan.text[scan.at] === '\n') scan.line++;
    scan.at++;
  }
}

function readHeader(scan: Scan): string[] {
  while (scan.text[scan.at] === '[') advance(scan, 1);
  const path = readKey(scan);
  while (scan.text[scan.at] === ']') advance(scan, 1);
  return path;
}

/** `a."b c".d`, and the `=` behind it. */
function readKey(scan: Scan): string[] {
  const path: string[] = [];
  let name = '';
  for (; scan.at < scan.text.length; ) {
    const char = scan.text[scan.at] as string;
    if (char === '=' || char === ']' || char === '\n') {
      if (char === '=') advance(scan, 1);
      break;
    }
    if (char === '.') {
      path.push(name);
      name = '';
    } else if (char === '"' || char === "'") {
      name += readString(scan);
      continue;
    } else if (!/\s/.test(char)) name += char;
    advance(scan, 1);
  }
  return [...path, name];
}

/** The text between quotes of any kind, escapes as they are written. */
function readString(scan: Scan): string {
  const quote = scan.text[scan.at] as string;
  const long = quote.repeat(3);
  const mark = scan.text.startsWith(long, scan.at) ? long : quote;
  advance(scan, mark.length);
  const from = scan.at;
  while (scan.at < scan.text.length && !scan.text.startsWith(mark, scan.at)) {
    advance(scan, quote === '"' && scan.text[scan.at] === '\\' ? 2 : 1);
  }
  const text = scan.text.slice(from, scan.at);
  advance(scan, mark.length);
  // One or two quotes may stand right before the closing three.
  while (mark.length === 3 && scan.text[scan.at] === quote) advance(scan, 1);
  return text;
}

/** Goes past a value. Tells each table in it, with its depth among lists and tables, and each key of those. */
function readValue(
  scan: Scan,
  onTable: (depth: number, line: number) => void,
  onKey: (key: string, line: number) => void,
): void {
  const open: string[] = [];
  for (; scan.at < scan.text.length; ) {
    const char = scan.text[scan.at] as string;
    if (open.length === 0 && (char === '\n' || char === '#')) return;
    if (char === '#') {
      while (scan.at < scan.text.length && scan.text[scan.at] !== '\n') scan.at++;
      continue;
    }
    if (char === '"' || char === "'") {
      readString(scan);
      continue;
    }
    if (char === '[' || char === '{') {
      open.push(char);
      if (char === '{') onTable(open.length, scan.line);
      advance(scan, 1);
      if (char === '{') readInlineKey(scan, onKey);
      continue;
    }
    if (char === ']' || char === '}') open.pop();
    advance(scan, 1);
    if (char === ',' && open.at(-1) === '{') readInlineKey(scan, onKey);
  }
}

function readInlineKey(scan: Scan, onKey: (key: string, line: number) => void): void {
  if (!skipBlank(scan) || scan.text[scan.at] === '}') return;
  const { line } = scan;
  onKey(readKey(scan).join('.'), line);
}
