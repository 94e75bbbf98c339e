import type { AgentEventDraft, ContentPart } from '../contracts/index.js';
import { textOf } from '../kernel/content.js';
import { isDefaultInputSchema, validateJson } from '../kernel/schema.js';
import { createUsageTally } from '../kernel/usage.js';
import { INTERFACE_VERSION } from '../kernel/version.js';
import { publish } from './session-tree.js';
import type { CompiledAgent, RunRecord, Thread } from './thread.js';

/** What a run is given: parts for the model, and the value that it is as input. */
export interface RunInput {
  readonly content: ContentPart[];
  readonly value: unknown;
}

const isParts = (given: unknown): given is ContentPart[] =>
  Array.isArray(given) &&
  given.length > 0 &&
  given.every((part) => typeof part === 'object' && part !== null && typeof part.type === 'string');

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
export function inputFaults(agent: CompiledAgent, input: RunInput): string[] | Promise<string[]> {
  const { inputSchema } = agent.descriptor;
  if (isDefaultInputSchema(inputSchema)) {
    const { prompt } = (input.value ?? {}) as { prompt?: unknown };
    return typeof prompt === 'string' || isParts(input.content) ? [] : ['/prompt must be string'];
  }
  return validateJson(inputSchema, input.value);
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
];

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
    capabilities: descriptor.capabilities ?? CAPABILITIES,
  };
  const model = tree.settings.model ?? driver.model;
  if (typeof model === 'string') event.model = model;
  if (tools.descriptors.length > 0) event.tools = [...tools.descriptors];
  if (resumed) event.resumed = true;
  publish(thread, event);
}

/** Begins a run: its message is the first event, then the session moves. */
export function beginRun(
  thread: Thread,
  input: RunInput,
  options: { streamId?: string | undefined; role?: 'user' | 'developer' } = {},
): void {
  const { tree, parent } = thread;
  const messageId = tree.host.stamp.nextId();
  thread.runId = parent === undefined ? messageId : parent.runId;
  thread.streamId = parent === undefined ? (options.streamId ?? messageId) : parent.streamId;
  thread.end = undefined;
  thread.instruction = undefined;
  tree.merge.completeMessage(thread);
  const run: RunRecord = {
    input: input.value,
    inputText: textOf(input.content),
    tally: createUsageTally(),
    turns: 0,
    llmCalls: 0,
    stop: undefined,
    calls: [],
    inbox: [{ kind: 'message', content: input.content, input: input.value }],
    lastText: '',
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
  };
  thread.run = run;
  const role = options.role ?? 'user';
  publish(thread, {
    type: 'message',
    messageId,
    role,
    content: input.content,
    source: role === 'user' ? 'user' : 'host',
  });
  tree.merge.completeMessage(thread);
  thread.actor.send({ type: 'session.message' });
}
