const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type StyleName = keyof typeof codes;

/** Wraps text that is already neutralised and cut to length: a style has no width. */
export type Style = (name: StyleName, text: string) => string;

export const noStyle: Style = (_name, text) => text;

export const ansiStyle: Style = (name, text) => {
  const [on, off] = codes[name];
  return text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`;
};

/** Colours where the stream is a terminal that shows them and nobody objects (`NO_COLOR` set to anything, `TERM=dumb`). */
export function styleFor(
  stream: { readonly isTTY: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Style {
  const wanted = stream.isTTY && !env.NO_COLOR && env.TERM !== 'dumb';
  return wanted ? ansiStyle : noStyle;
}
