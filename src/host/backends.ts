import type { AgentDefinition, BackendReader } from '../contracts/index.js';
import type { Skills } from './skills.js';
import type { Toolsets } from './toolsets.js';

/** What stands in the backends of a host's agents, as definitions. */
export interface Backends {
  /** The tree with what its backends bring, as far as it is known. Throws as the readers do. */
  read(definition: AgentDefinition): { definition: AgentDefinition; isComplete: boolean };
  /** What a run of this agent waits for; nothing: all is known. Rejects as the readers do. */
  ready(definition: AgentDefinition): undefined | Promise<void>;
  /** Another number each time that more is known. */
  readonly version: number;
  close(): Promise<void>;
}

interface Reading {
  readonly definition: AgentDefinition;
  readonly isComplete: boolean;
  readonly waits: readonly (() => Promise<void>)[];
}

/** Readers are made when an agent of theirs is first seen. */
export function createBackends(makers: Readonly<Record<string, () => BackendReader>>): Backends {
  const readers = new Map<string, BackendReader>();
  /** What is known whole: by what was given, and by itself. */
  const known = new WeakMap<AgentDefinition, Reading>();
  let version = 0;

  function readerOf({ descriptor, backend }: AgentDefinition): BackendReader | undefined {
    const type = descriptor?.executor;
    if (backend === undefined || typeof type !== 'string' || !Object.hasOwn(makers, type)) return undefined;
    let reader = readers.get(type);
    if (reader === undefined) {
      reader = (makers[type] as () => BackendReader)();
      readers.set(type, reader);
    }
    return reader;
  }

  function read(given: AgentDefinition, above: readonly AgentDefinition[]): Reading {
    const before = known.get(given);
    if (before !== undefined) return before;
    const reading = readerOf(given)?.read(given);
    const found: Reading =
      reading === undefined
        ? readBelow(given, above)
        : {
            definition: reading.definition,
            isComplete: reading.complete === undefined,
            waits: reading.complete === undefined ? [] : [reading.complete],
          };
    if (found.isComplete) {
      known.set(given, found);
      known.set(found.definition, found);
    }
    return found;
  }

  const isPlain = (agent: AgentDefinition) =>
    agent.leader === undefined && agent.children === undefined && readerOf(agent) === undefined;

  function readBelow(given: AgentDefinition, above: readonly AgentDefinition[]): Reading {
    const { leader, children } = given;
    const nothing: Reading = { definition: given, isComplete: true, waits: [] };
    // What contains itself, or holds what is no agent, is told by the check of definitions.
    if (above.includes(given) || (leader === undefined && !Array.isArray(children))) return nothing;
    const inner = [...above, given];
    const isAgent = (one: unknown): one is AgentDefinition => (one as AgentDefinition | undefined)?.kind === 'agent';
    const ledBy = isAgent(leader) ? read(leader, inner) : undefined;
    // Nothing: it is what it is, as almost all of a team of thousands are.
    const below = (children ?? []).map((child) => (isAgent(child) && !isPlain(child) ? read(child, inner) : undefined));
    const parts = [ledBy, ...below].filter((one) => one !== undefined);
    const waits = parts.flatMap((part) => part.waits);
    const isComplete = waits.length === 0;
    const isSame =
      ledBy?.definition === leader &&
      below.every((part, at) => part === undefined || part.definition === children?.[at]);
    if (isSame || (ledBy === undefined && leader !== undefined)) return { definition: given, isComplete, waits };
    const belowRead = below.map((part, at) => part?.definition ?? (children?.[at] as AgentDefinition));
    const descriptor = Object.freeze({ ...given.descriptor, subAgents: belowRead.map((child) => child?.descriptor) });
    const definition = Object.freeze({
      ...given,
      descriptor,
      ...(children !== undefined && { children: belowRead }),
      ...(ledBy !== undefined && { leader: ledBy.definition }),
    });
    return { definition, isComplete, waits };
  }

  return {
    read: (definition) => read(definition, []),
    ready(definition) {
      const { waits } = read(definition, []);
      if (waits.length === 0) return undefined;
      return Promise.all(waits.map((wait) => wait())).then(() => {
        version++;
      });
    },
    get version() {
      return version;
    },
    async close() {
      await Promise.all([...readers.values()].map((reader) => reader.close()));
    },
  };
}

/** Toolsets, backends and skills are waited for together, before a run begins. */
export function withBackends(toolsets: Toolsets | undefined, backends: Backends, skills: Skills): Toolsets {
  return {
    ready(agent) {
      const tools = toolsets?.ready(agent);
      const rest = backends.ready(agent);
      const read = skills.ready(agent);
      if (tools === undefined && rest === undefined) return read;
      return Promise.all([tools, rest, read]).then(() => {});
    },
    mayHave: (name) => toolsets?.mayHave(name) ?? false,
    get version() {
      return (toolsets?.version ?? 0) + backends.version + skills.version;
    },
    tellHeld: (root) => toolsets?.tellHeld(root),
    stopWaiting: () => toolsets?.stopWaiting(),
    async close() {
      await Promise.all([toolsets?.close(), backends.close()]);
    },
  };
}
