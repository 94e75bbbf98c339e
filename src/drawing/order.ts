import { type Way, waysBack } from '../kernel/graph-plan.js';
import type { Arrow, Box, Drawing } from './picture.js';

/**
 * Arrows that lead back to what is reached before: they are drawn upwards. Left to itself the layout would begin a
 * circle anywhere; here every frame is read from its initial box, in the order in which it is written.
 */
export function upwardArrows(drawing: Drawing): ReadonlySet<Arrow> {
  const parents = new Map<string, Box | undefined>();
  note(drawing.boxes, undefined, parents);
  const byFrame = new Map<Box | undefined, (Way & { arrow: Arrow })[]>();
  for (const arrow of drawing.arrows) {
    const meeting = meet(arrow, parents);
    if (meeting === undefined || meeting.from === meeting.to) continue;
    const siblings = (meeting.frame?.boxes ?? drawing.boxes).map(({ id }) => id);
    const way = { arrow, fromIndex: siblings.indexOf(meeting.from), toIndex: siblings.indexOf(meeting.to) };
    const ways = byFrame.get(meeting.frame);
    if (ways === undefined) byFrame.set(meeting.frame, [way]);
    else ways.push(way);
  }
  const upward = new Set<Arrow>();
  for (const [frame, ways] of byFrame) {
    const siblings = frame?.boxes ?? drawing.boxes;
    const start = siblings.findIndex(({ id }) => id === frame?.initial);
    for (const { arrow } of waysBack(siblings.length, Math.max(0, start), ways)) upward.add(arrow);
  }
  return upward;
}

function note(boxes: readonly Box[], parent: Box | undefined, parents: Map<string, Box | undefined>): void {
  for (const box of boxes) {
    parents.set(box.id, parent);
    note(box.boxes ?? [], box, parents);
  }
}

/** The innermost frame that holds both ends, and its own boxes in which they lie. */
function meet({ from, to }: Arrow, parents: ReadonlyMap<string, Box | undefined>) {
  const way = (id: string): (Box | undefined)[] => {
    const frames: (Box | undefined)[] = [];
    for (let frame = parents.get(id); frame !== undefined; frame = parents.get(frame.id)) frames.push(frame);
    return [...frames, undefined];
  };
  const [fromWay, toWay] = [way(from), way(to)];
  const frame = fromWay.find((one) => toWay.includes(one));
  const under = (id: string, frames: readonly (Box | undefined)[]) => frames[frames.indexOf(frame) - 1]?.id ?? id;
  return { frame, from: under(from, fromWay), to: under(to, toWay) };
}
