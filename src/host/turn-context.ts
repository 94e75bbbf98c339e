import type {
  AgentEventDraft,
  Bag,
  ElicitationResponse,
  Executor,
  HookResult,
  ModelCallRecord,
  ModelMessage,
  ModelRequest,
  PermissionMode,
  SessionStreamData,
  ToolDescriptor,
  TracedModelCall,
  TurnContext,
  TurnEnd,
} from '../contracts/index.js';
import { textOf } from '../kernel/content.js';
import { TroupeError } from '../kernel/errors.js';
import { bringsLargeMedia } from '../kernel/kept-media.js';
import { nextRound, STEPS_PER_ROUND } from '../kernel/next-round.js';
import { type Activity, beginWait, endWait } from './activity.js';
import type { Exhausted } from './budget.js';
import { showProgress } from './call-context.js';
import { isOwnLoop } from './count-history.js';
import { abortStop, stopRun } from './end-run.js';
import { ownDraft } from './executor-draft.js';
import { createExecutor } from './executors.js';
import { fireHook } from './fire-hook.js';
import { fitContext, startOf } from './fit-context.js';
import { instructionOf, withSkills } from './instruction.js';
import { type LoadedMedia, loadMedia, sentInbox, withMedia } from './kept-media.js';
import { noteText } from './last-text.js';
import { beginWork, budgetEnd, countModelCall, countTurn, endWork, takeBackTurn } from './limits.js';
import type { PaidCall } from './model-budget.js';
import { TurnModelCalls } from './model-calls.js';
import { inMode } from './plan-mode.js';
import { ask, type QuestionDraft } from './questions.js';
import { inboxAnew } from './recovery/begin-anew.js';
import { publish } from './session-tree.js';
import { commitUpdates } from './state-updates.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';
import { registerCall } from './tool-call.js';
import { allowsProviderTool, visibleTools } from './tool-policy.js';
import { takeSelection } from './tool-selection.js';
import { TurnRequest } from './turn-request.js';
import { takeUsage } from './usage.js';
import { noteStop } from './words.js';

const GRACE_MS = 60_000;

/** What an executor is given for one turn, and what becomes of all that it says. */
export class Turn implements TurnContext, Activity {
  /** Counted in its tree since the turn began. */
  isActive = true;
  waits = 0;
  /** Questions that the executor itself asked in this turn. */
  asked = 0;
  /** The agent has said something in it. */
  spoke = false;
  private controller: AbortController | undefined;
  private isCut = false;
  private isClosed = false;
  private isWorking = false;
  private end: TurnEnd | undefined;
  private cancelGrace: (() => void) | undefined;
  /** Questions that are about to be open. */
  private asking: Promise<unknown>[] | undefined;
  /** Those above that limit turns have counted it. */
  isCounted = false;
  /** There is no room for it: lets it go on, to its end. */
  private letGo: (() => void) | undefined;
  /** Its own limit on model calls was reached. */
  limited = false;
  /** Model calls that this turn was let begin. */
  private admitted = 0;
  /** The call under way, where it is paid from a budget. */
  paying: PaidCall | undefined;
  private calls: TurnModelCalls | undefined;
  /** What the messages refer to, once it is loaded. */
  private media: LoadedMedia | undefined;
  readonly toolsOff: boolean;

  constructor(
    readonly thread: Thread,
    private readonly run: RunRecord,
  ) {
    this.toolsOff = run.graceUsed;
  }

  async drive(): Promise<TurnEnd | undefined> {
    const { thread, run } = this;
    run.turns++;
    if (thread.tree.root.agent.limitsTurns) {
      const full = countTurn(thread);
      if (full !== undefined) return this.refuseTurn(full.thread, full.end);
      this.isCounted = true;
    }
    const inbox = run.inbox.length > 1 ? inCallOrder(run.inbox, run.calls) : run.inbox;
    run.calls = [];
    run.inbox = [];
    if (run.hooks !== undefined) run.hooks.selected = undefined;
    // What was said before is in the history once the hooks have let it through.
    const passing = thread.tree.merge.whenPassed();
    if (passing !== undefined) await passing;
    const pending = thread.instruction === undefined ? instructionOf(thread, run.input) : undefined;
    if (pending !== undefined) thread.instruction = typeof pending === 'string' ? pending : await pending;
    if (this.isCut) return undefined;
    if (thread.executor === undefined) {
      // An abort in the same breath as the start comes before a backend is made.
      if (thread.agent.driver.descriptor.executor !== 'local') await undefined;
      if (this.isCut) return undefined;
      thread.executor = createExecutor(thread);
    }
    const anew = thread.past === undefined ? undefined : inboxAnew(thread, run);
    if (this.toolsOff) {
      this.cancelGrace = this.clock.schedule(() => stopRun(thread, run.reached as RunEnd), GRACE_MS);
    }
    this.work(true);
    try {
      const given = anew ?? inbox;
      const isSent = thread.history.refersToMedia && !isOwnLoop(thread.agent.driver.descriptor.executor);
      const end = await this.listen(thread.executor, isSent ? await sentInbox(thread, given) : given);
      if (this.asking !== undefined) await Promise.all(this.asking);
      return end;
    } finally {
      this.cancelGrace?.();
      this.work(false);
    }
  }

  /** Whether time counts. */
  private work(isWorking: boolean): void {
    if (this.isWorking === isWorking || (isWorking && this.isClosed)) return;
    this.isWorking = isWorking;
    if (isWorking) beginWork(this.thread);
    else endWork(this.thread, this.run);
  }

  /** The session has moved on: what the executor still says is dropped. */
  close(): void {
    this.isClosed = true;
    // A call that was left behind holds nobody up.
    this.paying?.settle(true);
    this.cancelGrace?.();
    this.work(false);
  }

  private async listen(executor: Executor, inbox: readonly SessionStreamData[]): Promise<TurnEnd | undefined> {
    const turned: unknown = executor.turn(inbox, this);
    if (typeof turned !== 'object' || turned === null || !(Symbol.asyncIterator in turned)) {
      return ((await turned) as TurnEnd | undefined) ?? this.end;
    }
    const drafts = (turned as AsyncIterable<AgentEventDraft, TurnEnd | undefined>)[Symbol.asyncIterator]();
    let isDone = false;
    let unwaited = 0;
    try {
      for (;;) {
        const step = await drafts.next();
        isDone = step.done === true;
        // A generator may return its end as well as yield it.
        if (step.done) return step.value ?? this.end;
        if (this.isCut) return this.end;
        const full = this.publish(step.value);
        if (full !== undefined) {
          unwaited = 0;
          await full;
        } else if (++unwaited > STEPS_PER_ROUND) {
          unwaited = 0;
          await nextRound();
        }
      }
    } finally {
      if (!isDone) await drafts.return?.();
    }
  }

  /** Ends the turn: its signal fires, and what it still says is dropped once the session has moved on. */
  stop(): void {
    if (this.isCut) return;
    this.isCut = true;
    this.letGo?.();
    // Who waits for room waits in vain.
    this.thread.tree.merge.relieve(this.thread);
    this.controller?.abort(new TroupeError({ code: 'ABORTED', message: this.stopReason() }));
  }

  private stopReason(): string {
    const { stop } = this.run;
    return stop === undefined ? 'the turn was interrupted' : (stop.data.reason ?? stop.reason);
  }

  get signal(): AbortSignal {
    // Made late: building and aborting one costs as much as a whole turn.
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.isCut) this.controller.abort(new TroupeError({ code: 'ABORTED', message: this.stopReason() }));
    }
    return this.controller.signal;
  }
  get aborted(): boolean {
    return this.isCut;
  }
  get sessionId(): string {
    return this.thread.tree.sessionId;
  }
  get threadId(): string | undefined {
    return this.thread.threadId;
  }
  get agentId(): string {
    return this.thread.agentId;
  }
  get runId(): string {
    return this.thread.runId as string;
  }
  get definition() {
    return this.thread.agent.driver;
  }
  get input(): unknown {
    return this.run.input;
  }
  get systemInstruction(): string {
    return inMode(this.thread, withSkills(this.thread));
  }
  get permissionMode(): PermissionMode {
    return this.thread.tree.settings.permissionMode;
  }
  get clock() {
    return this.thread.tree.host.clock;
  }
  get streaming(): boolean {
    return this.thread.tree.settings.streaming;
  }
  get model() {
    return this.thread.tree.settings.model ?? this.thread.agent.driver.model;
  }
  get modelConfig() {
    const { models } = this.thread.tree.host;
    return {
      resolve: (request: Parameters<TurnContext['modelConfig']['resolve']>[0]) =>
        models.resolve(request.requested, request),
    };
  }
  get asksPlainly(): boolean {
    const { tree } = this.thread;
    return tree.budget === undefined && !tree.host.models.decides;
  }
  get modelCalls(): TurnModelCalls {
    this.calls ??= new TurnModelCalls(this, this.thread, this.run);
    return this.calls;
  }
  get traceContext() {
    return this.thread.tree.host.tracing?.contextOf(this.thread);
  }
  traceModelCall(call: TracedModelCall): ModelCallRecord | undefined {
    return this.thread.tree.host.tracing?.beginModelCall(this.thread, call);
  }
  get elicitation() {
    return {
      ask: (request: QuestionDraft, { signal }: { signal?: AbortSignal } = {}): Promise<ElicitationResponse> => {
        // A person's time does not count.
        const onAsked = () => this.work(false);
        const onAnswered = () => this.work(this.waits === 0);
        // The turn is made anew when a process ended in it: its thread is who asks again.
        return ask(this.thread, request, { activity: this, asker: this.thread, signal, onAsked, onAnswered });
      },
    };
  }

  messages(): readonly ModelMessage[] {
    const { thread, run } = this;
    thread.tree.merge.completeMessage(thread);
    const outgoing = thread.history.outgoing(startOf(thread, run));
    return this.media === undefined ? outgoing : withMedia(outgoing, this.media);
  }

  fitContext(): undefined | Promise<void> {
    const { thread } = this;
    thread.tree.merge.completeMessage(thread);
    const fitting = fitContext(thread, () => this.signal);
    return thread.history.refersToMedia ? this.loadMedia(fitting) : fitting;
  }

  private async loadMedia(fitting: undefined | Promise<void>): Promise<void> {
    await fitting;
    if (!this.isCut)
      this.media = await loadMedia(this.thread, this.thread.history.outgoing(startOf(this.thread, this.run)));
  }

  tools(): readonly ToolDescriptor[] {
    if (this.toolsOff) return [];
    return visibleTools(this.thread);
  }

  allowsProviderTool(name: string): boolean {
    return !this.toolsOff && allowsProviderTool(this.thread, name);
  }

  modelRequest(): ModelRequest {
    return new TurnRequest(this, this.thread);
  }

  stateValues(): Readonly<Bag> {
    return this.thread.state.values();
  }

  writeState(delta: Readonly<Bag>): void {
    const { thread, run } = this;
    if (this.isClosed || (this.isCut && run.stop !== undefined) || thread.run !== run) return;
    const updates = Object.entries(delta).map(([key, value]) => ({ key, value }));
    if (updates.length > 0) commitUpdates(thread, updates);
  }

  newMessageId(): string {
    return this.thread.tree.host.stamp.nextId();
  }

  admitModelCall(): boolean {
    if (this.isCut || (this.toolsOff && this.limited)) return false;
    const reached = countModelCall(this.thread, this.toolsOff);
    // A grace turn is one call.
    if (reached === undefined) {
      this.limited = this.toolsOff;
      this.admitted++;
      return true;
    }
    const { thread, end } = reached;
    this.limited = thread === this.thread;
    this.reach(thread, end);
    return false;
  }

  /** A budget has nothing left for a call: no grace allows it either. */
  reachBudget({ exhausted, limit }: Exhausted): void {
    if (exhausted.run === undefined) return;
    this.admitted--;
    this.reach(exhausted, budgetEnd(exhausted, exhausted.run, limit));
  }

  /** Those above have had their turns: this one is none. What is under way within the limit ends first. */
  private async refuseTurn(above: Thread, end: RunEnd): Promise<undefined> {
    this.run.turns--;
    const { run } = above;
    if (run !== undefined && run.turnsOpen > 0) await this.holdUntilEnded(run);
    if (!this.isCut) this.stopAbove(above, end);
    return undefined;
  }

  private holdUntilEnded(above: RunRecord): Promise<void> {
    beginWait(this);
    return new Promise((resolve) => {
      const goOn = () => {
        if (this.letGo === undefined) return;
        this.letGo = undefined;
        endWait(this);
        resolve();
      };
      this.letGo = goOn;
      above.heldTurns ??= [];
      above.heldTurns.push(goOn);
    });
  }

  private reach(thread: Thread, end: RunEnd): void {
    // A turn is a model call: one that came to none is none.
    if (this.admitted === 0) {
      this.run.turns--;
      takeBackTurn(this.thread);
    }
    if (thread === this.thread) {
      this.end = end;
      return;
    }
    this.stopAbove(thread, end);
  }

  private stopAbove(thread: Thread, end: RunEnd): void {
    noteStop(thread, end, 'host');
    stopRun(thread, end);
    // Where many run side by side they are stopped in slices; this one ends here.
    stopRun(this.thread, abortStop(`${thread.agentId} has reached a limit`, 'host'));
  }

  /** Time does not count while it is waited for. */
  outOfTime<T>(waiting: Promise<T>): Promise<T> {
    this.work(false);
    return waiting.finally(() => this.work(true));
  }

  takePermit(provider: string): undefined | Promise<() => void> {
    const { permits } = this.thread.tree.host;
    if (permits.isFree(provider)) return undefined;
    return this.outOfTime(permits.take(provider, this.signal));
  }

  rest(ms: number): Promise<boolean> {
    if (ms <= 0) return Promise.resolve(!this.isCut);
    this.work(false);
    const { signal } = this;
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener('abort', end);
        this.work(true);
        resolve(!this.isCut);
      };
      const cancel = this.clock.schedule(end, ms);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end);
    });
  }

  publish(draft: AgentEventDraft): undefined | Promise<void> {
    const { thread, run } = this;
    if (this.isClosed || thread.run !== run) return undefined;
    // A run that is stopped says nothing more; what it has used by then was used.
    if (this.isCut && run.stop !== undefined && draft.type !== 'usage') return undefined;
    switch (draft.type) {
      case 'message': {
        if (draft.role === 'agent') this.noteText(draft.messageId, textOf(draft.content));
        const above = project(thread, draft);
        if (bringsLargeMedia(draft)) thread.tree.host.media.keepFor(thread.tree);
        const own =
          draft._meta === undefined && draft.source === undefined
            ? thread.tree.merge.publishMessage(thread, draft.messageId, draft.role, draft.content)
            : publish(thread, ownDraft(draft) as AgentEventDraft);
        // Room is wanted in both threads.
        return own === undefined || above === undefined ? (own ?? above) : own.then(() => above);
      }
      case 'tool_request':
        registerCall(thread, draft);
        return undefined;
      case 'stream_end':
        this.end = draft.data === undefined ? { reason: draft.reason } : { reason: draft.reason, data: draft.data };
        return undefined;
      case 'error':
        // What an executor marks so ends its session with the run.
        if (draft.fatal) thread.endsSession = true;
        return publish(thread, ownDraft(draft) as AgentEventDraft);
      case 'usage':
        return takeUsage(thread, ownDraft(draft) as AgentEventDraft<'usage'>, this.paying);
      case 'elicitation_request':
        this.askForExecutor(draft);
        return undefined;
      case 'tool_update': {
        const call = run.calls.find((one) => one.executorRequestId === draft.requestId);
        if (call !== undefined) showProgress(call, draft);
        return undefined;
      }
      default: {
        const own = ownDraft(draft);
        if (own === undefined) return undefined;
        const { lifecycle } = thread.tree.host;
        if (lifecycle === undefined || own.type !== 'custom' || own.kind !== 'notice') return publish(thread, own);
        return lifecycle.notice(thread, own) as undefined;
      }
    }
  }

  hasHook(point: string): boolean {
    return this.thread.tree.host.hookPoints.has(point);
  }

  fireHook(point: string, payload: Bag): undefined | Promise<HookResult> {
    const fired = fireHook(this.thread, point, payload);
    return point === 'before_tool_selection'
      ? fired?.then((said) => takeSelection(this.thread, this.run, said))
      : fired;
  }

  private noteText(messageId: string, text: string): void {
    this.spoke = true;
    noteText(this.run, messageId, text);
  }

  private askForExecutor(draft: AgentEventDraft<'elicitation_request'>): void {
    const { thread, run } = this;
    const { type, source, _meta, requestId, ...request } = draft;
    this.asked++;
    let isIn = false;
    const take = (response: ElicitationResponse) => {
      if (isIn) return;
      isIn = true;
      run.inbox.push({ kind: 'elicitation_response', requestId, response });
    };
    const opened = new Promise<void>((resolve) => {
      const _metaWithId = { ...draft._meta, executorRequestId: requestId };
      // In the inbox before the session goes on; at once where nobody was asked.
      const options = { onAsked: () => resolve(), onAnswered: take };
      void ask(thread, { ...request, _meta: _metaWithId }, options).then((response) => {
        take(response);
        resolve();
      });
    });
    this.asking ??= [];
    this.asking.push(opened);
  }
}

/** Results in the order in which their calls were made, whatever else stands between them. */
function inCallOrder(inbox: SessionStreamData[], calls: RunRecord['calls']): SessionStreamData[] {
  const places = new Map(calls.map((call, index) => [call.executorRequestId, index]));
  const placeOf = (data: SessionStreamData) => (data.kind === 'tool_result' ? (places.get(data.requestId) ?? 0) : 0);
  const results = inbox.filter((data) => data.kind === 'tool_result').sort((a, b) => placeOf(a) - placeOf(b));
  return inbox.map((data) => (data.kind === 'tool_result' ? (results.shift() as SessionStreamData) : data));
}

/** A child that a leader called shows what it says as progress of that call. */
function project(thread: Thread, draft: AgentEventDraft<'message'>): undefined | Promise<void> {
  const { projectsTo } = thread;
  if (projectsTo === undefined || draft.role !== 'agent') return undefined;
  return publish(projectsTo.thread, { type: 'tool_update', requestId: projectsTo.requestId, content: draft.content });
}
