import type { Arrow, Box, Drawing } from '../drawing/picture.js';
import { visibleLine } from './plain-text.js';

/** A Mermaid flowchart. Ids carry a prefix, as `end` and the like mean something to Mermaid. */
export function toMermaid(drawing: Drawing): string {
  const lines = ['flowchart TB', ...drawing.boxes.flatMap((box) => boxLines(box, 1)), ...drawing.arrows.map(arrowLine)];
  return `${lines.join('\n')}\n`;
}

function boxLines(box: Box, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const label = `"${box.label.map(escapeMermaid).join('<br/>')}"`;
  if (box.boxes === undefined) return [`${indent}t_${box.id}[${label}]`];
  return [
    `${indent}subgraph t_${box.id}[${label}]`,
    ...box.boxes.flatMap((inner) => boxLines(inner, depth + 1)),
    `${indent}end`,
  ];
}

function arrowLine({ from, to, label, dashed }: Arrow): string {
  const said = label === undefined ? '' : `|"${label.map(escapeMermaid).join('<br/>')}"|`;
  return `  t_${from} ${dashed === true ? '-.->' : '-->'}${said} t_${to}`;
}

/** Text inside quotes of a Mermaid flowchart, whatever it holds: Mermaid's own entity codes, no HTML, no Markdown, one line. */
export function escapeMermaid(text: string): string {
  return visibleLine(text).replace(/[#"<>&`\\%]/g, entity);
}

/** The same for a label after a colon, where more characters mean something. */
export function escapeMermaidLabel(text: string): string {
  return visibleLine(text).replace(/[#"<>&`\\%:;{}]/g, entity);
}

const entity = (character: string): string => `#${character.charCodeAt(0)};`;
