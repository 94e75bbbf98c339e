import { elapsed, usageText } from '../kernel/run-figures.js';
import type { AgentFigures, RunModel } from '../kernel/run-model.js';
import type { Box, Drawing, Standing } from './picture.js';

/**
 * A team with a run laid over it: at every agent and composition whether it ran, how often, what it waits for or came
 * to, and what it cost. Names are unique in a team, so that they tell what belongs where. The drawing is not changed.
 */
export function withRun(drawing: Drawing, run: Pick<RunModel, 'agents'>): Drawing {
  return { ...drawing, boxes: drawing.boxes.map((box) => overlay(box, run)) };
}

function overlay(box: Box, run: Pick<RunModel, 'agents'>): Box {
  const name = box.runsAs ?? box.ref;
  const figures = Object.hasOwn(run.agents, name) ? run.agents[name] : undefined;
  return {
    ...box,
    label: [...box.label, ...notesOf(figures)],
    standing: figures === undefined ? 'idle' : standingOf(figures),
    ...(box.boxes !== undefined && { boxes: box.boxes.map((inner) => overlay(inner, run)) }),
  };
}

function notesOf(figures: AgentFigures | undefined): string[] {
  if (figures === undefined) return ['has not run'];
  const states = (['running', 'waiting', 'completed', 'failed', 'stopped'] as const).filter(
    (state) => figures[state] > 0,
  );
  const said = states.length === 1 ? states.join() : states.map((state) => `${figures[state]} ${state}`).join(', ');
  const spent = [usageText(figures.usage), elapsed(figures.ms)].filter((part) => part !== '');
  return [
    figures.runs === 1 ? said : `ran ${figures.runs} times, ${said}`,
    ...(spent.length > 0 ? [spent.join(' · ')] : []),
  ];
}

/** What goes on counts before what is over, and of that what went wrong. */
function standingOf(figures: AgentFigures): Standing {
  const order = ['waiting', 'running', 'failed', 'stopped', 'completed'] as const;
  return order.find((state) => figures[state] > 0) ?? 'idle';
}
