import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import type {
  AgentDefinition,
  AgentEvent,
  AgentSession,
  ElicitationRequest,
  Executor,
  ToolDefinition,
} from '../contracts/index.js';
import { type AgentOptions, agent } from '../define/agent.js';
import { defineHook } from '../define/hook.js';
import { sequential } from '../define/sequential.js';
import { tool } from '../define/tool.js';
import type { Host, HostOptions, Run, RunOptions } from '../host/types.js';
import { createHost } from '../index.js';
import { type ScriptEntry, scriptedModel } from '../models/scripted.js';
import { bounded, type ConformanceCase } from './conformance.js';
import { checkEnd, eventsOf, readChecked, saidIn } from './event-checks.js';
import { expectNoLeaks } from './leaks.js';

/** What the agent of a case says, for backends that do not ask the host's model `scripted`, which says the same. */
export interface ExecutorScenario {
  /** One entry per turn, over all runs: texts, calls, usage, an error. */
  readonly turns: readonly ScriptEntry[];
  /** The first turn says nothing until it is aborted. */
  readonly hangs?: boolean;
  /** The agent asks this in its first turn: the backend itself, or by a call of `ask_user`, which it may call then. */
  readonly question?: Omit<ElicitationRequest, 'requestId'>;
}

/** Makes the executor, or the session, of one agent. */
export type MakeExecutor = (scenario: ExecutorScenario) => Executor | AgentSession;

/** How the agent under test is defined and its host made, beyond what each case needs. */
export interface ExecutorSetup {
  readonly agent?: Partial<AgentOptions<string, undefined, undefined, never>>;
  readonly host?: HostOptions;
}

export type ExecutorCase = ConformanceCase<MakeExecutor, ExecutorSetup>;

interface Subject {
  readonly host: Host;
  readonly subject: AgentDefinition;
}

const TYPE = 'under_test';

function prepare(
  make: MakeExecutor,
  { agent: agentOptions, host: hostOptions }: ExecutorSetup = {},
  scenario: ExecutorScenario,
  more: { tools?: readonly ToolDefinition[]; host?: HostOptions; constraints?: { maxTurns: number } } = {},
): Subject {
  const turns = scenario.hangs ? [{ delayMs: A_LONG_TIME_MS }] : turnsWithQuestion(scenario);
  const host = createHost({ ...hostOptions, ...more.host, models: { scripted: scriptedModel(turns) } });
  host.registerExecutor(TYPE, () => make(scenario));
  const subject = agent({
    name: 'subject',
    model: 'scripted',
    capabilities: ['host_tool_execution'],
    ...agentOptions,
    executor: TYPE,
    ...(scenario.question && { tools: ['ask_user'] }),
    ...(more.tools && { tools: more.tools }),
    ...(more.constraints && { constraints: more.constraints }),
  });
  return { host, subject };
}

/** The turns of an agent that asks by a call, as models do. */
export const turnsWithQuestion = ({ turns, question }: ExecutorScenario): readonly ScriptEntry[] =>
  question === undefined ? turns : [calls(['q', 'ask_user', { question: question.message }]), ...turns];

const A_LONG_TIME_MS = 3_600_000;

async function runOnce(
  { host, subject }: Subject,
  see: (event: AgentEvent, run: Run) => void = () => {},
  options: RunOptions = {},
) {
  try {
    const run = host.run(subject, 'go', options);
    const events = await readChecked(run, (event) => see(event, run));
    return { events, result: await run.result };
  } finally {
    await host.close();
  }
}

const look = (execute: (args: unknown) => unknown, name = 'look') =>
  tool({ name, description: 'Looks.', parameters: { type: 'object' }, annotations: { readOnly: true }, execute });
const write = (execute: () => unknown) => tool({ name: 'write', description: 'Writes.', execute });
const calls = (...named: [id: string, name: string, args?: unknown][]): ScriptEntry => ({
  toolCalls: named.map(([id, name, args = {}]) => ({ id, name, args })),
});

/** What every executor must do. `make` is asked once per session, with what its agent is to say. */
export const executorCases: readonly ExecutorCase[] = bounded([
  {
    name: 'a message is answered in one message, and the run ends once',
    async run(make, setup) {
      const subject = prepare(make, setup, { turns: [{ text: ['Hel', 'lo'] }] });
      const { events, result } = await runOnce(subject);
      checkEnd(events, 'completed');
      strictEqual(saidIn(events), 'Hello');
      const said = eventsOf(events, 'message').filter(({ role }) => role === 'agent');
      strictEqual(new Set(said.map(({ messageId }) => messageId)).size, 1);
      deepStrictEqual([result.ok, result.text], [true, 'Hello']);
    },
  },
  {
    name: 'usage is told as increments, each once',
    async run(make, setup) {
      const turns = [
        { ...calls(['c1', 'look']), usage: { inputTokens: 10, outputTokens: 3 } },
        { text: 'done', usage: { inputTokens: 20, outputTokens: 4 } },
      ];
      const { result } = await runOnce(prepare(make, setup, { turns }, { tools: [look(() => 'seen')] }));
      deepStrictEqual(result.usage, { inputTokens: 30, outputTokens: 7 });
    },
  },
  {
    name: 'a call runs on the host, with its arguments, once; then the agent goes on',
    async run(make, setup) {
      const ran: unknown[] = [];
      const turns = [calls(['c1', 'look', { at: [1] }]), { text: 'done' }];
      const tools = [look((args) => ran.push(args) && 'seen')];
      const { events } = await runOnce(prepare(make, setup, { turns }, { tools }));
      deepStrictEqual(ran, [{ at: [1] }]);
      const [response] = eventsOf(events, 'tool_response');
      deepStrictEqual(response?.llmContent, [{ type: 'text', text: 'seen' }]);
      strictEqual(saidIn(events), 'done');
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'the calls of a turn are all answered before the agent goes on',
    async run(make, setup) {
      const turns = [calls(['c1', 'look'], ['c2', 'peek'], ['c3', 'look']), { text: 'done' }];
      const tools = [look(() => 'seen'), look(() => 'peeked', 'peek')];
      const { events } = await runOnce(prepare(make, setup, { turns }, { tools }));
      strictEqual(eventsOf(events, 'tool_response').length, 3);
      const lastAnswer = events.findLastIndex(({ type }) => type === 'tool_response');
      const goesOn = events.findIndex((event) => event.type === 'message' && event.role === 'agent');
      ok(goesOn > lastAnswer, 'the agent went on before all its calls were answered');
    },
  },
  {
    name: 'a denied call runs nothing, is told, and the agent goes on',
    async run(make, setup) {
      let ran = 0;
      const turns = [calls(['c1', 'write']), { text: 'then not' }];
      const subject = prepare(make, setup, { turns }, { tools: [write(() => ++ran)], host: { elicitation: 'deny' } });
      const { events } = await runOnce(subject);
      deepStrictEqual([ran, eventsOf(events, 'tool_response')[0]?.errorType], [0, 'policy_denied']);
      strictEqual(saidIn(events), 'then not');
    },
  },
  {
    name: 'an unknown tool is answered with an error, and the agent goes on',
    async run(make, setup) {
      const turns = [calls(['c1', 'no_such_tool']), { text: 'then not' }];
      const { events } = await runOnce(prepare(make, setup, { turns }));
      strictEqual(eventsOf(events, 'tool_response')[0]?.errorType, 'tool_not_registered');
      strictEqual(saidIn(events), 'then not');
    },
  },
  {
    name: 'what policy asks about waits for a person, then runs',
    async run(make, setup) {
      const order: string[] = [];
      const turns = [calls(['c1', 'write']), { text: 'done' }];
      const subject = prepare(make, setup, { turns }, { tools: [write(() => order.push('ran'))] });
      const { events } = await runOnce(subject, (event, run) => {
        if (event.type !== 'elicitation_request') return;
        order.push('asked');
        run.respond(event.requestId, { action: 'accept' });
      });
      deepStrictEqual(order, ['asked', 'ran']);
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'hooks fire for its calls as for any other',
    async run(make, setup) {
      const fired: string[] = [];
      const hooks = [
        defineHook('before_tool', ({ tool: name }) => void fired.push(`before ${name}`)),
        defineHook('after_tool', ({ tool: name }) => void fired.push(`after ${name}`)),
      ];
      const turns = [calls(['c1', 'look']), { text: 'done' }];
      await runOnce(prepare(make, setup, { turns }, { tools: [look(() => 'seen')], host: { hooks } }));
      deepStrictEqual(fired, ['before subject.look', 'after subject.look']);
    },
  },
  {
    name: 'hooks around its run fire as around any other, and may send it back once',
    async run(make, setup) {
      const fired: string[] = [];
      const hooks = [
        defineHook('session_start', ({ source }) => void fired.push(`session_start ${source}`)),
        defineHook('before_agent', () => void fired.push('before_agent')),
        defineHook('after_agent', ({ response, stopHookActive }) => {
          fired.push(`after_agent ${String(response)}`);
          return stopHookActive ? undefined : { action: 'block', reason: 'say it better' };
        }),
        defineHook('after_run', ({ reason }) => void fired.push(`after_run ${reason}`)),
      ];
      const turns = [{ text: 'one' }, { text: 'two' }];
      const { events } = await runOnce(prepare(make, setup, { turns }, { host: { hooks } }));
      deepStrictEqual(fired, [
        'session_start startup',
        'before_agent',
        'after_agent one',
        'after_agent two',
        'after_run completed',
      ]);
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'a question of its own is asked in the inbox, and the answer brings it on',
    async run(make, setup) {
      const question = { kind: 'clarification', message: 'which one?' };
      const subject = prepare(make, setup, { turns: [{ text: 'thanks' }], question });
      const { events } = await runOnce(subject, (event, run) => {
        if (event.type === 'elicitation_request')
          run.respond(event.requestId, { action: 'accept', content: { answers: 'that', answer: 'that' } });
      });
      strictEqual(eventsOf(events, 'elicitation_request')[0]?.message, 'which one?');
      strictEqual(eventsOf(events, 'elicitation_response')[0]?.action, 'accept');
      strictEqual(saidIn(events), 'thanks');
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'a failure of the backend is an error and a failed end, never a throw',
    async run(make, setup) {
      const turns = [{ error: { code: 'INVALID_ARGUMENT', message: 'no such thing', retryable: false } }];
      const { events, result } = await runOnce(prepare(make, setup, { turns }));
      checkEnd(events, 'failed');
      strictEqual(eventsOf(events, 'error').at(-1)?.message, 'no such thing');
      strictEqual(result.ok, false);
    },
  },
  {
    name: 'stops within abortTimeoutMs of abort',
    async run(make, setup) {
      const { events, result } = await runOnce(prepare(make, setup, { turns: [], hangs: true }), (event, run) => {
        if (event.type === 'message') setImmediate(() => run.abort('enough'));
      });
      checkEnd(events, 'aborted');
      deepStrictEqual([result.data.reason, result.data.forced], ['enough', undefined]);
    },
  },
  {
    name: 'an abort while a call runs answers the call and ends the run',
    async run(make, setup) {
      const stuck = tool({
        name: 'look',
        description: 'Looks for ever.',
        annotations: { readOnly: true },
        execute: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
      });
      const subject = prepare(make, setup, { turns: [calls(['c1', 'look'])] }, { tools: [stuck] });
      const { events } = await runOnce(subject, (event, run) => {
        if (event.type === 'tool_update') setImmediate(() => run.abort('enough'));
      });
      strictEqual(eventsOf(events, 'tool_response')[0]?.errorType, 'cancelled');
      checkEnd(events, 'aborted');
    },
  },
  {
    name: 'a signal that has fired before the start lets nothing be said',
    async run(make, setup) {
      const subject = prepare(make, setup, { turns: [{ text: 'too late' }] });
      const { events } = await runOnce(subject, undefined, { signal: AbortSignal.abort() });
      strictEqual(saidIn(events), '');
      checkEnd(events, 'aborted');
    },
  },
  {
    name: 'a second message goes on in the same session',
    async run(make, setup) {
      const { host, subject } = prepare(make, setup, { turns: [{ text: 'one' }, { text: 'two' }] });
      const session = host.session(subject);
      const events: AgentEvent[] = [];
      for (const content of ['first', 'second']) {
        for await (const event of session.stream({ kind: 'message', content }).stream) events.push(event);
      }
      await readChecked(iterate(events));
      strictEqual(saidIn(events), 'onetwo');
      strictEqual(eventsOf(events, 'stream_end').length, 2);
      await session.close();
      await host.close();
    },
  },
  {
    name: 'a limit on turns ends the run',
    async run(make, setup) {
      const turns = [calls(['c1', 'look', { n: 1 }]), calls(['c2', 'look', { n: 2 }]), { text: 'too late' }];
      const subject = prepare(make, setup, { turns }, { tools: [look(() => 'seen')], constraints: { maxTurns: 2 } });
      const { events } = await runOnce(subject);
      strictEqual(eventsOf(events, 'tool_response').length, 2);
      strictEqual(saidIn(events), '');
      checkEnd(events, 'max_turns');
    },
  },
  {
    name: 'it works as a child like any other agent',
    async run(make, setup) {
      const { host, subject } = prepare(make, setup, { turns: [{ text: 'done' }] });
      const team = sequential({ name: 'team', children: [subject] });
      const { events, result } = await runOnce({ host, subject: team });
      strictEqual(result.text, 'done');
      deepStrictEqual(
        // What an executor tells a person has its place anywhere.
        events.filter(({ threadId, type }) => threadId === 'subject_1' && type !== 'custom').map(({ type }) => type),
        ['agent_started', 'initialize', 'message', 'message', 'stream_end', 'agent_completed'],
      );
    },
  },
  {
    name: 'nothing is left when its session has ended',
    async run(make, setup) {
      await expectNoLeaks(async () => {
        const turns = [calls(['c1', 'look']), { text: 'done' }];
        await runOnce(prepare(make, setup, { turns }, { tools: [look(() => 'seen')] }));
        await runOnce(prepare(make, setup, { turns: [], hangs: true }), (event, run) => {
          if (event.type === 'message') setImmediate(() => run.abort('enough'));
        });
      });
    },
  },
]);

async function* iterate(events: readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  yield* events;
}
