/** What may begin a value that is no plain text. */
const MARKED = /^(["'[{|>&*!%@`#-]|$)/;
const KEY_LINE = /^([A-Za-z_][\w-]*):[ \t]+(.*)$/;
/** Ends a plain text or makes it something else. */
const MISREAD = /:(\s|$)|\s#/;

/**
 * Front matter of other tools often holds `description: Use it when: …`, which is no YAML. Puts such one-line texts in
 * quotes; undefined when there is none.
 */
export function quotePlainTexts(front: string): string | undefined {
  let changed = false;
  const lines = front.split('\n').map((line) => {
    const [, key, value = ''] = KEY_LINE.exec(line) ?? [];
    if (key === undefined || MARKED.test(value) || !MISREAD.test(value)) return line;
    changed = true;
    return `${key}: ${JSON.stringify(value.trim())}`;
  });
  return changed ? lines.join('\n') : undefined;
}
