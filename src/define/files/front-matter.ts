export interface FrontMatter {
  /** The YAML between the two lines of dashes. */
  readonly front: string;
  /** The line of the file in which `front` begins, counted from 1. */
  readonly frontLine: number;
  /** What follows, without white space around it; lines end with LF. */
  readonly body: string;
  /** The line in which `body` begins. */
  readonly bodyLine: number;
}

/** Splits a Markdown file that begins with front matter between two lines `---`; or says what is missing. */
export function splitFrontMatter(text: string): FrontMatter | { fault: string; line: number } {
  const lines = text.split(/\r?\n/);
  if (!isFence(lines[0])) {
    return { line: 1, fault: 'has no front matter: the first line must be "---", the keys follow, then "---" again' };
  }
  const end = lines.findIndex((line, at) => at > 0 && isFence(line));
  if (end === -1) return { line: 1, fault: 'has front matter that is not closed by a line "---"' };
  const rest = lines.slice(end + 1);
  const blank = rest.findIndex((line) => line.trim() !== '');
  return {
    front: lines.slice(1, end).join('\n'),
    frontLine: 2,
    body: rest.join('\n').trim(),
    bodyLine: end + 2 + Math.max(0, blank),
  };
}

const isFence = (line: string | undefined) => line?.trimEnd() === '---';
