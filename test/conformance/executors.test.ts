import { LlmAgent } from '@google/adk';
import { describe, test } from 'vitest';
import { driveAdk } from '../../src/executors/adk/index.js';
import { localExecutor } from '../../src/executors/local/index.js';
import {
  type ConformanceSkip,
  type ExecutorScenario,
  executorCases,
  type MakeExecutor,
  type MockEvent,
  mockSession,
  type ScriptEntry,
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
  for (const [index, { id = `c${turn}.${index}`, name, args }] of toolCalls.entries()) {
    yield { type: 'tool_request', requestId: id, name, args, messageId, index };
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

const QUESTION = {
  case: 'a question of its own is asked in the inbox, and the answer brings it on',
  reason: 'an ADK agent asks through its tools, which are calls',
};

const subjects: { name: string; make: MakeExecutor; skip: ConformanceSkip[] }[] = [
  {
    name: 'local',
    make: () => localExecutor(),
    skip: [
      {
        case: 'a question of its own is asked in the inbox, and the answer brings it on',
        reason: 'a model asks through ask_user, which is a call',
      },
    ],
  },
  { name: 'a foreign session', make: foreign, skip: [] },
  {
    name: 'an ADK agent with its own model',
    make: ({ turns, hangs }) => driveAdk(new LlmAgent({ name: 'subject', model: new ScriptedLlm(turns, hangs) })),
    skip: [QUESTION],
  },
  {
    name: 'an ADK agent with the host’s model',
    make: () => driveAdk(new LlmAgent({ name: 'subject' })),
    skip: [QUESTION],
  },
];

for (const { name, make, skip } of subjects) {
  describe(name, () => {
    const { run, skipped } = withSkips(executorCases, skip);
    for (const one of run) test(one.name, () => one.run(make));
    for (const { name: skippedName, reason } of skipped) test.skip(`${skippedName} (${reason})`, () => {});
  });
}
