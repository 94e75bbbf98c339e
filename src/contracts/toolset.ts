import type { Clock } from './clock.js';
import type { ToolDefinition } from './definition.js';

/** What the host tells a person. */
export interface ToolsetNotice {
  code: string;
  severity: 'info' | 'warning' | 'error';
  text: string;
}

/** What a host gives a toolset that it opens. */
export interface ToolsetContext {
  readonly clock: Clock;
  /** Fires when the host is being closed: whatever is under way is given up. */
  readonly signal: AbortSignal;
  /** A `notice` on every run under way, or on the next one to begin where there is none. */
  notify(notice: ToolsetNotice): void;
}

/** A toolset as one host holds it. */
export interface OpenToolset {
  /**
   * Called before each run that may use names beginning with `prefixes`, and waited for; nothing: all is there already.
   * What a source does wrong is no rejection but a notice, and its tools are missing.
   */
  ready(prefixes: readonly string[]): undefined | Promise<void>;
  /** The tools as they are known now, in a stable order; the same list until something changes. */
  tools(): readonly ToolDefinition[];
  /** Whether a name may be one of its tools although `tools()` lacks it: its source is away, or has taken it back. */
  mayHave(name: string): boolean;
  /** Calls `listener` each time that `tools()` has changed. */
  onChange(listener: () => void): void;
  /** Resolves when nothing of it is left: connections, processes, timers. Never rejects. */
  close(): Promise<void>;
}

/**
 * A source of tools that are known only once it is opened, such as MCP servers. It stands in `createHost({ tools })`
 * like a tool; each host opens it for itself, before the first run that may use it, and closes it with itself.
 */
export interface Toolset {
  readonly kind: 'toolset';
  readonly name: string;
  /** Every name that it brings begins with one of these. Two toolsets of a host may not share one. */
  readonly prefixes: readonly string[];
  /** Rejects only for a caller's mistake (`TroupeError`): the run that wanted it fails, and the next one tries again. */
  open(context: ToolsetContext): Promise<OpenToolset>;
}

/** The session that tools are made for. */
export interface ToolSession {
  readonly sessionId: string;
  readonly userId: string;
  readonly appName: string;
}

/** Makes a tool for one session, at once, when the session is prepared. */
export type ToolFactory = (session: ToolSession) => ToolDefinition;

/** Tools that each session has of its own; `close` is called once for each session that `tools` was called for, when it ends. */
export interface SessionToolset {
  tools(session: ToolSession): readonly ToolDefinition[];
  close?(session: ToolSession): void | Promise<void>;
}
