import type { AnyStateMachine } from 'xstate';
import type { AgentDefinition } from '../contracts/index.js';
import { describeAgent } from '../kernel/definition.js';
import type { CommandIo } from './command-io.js';
import { toDot } from './drawing-dot.js';
import { toMermaid } from './drawing-mermaid.js';
import { configOfAll } from './machine-config.js';
import { drawMachine } from './machine-drawing.js';
import { machinesToMermaid } from './machine-mermaid.js';
import { badUse } from './report-error.js';
import { drawTeam } from './team-drawing.js';
import { teamStatechart } from './team-statechart.js';

export interface GraphCommand {
  format?: string | undefined;
  /** The state machines that run the team, in place of the team. */
  states?: boolean | undefined;
  /** One of the machines only, by its name. */
  machine?: string | undefined;
}

const formats = ['mermaid', 'dot', 'xstate'] as const;
type Format = (typeof formats)[number];

/** Prints the drawing of a definition on stdout: the same definition always gives the same text. */
export async function graphCommand(
  definition: AgentDefinition,
  command: GraphCommand,
  io: Pick<CommandIo, 'stdout'>,
): Promise<number> {
  const format = formatOf(command.format);
  describeAgent(definition);
  const wantsStates = command.states === true || command.machine !== undefined;
  const text = wantsStates
    ? await drawStates(await machinesOf(definition, command.machine), format, definition.name)
    : drawDefinition(definition, format);
  await io.stdout.write(text);
  return 0;
}

function formatOf(wanted: string | undefined): Format {
  const format = formats.find((one) => one === (wanted ?? 'mermaid'));
  if (format === undefined) throw badUse(`no format "${wanted}": choose one of ${formats.join(', ')}`);
  return format;
}

function drawDefinition(definition: AgentDefinition, format: Format): string {
  if (format === 'xstate') return `${JSON.stringify(teamStatechart(definition), undefined, 2)}\n`;
  const drawing = drawTeam(definition);
  return format === 'dot' ? toDot(drawing) : toMermaid(drawing);
}

async function drawStates(machines: readonly AnyStateMachine[], format: Format, title: string): Promise<string> {
  if (format === 'xstate') return `${JSON.stringify(configOfAll(machines), undefined, 2)}\n`;
  const drawings = machines.map(drawMachine);
  if (format === 'mermaid') return machinesToMermaid(drawings);
  return toDot({ title, boxes: drawings.map(({ state }) => state), arrows: drawings.flatMap(({ arrows }) => arrows) });
}

const machineLoaders: Readonly<Record<string, () => Promise<AnyStateMachine>>> = {
  session: async () => (await import('../../machines/session.machine.js')).sessionMachine,
  sequential: async () => (await import('../../compositions/sequential.machine.js')).sequentialMachine,
  parallel: async () => (await import('../../compositions/parallel.machine.js')).parallelMachine,
  loop: async () => (await import('../../compositions/loop.machine.js')).loopMachine,
  transfer: async () => (await import('../../compositions/transfer.machine.js')).transferMachine,
  hierarchical: async () => (await import('../../compositions/hierarchical.machine.js')).hierarchicalMachine,
};

/** The session machine and those of the compositions in the definition, in a fixed order. */
async function machinesOf(definition: AgentDefinition, only: string | undefined): Promise<AnyStateMachine[]> {
  const patterns = patternsOf(definition);
  const used = Object.keys(machineLoaders).filter((name) => name === 'session' || patterns.has(name));
  const names = only === undefined ? used : used.filter((name) => name === only);
  if (names.length === 0) throw badUse(`no machine "${only}" in this team: it is run by ${used.join(', ')}`);
  return Promise.all(names.flatMap((name) => machineLoaders[name]?.() ?? []));
}

function patternsOf(definition: AgentDefinition): Set<string> {
  const pattern = definition.descriptor.composition?.pattern;
  const patterns = new Set<string>(pattern === undefined ? [] : [pattern]);
  for (const child of definition.children ?? []) for (const inner of patternsOf(child)) patterns.add(inner);
  return patterns;
}
