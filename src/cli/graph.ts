import type { AnyStateMachine } from 'xstate';
import type { AgentDefinition, AgentDescriptor } from '../contracts/index.js';
import { drawMachine } from '../drawing/machine-picture.js';
import { withRun } from '../drawing/overlay.js';
import type { Drawing } from '../drawing/picture.js';
import { drawTeam } from '../drawing/team-picture.js';
import { describeAgent } from '../kernel/definition.js';
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
    ? await drawStates(await machinesOf(definition, command.machine), format, definition.name)
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

type MachineLoader = () => Promise<AnyStateMachine>;

const machineLoaders: Readonly<Record<string, MachineLoader>> = {
  session: async () => (await import('../../machines/session.machine.js')).sessionMachine,
  toolCall: async () => (await import('../../machines/tool-call.machine.js')).toolCallMachine,
  elicitation: async () => (await import('../../machines/elicitation.machine.js')).elicitationMachine,
  sequential: async () => (await import('../../compositions/sequential.machine.js')).sequentialMachine,
  parallel: async () => (await import('../../compositions/parallel.machine.js')).parallelMachine,
  loop: async () => (await import('../../compositions/loop.machine.js')).loopMachine,
  transfer: async () => (await import('../../compositions/transfer.machine.js')).transferMachine,
  hierarchical: async () => (await import('../../compositions/hierarchical.machine.js')).hierarchicalMachine,
};

/** What runs every agent. */
const ALWAYS: ReadonlySet<string> = new Set(['session', 'toolCall', 'elicitation']);

/** The machines that run every agent and those of the compositions in the definition, in a fixed order. */
async function machinesOf(definition: AgentDefinition, only: string | undefined): Promise<AnyStateMachine[]> {
  const compositions = compositionsOf(definition);
  const patterns = new Set(compositions.map(({ descriptor }) => descriptor.composition?.pattern));
  const used = new Map<string, MachineLoader>();
  for (const [name, load] of Object.entries(machineLoaders)) {
    if (ALWAYS.has(name) || patterns.has(name)) used.set(name, load);
  }
  // Every graph is a machine of its own.
  for (const { name, descriptor } of compositions) {
    if (descriptor.composition?.pattern === 'graph') used.set(name, () => loadGraph(descriptor));
  }
  const loaders = [...used].filter(([name]) => only === undefined || name === only);
  if (loaders.length === 0)
    throw badUse(`no machine "${only}" in this team: it is run by ${[...used.keys()].join(', ')}`);
  return Promise.all(loaders.map(([, load]) => load()));
}

async function loadGraph(descriptor: AgentDescriptor): Promise<AnyStateMachine> {
  return (await import('../../compositions/graph.machine.js')).graphMachine(descriptor);
}

function compositionsOf(definition: AgentDefinition): AgentDefinition[] {
  const own = definition.descriptor.composition === undefined ? [] : [definition];
  return [...own, ...(definition.children ?? []).flatMap(compositionsOf)];
}
