/**
 * `a{b,c}d` → `abd`, `acd`, in the order written. Braces without a comma, or never closed, stand for themselves.
 * Nothing when there would be more than `most`.
 */
export function expandBraces(pattern: string, most: number): string[] | undefined {
  const done: string[] = [];
  const waiting = [{ text: pattern, from: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const group = nextGroup(next.text, next.from);
    if (group === undefined) {
      done.push(next.text);
    } else {
      const before = next.text.slice(0, group.open);
      const after = next.text.slice(group.close + 1);
      for (const option of group.options.toReversed()) {
        waiting.push({ text: before + option + after, from: group.open });
      }
    }
    if (done.length + waiting.length > most) return undefined;
  }
  return done;
}

function nextGroup(text: string, from: number): { open: number; close: number; options: string[] } | undefined {
  for (let open = indexOfPlain(text, '{', from); open !== -1; open = indexOfPlain(text, '{', open + 1)) {
    const group = groupAt(text, open);
    if (group !== undefined) return group;
  }
  return undefined;
}

function groupAt(text: string, open: number): { open: number; close: number; options: string[] } | undefined {
  const options: string[] = [];
  let depth = 0;
  let optionStart = open + 1;
  for (let at = open; at < text.length; at++) {
    const character = text[at];
    if (character === '\\') at++;
    else if (character === '{') depth++;
    else if (character === ',' && depth === 1) {
      options.push(text.slice(optionStart, at));
      optionStart = at + 1;
    } else if (character === '}' && --depth === 0) {
      options.push(text.slice(optionStart, at));
      return options.length > 1 ? { open, close: at, options } : undefined;
    }
  }
  return undefined;
}

function indexOfPlain(text: string, wanted: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === wanted) return at;
  }
  return -1;
}
