import type { AnyStateMachine } from 'xstate';
import type { AgentDefinition } from '../contracts/index.js';
import { drawMachine } from '../drawing/machine-picture.js';
import { withRun } from '../drawing/overlay.js';
import type { Drawing } from '../drawing/picture.js';
import { drawTeam } from '../drawing/team-picture.js';
import { describeAgent } from '../kernel/definition.js';
import { machinesOf } from '../studio/team-machines.js';
import type { CommandIo } from './command-io.js';
import { toDot } from './drawing-dot.js';
import { toMermaid } from './drawing-mermaid.js';
import { configOfAll } from './machine-config.js';
import { machinesToMermaid } from './machine-mermaid.js';
import { readRun } from './read-run.js';
import { badUse } from './report-error.js';
import { teamStatechart } from './team-statechart.js';

export interface GraphCommand {
  format?: string | undefined;
  /** The state machines that run the team, in place of the team. */
  states?: boolean | undefined;
  /** One of the machines only, by its name. */
  machine?: string | undefined;
  /** Path of a run's events, as JSON lines: laid over the team. */
  run?: string | undefined;
}

const formats = ['mermaid', 'dot', 'svg', 'xstate'] as const;
type Format = (typeof formats)[number];

/** Prints the drawing of a definition on stdout: the same definition always gives the same text. */
export async function graphCommand(
  definition: AgentDefinition,
  command: GraphCommand,
  io: Pick<CommandIo, 'stdout'>,
): Promise<number> {
  const format = formatOf(command.format);
  describeAgent(definition);
  if (command.run !== undefined && (command.states === true || command.machine !== undefined || format === 'xstate')) {
    throw badUse('--run is laid over a team: leave out --states and --machine, and choose mermaid, dot or svg');
  }
  const wantsStates = command.states === true || command.machine !== undefined;
  const text = wantsStates
    ? await drawStates(await machinesFor(definition, command.machine), format, definition.name)
    : await drawDefinition(definition, format, command.run);
  await io.stdout.write(text);
  return 0;
}

function formatOf(wanted: string | undefined): Format {
  const format = formats.find((one) => one === (wanted ?? 'mermaid'));
  if (format === undefined) throw badUse(`no format "${wanted}": choose one of ${formats.join(', ')}`);
  return format;
}

async function drawDefinition(definition: AgentDefinition, format: Format, run: string | undefined): Promise<string> {
  if (format === 'xstate') return `${JSON.stringify(teamStatechart(definition), undefined, 2)}\n`;
  const team = drawTeam(definition);
  const drawing = run === undefined ? team : withRun(team, await readRun(run));
  if (format === 'svg') return svgOf(drawing);
  return format === 'dot' ? toDot(drawing) : toMermaid(drawing);
}

async function drawStates(machines: readonly AnyStateMachine[], format: Format, title: string): Promise<string> {
  if (format === 'xstate') return `${JSON.stringify(configOfAll(machines), undefined, 2)}\n`;
  const drawings = machines.map(drawMachine);
  if (format === 'mermaid') return machinesToMermaid(drawings);
  const boxes = drawings.map(({ state }) => state);
  const drawing = { title, boxes, arrows: drawings.flatMap(({ arrows }) => arrows) };
  return format === 'svg' ? svgOf(drawing) : toDot(drawing);
}

/** The layout engine is large: it is loaded for this format only. */
async function svgOf(drawing: Drawing): Promise<string> {
  return (await import('../drawing/svg.js')).toSvg(drawing);
}

async function machinesFor(definition: AgentDefinition, only: string | undefined): Promise<readonly AnyStateMachine[]> {
  const found = await machinesOf(definition, only);
  if ('machines' in found) return found.machines;
  throw badUse(`no machine "${only}" in this team: it is run by ${found.names.join(', ')}`);
}
