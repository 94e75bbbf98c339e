import { visibleLine } from '../kernel/visible-text.js';
import { FONT } from './font.js';
import { layOutDrawing, type PlacedArrow, type PlacedBox } from './layout.js';
import type { Drawing } from './picture.js';
import { DRAWING_STYLE } from './style.js';

const RADIUS = 8;

/**
 * A picture that stands by itself: no script, no font, nothing loaded; light or dark as the viewer is. A box carries
 * `data-ref`; it lights up by the class `lit`, and nothing needs to be laid out again.
 */
export async function toSvg(drawing: Drawing): Promise<string> {
  const layout = await layOutDrawing(drawing);
  const title = escapeXml(visibleLine(layout.title));
  const { width, height } = layout;
  const frames: string[] = [];
  for (const box of layout.boxes) frames.push(...boxLines(box, 1));
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" class="troupe-drawing" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<style>${DRAWING_STYLE}</style>`,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    ...frames,
    ...layout.dots.map(
      ({ x, y, width: size }) => `<circle class="dot" cx="${x + size / 2}" cy="${y + size / 2}" r="${size / 2}"/>`,
    ),
    ...layout.arrows.map(arrowLine),
    // Above every arrow: a label that is crossed cannot be read.
    ...layout.arrows.flatMap(labelLinesOf),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

function boxLines({ box, boxes, lines, x, y, width, height }: PlacedBox, depth: number): string[] {
  const kinds = [
    box.boxes === undefined ? 'box' : 'frame',
    ...(box.boxes !== undefined && depth % 2 === 0 ? ['even'] : []),
    ...(box.isParallel ? ['parallel'] : []),
    ...(box.isFinal ? ['final'] : []),
    ...(box.isAside ? ['aside'] : []),
    ...(box.standing === undefined ? [] : [`is-${box.standing}`]),
  ];
  const [name = '', ...details] = lines;
  const mark = box.standing === undefined ? [] : [`<circle class="mark" cx="${x + width - 14}" cy="${y + 16}" r="5"/>`];
  const left = x + 12;
  return [
    `<g class="${kinds.join(' ')}" data-ref="${escapeXml(visibleLine(box.ref))}"${box.runsAs === undefined ? '' : ` data-runs-as="${escapeXml(visibleLine(box.runsAs))}"`}>`,
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${RADIUS}"/>`,
    ...(box.isFinal
      ? [
          `<rect class="inner" x="${x + 3}" y="${y + 3}" width="${width - 6}" height="${height - 6}" rx="${RADIUS - 3}"/>`,
        ]
      : []),
    `<text class="name" x="${left}" y="${y + 21}">${escapeXml(name)}</text>`,
    ...details.map(
      (line, index) =>
        `<text class="detail" x="${left}" y="${y + 21 + FONT.line * (index + 1) + 1}">${escapeXml(line)}</text>`,
    ),
    ...mark,
    '</g>',
    ...boxes.flatMap((inner) => boxLines(inner, depth + 1)),
  ];
}

function arrowLine({ arrow, points }: PlacedArrow): string {
  const { path, tip } = wayOf(points);
  const ends = arrow === undefined ? '' : ` data-from="${escapeXml(arrow.from)}" data-to="${escapeXml(arrow.to)}"`;
  return `<g class="arrow${arrow?.dashed ? ' dashed' : ''}"${ends}><path class="way" d="${path}"/><path class="tip" d="${tip}"/></g>`;
}

function labelLinesOf({ labels }: PlacedArrow): string[] {
  return labels.flatMap(({ x, y, width, lines }) => [
    '<g class="label">',
    ...lines.map((line) => `<text x="${x + width / 2}" y="${y + line.y}">${escapeXml(line.text)}</text>`),
    '</g>',
  ]);
}

const TIP = 7;

/** A way with rounded corners, and the triangle at its end. */
function wayOf(points: PlacedArrow['points']): { path: string; tip: string } {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  const before = points.at(-2);
  if (first === undefined || last === undefined || before === undefined) return { path: '', tip: '' };
  const length = Math.hypot(last.x - before.x, last.y - before.y) || 1;
  const [dx, dy] = [(last.x - before.x) / length, (last.y - before.y) / length];
  const base = { x: last.x - dx * TIP, y: last.y - dy * TIP };
  const wing = (side: number) => `${half(base.x - dy * side)},${half(base.y + dx * side)}`;
  const parts = [`M${first.x},${first.y}`];
  for (const [index, point] of rest.entries()) {
    const from = points[index] as typeof point;
    const next = rest[index + 1];
    if (next === undefined) parts.push(`L${half(base.x)},${half(base.y)}`);
    else parts.push(corner(from, point, next));
  }
  return { path: parts.join(' '), tip: `M${last.x},${last.y} L${wing(4)} L${wing(-4)} Z` };
}

type Point = { readonly x: number; readonly y: number };

function corner(from: Point, at: Point, to: Point): string {
  const near = (other: Point) => {
    const length = Math.hypot(other.x - at.x, other.y - at.y) || 1;
    const reach = Math.min(6, length / 2) / length;
    return `${half(at.x + (other.x - at.x) * reach)},${half(at.y + (other.y - at.y) * reach)}`;
  };
  return `L${near(from)} Q${at.x},${at.y} ${near(to)}`;
}

const half = (value: number): number => Math.round(value * 2) / 2;

/** Text of any origin inside XML, in an element or in quotes. */
function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
