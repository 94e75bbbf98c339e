import { expect } from 'vitest';
import type { AgentDefinition, AgentEvent, ModelRequest, SessionProvider } from '../../src/contracts/index.js';
import {
  createHost,
  type HostOptions,
  memoryStore,
  type Run,
  type RunOptions,
  type RunResult,
} from '../../src/index.js';
import { type ScriptEntry, scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import { logOf } from './team.js';

/** A store that holds the first events of a log, as a process leaves it that ends behind the last of them. */
export async function storeWith(
  events: readonly AgentEvent[],
  session: { id: string; agentName: string },
): Promise<SessionProvider> {
  const store = memoryStore();
  const handle = await store.create(session.agentName, { id: session.id });
  for (const event of events) await handle.append(structuredClone(event));
  await handle.close();
  return store;
}

/** How often each call has begun, by its id. */
const startsIn = (events: readonly AgentEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'custom' && event.kind === 'tool_started' ? [(event.data as { requestId: string }).requestId] : [],
  );

export interface BrokenTeam {
  /** The same definition each time, with other objects; a tool that changes something notes its call in `ran`. */
  team(ran: string[]): AgentDefinition;
  /** Answers by what the request says, as a model does: never by how often it was asked. */
  byAgent: Record<string, (request: ModelRequest) => ScriptEntry>;
  input?: unknown;
  run?: RunOptions;
  host?: Omit<HostOptions, 'models' | 'store' | 'clock'>;
  answer?(run: Run, event: AgentEvent): void;
}

/** Reads a run to its end, answering what it asks for: approvals with yes, what may have happened with `result`. */
export async function readAnswering(run: Run, answer: BrokenTeam['answer']): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (event.type === 'elicitation_request' && event.kind === 'tool_recovery') {
      const { tool } = event.context as { tool: string };
      const result = `${tool.slice(tool.lastIndexOf('.') + 1)} done`;
      run.respond(event.requestId, { action: 'accept', content: { outcome: 'result', result } });
    } else if (event.type === 'elicitation_request' && event.kind === 'tool_confirmation') {
      run.respond(event.requestId, { action: 'accept' });
    } else answer?.(run, event);
  }
  return events;
}

const modelOf = ({ byAgent }: BrokenTeam) => scriptedModel({ byAgent } as never);

/** One run of a team from its start to its end, and its log. */
export async function recordRun(broken: BrokenTeam) {
  const store = memoryStore();
  const ran: string[] = [];
  const team = broken.team(ran);
  await using host = createHost({
    ...broken.host,
    models: { scripted: modelOf(broken) },
    store,
    clock: virtualClock(),
  });
  const run = host.run(team, (broken.input ?? 'go') as string, { ...broken.run, sessionId: 's' });
  await readAnswering(run, broken.answer);
  return { log: await logOf(store, 's'), result: await run.result, ran, agentName: team.name };
}

/** Goes on with the first events of a log in another process, to the end. */
export async function goOn(broken: BrokenTeam, part: readonly AgentEvent[], agentName: string) {
  const store = await storeWith(part, { id: 's', agentName });
  const ran: string[] = [];
  await using host = createHost({
    ...broken.host,
    models: { scripted: modelOf(broken) },
    store,
    clock: virtualClock(),
  });
  const run = await host.resume('s', { agent: broken.team(ran) });
  const seen = await readAnswering(run, broken.answer);
  return { log: await logOf(store, 's'), result: await run.result, ran, seen };
}

/** What a run says that goes on behind each of its events, held against the run that nobody broke off. */
export async function expectSameFromEveryCut(broken: BrokenTeam): Promise<AgentEvent[]> {
  const whole = await recordRun(broken);
  const logged = whole.log;
  const first = logged.findIndex((event) => event.type === 'message') + 1;
  for (let cut = first; cut <= logged.length; cut++) {
    const part = logged.slice(0, cut);
    const at = `behind event ${cut} of ${logged.length}: ${nameOf(part.at(-1) as AgentEvent)}`;
    const again = await goOn(broken, part, whole.agentName);
    expect(validateLog(again.log, { finished: true }), at).toEqual([]);
    expect(outcomeOf(again.result), at).toEqual(outcomeOf(whole.result));
    expectOnce(part, again.ran, whole.ran, at);
    expect(threadsIn(again.log), at).toEqual(threadsIn(logged));
  }
  return logged;
}

/** What changes something has happened exactly as often as it would have, and nothing twice. */
export function expectOnce(part: readonly AgentEvent[], ran: string[], wanted: string[], at: string): void {
  const before = startsIn(part).filter((requestId) => wanted.includes(requestId));
  expect(
    ran.filter((requestId) => before.includes(requestId)),
    `${at}: run twice`,
  ).toEqual([]);
  expect(before.length + ran.length, `${at}: runs`).toBe(wanted.length);
}

const nameOf = (event: AgentEvent) =>
  `${event.threadId ?? 'root'} ${event.type}${event.type === 'custom' ? ` ${event.kind} ${JSON.stringify(event.data)}` : ''}`;

function outcomeOf({ reason, result, data }: RunResult) {
  const { results, failures, exit, iterations, handoffTarget } = data;
  return { reason, result, results, failures, exit, iterations, handoffTarget };
}

const threadsIn = (events: readonly AgentEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'agent_started' ? [event.threadId] : [])).sort();

/** How many tool results an agent has been given since its run began. */
export function answersIn({ messages }: ModelRequest): string[] {
  return messages.flatMap(({ content }) =>
    content.flatMap((part) => (part.type === 'function_response' ? [JSON.stringify(part.response)] : [])),
  );
}
