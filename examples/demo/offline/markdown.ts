/** `1,234` */
export const n = (count: number): string => count.toLocaleString('en-US');

/** `1 file`, `2 files`. */
export const counted = (count: number, noun: string): string => `${n(count)} ${noun}${count === 1 ? '' : 's'}`;

/** A count as one would say it: `about 1,200 files`; small ones as they are. */
export function around(count: number, noun: string): string {
  const unit = 10 ** Math.max(1, Math.floor(Math.log10(Math.max(count, 1))) - 1);
  const round = Math.round(count / unit) * unit;
  return count < 20 || round === count ? counted(count, noun) : `about ${n(round)} ${noun}s`;
}

/** Text of any origin on one line, that no Markdown is read in. */
export function code(text: string): string {
  const shown = /\p{Cc}/u.test(text) ? JSON.stringify(text) : text;
  const ticks = '`'.repeat(Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length)) + 1);
  const space = ticks.length > 1 ? ' ' : '';
  return `${ticks}${space}${shown}${space}${ticks}`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map((_, column) => (column === 0 ? '---' : '---:')).join('|')}|`, ...rows.map(line)];
}
