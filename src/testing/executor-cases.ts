import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import type {
  AgentConstraints,
  AgentDefinition,
  AgentEvent,
  AgentSession,
  ContentPart,
  ElicitationRequest,
  Executor,
  ToolDefinition,
  ToolDescriptor,
} from '../contracts/index.js';
import { type AgentOptions, agent } from '../define/agent.js';
import { defineHook } from '../define/hook.js';
import { sequential } from '../define/sequential.js';
import { tool } from '../define/tool.js';
import type { Host, HostOptions, Run, RunOptions } from '../host/types.js';
import { createHost } from '../index.js';
import { jsonFault } from '../kernel/json-value.js';
import { type ScriptEntry, scriptedModel } from '../models/scripted.js';
import { bounded, type ConformanceCase } from './conformance.js';
import { checkEnd, eventsOf, readChecked, saidIn } from './event-checks.js';
import { expectNoLeaks } from './leaks.js';
import { virtualClock } from './virtual-clock.js';

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
  more: { tools?: readonly ToolDefinition[]; host?: HostOptions; constraints?: AgentConstraints } = {},
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

/** A part that nobody knows. */
const HOLOGRAM = { type: 'hologram', beams: 3 } as unknown as ContentPart;

/** Names that mean something to JavaScript, numbers at the edge, odd texts, depth. */
const STRANGE_JSON = (): unknown =>
  JSON.parse(
    `{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"":null,"n":[-0.5,1e21,5e-324,0],"t":"\\u0000🪁\\u2028","deep":${'['.repeat(30)}${']'.repeat(30)}}`,
  );

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
    name: 'a limit on model calls ends the run before one too many',
    async run(make, setup) {
      const turns = [calls(['c1', 'look', { n: 1 }]), calls(['c2', 'look', { n: 2 }]), { text: 'too late' }];
      const subject = prepare(make, setup, { turns }, { tools: [look(() => 'seen')], constraints: { maxLlmCalls: 2 } });
      const { events, result } = await runOnce(subject);
      strictEqual(eventsOf(events, 'tool_response').length, 2);
      strictEqual(saidIn(events), '');
      checkEnd(events, 'max_turns');
      deepStrictEqual([result.data.limit, result.data.used], ['maxLlmCalls', 2]);
    },
  },
  {
    name: 'a limit on time ends the run, whatever its backend is doing',
    async run(make, setup) {
      const clock = virtualClock();
      const more = { host: { clock }, constraints: { maxTimeMinutes: 1 } };
      const { events, result } = await runOnce(prepare(make, setup, { turns: [], hangs: true }, more), (event) => {
        if (event.type === 'message') setImmediate(() => void clock.advance(60_000));
      });
      strictEqual(saidIn(events), '');
      checkEnd(events, 'max_time');
      deepStrictEqual([result.data.limit, result.data.forced], ['maxTimeMinutes', undefined]);
    },
  },
  {
    name: 'what it says comes in its order, numbered, and as its own',
    async run(make, setup) {
      const pieces = ['one ', 'two ', 'three ', 'four'];
      const { events } = await runOnce(prepare(make, setup, { turns: [{ text: pieces }] }));
      strictEqual(saidIn(events), pieces.join(''));
      ok(
        events.every(({ seq }, at) => at === 0 || seq > (events[at - 1]?.seq ?? 0)),
        'seq does not rise',
      );
      deepStrictEqual([...new Set(events.map(({ agentId }) => agentId))], ['subject']);
    },
  },
  {
    name: 'the words of a turn come before its calls, and these in their order',
    async run(make, setup) {
      const turns = [{ text: 'First I look.', ...calls(['c1', 'look'], ['c2', 'look', { n: 2 }]) }, { text: 'done' }];
      const { events } = await runOnce(prepare(make, setup, { turns }, { tools: [look(() => 'seen')] }));
      const said = events.flatMap((event) => {
        if (event.type === 'tool_request') return [event.args];
        return event.type === 'message' && event.role === 'agent' ? [saidIn([event])] : [];
      });
      deepStrictEqual(
        said.filter((one) => one !== ''),
        ['First I look.', {}, { n: 2 }, 'done'],
      );
    },
  },
  {
    name: 'calls that the consumer runs pause its stream until the last of their results',
    async run(make, setup) {
      const turns = [calls(['c1', 'mine', { n: 1 }], ['c2', 'mine', { n: 2 }]), { text: 'done' }];
      const { host, subject } = prepare(make, setup, { turns });
      const session = host.session(subject);
      const mine: ToolDescriptor = {
        name: 'mine',
        description: 'The consumer’s.',
        parametersSchema: { type: 'object' },
        annotations: { readOnly: true },
      };
      const paused = await drain(session.stream({ kind: 'message', content: 'go' }, { tools: [mine] }).stream);
      const requests = eventsOf(paused, 'tool_request');
      deepStrictEqual([requests.length, eventsOf(paused, 'stream_end').length], [2, 0]);
      deepStrictEqual(session.state().type, 'awaiting_tool');
      const later: AgentEvent[] = [];
      for (const { requestId, args } of requests.toReversed()) {
        strictEqual(saidIn(later), '', 'it went on before all results were there');
        const text = `result ${(args as { n: number }).n}`;
        const result = { llmContent: [{ type: 'text' as const, text }] };
        later.push(...(await drain(session.stream({ kind: 'tool_result', requestId, result }).stream)));
      }
      await readChecked(iterate([...paused, ...later]));
      checkEnd(later, 'completed');
      strictEqual(saidIn(later), 'done');
      await session.close();
      await host.close();
    },
  },
  {
    name: 'a question pauses its stream, and the next one goes on with the answer',
    async run(make, setup) {
      const question = { kind: 'clarification', message: 'which one?' };
      const { host, subject } = prepare(make, setup, { turns: [{ text: 'thanks' }], question });
      const session = host.session(subject);
      const paused = await drain(session.stream({ kind: 'message', content: 'go' }).stream);
      const [asked] = eventsOf(paused, 'elicitation_request');
      ok(asked !== undefined, 'nothing was asked');
      deepStrictEqual([session.state().type, eventsOf(paused, 'stream_end').length], ['awaiting_elicitation', 0]);
      const response = { action: 'accept', content: { answers: 'that', answer: 'that' } };
      const answer = { kind: 'elicitation_response' as const, requestId: asked.requestId, response };
      const later = await drain(session.stream(answer).stream);
      await readChecked(iterate([...paused, ...later]));
      checkEnd(later, 'completed');
      strictEqual(saidIn(later), 'thanks');
      await session.close();
      await host.close();
    },
  },
  {
    name: 'the signature of a call is kept byte for byte',
    async run(make, setup) {
      const thoughtSignature = 'c2lnbmVkIGJ5IHRoZSBtb2RlbA+/==';
      const turns = [{ toolCalls: [{ id: 'c1', name: 'look', args: {}, thoughtSignature }] }, { text: 'done' }];
      const { events } = await runOnce(prepare(make, setup, { turns }, { tools: [look(() => 'seen')] }));
      strictEqual(eventsOf(events, 'tool_request')[0]?.thoughtSignature, thoughtSignature);
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'a part of an unknown kind in what it is told harms nothing',
    async run(make, setup) {
      const { host, subject } = prepare(make, setup, { turns: [{ text: 'read' }] });
      const run = host.run(subject, [{ type: 'text', text: 'see: ' }, HOLOGRAM]);
      const events = await readChecked(run);
      deepStrictEqual(
        eventsOf(events, 'message')
          .find(({ role }) => role === 'user')
          ?.content.at(-1),
        HOLOGRAM,
      );
      strictEqual(saidIn(events), 'read');
      checkEnd(events, 'completed');
      await host.close();
    },
  },
  {
    name: 'a part of an unknown kind in a result is kept, and the agent goes on',
    async run(make, setup) {
      const turns = [calls(['c1', 'look']), { text: 'done' }];
      const result = () => ({ llmContent: [{ type: 'text', text: 'see: ' }, HOLOGRAM] });
      const { events } = await runOnce(prepare(make, setup, { turns }, { tools: [look(result)] }));
      deepStrictEqual(eventsOf(events, 'tool_response')[0]?.llmContent.at(-1), HOLOGRAM);
      strictEqual(saidIn(events), 'done');
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'arguments come through as the JSON that they are, whatever is in them',
    async run(make, setup) {
      const ran: unknown[] = [];
      const turns = [calls(['c1', 'look', STRANGE_JSON()]), { text: 'done' }];
      const tools = [look((args) => ran.push(args) && 'seen')];
      const { events } = await runOnce(prepare(make, setup, { turns }, { tools }));
      strictEqual(JSON.stringify(ran), JSON.stringify([STRANGE_JSON()]));
      strictEqual(({} as { polluted?: unknown }).polluted, undefined);
      for (const event of events) deepStrictEqual(jsonFault(event), undefined, event.type);
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'text comes through as it is, and every event is plain JSON',
    async run(make, setup) {
      const text = 'naïve 🪁 \u0000\u2028 "quoted" \\ </script> \u202e';
      const { events } = await runOnce(prepare(make, setup, { turns: [{ text }] }));
      strictEqual(saidIn(events), text);
      for (const event of events) deepStrictEqual(jsonFault(event), undefined, event.type);
    },
  },
  {
    name: 'an observer sees what its reader sees, from any point on',
    async run(make, setup) {
      const { host, subject } = prepare(make, setup, { turns: [{ text: ['Hel', 'lo'] }] });
      const run = host.run(subject, 'go');
      const live = drain(host.attach(run.sessionId));
      const events = await readChecked(run);
      await run.result;
      const later = await drain(host.attach(run.sessionId));
      const from = events[1] as AgentEvent;
      const rest = await drain(host.attach(run.sessionId, { after: from.seq }));
      const idsOf = (some: readonly AgentEvent[]) => some.flatMap(({ id, type }) => (type === 'message' ? [] : [id]));
      const said = new Map<string, string>();
      for (const event of eventsOf(later, 'message')) said.set(event.messageId, saidIn([event]));
      deepStrictEqual(idsOf(later), idsOf(events));
      deepStrictEqual(idsOf(await live), idsOf(events));
      deepStrictEqual(idsOf(rest), idsOf(events.slice(2)));
      strictEqual([...said.values()].join(''), 'Hello');
      await host.close();
    },
  },
  {
    name: 'what is said while it works is heard before it goes on, and shown',
    async run(make, setup) {
      let steer = () => {};
      const turns = [calls(['c1', 'look']), { text: 'done' }];
      const tools = [
        look(() => {
          steer();
          return 'seen';
        }),
      ];
      const { events } = await runOnce(prepare(make, setup, { turns }, { tools }), (_, run) => {
        steer = () => run.steer({ message: 'hurry' });
      });
      const steered = events.findIndex((event) => event._meta?.steered === true);
      ok(steered > events.findIndex(({ type }) => type === 'tool_response'), 'it does not stand behind the answer');
      deepStrictEqual((events[steered] as AgentEvent<'message'>).content, [{ type: 'text', text: 'hurry' }]);
      checkEnd(events, 'completed');
    },
  },
  {
    name: 'a reader that leaves ends the run only: the session is usable',
    async run(make, setup) {
      const { host, subject } = prepare(make, setup, { turns: [{ text: ['one', 'more'] }, { text: 'two' }] });
      const session = host.session(subject);
      for await (const event of session.stream({ kind: 'message', content: 'first' }).stream) {
        if (event.type === 'message' && event.role === 'agent') break;
      }
      const events = await drain(session.stream({ kind: 'message', content: 'second' }).stream);
      strictEqual(saidIn(events), 'two');
      checkEnd(
        events.filter(({ runId }) => runId === events.at(-1)?.runId),
        'completed',
      );
      await session.close();
      await host.close();
    },
  },
  {
    name: 'a failure ends the run only: the session is usable',
    async run(make, setup) {
      const error = { code: 'INVALID_ARGUMENT', message: 'no such thing', retryable: false };
      const { host, subject } = prepare(make, setup, { turns: [{ error }, { text: 'two' }] });
      const session = host.session(subject);
      const failed = await drain(session.stream({ kind: 'message', content: 'first' }).stream);
      checkEnd(failed, 'failed');
      const events = await drain(session.stream({ kind: 'message', content: 'second' }).stream);
      strictEqual(saidIn(events), 'two');
      checkEnd(events, 'completed');
      await session.close();
      await host.close();
    },
  },
  {
    name: 'a budget of tokens ends the run once it is spent',
    async run(make, setup) {
      const usage = { inputTokens: 90, outputTokens: 20 };
      const turns = [{ ...calls(['c1', 'look']), usage }, { text: 'too late' }];
      const more = { tools: [look(() => 'seen')], constraints: { maxTokens: 100 } };
      const { events } = await runOnce(prepare(make, setup, { turns }, more));
      strictEqual(saidIn(events), '');
      checkEnd(events, 'max_budget');
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

async function drain(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function* iterate(events: readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  yield* events;
}
