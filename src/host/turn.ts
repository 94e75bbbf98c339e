import type { Effect } from '../../machines/agent-logic.js';
import type { SessionEvent, StopOrder } from '../../machines/session.events.js';
import type {
  AgentEventDraft,
  Bag,
  ElicitationResponse,
  Executor,
  HookResult,
  ModelMessage,
  ModelRequest,
  PermissionMode,
  SessionStreamData,
  ToolDescriptor,
  TurnContext,
  TurnEnd,
} from '../contracts/index.js';
import { textOf, toParts } from '../kernel/content.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { abortStop, endRun, stopRun } from './end-run.js';
import { createExecutor } from './executors.js';
import { fireHook } from './fire-hook.js';
import { instructionOf } from './instruction.js';
import { addCost, beginWork, countModelCall, endWork, limitEnd } from './limits.js';
import { checkOutput } from './output.js';
import { ask } from './questions.js';
import { enter, leave, publish } from './session-tree.js';
import type { RunRecord, Thread } from './thread.js';
import { registerCall } from './tool-call.js';

/** One turn of a thread as an effect of its session: reports what the turn needs, or ends the run. */
export function beginTurn(thread: Thread, report: (event: SessionEvent) => void): Effect<StopOrder> {
  const run = thread.run as RunRecord;
  enter(thread.tree);
  let isOver = false;
  const over = (next: () => void) => {
    if (isOver) return;
    isOver = true;
    run.cutTurn = undefined;
    next();
    leave(thread.tree);
  };

  if (thread.isPaused) {
    // Held at this boundary; nothing here moves the tree until it is let go.
    leave(thread.tree);
    thread.resumeTurn = () => {
      thread.resumeTurn = undefined;
      enter(thread.tree);
      start();
    };
    run.cutTurn = () => thread.resumeTurn?.();
  } else start();

  function start(): void {
    if (run.stop !== undefined) return over(() => endRun(thread, run.stop as RunRecord['stop'] & object));
    takeSteers(thread);
    const limited = turnLimit(thread, run);
    if (limited !== undefined) return over(() => endRun(thread, limited));
    const turn = new Turn(thread, run);
    run.cutTurn = (forced) => {
      turn.stop();
      if (forced)
        over(() =>
          endRun(thread, {
            ...(run.stop as { reason: string; data: object }),
            data: { ...run.stop?.data, forced: true },
          }),
        );
    };
    turn.drive().then(
      (end) => over(() => decide(thread, run, turn, end, report)),
      (thrown) => over(() => failTurn(thread, thrown)),
    );
  }

  return {
    order: () => run.cutTurn?.(false),
    dispose: () => over(() => {}),
  };
}

/** What a finished turn leads to. */
function decide(
  thread: Thread,
  run: RunRecord,
  turn: Turn,
  end: TurnEnd | undefined,
  report: (event: SessionEvent) => void,
): void {
  const { merge } = thread.tree;
  const wasCut = run.stop !== undefined || run.interrupted;
  merge.completeMessage(thread, wasCut && thread.message !== undefined);
  if (run.stop !== undefined) return endRun(thread, run.stop);
  if (run.interrupted) {
    run.interrupted = false;
    return report({ type: 'turn.continued' });
  }
  if (end === undefined && turn.asked > 0) {
    // The questions may be answered by now: then the next turn begins at once.
    if (thread.questions !== undefined && thread.questions.size > 0) return report({ type: 'turn.needsAnswers' });
    if (run.calls.length === 0) return report({ type: 'turn.continued' });
  }
  if (end === undefined && run.calls.length > 0) return report({ type: 'turn.needsTools' });
  const reached = end ?? { reason: 'completed' };
  if (reached.reason !== 'completed') return endRun(thread, { reason: reached.reason, data: reached.data ?? {} });
  if (thread.steers.some((steer) => steer.message !== undefined)) return report({ type: 'turn.continued' });
  const finished = checkOutput(thread, reached);
  const conclude = (verdict: Awaited<typeof finished>) => {
    if (verdict === 'again') report({ type: 'turn.continued' });
    else endRun(thread, verdict);
  };
  if (!(finished instanceof Promise)) return conclude(finished);
  enter(thread.tree);
  void finished.then((verdict) => {
    conclude(run.stop ?? verdict);
    leave(thread.tree);
  });
}

function failTurn(thread: Thread, thrown: unknown): void {
  const run = thread.run as RunRecord;
  thread.tree.merge.completeMessage(thread, thread.message !== undefined);
  if (run.stop !== undefined) return endRun(thread, run.stop);
  const { code, message } = describeError(thrown, 'EXECUTOR_FAILED');
  publish(thread, { type: 'error', code, message, fatal: false });
  endRun(thread, { reason: 'failed', data: { code, message } });
}

/** The end that a limit on turns makes of this run; undefined while there is room (a grace turn included). */
function turnLimit(thread: Thread, run: RunRecord) {
  const { maxTurns, graceTurn, maxBudgetUsd } = thread.agent.limits;
  const { tree } = thread;
  if (run.graceUsed) return limitEnd(run, 'max_turns', 'maxTurns', run.turns);
  const budget = thread.parent === undefined ? Math.min(maxBudgetUsd, tree.settings.maxBudgetUsd) : maxBudgetUsd;
  if (thread.spentUsd >= budget) return limitEnd(run, 'max_budget', 'maxBudgetUsd', thread.spentUsd);
  if (tree.root.spentUsd >= tree.settings.maxBudgetUsd) {
    return limitEnd(run, 'max_budget', 'maxBudgetUsd', tree.root.spentUsd);
  }
  if (run.turns < maxTurns) return undefined;
  if (graceTurn) {
    run.graceUsed = true;
    return undefined;
  }
  return limitEnd(run, 'max_turns', 'maxTurns', run.turns);
}

/** Words for a running agent stand in front of its next model request; where they do is shown as their receipt. */
function takeSteers(thread: Thread): void {
  if (thread.steers.length === 0) return;
  for (const steer of thread.steers.splice(0)) {
    if (steer.message === undefined) continue;
    publish(thread, {
      type: 'message',
      messageId: thread.tree.host.stamp.nextId(),
      role: 'user',
      content: toParts(steer.message),
      source: 'user',
      _meta: { steered: true },
    });
  }
  thread.tree.merge.completeMessage(thread);
}

const GRACE_MS = 60_000;
const GRACE_INSTRUCTION = 'You have reached a limit. No tools can be called any more: answer now with what you have.';

class Turn implements TurnContext {
  /** Questions that the executor itself asked in this turn. */
  asked = 0;
  private controller: AbortController | undefined;
  private isCut = false;
  private end: TurnEnd | undefined;
  private cancelGrace: (() => void) | undefined;
  readonly toolsOff: boolean;

  constructor(
    private readonly thread: Thread,
    private readonly run: RunRecord,
  ) {
    this.toolsOff = run.graceUsed;
  }

  async drive(): Promise<TurnEnd | undefined> {
    const { thread, run } = this;
    run.turns++;
    run.calls = [];
    const inbox = run.inbox;
    run.inbox = [];
    const pending = thread.instruction === undefined ? instructionOf(thread, run.input) : undefined;
    if (pending !== undefined) thread.instruction = typeof pending === 'string' ? pending : await pending;
    if (this.isCut) return undefined;
    thread.executor ??= createExecutor(thread);
    if (this.toolsOff) this.cancelGrace = this.clock.schedule(() => this.stop(), GRACE_MS);
    beginWork(thread);
    try {
      return await this.listen(thread.executor, inbox);
    } finally {
      this.cancelGrace?.();
      endWork(thread);
    }
  }

  private async listen(executor: Executor, inbox: readonly SessionStreamData[]): Promise<TurnEnd | undefined> {
    const turned = executor.turn(inbox, this);
    if (!(Symbol.asyncIterator in turned)) return (await turned) ?? this.end;
    for await (const draft of turned) {
      if (this.isCut) break;
      const full = this.publish(draft);
      if (full !== undefined) await full;
    }
    return this.end;
  }

  /** Ends the turn: its signal fires, and what it still says is dropped once the session has moved on. */
  stop(): void {
    if (this.isCut) return;
    this.isCut = true;
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
    return this.thread.instruction ?? '';
  }
  get permissionMode(): PermissionMode {
    return this.thread.tree.settings.permissionMode;
  }
  get clock() {
    return this.thread.tree.host.clock;
  }
  get model() {
    return this.thread.tree.settings.model ?? this.thread.agent.driver.model;
  }
  get modelConfig() {
    const { models } = this.thread.tree.host;
    return { resolve: (request: { requested?: Turn['model'] }) => models.resolve(request.requested) };
  }
  get elicitation() {
    return {
      ask: (request: Parameters<typeof ask>[1]): Promise<ElicitationResponse> => ask(this.thread, request),
    };
  }

  messages(): readonly ModelMessage[] {
    const { thread, run } = this;
    thread.tree.merge.completeMessage(thread);
    const messages = thread.history.messages();
    return thread.agent.driver.includeHistory === false ? messages.slice(run.historyFrom) : messages;
  }

  tools(): readonly ToolDescriptor[] {
    if (this.toolsOff) return [];
    const { descriptors, byModelName } = this.thread.agent.tools;
    const hidden = this.thread.tree.host.policy.getExcluded?.({
      mode: this.permissionMode,
      principal: this.agentId,
      principalPath: this.thread.principalPath,
    });
    if (hidden === undefined || hidden.length === 0) return descriptors;
    const names = new Set(hidden);
    return descriptors.filter((one) => !names.has(byModelName.get(one.name)?.registered ?? one.name));
  }

  modelRequest(): ModelRequest {
    return new TurnRequest(this, this.thread);
  }

  newMessageId(): string {
    return this.thread.tree.host.stamp.nextId();
  }

  admitModelCall(): boolean {
    if (this.isCut) return false;
    const reached = countModelCall(this.thread);
    if (reached === undefined) return true;
    const { thread, end } = reached;
    if (thread === this.thread) this.end = end;
    else {
      stopRun(thread, end);
      // Where many run side by side they are stopped in slices; this one ends here.
      stopRun(this.thread, abortStop(`${thread.agentId} has reached a limit`, 'host'));
    }
    return false;
  }

  takePermit(provider: string): undefined | Promise<() => void> {
    const { permits } = this.thread.tree.host;
    return permits.isFree(provider) ? undefined : permits.take(provider, this.signal);
  }

  publish(draft: AgentEventDraft): undefined | Promise<void> {
    const { thread, run } = this;
    if (this.isCut && (run.stop !== undefined || thread.run !== run)) return undefined;
    switch (draft.type) {
      case 'message': {
        if (draft.role === 'agent') this.noteText(draft.messageId, textOf(draft.content));
        project(thread, draft);
        return draft._meta === undefined && draft.source === undefined
          ? thread.tree.merge.publishMessage(thread, draft.messageId, draft.role, draft.content)
          : publish(thread, draft);
      }
      case 'tool_request':
        registerCall(thread, draft);
        return undefined;
      case 'stream_end':
        this.end = draft.data === undefined ? { reason: draft.reason } : { reason: draft.reason, data: draft.data };
        return undefined;
      case 'usage':
        run.tally.add(draft);
        addCost(thread, draft.cost?.usd);
        return publish(thread, draft);
      case 'elicitation_request':
        this.askForExecutor(draft);
        return undefined;
      case 'initialize':
      case 'tool_response':
      case 'elicitation_response':
      case 'agent_started':
      case 'agent_completed':
        // The host's own: an executor that says them is not believed.
        return undefined;
      default:
        return publish(thread, draft);
    }
  }

  fireHook(point: string, payload: Bag): undefined | Promise<HookResult> {
    return fireHook(this.thread, point, payload);
  }

  private noteText(messageId: string, text: string): void {
    const { run } = this;
    if (run.lastMessageId === messageId) run.lastText += text;
    else {
      run.lastMessageId = messageId;
      run.lastText = text;
    }
  }

  private askForExecutor(draft: AgentEventDraft<'elicitation_request'>): void {
    const { thread, run } = this;
    const { type, source, _meta, requestId, ...request } = draft;
    this.asked++;
    void ask(thread, { ...request, _meta: { ...draft._meta, executorRequestId: requestId } }).then((response) => {
      run.inbox.push({ kind: 'elicitation_response', requestId, response });
    });
  }
}

/** A child that a leader called shows what it says as progress of that call. */
function project(thread: Thread, draft: AgentEventDraft<'message'>): void {
  const { projectsTo } = thread;
  if (projectsTo === undefined || draft.role !== 'agent') return;
  publish(projectsTo.thread, { type: 'tool_update', requestId: projectsTo.requestId, content: draft.content });
}

/** What goes to the model; its signal is made only when it is read. */
class TurnRequest implements ModelRequest {
  readonly systemInstruction?: string;
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ToolDescriptor[];
  readonly toolMode?: 'none';
  readonly outputSchema?: Exclude<ModelRequest['outputSchema'], undefined>;
  readonly config?: Exclude<ModelRequest['config'], undefined>;
  readonly _meta: Exclude<ModelRequest['_meta'], undefined>;
  #turn: Turn;

  constructor(turn: Turn, thread: Thread) {
    this.#turn = turn;
    const { driver } = thread.agent;
    const { systemInstruction, toolsOff } = turn;
    if (systemInstruction !== '' || toolsOff) {
      this.systemInstruction = toolsOff ? `${systemInstruction}\n\n${GRACE_INSTRUCTION}`.trim() : systemInstruction;
    }
    this.messages = turn.messages();
    const tools = turn.tools();
    if (tools.length > 0) this.tools = tools;
    if (toolsOff) this.toolMode = 'none';
    const { outputSchema } = driver.descriptor;
    if (outputSchema !== undefined) this.outputSchema = outputSchema;
    const { generation } = thread.tree.settings;
    const config = generation === undefined ? driver.generation : { ...driver.generation, ...generation };
    if (config !== undefined) this.config = config;
    const _meta: TurnRequest['_meta'] = { agent: turn.agentId, sessionId: turn.sessionId, purpose: 'turn' };
    if (turn.threadId !== undefined) _meta.threadId = turn.threadId;
    this._meta = _meta;
  }

  get signal(): AbortSignal {
    return this.#turn.signal;
  }
}
