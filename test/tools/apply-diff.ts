const NO_END = '\\ No newline at end of file';

/** Applies a unified diff, holding every line that it names against the text. Throws where it does not fit. */
export function applyDiff(before: string, diff: string): string {
  if (diff === '') return before;
  const lines = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const [, , ...rest] = diff.split('\n');
  const after: string[] = [];
  let next = 0;
  for (let at = 0; at < rest.length && rest[at] !== ''; ) {
    const range = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(rest[at++] ?? '');
    if (range === null) throw new Error(`no hunk: ${rest[at - 1]}`);
    const [oldFrom = 0, oldCount = 0, newFrom = 0, newCount = 0] = range.slice(1).map(Number);
    const start = oldCount === 0 ? oldFrom : oldFrom - 1;
    after.push(...lines.slice(next, start));
    next = start;
    if (after.length !== (newCount === 0 ? newFrom : newFrom - 1)) throw new Error(`${range[0]}: wrong place`);
    let [olds, news] = [oldCount, newCount];
    while (olds > 0 || news > 0) {
      const shown = rest[at++] ?? '';
      const line = rest[at] === NO_END ? shown.slice(1) : `${shown.slice(1)}\n`;
      if (rest[at] === NO_END) at++;
      if (shown[0] !== '+' && lines[next++] !== line) throw new Error(`${range[0]}: ${shown} does not stand there`);
      if (shown[0] !== '+') olds--;
      if (shown[0] !== '-') {
        after.push(line);
        news--;
      }
    }
    if (olds < 0 || news < 0) throw new Error(`${range[0]}: wrong count`);
  }
  return [...after, ...lines.slice(next)].join('');
}
