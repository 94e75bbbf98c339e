import type { AnyStateMachine } from 'xstate';
import type { AgentDefinition, AgentDescriptor } from '../contracts/index.js';

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

/**
 * The machines that run every agent and those of the compositions in the definition, in a fixed order. `only`: that one,
 * by its name; the list of names, where there is none of that name.
 */
export async function machinesOf(
  definition: AgentDefinition,
  only?: string,
): Promise<{ readonly machines: readonly AnyStateMachine[] } | { readonly names: readonly string[] }> {
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
  if (loaders.length === 0) return { names: [...used.keys()] };
  return { machines: await Promise.all(loaders.map(([, load]) => load())) };
}

async function loadGraph(descriptor: AgentDescriptor): Promise<AnyStateMachine> {
  return (await import('../../compositions/graph.machine.js')).graphMachine(descriptor);
}

function compositionsOf(definition: AgentDefinition): AgentDefinition[] {
  const own = definition.descriptor.composition === undefined ? [] : [definition];
  return [...own, ...(definition.children ?? []).flatMap(compositionsOf)];
}
