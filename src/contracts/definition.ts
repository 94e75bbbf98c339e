import type { SuperviseConfig } from './composition.js';
import type { ContentPart } from './content.js';
import type { AgentDescriptor } from './descriptor.js';
import type { ElicitationKind } from './elicitation.js';
import type { GenerationConfig, ModelInterface, ModelMessage } from './model.js';
import type { Bag, Json } from './open.js';
import type { ArtifactStore, MemoryStore } from './persistence.js';
import type { PermissionMode } from './policy.js';
import type { JsonSchema, StandardSchema } from './schema.js';
import type { ContextBudget } from './session.js';
import type { ToolDescriptor, ToolResultData, ToolUpdate } from './tools.js';
import type { SessionToolset, ToolFactory } from './toolset.js';

/** The tree's declared state, as one tool call sees it: a snapshot from the child's start plus this thread's writes. */
export interface StateView {
  get(key: string): unknown;
  /** Applied when the call ends, in call order. Throws for a key that nothing declares. */
  set(key: string, value: unknown): void;
  /** All that it holds, frozen. Keys that hold nothing are absent. */
  values(): Readonly<Bag>;
}

/** What a tool is given beside its arguments. */
export interface ToolContext {
  /** Fires on abort and on timeout. */
  readonly signal: AbortSignal;
  readonly sessionId: string;
  readonly threadId: string | undefined;
  readonly agentId: string;
  /** `sessionId:requestId` is the idempotency key. */
  readonly requestId: string;
  readonly state: StateView;
  /** Whose session it is; `local` unless a run says otherwise. */
  readonly userId: string;
  /** Of this session only: pass `sessionId` on. Absent where the store has none, or the session is ephemeral. */
  readonly artifacts?: ArtifactStore | undefined;
  /** Of this user only: pass `userId` on. Absent where the store has none. */
  readonly memory?: MemoryStore | undefined;
  /**
   * Asks a person; resolves with the answer (with the defaults that it leaves out), `cancel` on expiry or abort, or when
   * there is nobody to ask. Rejects only for a question that is none, or whose schema or expiry is none. The tool's timeout stands still meanwhile.
   */
  elicit(question: {
    message: string;
    kind?: ElicitationKind;
    title?: string;
    requestedSchema?: JsonSchema | StandardSchema<unknown, unknown>;
    /** A date, its ISO 8601 text, or epoch ms. */
    expiresAt?: string | Date | number;
    context?: Bag;
  }): Promise<{ action: string; content?: Bag }>;
  /** What the user of this session has given in answer to `auth_required`. Never return it: a result goes to the model. */
  readonly credentials: { get(provider: string): Promise<Json | undefined> };
  progress(update: ToolUpdate | string | number): void;
  log(text: string): void;
}

/** Any JSON value, text, parts, or a whole result. */
export type ToolOutput = Json | ToolResultData | readonly ContentPart[] | undefined | void | object;

/** What a person is shown of a call beside its arguments, before it may run. The model is told none of it. */
export interface ToolPreview {
  /** What the call would change, in unified format. */
  diff?: string;
  /** Why the call would fail, as things stand. */
  problem?: string;
}

/** What runs one tool. `validate` is absent for plain JSON Schema. */
export interface ToolDefinition<Name extends string = string, Args = unknown, Result = unknown> {
  readonly kind: 'tool';
  readonly name: Name;
  readonly descriptor: ToolDescriptor;
  /** What arguments are held against, where that is not what the model is shown (`descriptor.parametersSchema`). */
  readonly checkedSchema?: JsonSchema | undefined;
  readonly validate?: StandardSchema<unknown, unknown> | undefined;
  readonly timeoutMs?: number | undefined;
  readonly outputSchema?: JsonSchema | undefined;
  /** Where it comes from, when that is an MCP server: the server as it was configured, and its own name for the tool. */
  readonly mcp?: { readonly server: string; readonly tool: string } | undefined;
  /** Of a tool that others define: a mark of what it says of itself now. An approval is for that, and no other. */
  readonly revision?: (() => string) | undefined;
  /** Can only raise allow to ask: true, or the reason to show. */
  readonly confirm?:
    | ((
        args: never,
        context: {
          readonly sessionId: string;
          readonly threadId: string | undefined;
          readonly agentId: string;
          readonly permissionMode: PermissionMode;
        },
      ) => boolean | string | Promise<boolean | string>)
    | undefined;
  readonly describe?: ((args: never) => { title?: string; locations?: { path: string; line?: number }[] }) | undefined;
  /**
   * Called only when a person is to be asked, before the question. It must change nothing and settle within 5 s;
   * when it throws or is late, the person is told that, and asked without it.
   */
  readonly preview?:
    | ((args: never, context: { readonly signal: AbortSignal }) => ToolPreview | Promise<ToolPreview>)
    | undefined;
  /**
   * The same arguments in the one spelling that rules are written in, such as a path below a root with all links
   * followed. A call is judged by these as well, and the stricter counts. Undefined: they are spelled so. They need not
   * have been validated; when it throws the call is denied.
   */
  readonly plainArgs?: ((args: never) => unknown) | undefined;
  /** What it returns is the result, or `pending(ticket)`. */
  readonly execute: (args: never, context: ToolContext) => unknown;
  readonly '~types'?: { readonly args: Args; readonly result: Result } | undefined;
}

/** What an instruction function is given. */
export interface InstructionContext {
  readonly sessionId: string;
  readonly threadId: string | undefined;
  readonly agentId: string;
  readonly input: unknown;
  readonly state: Readonly<Record<string, unknown>>;
}

export type Reducer = 'append' | 'sum' | 'last' | ((current: never, update: never) => unknown);

/** Functions of a composition; what is plain data stands in `descriptor.composition`. */
export interface CompositionBehaviour {
  readonly mapInput?: ((child: never, context: never) => unknown) | undefined;
  readonly until?: ((context: never) => boolean | Promise<boolean>) | undefined;
  readonly state?:
    | Readonly<Record<string, { readonly initial?: unknown; readonly reducer?: Reducer | undefined }>>
    | undefined;
  /** `graph`: of each edge that has one, by its place among the edges. */
  readonly guards?: readonly (((context: never) => boolean | Promise<boolean>) | undefined)[] | undefined;
  readonly contextFilter?: ((messages: readonly ModelMessage[]) => readonly ModelMessage[]) | undefined;
  readonly supervise?: SuperviseConfig | undefined;
}

/**
 * A descriptor plus what runs it. Made by `agent()`, `sequential()` … or by a file loader; the type parameters
 * carry what inference knows (name, input, output, names and results of the children, state).
 */
export interface AgentDefinition<Name extends string = string, Input = unknown, Output = unknown, State = unknown> {
  readonly kind: 'agent';
  readonly name: Name;
  readonly descriptor: AgentDescriptor;
  readonly instruction?: string | ((context: InstructionContext) => string | Promise<string>) | undefined;
  readonly model?: string | ModelInterface | undefined;
  /** Own tools (policed as `agentName.toolName`) and names of host tools. */
  readonly tools: readonly (ToolDefinition | string)[];
  /** What makes own tools anew for each session. */
  readonly toolSources?: readonly (ToolFactory | SessionToolset)[] | undefined;
  /** All tools that the parent or host has, beside `tools` (foreign agent files without a `tools` key). */
  readonly inheritTools?: boolean | undefined;
  /** Folders with a `SKILL.md`, absolute or relative to the current directory. Read before the first run that has them. */
  readonly skills?: readonly string[] | undefined;
  readonly inputValidator?: StandardSchema<unknown, unknown> | undefined;
  readonly outputValidator?: StandardSchema<unknown, unknown> | undefined;
  readonly outputKey?: string | undefined;
  readonly generation?: GenerationConfig | undefined;
  readonly contextBudget?: ContextBudget | undefined;
  /** Default true. False: a model call sees only the run it belongs to. */
  readonly includeHistory?: boolean | undefined;
  /** It may write state keys that nothing declares: they become keys of its tree. */
  readonly opensState?: boolean | undefined;
  /** What the executor drives (an ADK agent, a remote's address, a foreign session factory). */
  readonly backend?: unknown;
  /** The children of a composition, in order. `hierarchical`: without the leader. */
  readonly children?: readonly AgentDefinition[] | undefined;
  /** `hierarchical`: the agent that leads. */
  readonly leader?: AgentDefinition | undefined;
  readonly behaviour?: CompositionBehaviour | undefined;
  /** Path of a script for the scripted model, resolved by the loader. */
  readonly script?: string | undefined;
  /** What brought it: `ext:<name>`. Set by what reads extensions; rules may name it in place of the agent. */
  readonly origin?: string | undefined;
  readonly '~types'?: { readonly input: Input; readonly output: Output; readonly state: State } | undefined;
}
