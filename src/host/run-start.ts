import type { AgentEvent, AgentEventDraft, Bag, ContentPart } from '../contracts/index.js';
import { textOf, toParts } from '../kernel/content.js';
import { TroupeError } from '../kernel/errors.js';
import { isFunctionAgent } from '../kernel/function-executor.js';
import { sameJson } from '../kernel/json-value.js';
import { isDefaultInputSchema, validateJson } from '../kernel/schema.js';
import { createUsageTally } from '../kernel/usage.js';
import { INTERFACE_VERSION } from '../kernel/version.js';
import { applyValidator } from './apply-validator.js';
import { endRun } from './end-run.js';
import { areParts, dataFault, wordsFault } from './given-data.js';
import { markOf } from './recovery/definition-mark.js';
import { notice, publish } from './session-tree.js';
import type { CompiledAgent, RunRecord, RunStop, Thread, Tree } from './thread.js';
import { takeWords, type Words } from './words.js';

/** What a run is given: parts for the model, and the value that it is as input. */
export interface RunInput {
  readonly content: ContentPart[];
  readonly value: unknown;
}

const isParts = (given: unknown): given is ContentPart[] => Array.isArray(given) && given.length > 0 && areParts(given);

/** Text, parts, or data of the agent's `inputSchema` (which reaches the model as JSON). */
export function toRunInput(agent: CompiledAgent, given: unknown): RunInput {
  if (typeof given === 'string') return { content: [{ type: 'text', text: given }], value: { prompt: given } };
  if (isParts(given)) return { content: given, value: { prompt: textOf(given) } };
  if (isDefaultInputSchema(agent.descriptor.inputSchema)) {
    const { prompt } = (given ?? {}) as { prompt?: unknown };
    if (typeof prompt === 'string') return { content: [{ type: 'text', text: prompt }], value: given };
  }
  return { content: [{ type: 'text', text: JSON.stringify(given) ?? '' }], value: given };
}

/** What is wrong with an input, against the agent's `inputSchema`; empty when it fits. */
function inputFaults(agent: CompiledAgent, input: RunInput): string[] | Promise<string[]> {
  const { inputSchema } = agent.descriptor;
  if (isDefaultInputSchema(inputSchema)) {
    const { prompt } = (input.value ?? {}) as { prompt?: unknown };
    return typeof prompt === 'string' ? [] : promptFaults(input.value);
  }
  return validateJson(inputSchema, input.value);
}

/** Why a value is no input of an agent that takes a prompt. */
const promptFaults = (given: unknown): string[] => [
  (Array.isArray(given) ? wordsFault(given) : undefined) ?? '/prompt must be string',
];

/**
 * What a caller gives (text, parts, or data of the agent's `inputSchema`) as the run gets it: checked against the schema,
 * then as the schema's own validator makes it (defaults, transforms), where there is one. Throws, or rejects, with
 * `INVALID_INPUT`.
 */
export function admitInput(agent: CompiledAgent, given: unknown): RunInput | Promise<RunInput> {
  assertReadable(agent, given);
  const input = toRunInput(agent, given);
  // What an author's validator says of a caller's input always comes the same way, whatever has been loaded by then.
  return agent.definition.inputValidator === undefined
    ? admitAtOnce(agent, input)
    : Promise.resolve().then(() => admitAtOnce(agent, input));
}

/** An input stands in the log: it is JSON, and where it is a list of parts each of them is one that a person may say. */
function assertReadable(agent: CompiledAgent, given: unknown): void {
  if (typeof given === 'string') return;
  if (typeof given !== 'object' || given === null)
    return assertNoFaults(agent, ['it must be a text, parts, or an object of the inputSchema']);
  const fault = dataFault(given);
  if (fault !== undefined) return assertNoFaults(agent, [`it${fault}, which is no JSON`]);
  if (isParts(given))
    assertNoFaults(
      agent,
      [wordsFault(given)].filter((one) => one !== undefined),
    );
}

/** The same for a child: at once where it can be, so that children start in the order in which they were asked for. */
export function admitAtOnce(agent: CompiledAgent, input: RunInput): RunInput | Promise<RunInput> {
  assertIsData(agent, input);
  const faults = inputFaults(agent, input);
  return faults instanceof Promise
    ? faults.then((said) => admitFit(agent, input, said))
    : admitFit(agent, input, faults);
}

function assertIsData(agent: CompiledAgent, { value }: RunInput): void {
  if (typeof value === 'object' && value !== null) return;
  assertNoFaults(agent, ['it must be a text, parts, or an object of the inputSchema']);
}

/** An input whose JSON Schema has been looked at. */
function admitFit(agent: CompiledAgent, input: RunInput, said: readonly string[]): RunInput | Promise<RunInput> {
  assertNoFaults(agent, said);
  const { inputValidator } = agent.definition;
  if (inputValidator === undefined) return input;
  const applied = applyValidator(inputValidator, input.value);
  const take = ({ faults, value }: Awaited<typeof applied>): RunInput => {
    assertNoFaults(agent, faults);
    return sameJson(value, input.value) ? input : { content: toParts(JSON.stringify(value)), value };
  };
  return applied instanceof Promise ? applied.then(take) : take(applied);
}

function assertNoFaults(agent: CompiledAgent, faults: readonly string[]): void {
  if (faults.length === 0) return;
  const message = `the input of "${agent.definition.name}" does not fit: ${faults.join('; ')}`;
  throw new TroupeError({ code: 'INVALID_INPUT', message });
}

const CAPABILITIES = [
  'streaming',
  'elicitation',
  'pause_resume',
  'cancellation',
  'multi_turn',
  'host_tool_execution',
  'stream_end_events',
  'mid_stream_update',
  'usage',
];

/** What the session can really do: less than its agent declares where its executor says so. */
function capabilitiesOf({ agent, executor, tree }: Thread): string[] {
  const { capabilities: declared, executor: type } = agent.driver.descriptor;
  // What drives a child is made with its first turn.
  const able = executor === undefined ? tree.host.executors.get(type)?.capabilities : executor.capabilities;
  if (able === undefined) return declared ?? CAPABILITIES;
  return declared === undefined ? [...able] : declared.filter((capability) => able.includes(capability));
}

/** The first event of a session. */
export function publishInitialize(thread: Thread, resumed = false): void {
  const { agent, tree } = thread;
  const { descriptor, driver, tools } = agent;
  const about: AgentEventDraft<'initialize'>['agent'] = { name: descriptor.name, description: descriptor.description };
  if (descriptor.displayName !== undefined) about.displayName = descriptor.displayName;
  const event: AgentEventDraft<'initialize'> = {
    type: 'initialize',
    sessionId: tree.sessionId,
    agent: about,
    interfaceVersion: INTERFACE_VERSION,
    capabilities: capabilitiesOf(thread),
  };
  const model = tree.settings.model ?? driver.model;
  if (typeof model === 'string') event.model = model;
  const named = tools.descriptors.length + tools.providers.length;
  if (named > 0) event.tools = [...tools.descriptors, ...tools.providers];
  if (resumed) event.resumed = true;
  const { permissionMode } = tree.settings;
  // Part of the session: whoever goes on with it later finds it here.
  if (thread.parent === undefined) {
    if (tree.handle !== undefined) event._meta = notesFor(tree);
    if (permissionMode !== 'default') event._meta = { ...event._meta, permissionMode };
  }
  const { executor } = driver.descriptor;
  if (!PLAIN_EXECUTORS.has(executor)) event._meta = { ...event._meta, executor };
  publish(thread, event);
  const { began } = tree;
  if (thread.parent !== undefined || began === undefined) return;
  tree.began = undefined;
  tellOtherExecutor(thread, began);
}

/** Not noted: what a log without a note means. */
const PLAIN_EXECUTORS: ReadonlySet<string> = new Set(['local', 'composition']);

/** Says, before it goes on, what an executor cannot take over that is not the one which a log was written under. */
export function tellOtherExecutor(thread: Thread, began: AgentEvent<'initialize'>): void {
  const { executor: now } = thread.agent.driver.descriptor;
  const { executor: before = PLAIN_EXECUTORS.has(now) ? now : 'local' } = began._meta ?? {};
  if (before === now) return;
  const able = capabilitiesOf(thread);
  const lost = began.capabilities.filter((capability) => !able.includes(capability));
  if (thread.executor?.keepsContext === true) lost.push('the conversation so far');
  const what = lost.length === 0 ? '' : `, which does not take over: ${lost.join(', ')}`;
  const text = `${thread.agentId} goes on under the executor "${now}", not "${String(before)}"${what}`;
  notice(thread, 'EXECUTOR_CHANGED', 'warning', text);
}

/** What whoever goes on with the log must know and cannot see: the definition, and what the run was given beside it. */
function notesFor({ root, settings, runTools }: Tree): Bag {
  const notes: Bag = { definition: markOf(root.agent) };
  const { hostToolExecution, maxBudgetUsd, maxTokens, generation } = settings;
  const isFree = maxBudgetUsd === Number.POSITIVE_INFINITY && maxTokens === Number.POSITIVE_INFINITY;
  const isPlain = hostToolExecution && isFree && generation === undefined;
  if (isPlain && runTools.length === 0) return notes;
  const tools = runTools.filter((tool) => !('kind' in tool));
  notes.run = {
    ...(tools.length > 0 && { tools }),
    ...(!hostToolExecution && { hostToolExecution }),
    ...(Number.isFinite(maxBudgetUsd) && { maxBudgetUsd }),
    ...(Number.isFinite(maxTokens) && { maxTokens }),
    ...(generation !== undefined && { generation }),
  };
  return notes;
}

/**
 * Begins a run: its message is the first event, then the session moves. What was said before it stands in front of it.
 * With `stop` the run ends as it says, and nothing is called.
 */
export function beginRun(
  thread: Thread,
  input: RunInput,
  options: {
    streamId?: string | undefined;
    role?: 'user' | 'developer';
    stop?: RunStop | undefined;
    onBegun?: (run: RunRecord) => void;
  } = {},
): void {
  const { tree, parent } = thread;
  const messageId = tree.host.stamp.nextId();
  thread.runId = parent === undefined ? messageId : parent.runId;
  thread.streamId = parent === undefined ? (options.streamId ?? messageId) : parent.streamId;
  thread.end = undefined;
  thread.instruction = undefined;
  thread.loopCarry = undefined;
  tree.merge.completeMessage(thread);
  const run: RunRecord = {
    input: input.value,
    inputText: textOf(input.content),
    tally: createUsageTally(),
    turns: 0,
    turnsBelow: 0,
    turnsOpen: 0,
    heldTurns: undefined,
    llmCalls: 0,
    stop: undefined,
    stoppedAt: 0,
    left: undefined,
    reached: undefined,
    calls: [],
    inbox: [{ kind: 'message', content: input.content, input: input.value }],
    lastText: '',
    lastPieces: undefined,
    lastMessageId: '',
    ending: undefined,
    handedOverBy: undefined,
    historyFrom: thread.history.length,
    outputFaults: 0,
    graceUsed: false,
    loops: undefined,
    workUsedMs: 0,
    workSince: 0,
    working: 0,
    cancelWorkTimer: undefined,
    cutTurn: undefined,
    interrupted: false,
    models: undefined,
    hooks: undefined,
  };
  thread.run = run;
  options.onBegun?.(run);
  const { lifecycle } = tree.host;
  const role = options.role ?? 'user';
  if (lifecycle !== undefined && options.stop === undefined) return lifecycle.begin(thread, { messageId, role });
  publishInput(thread, { messageId, role, content: input.content });
  if (options.stop === undefined) return thread.actor.send({ type: 'session.message' });
  run.stop = options.stop;
  endRun(thread, options.stop);
}

/** The message that a run begins with, behind what was said before it. */
export function publishInput(
  thread: Thread,
  { messageId, role, content }: { messageId: string; role: 'user' | 'developer'; content: ContentPart[] },
): void {
  const { tree } = thread;
  if (thread.agent.behaviour === 'turn') publishSteers(thread);
  publish(thread, { type: 'message', messageId, role, content, source: role === 'user' ? 'user' : 'host' });
  tree.merge.completeMessage(thread);
  if (thread.parent === undefined) tree.host.toolsets?.tellHeld(thread);
}

/** All words that wait, save those that hooks are still to be asked about. */
function takeReviewed(thread: Thread): Words[] {
  if (!thread.tree.host.hookPoints.has('on_user_message')) return thread.steers.splice(0);
  const taken = thread.steers.filter(({ isReviewed }) => isReviewed);
  thread.steers = thread.steers.filter(({ isReviewed }) => !isReviewed);
  return taken;
}

/**
 * Words for a running agent, shown where they take effect: that is their receipt. Those that nobody below a
 * composition could take go to whoever begins next.
 */
export function publishSteers(thread: Thread): void {
  if (isFunctionAgent(thread.agent.driver.descriptor)) return;
  for (let at = thread.parent; at !== undefined && at.agent.behaviour !== 'turn'; at = at.parent) {
    if (at.steers.length > 0) takeWords(thread, at);
  }
  if (thread.steers.length === 0) return;
  for (const { message, steerId } of takeReviewed(thread)) {
    const content = toParts(message);
    thread.heard ??= new Set();
    thread.heard.add(steerId);
    // An executor that keeps the conversation itself is told, too.
    thread.run?.inbox.push({ kind: 'message', content });
    publish(thread, {
      type: 'message',
      messageId: thread.tree.host.stamp.nextId(),
      role: 'user',
      content,
      source: 'user',
      _meta: { steered: true, steerId },
    });
  }
  thread.tree.merge.completeMessage(thread);
}
