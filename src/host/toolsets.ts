import type { AgentDefinition, OpenToolset, ToolDefinition, Toolset, ToolsetNotice } from '../contracts/index.js';
import { isHostsTool } from '../kernel/agent-check.js';
import type { Problem } from '../kernel/errors.js';
import type { HostCore } from './host-core.js';
import { notice } from './session-tree.js';
import type { Thread } from './thread.js';

/** The toolsets of one host. Each is opened when the first run that may use it is to begin. */
export interface Toolsets {
  /** What a run of this agent waits for before it begins; nothing: its tools are known. Rejects as a toolset's `open`. */
  ready(agent: AgentDefinition): undefined | Promise<void>;
  /** Whether a tool of that name may turn up although there is none at the moment. */
  mayHave(name: string): boolean;
  /** Another number each time that the tools of the host have changed. */
  readonly version: number;
  /** Tells on this root what was to be told while no run was under way. */
  tellHeld(root: Thread): void;
  /** The host is closing: runs that still wait for their tools wait no longer. */
  stopWaiting(): void;
  close(): Promise<void>;
}

interface Slot {
  readonly toolset: Toolset;
  open: OpenToolset | undefined;
  opening: Promise<OpenToolset> | undefined;
}

type Wanted = readonly { readonly slot: Slot; readonly prefixes: readonly string[] }[];

/** Nobody reads more of them, and a source that fails again and again has many. */
const MOST_HELD = 50;

export const isToolset = (tool: ToolDefinition | Toolset): tool is Toolset => tool.kind === 'toolset';

/** Toolsets whose names could not be told apart. */
export function toolsetProblems(tools: readonly (ToolDefinition | Toolset)[]): Problem[] {
  const problems: Problem[] = [];
  const taken: { prefix: string; name: string }[] = [];
  for (const { name, prefixes } of tools.filter(isToolset)) {
    for (const prefix of prefixes) {
      const clash = taken.find((one) => one.prefix.startsWith(prefix) || prefix.startsWith(one.prefix));
      if (clash !== undefined) {
        const message = `"${name}" brings tools named ${prefix}…, "${clash.name}" tools named ${clash.prefix}…; rename one`;
        problems.push({ code: 'INVALID_OPTION', path: 'tools', message });
      }
      taken.push({ prefix, name });
    }
  }
  return problems;
}

/** Nothing where a host has none. */
export function createToolsets(host: HostCore, toolsets: readonly Toolset[]): Toolsets | undefined {
  if (toolsets.length === 0) return undefined;
  const own = host.hostTools;
  const slots = toolsets.map((toolset): Slot => ({ toolset, open: undefined, opening: undefined }));
  const wanted = new WeakMap<AgentDefinition, Wanted>();
  const closing = new AbortController();
  const waiting = new Set<() => void>();
  const held: ToolsetNotice[] = [];
  const told = new Set<string>();
  let version = 0;

  function tell(said: ToolsetNotice): void {
    let isTold = false;
    for (const { root } of host.trees.values()) {
      if (root.run === undefined) continue;
      notice(root, said.code, said.severity, said.text);
      isTold = true;
    }
    // Whoever waits for its tools is to be told too, once it has begun.
    if ((!isTold || waiting.size > 0) && held.length < MOST_HELD) held.push(said);
  }

  function takeTools(): void {
    const tools = new Map(own);
    for (const { open, toolset } of slots) {
      for (const tool of open?.tools() ?? []) {
        const isTaken = tools.has(tool.name) || isHostsTool(tool.name);
        if (!isTaken) tools.set(tool.name, tool);
        else if (!told.has(tool.name)) {
          told.add(tool.name);
          const text = `${toolset.name} brings a tool "${tool.name}", and the host has one of that name: it is left out`;
          tell({ code: 'TOOL_NAME_TAKEN', severity: 'warning', text });
        }
      }
    }
    host.hostTools = tools;
    host.compiled = new WeakMap();
    version++;
  }

  async function opened(slot: Slot): Promise<OpenToolset> {
    const open = await slot.toolset.open({ clock: host.clock, signal: closing.signal, notify: tell });
    slot.open = open;
    open.onChange(takeTools);
    if (open.tools().length > 0) takeTools();
    return open;
  }

  function openSlot(slot: Slot): Promise<OpenToolset> {
    slot.opening ??= opened(slot).catch((thrown: unknown) => {
      slot.opening = undefined;
      throw thrown;
    });
    return slot.opening;
  }

  function wantedBy(agent: AgentDefinition): Wanted {
    const known = wanted.get(agent);
    if (known !== undefined) return known;
    const names = namesIn(agent, { names: new Set(), inheritsAll: false, seen: new Set() });
    const found = slots.flatMap((slot) => {
      const prefixes = slot.toolset.prefixes.filter(
        (prefix) => names.inheritsAll || [...names.names].some((name) => meets(name, prefix)),
      );
      return prefixes.length > 0 ? [{ slot, prefixes }] : [];
    });
    wanted.set(agent, found);
    return found;
  }

  /** Settles with `work`, or when the host begins to close. */
  function unlessClosing(work: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        waiting.delete(settle);
        resolve();
      };
      waiting.add(settle);
      work.then(settle, (thrown) => {
        waiting.delete(settle);
        reject(thrown);
      });
    });
  }

  return {
    get version() {
      return version;
    },
    ready(agent) {
      if (host.isClosing) return undefined;
      let waits: Promise<unknown>[] | undefined;
      for (const { slot, prefixes } of wantedBy(agent)) {
        const wait =
          slot.open === undefined
            ? openSlot(slot).then((open) => (host.isClosing ? undefined : open.ready(prefixes)))
            : slot.open.ready(prefixes);
        if (wait === undefined) continue;
        waits ??= [];
        waits.push(wait);
      }
      return waits === undefined ? undefined : unlessClosing(Promise.all(waits));
    },
    mayHave: (name) =>
      slots.some(({ open, toolset }) =>
        open === undefined ? toolset.prefixes.some((prefix) => name.startsWith(prefix)) : open.mayHave(name),
      ),
    tellHeld(root) {
      for (const { code, severity, text } of held.splice(0)) notice(root, code, severity, text);
    },
    stopWaiting() {
      for (const settle of [...waiting]) settle();
    },
    async close() {
      closing.abort();
      await Promise.all(
        slots.map(async ({ opening }) => {
          const open = await opening?.catch(() => undefined);
          await open?.close();
        }),
      );
    },
  };
}

/** Settles with `work`; before that when `signal` fires, or when what `onStop` was given is called. */
export function unlessStopped(
  work: Promise<void>,
  signal: AbortSignal | undefined,
  onStop: (stop: () => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve();
    onStop(stop);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    void work.then(resolve, reject).finally(() => signal?.removeEventListener('abort', stop));
  });
}

interface Names {
  readonly names: Set<string>;
  inheritsAll: boolean;
  readonly seen: Set<AgentDefinition>;
}

/** Names and patterns of host tools that an agent and all below it ask for. */
function namesIn(agent: AgentDefinition, found: Names): Names {
  if (found.seen.has(agent)) return found;
  found.seen.add(agent);
  if (agent.inheritTools) found.inheritsAll = true;
  for (const tool of agent.tools ?? []) if (typeof tool === 'string') found.names.add(tool);
  for (const name of agent.descriptor.requiredTools ?? []) found.names.add(name);
  if (agent.leader !== undefined) namesIn(agent.leader, found);
  for (const child of agent.children ?? []) namesIn(child, found);
  return found;
}

/** Whether a name, or a pattern that ends in `*`, can mean something that begins with `prefix`. */
function meets(name: string, prefix: string): boolean {
  if (!name.endsWith('*')) return name.startsWith(prefix);
  const start = name.slice(0, -1);
  return start.startsWith(prefix) || prefix.startsWith(start);
}
