import type { SessionToolset, ToolDefinition, ToolFactory, ToolSession, Toolset } from '../contracts/index.js';
import { toolNameFault } from '../kernel/agent-check.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import type { HostCore } from './host-core.js';

type Source = ToolFactory | SessionToolset;
type Given = ToolDefinition | Toolset | Source;

const isSource = (tool: Given): tool is Source =>
  typeof tool === 'function' || (!('kind' in tool) && 'tools' in tool && typeof tool.tools === 'function');

/** What every session of a host has alike. */
export const isShared = (tool: Given): tool is ToolDefinition | Toolset => !isSource(tool);

/** What an agent is compiled against. */
type ToolHost = Pick<HostCore, 'hostTools' | 'compiled'>;

/** Tools that a host makes anew for each session. */
export interface SessionTools {
  /** The host as this session sees it: with the tools that are its own. Makes them when it is first asked for it. Throws `INVALID_OPTION`. */
  hostFor(sessionId: string, userId: string | undefined): ToolHost;
  /** The session has ended. Never rejects; nothing: it had no tools to close. */
  close(sessionId: string): undefined | Promise<void>;
  closeAll(): Promise<void>;
}

interface Made {
  readonly session: ToolSession;
  readonly tools: readonly ToolDefinition[];
  readonly toClose: readonly SessionToolset[];
  /** As of these tools of the host. */
  from: HostCore['hostTools'] | undefined;
  view: ToolHost | undefined;
}

/** Nothing where a host has no such sources. */
export function createSessionTools(host: HostCore, given: readonly Given[]): SessionTools | undefined {
  const sources = given.filter(isSource);
  if (sources.length === 0) return undefined;
  const bySession = new Map<string, Made>();

  function make(session: ToolSession): Made {
    const tools: ToolDefinition[] = [];
    const toClose: SessionToolset[] = [];
    try {
      for (const source of sources) {
        if (typeof source === 'function') tools.push(source(session));
        else {
          toClose.push(source);
          tools.push(...source.tools(session));
        }
      }
      assertTools(tools, host.hostTools);
    } catch (thrown) {
      void closeEach(toClose, session);
      const { message } = describeError(thrown);
      throw new TroupeError({ code: 'INVALID_OPTION', message: `the tools of a session cannot be made: ${message}` });
    }
    return { session, tools, toClose, from: undefined, view: undefined };
  }

  function close(sessionId: string): undefined | Promise<void> {
    const made = bySession.get(sessionId);
    bySession.delete(sessionId);
    return made === undefined || made.toClose.length === 0 ? undefined : closeEach(made.toClose, made.session);
  }

  return {
    hostFor(sessionId, userId = 'local') {
      let made = bySession.get(sessionId);
      if (made === undefined) {
        made = make({ sessionId, userId, appName: host.appName });
        bySession.set(sessionId, made);
      }
      if (made.view === undefined || made.from !== host.hostTools) {
        made.from = host.hostTools;
        const own = made.tools.map((tool) => [tool.name, tool] as const);
        made.view = { hostTools: new Map([...host.hostTools, ...own]), compiled: new WeakMap() };
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

function assertTools(tools: readonly unknown[], hostTools: HostCore['hostTools']): void {
  const names = new Set<string>();
  for (const tool of tools) {
    const { kind, name } = Object(tool) as Partial<ToolDefinition>;
    if (kind !== 'tool') throw new Error('a function gives one tool, and tools(session) a list of them, at once');
    const fault = toolNameFault(name);
    if (fault !== undefined) throw new Error(fault);
    if (names.has(name as string) || hostTools.has(name as string)) throw new Error(`two named "${name}"; rename one`);
    names.add(name as string);
  }
}
