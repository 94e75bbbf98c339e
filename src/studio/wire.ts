import type {
  AgentDescriptor,
  AgentEvent,
  ElicitationAnswer,
  ElicitationRequest,
  LogGap,
  PermissionMode,
  SessionSummary,
  SteerData,
} from '../contracts/index.js';

/**
 * What Studio's page and its server say to each other. The page is at `/?token=…`; every request carries the token, as
 * `token` in the query or as a bearer. Answers are JSON; a refusal is 4xx with `{ code, message }`, without or with a
 * wrong token a bare 403.
 *
 * - `GET /api/overview` → `Overview`
 * - `GET /api/sessions/<host>/<session>/plan` → `SessionPlan`
 * - `GET /api/sessions/<host>/<session>/log?after=<seq>&limit=<n>` → `LogPage`: what is logged after a position, in order.
 *   At most 5,000 events, or 8 MB, at once.
 * - `GET /api/sessions/<host>/<session>/stream?after=<seq>&steps=1` → server-sent events, `StreamMessages` by their names. It
 *   begins behind `after`, or behind `Last-Event-ID` where there is one (that of another session is refused), and never
 *   ends by itself. Steps of machines are told only where they are asked for.
 * - `GET /api/overview/stream` → server-sent events: `overview` with an `Overview`, at once and after each change.
 * - `GET /api/sessions/<host>/<session>/steps?thread=<thread>` → `ToldSteps`
 * - `GET /api/inspection/<host>?session=<session>` → server-sent events: `inspection` with a list of `InspectionMessage`,
 *   those of the actors that there are first; `lost` with `{ events }` where the reader was too slow. No session: all.
 * - `POST /api/command` with a `Command` as `application/json` → `CommandResult`
 */
export interface Overview {
  readonly hosts: readonly HostOverview[];
}

export interface HostOverview {
  /** Stable while the server runs. */
  readonly id: string;
  readonly name: string;
  /** Agents that a run can be started of, by name. */
  readonly agents: readonly AgentDescriptor[];
  /** Newest first. */
  readonly sessions: readonly SessionOverview[];
  /** What it can do beside showing: `start`, `fork`, `rewind`, `control`. A host of stored sessions alone can do little. */
  readonly can: readonly string[];
  /** Why nothing can be shown of it: the Studio of another process that does not answer. */
  readonly fault?: string;
}

export interface SessionOverview extends SessionSummary {
  /** Its tree is open in the host: it can be steered, answered, aborted. */
  readonly isLive: boolean;
  /** A run is under way. */
  readonly isRunning: boolean;
  /** Questions that wait for an answer. */
  readonly pending: number;
  /** These, oldest first. */
  readonly questions: readonly WaitingQuestion[];
}

/** A question and who asks it. */
export interface WaitingQuestion {
  readonly request: ElicitationRequest;
  /** Empty for the root. */
  readonly threadId: string;
  readonly agentName: string;
}

/** What a session is made of, and its pictures. */
export interface SessionPlan {
  /** Absent where the host does not know its agent: a stored session of an unknown definition. */
  readonly descriptor?: AgentDescriptor;
  /** SVG of the team: a box has `data-ref`, the name of its agent. */
  readonly team?: string;
  /** SVG by the name of a machine: `session`, and each pattern of the team; a state has `data-ref`, its path. */
  readonly machines: Readonly<Record<string, string>>;
  /** The machine of each agent by name: `session`, or its pattern. */
  readonly machineOf: Readonly<Record<string, string>>;
  /** What of a stored log cannot be read. */
  readonly gaps: readonly LogGap[];
}

export interface LogPage {
  readonly events: readonly AgentEvent[];
  /** Ask on with this; absent at the end of the log. */
  readonly next?: number;
  /** The newest position there is. */
  readonly lastSeq: number;
}

/** Messages of a session's stream. `id:` is `<session>:<seq>`, up to which all was said. */
export interface StreamMessages {
  /** What happened, in order, some of it together: increments of messages (several of them may be one) and tool updates too. */
  events: readonly AgentEvent[];
  /** What machines did, as XState's inspection says it; only of sessions that run here. */
  states: readonly MachineStep[];
  /** From behind this position on all steps of its machines are told; said once, at the beginning, where they are. */
  hears: { readonly lastSeq: number };
  /** Forget what was shown and load the log anew: it was cut, or the page is behind by more than is kept. */
  resync: { readonly lastSeq: number };
}

/** What the log tells of the machines of one thread, without anybody having listened to them: the newest steps, in order. */
export interface ToldSteps {
  readonly steps: readonly MachineStep[];
  /** Steps that came before these. */
  readonly left: number;
}

/** One of XState's inspection events in the form of `@statelyai/inspect`; its inspectors' `adapter.send` takes it. */
export interface InspectionMessage {
  /** `@xstate.actor`, `@xstate.event`, `@xstate.snapshot`; also `@xstate.microstep`, `@xstate.action`. */
  readonly type: string;
  /** Of the actor. */
  readonly sessionId: string;
  readonly rootId: string | undefined;
  /** Epoch ms, as text. */
  readonly createdAt: string;
  readonly id: string;
  readonly _version: string;
  readonly name?: string;
  readonly parentId?: string | undefined;
  readonly sourceId?: string | undefined;
  /** Of an actor: its machine, as JSON. */
  readonly definition?: string;
  readonly snapshot?: unknown;
  readonly event?: unknown;
  readonly action?: unknown;
  readonly transitions?: readonly { readonly eventType: string; readonly source: string; readonly target: string[] }[];
}

/** One step of one actor. */
export interface MachineStep {
  /** Empty for the root. */
  readonly threadId: string;
  /** As in `SessionPlan.machines`. */
  readonly machine: string;
  /** XState's value: a text, or an object for nested states. */
  readonly value: unknown;
  /** Type of the event that led there. */
  readonly event: string;
  /** ISO 8601. */
  readonly at: string;
  /** How far the session's events had come. */
  readonly seq: number;
}

export type Command = { readonly host: string } & (
  | {
      readonly command: 'start';
      readonly agent: string;
      readonly input: string;
      readonly permissionMode?: PermissionMode;
    }
  | {
      readonly command: 'respond';
      readonly session: string;
      readonly requestId: string;
      readonly answer: ElicitationAnswer;
    }
  /** No thread: the root; `'*'`: every live one. */
  | { readonly command: 'steer'; readonly session: string; readonly threadId?: string; readonly data: SteerData }
  | { readonly command: 'mode'; readonly session: string; readonly permissionMode: PermissionMode }
  /** No thread: the whole run. */
  | { readonly command: 'abort'; readonly session: string; readonly threadId?: string; readonly reason?: string }
  /** Another message to a session whose run has ended. */
  | { readonly command: 'message'; readonly session: string; readonly input: string }
  | { readonly command: 'resume'; readonly session: string }
  | { readonly command: 'fork'; readonly session: string; readonly at?: number }
  | { readonly command: 'rewind'; readonly session: string; readonly to: number }
);

export interface CommandResult {
  /** Of the session that was started or forked, else of the one that the command was for. */
  readonly sessionId: string;
}
