import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import type { AgentDefinition, AgentEvent, ToolDefinition } from '../contracts/index.js';
import { agent } from '../define/agent.js';
import { sequential } from '../define/sequential.js';
import { tool } from '../define/tool.js';
import type { Host, HostOptions, Run } from '../host/types.js';
import { createHost } from '../index.js';
import { lastSegment, parentThreadId } from '../kernel/thread-id.js';
import { type ScriptEntry, type ScriptFunction, type ScriptLine, scriptedModel } from '../models/scripted.js';
import { bounded, type ConformanceCase } from './conformance.js';
import { checkEnd, eventsOf, readChecked } from './event-checks.js';
import { expectNoLeaks } from './leaks.js';

/**
 * Makes a composition of these children, at least the first of which runs. `lines` are what agents of its own say (the
 * leader of a hierarchy), by name.
 */
export type MakeComposition = (
  children: readonly AgentDefinition[],
) => AgentDefinition | { team: AgentDefinition; lines: Readonly<Record<string, ScriptLine>> };

export type CompositionCase = ConformanceCase<MakeComposition>;

interface Cast {
  readonly host: Host;
  readonly team: AgentDefinition;
}

const NAMES = ['ann', 'bob'];

function cast(
  make: MakeComposition,
  says: ScriptFunction,
  options: {
    tools?: readonly ToolDefinition[];
    host?: HostOptions;
    wrap?: (team: AgentDefinition) => AgentDefinition;
  } = {},
): Cast {
  const { tools = [], wrap = (team) => team } = options;
  const made = make(NAMES.map((name) => agent({ name, tools })));
  const { team, lines } = 'team' in made ? made : { team: made, lines: {} };
  const byAgent = { ...Object.fromEntries(NAMES.map((name) => [name, says])), ...lines };
  const host = createHost({ ...options.host, models: { scripted: scriptedModel({ byAgent }) } });
  return { host, team: wrap(team) };
}

async function play({ host, team }: Cast, see: (event: AgentEvent, run: Run) => void = () => {}) {
  try {
    const run = host.run(team, 'go');
    const events = await readChecked(run, (event) => see(event, run));
    return { events, result: await run.result };
  } finally {
    await host.close();
  }
}

const answers: ScriptFunction = ({ _meta }) => ({ text: `${_meta?.agent} is done` });
const call = (name: string): ScriptEntry => ({ toolCalls: [{ name, args: {} }] });
/** Calls once in each run, then answers. */
const callsOnce =
  (name: string): ScriptFunction =>
  ({ messages }) =>
    messages.at(-1)?.content.some((part) => part.type === 'function_response') ? { text: 'done' } : call(name);

const hangs = (began: () => void = () => {}) =>
  tool({
    name: 'hang',
    description: 'Waits to be aborted.',
    annotations: { readOnly: true },
    execute(_, { signal }) {
      began();
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')));
    },
  });

/** Threads of children that ran, in the order of their starts. */
const started = (events: readonly AgentEvent[]) => eventsOf(events, 'agent_started').map(({ threadId }) => threadId);

/** What every composition must do, whatever order it gives to its children. */
export const compositionCases: readonly CompositionCase[] = bounded([
  {
    name: 'it is plain data to whoever reads it',
    async run(make) {
      const { host, team } = cast(make, answers);
      const described = host.describe(team);
      deepStrictEqual(JSON.parse(JSON.stringify(described)), described);
      strictEqual(described.executor, 'composition');
      await host.close();
    },
  },
  {
    name: 'it runs its children in threads of their own and ends once, completed',
    async run(make) {
      const { events, result } = await play(cast(make, answers));
      checkEnd(events, 'completed');
      strictEqual(result.ok, true);
      ok(started(events).length > 0, 'no child ran');
      for (const threadId of started(events)) {
        const own = events.filter((event) => event.threadId === threadId).map(({ type }) => type);
        deepStrictEqual(
          [own[0], own[1], own.at(-2), own.at(-1)],
          ['agent_started', 'initialize', 'stream_end', 'agent_completed'],
        );
      }
    },
  },
  {
    name: 'threads are named by who runs in them, with ordinals from 1 over all spawns',
    async run(make) {
      const { events } = await play(cast(make, answers));
      const direct = started(events).filter((threadId) => parentThreadId(threadId) === undefined);
      deepStrictEqual(
        direct.map((threadId) => lastSegment(threadId)?.ordinal),
        direct.map((_, index) => index + 1),
      );
      ok(
        direct.every((threadId) => NAMES.includes(lastSegment(threadId)?.agentName ?? '')),
        `a thread is named after somebody else: ${direct}`,
      );
    },
  },
  {
    name: 'usage of its children is summed once',
    async run(make) {
      const { events, result } = await play(
        cast(make, () => ({ text: 'x', usage: { inputTokens: 7, outputTokens: 2 } })),
      );
      const told = eventsOf(events, 'usage');
      ok(told.length > 0 && told.every(({ threadId }) => threadId !== undefined || told.length > 0));
      const sum = (key: 'inputTokens' | 'outputTokens') => told.reduce((all, event) => all + (event[key] ?? 0), 0);
      deepStrictEqual(result.usage, { inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') });
    },
  },
  {
    name: 'a failing child is a decision of the composition, never a hang',
    async run(make) {
      const broken: ScriptFunction = () => ({
        error: { code: 'INVALID_ARGUMENT', message: 'broken', retryable: false },
      });
      const { events, result } = await play(cast(make, broken));
      ok(eventsOf(events, 'error').some(({ message }) => message === 'broken'));
      ok(['failed', 'completed'].includes(result.reason), `it ended with ${result.reason}`);
    },
  },
  {
    name: 'an abort ends the children before their parent',
    async run(make) {
      const { events, result } = await play(cast(make, callsOnce('hang'), { tools: [hangs()] }), (event, run) => {
        if (event.type === 'tool_update' && event.threadId !== undefined) setImmediate(() => run.abort('enough'));
      });
      checkEnd(events, 'aborted');
      deepStrictEqual([result.data.reason, result.data.forced], ['enough', undefined]);
      const ends = eventsOf(events, 'stream_end').filter(({ threadId }) => threadId !== undefined);
      ok(ends.length > 0 && ends.every(({ reason }) => reason === 'aborted'));
    },
  },
  {
    name: 'a question of a child is answered by its id, at any depth',
    async run(make) {
      const asks = tool({
        name: 'ask',
        description: 'Asks.',
        annotations: { readOnly: true },
        execute: async (_, { elicit, agentId }) => (await elicit({ message: `${agentId}?` })).action,
      });
      const wrap = (team: AgentDefinition) => sequential({ name: 'around', children: [team] });
      const made = cast(make, callsOnce('ask'), { tools: [asks], wrap });
      const { events } = await play(made, (event, run) => {
        if (event.type !== 'elicitation_request') return;
        ok(run.state().pending.some(({ requestId }) => requestId === event.requestId));
        run.respond(event.requestId, { action: 'accept' });
      });
      ok(eventsOf(events, 'elicitation_request').length > 0);
      ok(eventsOf(events, 'elicitation_response').every(({ action }) => action === 'accept'));
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'a bare session pauses while all below it waits for a person, and goes on with the answers',
    async run(make) {
      const write = tool({ name: 'write', description: 'Writes.', execute: () => 'written' });
      const { host, team } = cast(make, callsOnce('write'), { tools: [write] });
      const session = host.session(team);
      const events: AgentEvent[] = [];
      const pending: string[] = [];
      const read = async (stream: AsyncIterable<AgentEvent>) => {
        for await (const event of stream) {
          events.push(event);
          if (event.type === 'elicitation_request') pending.push(event.requestId);
        }
      };
      await read(session.stream({ kind: 'message', content: 'go' }).stream);
      ok(pending.length > 0, 'nobody asked');
      while (pending.length > 0) {
        ok(events.at(-1)?.type !== 'stream_end', 'it ended with a question open');
        // A leader waits for the calls that its children work on.
        ok(['awaiting_elicitation', 'awaiting_tool'].includes(session.state().type), session.state().type);
        const requestId = pending.shift() as string;
        await read(session.stream({ kind: 'elicitation_response', requestId, response: { action: 'accept' } }).stream);
      }
      checkEnd(events, 'completed');
      await session.close();
      await host.close();
    },
  },
  {
    name: 'each message runs it anew, and ordinals go on',
    async run(make) {
      const { host, team } = cast(make, answers);
      const session = host.session(team);
      const ordinals: (number | undefined)[] = [];
      for (const content of ['first', 'second']) {
        for await (const event of session.stream({ kind: 'message', content }).stream) {
          if (event.type === 'agent_started') ordinals.push(lastSegment(event.threadId)?.ordinal);
        }
      }
      ok(ordinals.length >= 2);
      deepStrictEqual(
        ordinals,
        ordinals.map((_, index) => index + 1),
      );
      await session.close();
      await host.close();
    },
  },
  {
    name: 'nothing is left when it has ended, or was aborted',
    async run(make) {
      await expectNoLeaks(async () => {
        await play(cast(make, answers));
        await play(cast(make, callsOnce('hang'), { tools: [hangs()] }), (event, run) => {
          if (event.type === 'tool_update' && event.threadId !== undefined) setImmediate(() => run.abort());
        });
      });
    },
  },
]);
