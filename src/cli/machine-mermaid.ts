import type { StateDrawing } from '../drawing/machine-picture.js';
import type { Box } from '../drawing/picture.js';
import { escapeMermaid, escapeMermaidLabel } from './drawing-mermaid.js';

/** State machines as one Mermaid state diagram, each a composite state. */
export function machinesToMermaid(drawings: readonly StateDrawing[]): string {
  const lines = drawings.flatMap(({ state, arrows }) => [
    ...stateLines(state, 1),
    ...arrows.map(
      ({ from, to, label }) =>
        `  ${from} --> ${to}${label === undefined ? '' : ` : ${label.map(escapeMermaidLabel).join('<br/>')}`}`,
    ),
  ]);
  return `${['stateDiagram-v2', ...lines].join('\n')}\n`;
}

function stateLines(state: Box, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const own = `${indent}state "${state.label.map(escapeMermaid).join('<br/>')}" as ${state.id}`;
  if (state.boxes === undefined) return [own, ...(state.isFinal ? [`${indent}${state.id} --> [*]`] : [])];
  // A bar of dashes stands between regions that are active together.
  const regions = state.boxes.flatMap((inner, index) => [
    ...(state.isParallel && index > 0 ? [`${indent}  --`] : []),
    ...stateLines(inner, depth + 1),
  ]);
  const initial = state.initial === undefined ? [] : [`${indent}  [*] --> ${state.initial}`];
  return [`${own} {`, ...initial, ...regions, `${indent}}`];
}
