import type { AgentEvent, Bag, SessionStreamData } from '../../contracts/index.js';
import { textOf } from '../../kernel/content.js';
import { FUNCTION_EXECUTOR, isFunctionAgent } from '../../kernel/function-executor.js';
import { createHistory, type History } from '../../kernel/history.js';
import { beginLoopWatch, isInLoop, type LoopCarry, type LoopWatch } from '../../kernel/loop-watch.js';
import type { StateUpdate } from '../../kernel/state.js';
import { lastSegment } from '../../kernel/thread-id.js';
import { createUsageTally } from '../../kernel/usage.js';
import { tokensIn } from '../limits.js';
import { LOOP_DETECTED, loopEnd } from '../loop-watch.js';
import type { RunRoute } from '../run-models.js';
import { noteInHistory } from '../session-tree.js';
import type { CompiledAgent, RunEnd, RunStop } from '../thread.js';
import { foldWords, stopIn, type Words } from '../words.js';
import type { CallPast, QuestionPast, ThreadPast, TurnPast } from './past.js';
import { inputOf } from './run-input.js';

interface Start {
  readonly threadId: string | undefined;
  readonly agent: CompiledAgent;
  readonly parent: ThreadFold | undefined;
  readonly index: number;
  readonly requestId?: string | undefined;
  readonly restartOf?: string | undefined;
  readonly values: Readonly<Bag>;
  readonly history?: History;
  readonly spawned?: number;
  readonly spentUsd?: number;
  readonly spentTokens?: number;
  readonly steers?: Words[];
}

type Mapped = { readonly child: string; readonly requestId: string | undefined; readonly input?: unknown };

/** Takes in the events of one thread's run, in order. */
export class ThreadFold implements ThreadPast {
  readonly threadId: string | undefined;
  readonly agent: CompiledAgent;
  readonly parent: ThreadFold | undefined;
  readonly index: number;
  readonly requestId: string | undefined;
  readonly restartOf: string | undefined;
  readonly history: History;
  values: Readonly<Bag>;
  valuesAtStart: Readonly<Bag>;
  updates: StateUpdate[] = [];
  isInitialized = false;
  began: AgentEvent<'initialize'> | undefined;
  input: AgentEvent<'message'> | undefined;
  historyFrom = 0;
  inbox: SessionStreamData[] = [];
  turn: TurnPast | undefined;
  isBack = false;
  isToBeTakenUp = true;
  turns = 0;
  turnsBelow = 0;
  llmCalls = 0;
  readonly tally = createUsageTally();
  spentUsd: number;
  spentTokens: number;
  route: RunRoute | undefined;
  readonly work: [from: number, to: number][] = [];
  outputFaults = 0;
  lastText = '';
  lastMessageId = '';
  loops: LoopWatch | undefined;
  looped: RunEnd | undefined;
  loopCarry: LoopCarry | undefined;
  spawned: number;
  hadSideEffects = false;
  isTakenOver = false;
  questions: QuestionPast[] = [];
  readonly steers: Words[];
  readonly heard = new Set<string>();
  stop: RunStop | undefined;
  ends: RunEnd | undefined;
  end: RunEnd | undefined;
  settledAt: number | undefined;
  readonly children: ThreadFold[] = [];
  readonly settled: ThreadFold[] = [];
  deltas = 0;
  lost: CallPast[] = [];
  iterations = 0;
  readonly untils = new Map<number, boolean>();
  readonly transfers: { readonly summary: string | undefined }[] = [];
  readonly #mapped: Mapped[] = [];
  readonly #edges: { readonly node: string; readonly taken: readonly string[] }[] = [];
  readonly #started = new Map<string, ThreadFold[]>();
  readonly #restarts = new Map<string, ThreadFold>();
  readonly #calls = new Map<string, CallPast>();
  readonly #asked = new Map<string, QuestionPast>();
  readonly #startedAt = new Map<string, number>();
  /** Time of its latest event. */
  #lastAt: number | undefined;

  constructor(start: Start) {
    this.threadId = start.threadId;
    this.agent = start.agent;
    this.parent = start.parent;
    this.index = start.index;
    this.requestId = start.requestId;
    this.restartOf = start.restartOf;
    this.values = start.values;
    this.valuesAtStart = start.values;
    this.history = start.history ?? createHistory();
    this.historyFrom = this.history.length;
    this.spawned = start.spawned ?? 0;
    this.spentUsd = start.spentUsd ?? 0;
    this.spentTokens = start.spentTokens ?? 0;
    this.steers = start.steers ?? [];
  }

  /** A child was started. */
  addChild(child: ThreadFold): void {
    this.children.push(child);
    this.spawned = Math.max(this.spawned, lastSegment(child.threadId as string)?.ordinal ?? 0);
    if (child.restartOf !== undefined) this.#restarts.set(child.restartOf, child);
    else {
      const key = startKey(child.index, child.requestId);
      const started = this.#started.get(key);
      if (started === undefined) this.#started.set(key, [child]);
      else started.push(child);
    }
  }

  takeChild(index: number, requestId: string | undefined): ThreadPast | undefined {
    return this.#started.get(startKey(index, requestId))?.shift();
  }

  takeRestart({ threadId }: ThreadPast): ThreadPast | undefined {
    const next = this.#restarts.get(threadId as string);
    this.#restarts.delete(threadId as string);
    return next;
  }

  takeMapped(child: string, requestId: string | undefined): Mapped | undefined {
    const at = this.#mapped.findIndex((one) => one.child === child && one.requestId === requestId);
    return at < 0 ? undefined : this.#mapped.splice(at, 1)[0];
  }

  takeEdges(node: string): readonly string[] | undefined {
    const at = this.#edges.findIndex((one) => one.node === node);
    return at < 0 ? undefined : this.#edges.splice(at, 1)[0]?.taken;
  }

  take(event: AgentEvent): void {
    noteInHistory(this.history, event, this.agent.driver.name);
    this.#words(event);
    const at = Date.parse(event.timestamp);
    switch (event.type) {
      case 'initialize':
        this.isInitialized = true;
        this.began = event;
        break;
      case 'message':
        this.#message(event, at);
        break;
      case 'tool_request':
        this.#request(event, at);
        break;
      case 'tool_response':
        this.#response(event, at);
        break;
      case 'elicitation_request':
        this.#ask(event);
        break;
      case 'elicitation_response':
        this.#answer(event);
        break;
      case 'usage':
        this.tally.add(event);
        for (let fold: ThreadFold | undefined = this; fold; fold = fold.parent) {
          fold.spentUsd += event.cost?.usd ?? 0;
          fold.spentTokens += tokensIn(event, false) ?? 0;
        }
        break;
      case 'session_update':
        this.#update(event);
        break;
      case 'loop_iteration':
        this.iterations = Math.max(this.iterations, event.iteration);
        break;
      case 'agent_transfer':
        this.transfers.push({ summary: textIn(event._meta?.summary) });
        break;
      case 'error':
        if (event.code === LOOP_DETECTED) this.looped = loopEnd(event.message);
        break;
      case 'custom':
        this.stop ??= stopIn(event);
        this.#note(event.kind, (event.data ?? {}) as Bag, at);
        break;
      case 'stream_end':
        if (event.reason === 'completed' && this.turn?.calls.length === 0 && isInLoop(this)) this.#closeTurn();
        this.end = { reason: event.reason, data: event.data ?? {} };
        this.parent?.tally.addTally(this.tally);
        this.#handOnWords();
        break;
      default:
    }
    this.#lastAt = at;
  }

  /** What nobody at the place that it was said to could take is taken below it. */
  #words(event: AgentEvent): void {
    const taken = foldWords(this.steers, event);
    if (taken === undefined) return;
    if (event.type === 'message') this.heard.add(taken);
    for (let fold: ThreadFold | undefined = this; fold !== undefined; fold = fold.parent) {
      const at = fold.steers.findIndex(({ steerId }) => steerId === taken);
      if (at < 0) continue;
      fold.steers.splice(at, 1);
      return;
    }
  }

  #handOnWords(): void {
    if (this.parent === undefined) return;
    const { steers } = this.parent;
    for (const words of this.steers.splice(0)) {
      if (!steers.some(({ steerId }) => steerId === words.steerId)) steers.push(words);
    }
  }

  #message(event: AgentEvent<'message'>, at: number): void {
    const { content, role, messageId, _meta } = event;
    if (role === 'agent') {
      const turn = this.#turnOf(messageId, at);
      turn.spoke = true;
      this.lastText = this.lastMessageId === messageId ? this.lastText + textOf(content) : textOf(content);
      this.lastMessageId = messageId;
      return;
    }
    const isSteered = _meta?.steered === true;
    if (this.input === undefined && !isSteered) {
      this.input = event;
      this.valuesAtStart = this.values;
      this.inbox.push({ kind: 'message', content, input: inputOf(this.agent, event) });
      return;
    }
    this.#closeTurn();
    if (isSteered) this.inbox.push({ kind: 'message', content });
    if (typeof _meta?.outputFault === 'number') this.outputFaults = _meta.outputFault;
  }

  /** The turn that a message of the model belongs to; a new one where it was not heard of before. */
  #turnOf(messageId: string, at: number): TurnPast {
    if (this.turn?.messageId === messageId) return this.turn;
    this.#closeTurn();
    this.lost.push(...(this.turn?.calls.filter(({ response }) => response === undefined) ?? []));
    this.input ??= unknownInput(messageId);
    this.turns++;
    this.#countBelow(1);
    this.#countCall();
    // From the event before it the model was asked.
    if (this.#lastAt !== undefined) this.#worked(this.#lastAt, at);
    // Their answers were given to this turn.
    this.questions = this.questions.filter(({ response }) => response === undefined);
    this.looped = undefined;
    this.turn = { messageId, spoke: false, calls: [], expected: 0, isWhole: false, inbox: this.inbox };
    this.inbox = [];
    return this.turn;
  }

  #countBelow(by: 1 | -1): void {
    if (isFunctionAgent(this.agent.driver.descriptor)) return;
    for (let fold = this.parent; fold !== undefined; fold = fold.parent) fold.turnsBelow += by;
  }

  #countCall(): void {
    for (let fold: ThreadFold | undefined = this; fold !== undefined; fold = fold.parent) fold.llmCalls++;
  }

  /** Nothing of the latest turn is missing. */
  #closeTurn(): void {
    const { turn } = this;
    if (turn === undefined || turn.isWhole) return;
    turn.isWhole = true;
    if (turn.calls.length === 0 && !(turn.spoke && isInLoop(this))) return;
    this.loops ??= beginLoopWatch(this);
    this.loops.turn(
      turn.spoke ? this.lastText : undefined,
      turn.calls.map(({ request }) => request),
    );
  }

  #request(request: AgentEvent<'tool_request'>, at: number): void {
    const call: CallPast = {
      request,
      attempts: 0,
      isPending: false,
      startedArgs: request.args,
      response: undefined,
      isApplied: false,
      questions: [],
      tails: [],
    };
    this.#calls.set(request.requestId, call);
    if (request._meta?.opaque === true) {
      this.#markSideEffect();
      // Shown with its answer, or closed.
      this.lost.push(call);
      return;
    }
    const asked = request.parentRequestId === undefined ? undefined : this.#calls.get(request.parentRequestId);
    if (asked !== undefined) {
      asked.tails.push(call);
      return;
    }
    const turn = this.#turnOf(request.messageId, at);
    if (turn.calls.length === 0 && typeof request._meta?.calls === 'number') turn.expected = request._meta.calls;
    turn.calls.push(call);
  }

  #response(event: AgentEvent<'tool_response'>, at: number): void {
    const { requestId } = event;
    const call = this.#calls.get(requestId);
    if (call === undefined) return;
    this.#closeTurn();
    call.response = event;
    if (this.lost.length > 0) this.lost = this.lost.filter((one) => one !== call);
    if (event._meta?.stop !== undefined) this.stop ??= event._meta.stop as RunStop;
    const from = this.#startedAt.get(requestId);
    if (from !== undefined) this.#worked(from, at);
    const isFault = event.name === 'complete_task' && event.errorType === 'invalid_tool_params';
    if (isFault) this.outputFaults++;
    if (call.request.parentRequestId !== undefined || this.turn?.calls.includes(call) !== true) return;
    const { llmContent, isError, errorType, data } = event;
    const result = {
      llmContent,
      ...(isError !== undefined && { isError }),
      ...(errorType !== undefined && { errorType }),
      ...(data !== undefined && { data }),
    };
    this.inbox.push({ kind: 'tool_result', requestId, result });
  }

  /** A turn may ask nothing but a question: then it is known by that alone. */
  #askingTurn({ requestId, timestamp }: AgentEvent<'elicitation_request'>): void {
    const isOver = this.turn === undefined || (this.turn.isWhole && this.turn.calls.every(({ response }) => response));
    const turn = isOver ? this.#turnOf(`asked ${requestId}`, Date.parse(timestamp)) : (this.turn as TurnPast);
    if (turn.calls.length === 0) turn.isWhole = true;
  }

  #ask(request: AgentEvent<'elicitation_request'>): void {
    const question: QuestionPast = { request, response: undefined };
    this.#asked.set(request.requestId, question);
    const isExecutors = typeof request._meta?.executorRequestId === 'string';
    const call = isExecutors ? undefined : this.#calls.get(String(request.context?.toolRequestId));
    if (call === undefined) {
      if (isExecutors) this.#askingTurn(request);
      this.questions.push(question);
    } else {
      this.#closeTurn();
      call.questions.push(question);
    }
  }

  #answer(event: AgentEvent<'elicitation_response'>): void {
    const question = this.#asked.get(event.requestId);
    if (question !== undefined) question.response = event;
  }

  #update({ stateDelta, _meta }: AgentEvent<'session_update'>): void {
    if (stateDelta === undefined) return;
    this.values = { ...this.values, ...stateDelta };
    const written = Array.isArray(_meta?.updates) ? (_meta.updates as StateUpdate[]) : undefined;
    // A function that is run again writes again all that it writes.
    if (this.agent.driver.descriptor.executor === FUNCTION_EXECUTOR && _meta?.ends === undefined) this.updates = [];
    this.updates.push(...(written ?? Object.entries(stateDelta).map(([key, value]) => ({ key, value }))));
    const call = this.#calls.get(String(_meta?.requestId));
    if (call !== undefined) call.isApplied = true;
    else if (_meta?.migrated !== true) this.deltas++;
    if (this.agent.behaviour === 'turn' && _meta?.ends !== undefined) this.ends = _meta.ends as RunEnd;
  }

  #note(kind: string, data: Bag, at: number): void {
    switch (kind) {
      case 'tool_started':
        this.#start(String(data.requestId), data, at);
        break;
      case 'tool_pending':
        this.#leaveOpen(String(data.requestId));
        break;
      case 'interrupted':
        this.#discard(data.messageId);
        break;
      case 'decision':
        this.#decide(data);
        break;
      case 'context_cleared':
        this.historyFrom = 0;
        break;
      case 'notice':
        if (data.code === 'MODEL_RETRY') this.#countCall();
        break;
      default:
    }
  }

  #discard(messageId: unknown): void {
    const { turn } = this;
    if (turn === undefined || turn.messageId !== messageId) return;
    // Answered next; but the process may have ended in between.
    this.lost.push(...turn.calls.filter(({ response }) => response === undefined));
    this.inbox = turn.inbox;
    this.turn = undefined;
    this.turns--;
    this.#countBelow(-1);
  }

  #leaveOpen(requestId: string): void {
    const call = this.#calls.get(requestId);
    if (call !== undefined) call.isPending = true;
  }

  #start(requestId: string, { args }: Bag, at: number): void {
    const call = this.#calls.get(requestId);
    if (call === undefined) return;
    this.#closeTurn();
    call.attempts++;
    call.isPending = false;
    call.startedArgs = args;
    // An approval, or what to do about an earlier attempt, was for this one.
    call.questions = call.questions.filter(({ request }) => !isForOneStart(request.kind));
    this.#startedAt.set(requestId, at);
    const entry = [...this.agent.tools.byModelName.values()].find((one) => one.registered === call.request.name);
    if (entry?.readOnly || entry?.idempotent || entry?.builtin !== undefined || entry?.childIndex !== undefined) return;
    this.#markSideEffect();
  }

  #markSideEffect(): void {
    for (let fold: ThreadFold | undefined = this; fold !== undefined; fold = fold.parent) fold.hadSideEffects = true;
  }

  #decide({ decision, child, requestId, input, iteration, stop, node, taken, ...rest }: Bag): void {
    if (decision === 'router' && typeof rest.chosen === 'string') this.route = { choice: rest.chosen, routing: rest };
    if (decision === 'edges' && Array.isArray(taken)) this.#edges.push({ node: String(node), taken });
    if (decision === 'until') this.untils.set(Number(iteration), stop === true);
    if (decision !== 'mapInput') return;
    const mapped = { child: String(child), requestId: textIn(requestId) };
    this.#mapped.push(input === undefined ? mapped : { ...mapped, input });
  }

  /** Where a limit on time stands, here or above, it counts. */
  #worked(from: number, to: number): void {
    if (!(to > from)) return;
    for (let fold: ThreadFold | undefined = this; fold !== undefined; fold = fold.parent) {
      if (fold.agent.limits.maxTimeMs !== Number.POSITIVE_INFINITY) fold.work.push([from, to]);
    }
  }
}

/** The message that began the run was lost with a part of the log. */
const unknownInput = (messageId: string): AgentEvent<'message'> => ({
  id: messageId,
  timestamp: new Date(0).toISOString(),
  seq: 0,
  type: 'message',
  messageId,
  role: 'user',
  content: [],
});

const startKey = (index: number, requestId: string | undefined) => `${index}|${requestId ?? ''}`;
const isForOneStart = (kind: string) => kind === 'tool_confirmation' || kind === 'tool_recovery';
const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
