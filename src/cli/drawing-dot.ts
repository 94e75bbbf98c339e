import type { Arrow, Box, Drawing } from '../drawing/picture.js';
import { visibleLine } from './plain-text.js';

/** A Graphviz digraph. Arrows to and from a frame end at its border. */
export function toDot(drawing: Drawing): string {
  const boxes = new Map<string, Box>();
  const collect = (box: Box): void => {
    boxes.set(box.id, box);
    for (const inner of box.boxes ?? []) collect(inner);
  };
  for (const box of drawing.boxes) collect(box);
  const lines = [
    `digraph ${quote([drawing.title])} {`,
    '  compound=true;',
    '  node [shape=box, style=rounded];',
    ...drawing.boxes.flatMap((box) => boxLines(box, 1)),
    ...drawing.arrows.map((arrow) => arrowLine(arrow, boxes)),
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

function boxLines(box: Box, depth: number): string[] {
  const indent = '  '.repeat(depth);
  if (box.boxes === undefined) return [`${indent}${quote([box.id])} [label=${quote(box.label)}];`];
  // A frame needs something inside, or an arrow has nowhere to go.
  const inner =
    box.boxes.length === 0
      ? [`${indent}  ${quote([anchorOf(box)])} [style=invis];`]
      : box.boxes.flatMap((one) => boxLines(one, depth + 1));
  return [
    `${indent}subgraph ${quote([frameId(box.id)])} {`,
    `${indent}  label=${quote(box.label)};`,
    ...inner,
    `${indent}}`,
  ];
}

function arrowLine({ from, to, label, dashed }: Arrow, boxes: ReadonlyMap<string, Box>): string {
  const source = boxes.get(from);
  const target = boxes.get(to);
  const attributes = [
    ...(label === undefined ? [] : [`label=${quote(label)}`]),
    ...(dashed === true ? ['style=dashed'] : []),
    ...(source?.boxes === undefined ? [] : [`ltail=${quote([frameId(from)])}`]),
    ...(target?.boxes === undefined ? [] : [`lhead=${quote([frameId(to)])}`]),
  ];
  const said = attributes.length === 0 ? '' : ` [${attributes.join(', ')}]`;
  return `  ${quote([source === undefined ? from : anchorOf(source)])} -> ${quote([target === undefined ? to : anchorOf(target)])}${said};`;
}

/** The box inside a frame that an arrow is tied to. */
function anchorOf(box: Box): string {
  if (box.boxes === undefined) return box.id;
  const [first] = box.boxes;
  return first === undefined ? `${box.id}__empty` : anchorOf(first);
}

function frameId(id: string): string {
  return `cluster_${id}`;
}

function quote(lines: readonly string[]): string {
  return `"${lines.map((line) => visibleLine(line).replace(/[\\"]/g, '\\$&')).join('\\n')}"`;
}
