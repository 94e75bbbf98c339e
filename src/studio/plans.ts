import type { AgentDefinition, LogGap } from '../contracts/index.js';
import { drawMachine } from '../drawing/machine-picture.js';
import type { Box } from '../drawing/picture.js';
import { drawTeam } from '../drawing/team-picture.js';
import { describeAgent } from '../kernel/definition.js';
import { machinesOf } from './team-machines.js';
import type { SessionPlan } from './wire.js';

type Drawn = Omit<SessionPlan, 'gaps'>;

const NOTHING: Drawn = { machines: {}, machineOf: {} };

/** Drawn once per definition: the pictures of a team do not change while it runs. */
const drawn = new WeakMap<AgentDefinition, Promise<Drawn>>();

export async function planOf(definition: AgentDefinition | undefined, gaps: readonly LogGap[]): Promise<SessionPlan> {
  if (definition === undefined) return { ...NOTHING, gaps };
  let plan = drawn.get(definition);
  if (plan === undefined) {
    plan = draw(definition);
    drawn.set(definition, plan);
  }
  return { ...(await plan), gaps };
}

async function draw(definition: AgentDefinition): Promise<Drawn> {
  const { toSvg } = await import('../drawing/svg.js');
  const found = await machinesOf(definition);
  const machines: Record<string, string> = {};
  for (const machine of 'machines' in found ? found.machines : []) {
    const { state, arrows } = drawMachine(machine);
    machines[machine.id] = await toSvg({ title: machine.id, boxes: [state], arrows });
  }
  const team = drawTeam(definition);
  const machineOf: Record<string, string> = {};
  note(definition, machineOf);
  return {
    descriptor: describeAgent(definition),
    team: await toSvg({ ...team, boxes: team.boxes.map(withRoom) }),
    machines,
    machineOf,
  };
}

/** A composition's session is carried by its pattern's machine; a graph's has its own name. */
function note(definition: AgentDefinition, machineOf: Record<string, string>): void {
  const pattern = definition.descriptor.composition?.pattern;
  machineOf[definition.name] = pattern === undefined ? 'session' : pattern === 'graph' ? definition.name : pattern;
  for (const child of definition.children ?? []) note(child, machineOf);
  if (definition.leader !== undefined) note(definition.leader, machineOf);
}

/** Two lines at the end of each box, in which the page says how it fares. */
const ROOM = ['has not run', '\u00a0'.repeat(34)];

function withRoom(box: Box): Box {
  return {
    ...box,
    label: [...box.label, ...ROOM],
    standing: 'idle',
    ...(box.boxes !== undefined && { boxes: box.boxes.map(withRoom) }),
  };
}
