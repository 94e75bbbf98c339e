import type {
  AgentDefinition,
  SessionToolset,
  ToolDefinition,
  ToolFactory,
  ToolSession,
  Toolset,
} from '../contracts/index.js';
import { toolNameFault } from '../kernel/agent-check.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import type { HostCore } from './host-core.js';

type Source = ToolFactory | SessionToolset;
type Given = ToolDefinition | Toolset | Source;

export const isSource = (tool: Given): tool is Source =>
  typeof tool === 'function' || (!('kind' in tool) && 'tools' in tool && typeof tool.tools === 'function');

/** What every session of a host has alike. */
export const isShared = (tool: Given): tool is ToolDefinition | Toolset => !isSource(tool);

/** What an agent is compiled against. */
interface ToolHost extends Pick<HostCore, 'hostTools' | 'compiled'> {
  /** What a source on an agent has made for this session. */
  readonly ownTools: (source: Source) => readonly ToolDefinition[];
}

/** Tools that a host makes anew for each session. */
export interface SessionTools {
  /** Whether the host, or an agent of this team, has any. */
  areFor(agent: AgentDefinition): boolean;
  /** The host as this session sees it: with the tools that are its own. Makes them when it is first asked for it. Throws `INVALID_OPTION`. */
  hostFor(sessionId: string, userId: string | undefined): ToolHost;
  /** The session has ended. Never rejects; nothing: it had no tools to close. */
  close(sessionId: string): undefined | Promise<void>;
  closeAll(): Promise<void>;
}

interface Made {
  readonly session: ToolSession;
  readonly tools: readonly ToolDefinition[];
  /** By what made them, those of agents. */
  readonly own: Map<Source, readonly ToolDefinition[]>;
  readonly toClose: SessionToolset[];
  /** As of these tools of the host. */
  from: HostCore['hostTools'] | undefined;
  view: ToolHost | undefined;
}

const known = new WeakMap<AgentDefinition, boolean>();

function hasSources(agent: AgentDefinition): boolean {
  const { leader, children, toolSources } = agent;
  const hasOwn = toolSources !== undefined && toolSources.length > 0;
  if (leader === undefined && children === undefined) return hasOwn;
  let has = known.get(agent);
  if (has === undefined) {
    has =
      hasOwn ||
      (leader !== undefined && hasSources(leader)) ||
      (children ?? []).some((child) => child !== undefined && hasSources(child));
    known.set(agent, has);
  }
  return has;
}

function makeBy(source: Source, session: ToolSession): readonly ToolDefinition[] {
  const made: unknown = typeof source === 'function' ? [source(session)] : source.tools(session);
  if (!Array.isArray(made) || !made.every((one) => Object(one).kind === 'tool')) {
    throw new Error('a function gives one tool, and tools(session) a list of them, at once');
  }
  for (const { name } of made as ToolDefinition[]) {
    const fault = toolNameFault(name);
    if (fault !== undefined) throw new Error(fault);
  }
  return made as ToolDefinition[];
}

const notMade = (thrown: unknown) =>
  new TroupeError({
    code: 'INVALID_OPTION',
    message: `the tools of a session cannot be made: ${describeError(thrown).message}`,
  });

export function createSessionTools(host: HostCore, given: readonly Given[]): SessionTools {
  const sources = given.filter(isSource);
  const bySession = new Map<string, Made>();

  function make(session: ToolSession): Made {
    const tools: ToolDefinition[] = [];
    const toClose: SessionToolset[] = [];
    try {
      for (const source of sources) {
        if (typeof source !== 'function') toClose.push(source);
        tools.push(...makeBy(source, session));
      }
      assertApart(tools, host.hostTools);
    } catch (thrown) {
      void closeEach(toClose, session);
      throw notMade(thrown);
    }
    return { session, tools, own: new Map(), toClose, from: undefined, view: undefined };
  }

  function ownTools({ session, own, toClose }: Made, source: Source): readonly ToolDefinition[] {
    let tools = own.get(source);
    if (tools === undefined) {
      if (typeof source !== 'function') toClose.push(source);
      try {
        tools = makeBy(source, session);
      } catch (thrown) {
        throw notMade(thrown);
      }
      own.set(source, tools);
    }
    return tools;
  }

  function close(sessionId: string): undefined | Promise<void> {
    const made = bySession.get(sessionId);
    bySession.delete(sessionId);
    return made === undefined || made.toClose.length === 0 ? undefined : closeEach(made.toClose, made.session);
  }

  return {
    areFor: (agent) => sources.length > 0 || hasSources(agent),
    hostFor(sessionId, userId = 'local') {
      let made = bySession.get(sessionId);
      if (made === undefined) {
        made = make({ sessionId, userId, appName: host.appName });
        bySession.set(sessionId, made);
      }
      if (made.view === undefined || made.from !== host.hostTools) {
        made.from = host.hostTools;
        const own = made.tools.map((tool) => [tool.name, tool] as const);
        const hostTools = own.length === 0 ? host.hostTools : new Map([...host.hostTools, ...own]);
        const current = made;
        made.view = { hostTools, compiled: new WeakMap(), ownTools: (source) => ownTools(current, source) };
      }
      return made.view;
    },
    close,
    closeAll: async () => void (await Promise.all([...bySession.keys()].map(close))),
  };
}

async function closeEach(sources: readonly SessionToolset[], session: ToolSession): Promise<void> {
  await Promise.all(sources.map(async (source) => source.close?.(session)).map((closing) => closing.catch(() => {})));
}

function assertApart(tools: readonly ToolDefinition[], hostTools: HostCore['hostTools']): void {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name) || hostTools.has(name)) throw new Error(`two named "${name}"; rename one`);
    names.add(name);
  }
}
