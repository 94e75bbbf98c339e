import type { BaseAgent, BaseNode, BasePlugin, LlmAgent } from '@google/adk';
import type { AdkSession } from './session.js';

/** One agent as a host has read it: its tools find the session that they are called in. */
export class AdkBinding {
  readonly sessions = new Map<string, AdkSession>();

  constructor(
    readonly agent: LlmAgent,
    readonly more: {
      /** A factory, asked once for each session; the first of its agents was asked what they have. */
      readonly make?: (() => unknown) | undefined;
      /** Names of agents in the host, by those that ADK knows. */
      readonly names?: ReadonlyMap<string, string> | undefined;
      /** Agents that it calls with words, as ADK's agent tools do. */
      readonly agents?: ReadonlySet<string> | undefined;
      /** Agents that it calls and whose result is its own. */
      readonly ends?: ReadonlySet<string> | undefined;
      readonly plugins?: readonly BasePlugin[] | undefined;
    } = {},
  ) {}
}

/** What ADK runs by itself, out of the host's sight. */
export class OpaqueBinding {
  constructor(
    readonly agent: BaseNode | BaseAgent,
    readonly make?: (() => unknown) | undefined,
    readonly plugins: readonly BasePlugin[] = [],
  ) {}
}

export const sessionKey = ({ sessionId, threadId }: { sessionId: string; threadId: string | undefined }): string =>
  threadId === undefined ? sessionId : `${sessionId}/${threadId}`;
