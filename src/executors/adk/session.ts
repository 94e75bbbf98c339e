import {
  BasePlugin,
  type BaseTool,
  type Event,
  InMemoryArtifactService,
  type LlmAgent,
  type LlmRequest,
  type LlmResponse,
  Runner,
  type Session,
  type SessionArtifactService,
  StreamingMode,
} from '@google/adk';
import type { Content } from '@google/genai';
import type {
  ArtifactStore,
  Bag,
  SessionStreamData,
  ToolDescriptor,
  TurnContext,
  TurnEnd,
} from '../../contracts/index.js';
import { textOf } from '../../kernel/content.js';
import { describeError } from '../../kernel/errors.js';
import { namesInHistory } from '../../kernel/history-names.js';
import { createWireNames, type WireNames } from '../../kernel/wire-names.js';
import { Answer } from './answer.js';
import { artifactsIn, artifactsOf, runnerArtifacts } from './artifacts.js';
import type { AdkBinding } from './binding.js';
import { isAdkTool } from './brands.js';
import { type CallArgs, callArgs } from './call-args.js';
import { DeclaredTool } from './declared-tool.js';
import { ErrorPlugins } from './error-plugins.js';
import { type AdkFailure, failureOfEvent } from './failure.js';
import { type CallListener, DrivenModel } from './model-driver.js';
import { modelHolder } from './own-model.js';
import { toContents } from './parts.js';
import { quieten } from './quiet.js';
import { ownName } from './tool-names.js';
import { finishOf } from './translate.js';
import { TurnSessions } from './turn-sessions.js';

export interface AdkSessionOptions {
  readonly binding?: AdkBinding | undefined;
  readonly store?: ArtifactStore | undefined;
}

/**
 * One agent of ADK in one session. Each turn runs a copy of it that calls nothing itself, on a session made from the
 * host's history, up to the calls that it asks for: the host runs those, and calls again with their results.
 */
export class AdkSession {
  #copy: LlmAgent | undefined;
  /** A turn that was cut off may still be running: its copy is left to it. */
  #isRunning = false;
  /** ADK's session of the turn that is, or was last, under way. */
  current: Session | undefined;
  userContent: Content | undefined;
  /** What the agent may call, by the names of the host. */
  #offered: ReadonlySet<string> = new Set();
  #artifactDelta: Record<string, number> = {};
  /** A tool wants its result to be the agent's: by the call's id. */
  #ending: { requestId: string; value: unknown } | undefined;
  /** Calls of agents whose result is to be its own. */
  #last: ReadonlySet<string> = new Set();
  #memory: InMemoryArtifactService | undefined;
  readonly args: CallArgs;

  constructor(
    readonly agent: LlmAgent,
    readonly options: AdkSessionOptions,
  ) {
    quieten();
    this.args = callArgs(options.binding?.more);
  }

  get plugins(): readonly BasePlugin[] {
    return this.options.binding?.more.plugins ?? [];
  }

  /** Files of its session: in the host's store, or, where it has none for them, here. */
  artifactsOf(sessionId: string): SessionArtifactService {
    const { store } = this.options;
    if (store !== undefined) return artifactsOf(store, sessionId);
    this.#memory ??= new InMemoryArtifactService();
    return artifactsIn(this.#memory, sessionId);
  }

  /** Its own tool of that name: each session may have its own. */
  toolNamed(name: string): BaseTool | undefined {
    return this.agent.tools.find((tool): tool is BaseTool => isAdkTool(tool) && ownName(tool) === name);
  }

  offers(name: string): boolean {
    return this.#offered.has(name);
  }

  /** The name that an agent of ADK has in the host. */
  nameOf(adkName: string): string {
    return this.options.binding?.more.names?.get(adkName) ?? adkName;
  }

  noteArtifacts(delta: Record<string, number>): void {
    Object.assign(this.#artifactDelta, delta);
  }

  endWith(requestId: string, value: unknown): void {
    this.#ending = { requestId, value };
  }

  /** Tells of artifacts that were saved. */
  publishArtifacts(context: TurnContext): void {
    const saved = Object.entries(this.#artifactDelta);
    this.#artifactDelta = {};
    for (const [name, version] of saved) {
      void context.publish({ type: 'custom', kind: 'artifact_delta', data: { name, version } });
    }
  }

  async turn(inbox: readonly SessionStreamData[], context: TurnContext): Promise<TurnEnd | undefined> {
    this.publishArtifacts(context);
    const result = this.#resultIn(inbox);
    if (result !== undefined) return { reason: 'completed', data: { result } };
    if (this.#isRunning) this.#copy = undefined;
    this.#copy ??= copyOf(this.agent);
    this.#isRunning = true;
    const turn = new AdkTurn(this, this.#copy, context);
    const end = await turn.run((names) => {
      this.#offered = names;
    });
    const ends = this.options.binding?.more.ends;
    if (ends !== undefined && ends.size > 0) this.#last = turn.callsOf(ends);
    this.publishArtifacts(context);
    this.#isRunning = !turn.hasEnded;
    return end;
  }

  /** What a call of the last turn came to, where that is to end the agent's work without another word of its model. */
  #resultIn(inbox: readonly SessionStreamData[]): unknown {
    const ending = this.#ending;
    this.#ending = undefined;
    const results = inbox.filter((data) => data.kind === 'tool_result');
    if (ending !== undefined && results.length > 0) return ending.value;
    const last = results.find(({ requestId, result }) => this.#last.has(requestId) && !result.isError)?.result;
    return last && (last.data ?? textOf(last.llmContent));
  }
}

/** The agent by itself: no others below it, none of its tools that can be called, nothing kept by itself. */
function copyOf(agent: LlmAgent): LlmAgent {
  const copy = agent.clone({
    subAgents: [],
    instruction: agent.instruction,
    globalInstruction: (agent.rootAgent as LlmAgent).globalInstruction ?? '',
    generateContentConfig: agent.generateContentConfig,
    // The host has the history, the schema and the key.
    includeContents: 'default',
    outputSchema: undefined,
    outputKey: undefined,
    mode: undefined,
    tools: [],
  } as never) as LlmAgent;
  // A class of somebody's may make of it what it likes.
  copy.outputKey = undefined;
  copy.outputSchema = undefined;
  copy.mode = undefined;
  copy.includeContents = 'default';
  Object.assign(copy, { subAgents: [], parentAgent: undefined });
  return copy;
}

class AdkTurn implements CallListener {
  /** Nothing of it runs any more. */
  hasEnded = false;
  readonly #answers: Answer[] = [];
  /** Takes what ADK says now; undefined: nothing has been asked of a model, or it is over. */
  #answer: Answer | undefined;
  #isCalling = false;
  #modelName = '';
  #failure: AdkFailure | undefined;
  #isRefused = false;
  /** The end of the run that has been told. */
  #told: TurnEnd | undefined;
  #routing: Bag | undefined;
  #escalates = false;
  #names!: WireNames;
  readonly #errors: ErrorPlugins;

  constructor(
    private readonly session: AdkSession,
    private readonly copy: LlmAgent,
    private readonly context: TurnContext,
  ) {
    this.#errors = new ErrorPlugins(session.plugins);
  }

  get #agent(): LlmAgent {
    return this.session.agent;
  }

  async run(offer: (names: ReadonlySet<string>) => void): Promise<TurnEnd | undefined> {
    const { context, copy, session } = this;
    try {
      const fitting = context.fitContext?.();
      if (fitting !== undefined) await fitting;
      if (context.aborted) return undefined;
      const request = context.modelRequest();
      // What a provider runs itself goes into each request of the model, as ADK does it.
      const tools = (request.tools ?? []).filter(({ annotations }) => annotations?.providerExecuted !== true);
      this.#names = createWireNames([...tools.map(({ name }) => name), ...namesInHistory(request.messages)]);
      offer(new Set(tools.map(({ name }) => name)));
      const driven = await this.#model();
      copy.model = new DrivenModel(driven, context, { ...request }, this);
      copy.tools = [...this.#silentTools(), ...tools.map((tool) => this.#declared(tool))];
      const contents = session.args.shown(toContents(request.messages, this.#names));
      const newMessage = contents.at(-1)?.role === 'user' ? contents.pop() : undefined;
      const id = context.threadId === undefined ? context.sessionId : `${context.sessionId}/${context.threadId}`;
      const sessionService = new TurnSessions(copy.name, id, { ...context.stateValues() }, contents);
      session.current = sessionService.session;
      session.userContent = newMessage;
      const artifactService = runnerArtifacts(session.artifactsOf(context.sessionId));
      const plugins = this.#errors.isNeeded ? [this.#errors, ...session.plugins] : [...session.plugins];
      const runner = new Runner({ appName: 'troupe', agent: copy, sessionService, artifactService, plugins });
      const events = runner.runAsync({
        userId: 'local',
        sessionId: id,
        newMessage: newMessage ?? { role: 'user', parts: [{ text: 'Go on.' }] },
        runConfig: {
          pauseOnToolCalls: true,
          // The host counts.
          maxLlmCalls: 2 ** 31,
          streamingMode: this.#streams() ? StreamingMode.SSE : StreamingMode.NONE,
        },
        abortSignal: context.signal,
      });
      await this.#read(events);
    } catch (thrown) {
      if (context.aborted) return undefined;
      const { code, message } = describeError(thrown, 'EXECUTOR_FAILED');
      this.#failure ??= { code, message, retryable: false };
    }
    return this.#end();
  }

  /** Pieces are said as they come, unless what was said may be changed afterwards. */
  #streams(): boolean {
    const { context } = this;
    const agent = this.#agent;
    return (
      context.streaming &&
      agent.canonicalAfterModelCallbacks.length === 0 &&
      agent.responseProcessors.length === 0 &&
      !this.session.plugins.some(changesAnswers)
    );
  }

  /** What only shapes requests: searches that the provider runs, examples. */
  #silentTools(): LlmAgent['tools'] {
    if (this.context.toolsOff) return [];
    return this.#agent.tools.filter((tool) => isAdkTool(tool) && tool._getDeclaration() === undefined);
  }

  #declared(tool: ToolDescriptor): DeclaredTool {
    return new DeclaredTool(this.session.args.declared(tool), this.#names.out(tool.name));
  }

  async #model() {
    const { context } = this;
    const own = context.model === undefined ? modelHolder(this.#agent)?.canonicalModel : undefined;
    if (own !== undefined) return { own };
    const { model: requested, agentId: agent } = context;
    try {
      return { host: await context.modelConfig.resolve({ agent, requested, purpose: 'turn' }) };
    } catch (thrown) {
      // A router may choose, another may stand in for what cannot be opened.
      if (context.asksPlainly) throw thrown;
      return { host: { name: typeof requested === 'string' ? requested : 'custom' } };
    }
  }

  /** Reads to the end, to a failure, or to an abort: who ignores its signal is left behind. */
  async #read(events: AsyncGenerator<Event, void>): Promise<void> {
    const { context } = this;
    const { signal } = context;
    let cut: () => void = () => {};
    const onAbort = () => cut();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted) {
        const step = await new Promise<IteratorResult<Event, void> | undefined>((resolve, reject) => {
          cut = () => resolve(undefined);
          events.next().then(resolve, reject);
        });
        if (step === undefined) return;
        if (step.done) {
          this.hasEnded = true;
          return;
        }
        await this.#take(step.value);
        if (this.#failure !== undefined) return;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (!this.hasEnded) void this.#leave(events);
    }
  }

  async #leave(events: AsyncGenerator<Event, void>): Promise<void> {
    try {
      await events.return(undefined);
    } catch {
      // What has been left has nobody to tell.
    }
    this.hasEnded = true;
  }

  async #take(event: Event): Promise<void> {
    const { errorCode, errorMessage, content, actions } = event;
    const { stateDelta, artifactDelta, escalate } = actions;
    if (!event.partial) this.context.writeState(stateDelta);
    this.session.noteArtifacts(artifactDelta);
    this.#escalates ||= escalate === true;
    if (errorCode !== undefined && finishOf(event) === 'error') {
      this.#failure ??= failureOfEvent(errorCode, errorMessage);
      return;
    }
    if (event.author === 'user' || content?.role === 'user') return;
    if (content === undefined && finishOf(event) === undefined) return;
    const full = this.#open().take(event);
    if (full !== undefined) await full;
  }

  /** Where what is said now belongs: to the call under way, or to a message that no model was asked for. */
  #open(): Answer {
    if (this.#answer === undefined) {
      this.#answer = new Answer(this.context, this.#modelName, this.#names, this.session.args.taken, this.#routing);
      this.#answers.push(this.#answer);
    }
    return this.#answer;
  }

  /** Ids of the calls that it asked for, of what has one of these names. */
  callsOf(names: ReadonlySet<string>): ReadonlySet<string> {
    return new Set(this.#answers.flatMap((answer) => answer.idsOf(names)));
  }

  begin(modelName: string, routing?: Bag): Answer {
    this.#modelName = modelName;
    this.#routing = routing;
    // Tried again after nothing was said: the same message.
    if (!this.#isCalling || this.#answer === undefined || this.#answer.turn.hasSpoken) this.#answer = undefined;
    this.#isCalling = true;
    return this.#open();
  }

  end(): void {
    this.#isCalling = false;
    this.#answer = undefined;
  }

  fail(failure: AdkFailure): void {
    this.#failure ??= failure;
  }

  recover(asked: LlmRequest, failure: AdkFailure): Promise<LlmResponse | AdkFailure | undefined> {
    return this.#errors.recover(asked, failure);
  }

  refuse(end?: TurnEnd): void {
    this.#isRefused = true;
    this.#told = end;
  }

  #end(): TurnEnd | undefined {
    const { context } = this;
    if (context.aborted) return undefined;
    if (this.#failure !== undefined) {
      const { code, message, retryable } = this.#failure;
      void context.publish({ type: 'error', code, message, fatal: false, retryable });
      return { reason: 'failed', data: { code, message } };
    }
    if (this.#isRefused) return this.#told;
    let end: TurnEnd | undefined = { reason: 'completed' };
    let asks = false;
    for (const answer of this.#answers) {
      end = answer.finish();
      asks ||= end === undefined;
    }
    if (asks) return undefined;
    if (!this.#escalates || end?.reason !== 'completed' || !this.session.offers('exit_loop')) return end;
    return { ...end, data: { ...end.data, escalateReason: `${context.agentId} escalated` } };
  }
}

const changesAnswers = (plugin: BasePlugin): boolean =>
  plugin.afterModelCallback !== BasePlugin.prototype.afterModelCallback ||
  plugin.onEventCallback !== BasePlugin.prototype.onEventCallback;
