import { expect } from 'vitest';
import type { AgentEvent, AgentEventType, ToolDescriptor, ToolResultData } from '../../src/contracts/index.js';
import { agent } from '../../src/index.js';
import { validateJson } from '../../src/kernel/schema.js';
import { validateLog } from '../../src/testing/index.js';

// Loaded once, so that no test waits for a file in the middle of its virtual time (`run-cold.test.ts` does without).
await validateJson({ type: 'object' }, {});

/** Reads a stream to its end, and holds it to the rules of an event log. */
export async function collect(run: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events = await readAll(run);
  expect(validateLog(events)).toEqual([]);
  return events;
}

/** The same for a part of a log, which alone breaks its rules. */
export async function readAll(run: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

/** An agent that only answers; its model is the host's one. */
export const leaf = <const Name extends string>(name: Name) => agent({ name, description: name });

/** The events of one type, in order. */
export const ofType = <T extends AgentEventType>(events: readonly AgentEvent[], type: T): AgentEvent<T>[] =>
  events.filter((event) => event.type === type) as AgentEvent<T>[];

export const typesOf = (events: readonly AgentEvent[]): string[] => events.map((event) => event.type);

/** What the messages of one role say, joined. */
export function textIn(events: readonly AgentEvent[], role = 'agent'): string {
  return ofType(events, 'message')
    .filter((event) => event.role === role)
    .flatMap((event) => event.content)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
}

/** The log of a session as its store has it. */
export async function logOf(store: { load(id: string): unknown }, sessionId: string): Promise<AgentEvent[]> {
  const handle = (await store.load(sessionId)) as { events: AsyncIterable<AgentEvent> };
  return readAll(handle.events);
}

/** Lets everything that waits only for promises and immediates happen. */
export async function settle(rounds = 5): Promise<void> {
  for (let round = 0; round < rounds; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A promise that is settled from outside. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settlePromise) => {
    resolve = settlePromise;
  });
  return { promise, resolve };
}

/** A tool that the consumer runs: a descriptor, and no code. */
export const consumerTool = (name: string): ToolDescriptor => ({
  name,
  description: name,
  parametersSchema: { type: 'object' },
});

export const textResult = (text: string): ToolResultData => ({ llmContent: [{ type: 'text', text }] });

/** Types of events without what is for display only. */
export const loggedTypes = (events: readonly AgentEvent[]): string[] =>
  typesOf(events).filter((type) => type !== 'tool_update');

/** The code of the error that a stream's first `next()` rejects with. */
export async function refusalOf(stream: AsyncIterator<AgentEvent>): Promise<string> {
  try {
    const step = await stream.next();
    return `not refused: ${JSON.stringify(step)}`;
  } catch (thrown) {
    return (thrown as { code?: string }).code ?? String(thrown);
  }
}
