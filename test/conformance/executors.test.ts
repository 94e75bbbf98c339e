import { LlmAgent } from '@google/adk';
import { afterEach, describe, expect, test } from 'vitest';
import type { AgentDescriptor, Executor } from '../../src/contracts/index.js';
import { driveAdk } from '../../src/executors/adk/index.js';
import { localExecutor } from '../../src/executors/local/index.js';
import { remoteExecutor } from '../../src/executors/remote/index.js';
import { agent, createHost, type Host, tool } from '../../src/index.js';
import { type A2aServer, serveA2a } from '../../src/surfaces/a2a.js';
import { turnsWithQuestion } from '../../src/testing/executor-cases.js';
import { executorSupport, supportOf } from '../../src/testing/executor-support.js';
import {
  type ExecutorScenario,
  type ExecutorSetup,
  executorCases,
  type MakeExecutor,
  type MockEvent,
  mockSession,
  type ScriptEntry,
  scriptedModel,
  withSkips,
} from '../../src/testing/index.js';
import { ScriptedLlm } from '../executors/adk/scripted-llm.js';

/** What one turn of a scenario is as events of a session. */
function* eventsOf({ text = [], toolCalls = [], usage, error }: ScriptEntry, turn: number): Generator<MockEvent> {
  const messageId = `m${turn}`;
  if (error !== undefined) {
    yield { type: 'error', code: error.code, message: error.message, fatal: false };
    return yield { type: 'stream_end', reason: 'failed', data: { code: error.code, message: error.message } };
  }
  for (const piece of typeof text === 'string' ? [text] : text) {
    yield { type: 'message', messageId, role: 'agent', content: [{ type: 'text', text: piece }] };
  }
  if (usage !== undefined) yield { type: 'usage', ...usage };
  for (const [index, { id = `c${turn}.${index}`, ...call }] of toolCalls.entries()) {
    yield { type: 'tool_request', requestId: id, ...call, messageId, index };
  }
  if (toolCalls.length === 0) yield { type: 'stream_end', reason: 'completed' };
  // Where the turn ends: what is really answered stands in for these.
  for (const [index, { id = `c${turn}.${index}`, name }] of toolCalls.entries()) {
    yield { type: 'tool_response', requestId: id, name, llmContent: [] };
  }
}

/** Anybody's session that says what the scenario wants, pausing as sessions do. */
function foreign({ turns, hangs, question }: ExecutorScenario) {
  if (hangs) {
    return mockSession(async function* (_, __, signal) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield* [];
    });
  }
  const asked: MockEvent[] =
    question === undefined ? [] : [{ type: 'elicitation_request', requestId: 'q', ...question }];
  return mockSession([...asked, ...turns.flatMap((turn, index) => [...eventsOf(turn, index)])]);
}

/** A peer of its own behind real HTTP, started with the first request that is sent to it. */
function remote({ turns, hangs, question }: ExecutorScenario) {
  let starting: Promise<{ host: Host; server: A2aServer }> | undefined;
  const start = async () => {
    const wonder = tool({
      name: 'wonder',
      description: 'Asks.',
      parameters: { type: 'object' },
      annotations: { readOnly: true },
      async execute(_args, { elicit }) {
        await elicit({ message: question?.message ?? '' });
        return '';
      },
    });
    const asking = question === undefined ? [] : [{ toolCalls: [{ name: 'wonder', args: {} }] }];
    const silent = { delayMs: 3_600_000 };
    const model = scriptedModel(hangs ? [silent] : [...asking, ...turns]);
    const host = createHost({ models: { scripted: model } });
    return { host, server: await serveA2a(host, agent({ name: 'far', tools: [wonder] })) };
  };
  const executor = remoteExecutor(
    { name: 'subject' } as AgentDescriptor,
    {
      definition: {
        backend: {
          cardUrl: 'http://far.test/.well-known/agent-card.json',
          async fetch(input: string | URL | Request, init?: RequestInit) {
            starting ??= start();
            const { server } = await starting;
            const { pathname } = new URL(String(input));
            if (!pathname.endsWith('agent-card.json')) return fetch(new URL(pathname, server.url), init);
            const card = await (await fetch(server.cardUrl)).text();
            return Response.json(JSON.parse(card.replaceAll(server.url, 'http://far.test/')));
          },
        },
      },
    } as never,
  ) as Executor;
  const stop = async () => {
    const { host, server } = (await starting) ?? {};
    starting = undefined;
    await server?.close();
    await host?.close();
  };
  ending.push(stop);
  // The peer ends with its session: a case looks at what is left.
  const own: Executor = {
    turn: (inbox, context) => executor.turn(inbox, context),
    opaque: true,
    ...(executor.capabilities !== undefined && { capabilities: executor.capabilities }),
    ...(executor.hookPoints !== undefined && { hookPoints: executor.hookPoints }),
    close: stop,
  };
  return own;
}

const ending: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

/** How the columns of the table are driven here. */
const subjects: Record<string, { make: MakeExecutor; setup?: ExecutorSetup }> = {
  local: { make: () => localExecutor() },
  'foreign session': { make: foreign },
  adk: {
    make(scenario) {
      const model = new ScriptedLlm(turnsWithQuestion(scenario), scenario.hangs);
      return driveAdk(new LlmAgent({ name: 'subject', model }));
    },
  },
  'adk, host’s model': { make: () => driveAdk(new LlmAgent({ name: 'subject' })) },
  remote: {
    make: remote,
    setup: {
      agent: { capabilities: ['streaming'] },
      host: { policy: [{ rules: [{ toolName: 'subject', decision: 'allow', context: { opaque: true } }] }] },
    },
  },
};

test('every executor that the table names is tried', () => {
  expect(Object.keys(subjects)).toEqual(executorSupport.map(({ name }) => name));
});

for (const support of executorSupport) {
  const { make, setup } = subjects[support.name] as (typeof subjects)[string];
  describe(support.name, () => {
    const { run } = withSkips(executorCases, support.skips);
    for (const one of run) test(one.name, () => one.run(make, setup));
    for (const { name, holds, reason, missing } of supportOf(support)) {
      if (holds) continue;
      // What has come to hold is no skip any more.
      test(`does not hold: ${name} (${reason})`, async () => {
        const all = executorCases.find((one) => one.name === name);
        await expect(all?.run(make, setup)).rejects.toThrow();
        expect(support.capabilities).not.toContain(missing);
      });
    }
  });
}
