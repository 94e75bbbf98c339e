import type { ElkEdgeSection, ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js';
import { visibleLine } from '../kernel/visible-text.js';
import { layOut } from './elk.js';
import { FONT } from './font.js';
import { upwardArrows } from './order.js';
import type { Arrow, Box, Drawing } from './picture.js';
import { cutText, textWidth } from './text-size.js';

const PAD = { x: 12, y: 8 } as const;
const LONGEST = { name: 260, detail: 300, label: 230 } as const;
const DOT = 10;

export interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedBox extends Place {
  readonly box: Box;
  /** As they are shown, cut to what fits. */
  readonly lines: readonly string[];
  readonly boxes: readonly PlacedBox[];
}

export interface LabelLine {
  readonly text: string;
  /** Base line, from the top of the label. */
  readonly y: number;
}

export interface PlacedArrow {
  readonly arrow: Arrow | undefined;
  /** Corners of its way, the first where it begins. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly labels: readonly (Place & { readonly lines: readonly LabelLine[] })[];
}

export interface Layout {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PlacedBox[];
  readonly arrows: readonly PlacedArrow[];
  /** Where frames begin: dots, and the arrows from them are among the arrows. */
  readonly dots: readonly Place[];
}

/** Places a drawing. The same drawing always comes out the same. */
export async function layOutDrawing(drawing: Drawing): Promise<Layout> {
  const upward = upwardArrows(drawing);
  const labels = drawing.arrows.map((arrow) => labelLines(arrow));
  const edges = [
    ...drawing.arrows.map((arrow, index): ElkExtendedEdge => {
      const lines = labels[index] ?? [];
      return {
        id: `a${index}`,
        sources: [upward.has(arrow) ? arrow.to : arrow.from],
        targets: [upward.has(arrow) ? arrow.from : arrow.to],
        labels: lines.length === 0 ? [] : [{ id: `l${index}`, text: '-', ...labelSize(lines) }],
      };
    }),
    ...initialEdges(drawing.boxes),
  ];
  const shown = new Map<string, Shown>();
  const spare = new Map<string, number>();
  const nodes = new Map<string, ElkNode>();
  let placed: ElkNode | undefined;
  // The engine makes frames as wide as what is in them; those whose head is wider are given room, and it is done again.
  for (let pass = 0; pass < 4; pass++) {
    placed = await layOut({
      id: 'drawing',
      layoutOptions: ROOT_OPTIONS,
      children: inOrder(drawing.boxes.map((box) => nodeOf(box, shown, spare))),
      edges,
    });
    nodes.clear();
    collect(placed, nodes);
    if (!makeRoom(shown, nodes, spare)) break;
  }
  const place = (box: Box): PlacedBox => ({
    ...placeOf(nodes.get(box.id)),
    box,
    lines: shown.get(box.id)?.lines ?? [],
    boxes: (box.boxes ?? []).map(place),
  });
  return {
    title: drawing.title,
    width: Math.ceil(placed?.width ?? 0),
    height: Math.ceil(placed?.height ?? 0),
    boxes: drawing.boxes.map(place),
    arrows: (placed?.edges ?? []).map((edge) => placeArrow(edge, drawing.arrows, upward, labels)),
    dots: [...nodes].filter(([id]) => id.endsWith(DOT_MARK)).map(([, node]) => placeOf(node)),
  };
}

/** Whether some frame is narrower than its head; then `spare` says by how much. */
function makeRoom(
  shown: ReadonlyMap<string, Shown>,
  nodes: ReadonlyMap<string, ElkNode>,
  spare: Map<string, number>,
): boolean {
  let isShort = false;
  for (const [id, { width }] of shown) {
    const missing = width - (nodes.get(id)?.width ?? width);
    if (missing <= 0) continue;
    isShort = true;
    spare.set(id, (spare.get(id) ?? 0) + missing);
  }
  return isShort;
}

const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.randomSeed': '1',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.spacing.nodeNode': '28',
  'elk.spacing.edgeNode': '16',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeLabel': '4',
  'elk.spacing.labelLabel': '6',
  'elk.spacing.componentComponent': '28',
  'elk.spacing.nodeSelfLoop': '14',
  'elk.layered.spacing.nodeNodeBetweenLayers': '30',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '12',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.edgeLabels.placement': 'CENTER',
  'elk.layered.crossingMinimization.semiInteractive': 'true',
} as const;

const ROOT_OPTIONS = {
  ...OPTIONS,
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'org.eclipse.elk.json.shapeCoords': 'ROOT',
  'org.eclipse.elk.json.edgeCoords': 'ROOT',
  'elk.padding': '[top=8,left=8,bottom=8,right=8]',
} as const;

const DOT_MARK = '__dot';

interface Shown {
  readonly lines: readonly string[];
  /** That they need, in px. */
  readonly width: number;
}

function nodeOf(box: Box, shown: Map<string, Shown>, spare: ReadonlyMap<string, number>): ElkNode {
  const [name = '', ...details] = box.label.map(visibleLine);
  const lines = [
    cutText(name, LONGEST.name, FONT.name, true),
    ...details.map((line) => cutText(line, LONGEST.detail, FONT.detail)),
  ];
  const [first = '', ...rest] = lines;
  const widest = Math.max(
    textWidth(first, FONT.name, true) + (box.standing === undefined ? 0 : 16),
    ...rest.map((line) => textWidth(line, FONT.detail)),
  );
  const head = PAD.y * 2 + FONT.nameLine + rest.length * FONT.line;
  const width = Math.max(56, widest + PAD.x * 2);
  shown.set(box.id, { lines, width });
  if (box.boxes === undefined) return { id: box.id, width, height: head };
  const dot: ElkNode[] =
    box.initial === undefined
      ? []
      : [
          {
            id: `${box.id}${DOT_MARK}`,
            width: DOT,
            height: DOT,
            layoutOptions: { 'elk.layered.layering.layerConstraint': 'FIRST' },
          },
        ];
  const half = Math.ceil((spare.get(box.id) ?? 0) / 2);
  return {
    id: box.id,
    layoutOptions: {
      ...OPTIONS,
      'elk.padding': `[top=${head + 8},left=${16 + half},bottom=16,right=${16 + half}]`,
    },
    children: [...dot, ...inOrder(box.boxes.map((inner) => nodeOf(inner, shown, spare)))],
  };
}

/** Where nothing else speaks against it, boxes stand in the order in which they are written. */
const inOrder = (nodes: readonly ElkNode[]): ElkNode[] =>
  nodes.map((node, index) => ({
    ...node,
    layoutOptions: { ...node.layoutOptions, 'elk.position': `(${index * 1_000},0)` },
  }));

function initialEdges(boxes: readonly Box[]): ElkExtendedEdge[] {
  return boxes.flatMap((box) => [
    ...(box.initial === undefined
      ? []
      : [{ id: `i_${box.id}`, sources: [`${box.id}${DOT_MARK}`], targets: [box.initial] }]),
    ...initialEdges(box.boxes ?? []),
  ]);
}

/** Several ways between the same two boxes share an arrow: a gap stands between what is said of each. */
function labelLines({ label = [] }: Arrow): LabelLine[] {
  const lines: LabelLine[] = [];
  for (const [index, one] of label.entries()) {
    for (const text of wrap(visibleLine(one))) {
      lines.push({
        text: cutText(text, LONGEST.label, FONT.label),
        y: 12 + lines.length * FONT.line + index * LABEL_GAP,
      });
    }
  }
  return lines;
}

const LABEL_GAP = 5;

/** `event [guard] / actions` over up to three lines: arrows stand side by side, so what is narrow leaves room. */
function wrap(line: string): string[] {
  if (line.length <= 60 && textWidth(line, FONT.label) <= 120) return [line];
  const [, event = '', guard = '', actions = ''] = /^(.*?)( \[.*?\])?( \/ .*)?$/.exec(line.slice(0, 2_000)) ?? [];
  return [event, guard.trim(), ...wrapList(actions.trim())].filter((one) => one !== '');
}

function wrapList(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(/(?<=, )/)) {
    const last = lines.at(-1);
    if (last !== undefined && textWidth(last + word, FONT.label) <= 170) lines[lines.length - 1] = last + word;
    else lines.push(word);
  }
  return lines.map((one) => one.trimEnd());
}

function labelSize(lines: readonly LabelLine[]): { width: number; height: number } {
  const width = Math.max(...lines.map(({ text }) => textWidth(text, FONT.label)));
  return { width: width + 8, height: (lines.at(-1)?.y ?? 0) + 5 };
}

function collect(node: ElkNode, nodes: Map<string, ElkNode>): void {
  for (const child of node.children ?? []) {
    nodes.set(child.id, child);
    collect(child, nodes);
  }
}

function placeOf(shape: { x?: number; y?: number; width?: number; height?: number } | undefined): Place {
  const { x = 0, y = 0, width = 0, height = 0 } = shape ?? {};
  return { x: round(x), y: round(y), width: round(width), height: round(height) };
}

const round = (value: number): number => Math.round(value * 2) / 2;

function placeArrow(
  edge: ElkExtendedEdge,
  arrows: readonly Arrow[],
  upward: ReadonlySet<Arrow>,
  labels: readonly LabelLine[][],
): PlacedArrow {
  const index = edge.id.startsWith('a') ? Number(edge.id.slice(1)) : -1;
  const arrow = arrows[index];
  const points = (edge.sections ?? []).flatMap(pointsOf);
  return {
    arrow,
    points: arrow !== undefined && upward.has(arrow) ? points.reverse() : points,
    labels: (edge.labels ?? []).map((label) => ({ ...placeOf(label), lines: labels[index] ?? [] })),
  };
}

const pointsOf = ({ startPoint, bendPoints = [], endPoint }: ElkEdgeSection) =>
  [startPoint, ...bendPoints, endPoint].map(({ x, y }) => ({ x: round(x), y: round(y) }));
