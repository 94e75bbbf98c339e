import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { createHost, type HostOptions, type RunOptions, type RunResult, tool } from '../../src/index.js';
import { type ScriptEntry, type ScriptedModel, scriptedModel } from '../../src/testing/index.js';
import { collect, deferred } from './team.js';

export type Lines = Record<string, readonly ScriptEntry[] | ((request: never, call: number) => ScriptEntry)>;

/** A host whose only model answers by agent. */
export function hostWith(byAgent: Lines, options: HostOptions = {}) {
  const model = scriptedModel({ byAgent } as never, options.clock === undefined ? {} : { clock: options.clock });
  return { host: createHost({ ...options, models: { scripted: model } }), model };
}

/** One run of a team to its end, its events held to the rules of a log. */
export async function runTeam(
  team: AgentDefinition,
  byAgent: Lines,
  options: { input?: unknown; host?: HostOptions; run?: RunOptions } = {},
): Promise<{ events: AgentEvent[]; result: RunResult; model: ScriptedModel }> {
  const { host, model } = hostWith(byAgent, options.host);
  try {
    const run = host.run(team, (options.input ?? 'go') as string, options.run ?? {});
    const events = await collect(run);
    return { events, result: await run.result, model };
  } finally {
    await host.close();
  }
}

/** The text that an agent's n-th model call (0-based) was given last. */
export function lastTextGiven(model: ScriptedModel, agent: string, call = 0): string {
  const requests = model.requests.filter((request) => request._meta?.agent === agent);
  const content = requests[call]?.messages.at(-1)?.content ?? [];
  return content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('');
}

/** All texts that an agent's n-th model call was given, in order. */
export function textsGiven(model: ScriptedModel, agent: string, call = 0): string[] {
  const requests = model.requests.filter((request) => request._meta?.agent === agent);
  return (requests[call]?.messages ?? []).map((message) =>
    message.content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join(''),
  );
}

export const boom = (message = 'boom'): ScriptEntry => ({ error: { code: 'BOOM', message, retryable: false } });

/** Names of the agents that were started, in order. */
export const startedIn = (events: readonly AgentEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'agent_started' ? [event.agentName] : []));

/** `thread: reason` of every end, in order; the root is `-`. */
export const endsIn = (events: readonly AgentEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'stream_end' ? [`${event.threadId ?? '-'}: ${event.reason}`] : []));

/** A model's answer that calls one tool. */
export const call = (name: string, args: object = {}) => ({ toolCalls: [{ name, args }] });

/** A read-only tool that ends when it is told to, or is aborted. */
export function gate(name: string) {
  const opened = deferred<string>();
  const running = deferred<AbortSignal>();
  let signal: AbortSignal | undefined;
  const made = tool({
    name,
    description: 'Ends when it is told to.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute(_, context) {
      signal = context.signal;
      signal.addEventListener('abort', () => opened.resolve('aborted'), { once: true });
      running.resolve(signal);
      return opened.promise;
    },
  });
  return { tool: made, open: opened.resolve, running: running.promise, isAborted: () => signal?.aborted === true };
}

/** Waits for something that comes by itself. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A read-only tool that asks a person, and says what the answer was. */
export const asker = (name: string) =>
  tool({
    name,
    description: 'Asks a person.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    async execute(_, { elicit }) {
      const { action, content } = await elicit({ message: name });
      return content === undefined ? action : JSON.stringify(content);
    },
  });
