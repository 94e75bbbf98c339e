// What agents, tools and models say is untrusted: escape sequences could repaint a screen, bidi marks could make a
// command read as another one. Everything that is shown goes through here first.

const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udc7f]/g;

/** Text of any origin as text on one line: line breaks and tabs become a space, what is invisible is named, as `<U+202E>`. */
export function visibleLine(text: string): string {
  return text.replace(/\r\n|[\n\r\t]/g, ' ').replace(hidden, nameOf);
}

/** The same for a block of text: line breaks stay, a tab becomes two spaces. */
export function visibleLines(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(/\t/g, '  ')
    .split('\n')
    .map((line) => line.replace(hidden, nameOf))
    .join('\n');
}

function nameOf(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}
