// Google's ADK (`@google/adk`) with a BaseLlm of our own, in-memory sessions, a new session per run. Its own
// SequentialAgent, LoopAgent and ParallelAgent. `includeContents: 'none'` where a child need not see its siblings:
// without it a loop would carry a history that grows, which the other contenders do not have.
import {
  BaseLlm,
  BaseTool,
  InMemorySessionService,
  LlmAgent,
  LogLevel,
  LoopAgent,
  ParallelAgent,
  Runner,
  SequentialAgent,
  StreamingMode,
  setLogLevel,
} from '@google/adk';
import { ANSWER, argsOf, CHAIN, CHUNK, CHUNKS, LOOP, PROMPT, roundsIn, TOOL, TOOL_ROUNDS, waitFor } from '../work.mjs';

setLogLevel(LogLevel.ERROR);

class InProcess extends BaseLlm {
  constructor(generate) {
    super({ model: 'in-process' });
    this.generateContentAsync = generate;
  }
  connect() {
    throw new Error('this model has no live connection');
  }
}

const says = (text) => ({ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', turnComplete: true });

const answering = new InProcess(async function* () {
  yield says(ANSWER);
});

const calling = new InProcess(async function* ({ contents }) {
  const round = roundsIn(contents.length);
  if (round >= TOOL_ROUNDS) yield says(ANSWER);
  else {
    const parts = [{ functionCall: { name: TOOL.name, args: argsOf(round) } }];
    yield { content: { role: 'model', parts }, finishReason: 'STOP' };
  }
});

const chunking = new InProcess(async function* () {
  for (let i = 0; i < CHUNKS; i++) yield { content: { role: 'model', parts: [{ text: CHUNK }] }, partial: true };
  yield says(CHUNK.repeat(CHUNKS));
});

/** Answers only when it is aborted. */
const waiting = (arrived, gone) =>
  new InProcess(async function* (_request, _stream, signal) {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    arrived();
    await aborted;
    gone();
  });

class LookUp extends BaseTool {
  ran = 0;
  constructor() {
    super({ name: TOOL.name, description: TOOL.description });
  }
  _getDeclaration() {
    return { name: TOOL.name, description: TOOL.description, parametersJsonSchema: TOOL.parameters };
  }
  async runAsync() {
    this.ran++;
    return { result: TOOL.result };
  }
}

const appName = 'bench';
const userId = 'user';
const agent = (name, more) => new LlmAgent({ name, model: answering, ...more });
const children = (count, more) =>
  Array.from({ length: count }, (_, i) => agent(`agent_${i}`, { includeContents: 'none', ...more }));
const newMessage = () => ({ role: 'user', parts: [{ text: PROMPT }] });

const runnerOf = (root) => {
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName, agent: root, sessionService });
  return {
    start: () => sessionService.createSession({ appName, userId }),
    remove: (session) => sessionService.deleteSession({ appName, userId, sessionId: session.id }),
    async turn(session, counts, more) {
      let seen = 0;
      for await (const event of runner.runAsync({ userId, sessionId: session.id, newMessage: newMessage(), ...more })) {
        if (event.errorCode) throw new Error(`${event.errorCode}: ${event.errorMessage}`);
        if (counts(event)) seen++;
      }
      return seen;
    },
  };
};

const answers = (event) => event.content?.parts?.[0]?.text === ANSWER;

/** One run of `root` in a session of its own. */
const runs = (root, counts = answers, more = {}) => {
  const { start, remove, turn } = runnerOf(root);
  return async () => {
    const session = await start();
    const seen = await turn(session, counts, more);
    await remove(session);
    return seen;
  };
};

export const singleTurn = () => runs(agent('one'));

export const toolRounds = () => {
  const lookUp = new LookUp();
  const run = runs(agent('one', { model: calling, tools: [lookUp] }));
  return async () => {
    lookUp.ran = 0;
    await run();
    return lookUp.ran;
  };
};

export const chain10 = () => runs(new SequentialAgent({ name: 'chain', subAgents: children(CHAIN) }));

export const loop100 = () =>
  runs(new LoopAgent({ name: 'loop', maxIterations: LOOP, subAgents: children(1) }), answers);

export const chunks10000 = () =>
  runs(agent('one', { model: chunking }), (event) => event.partial === true, {
    runConfig: { streamingMode: StreamingMode.SSE },
  });

export const fanOut = (count) =>
  runs(new ParallelAgent({ name: 'team', subAgents: children(count) }), answers, { runConfig: { maxLlmCalls: 0 } });

export const idleMemory = () => {
  const { start, turn } = runnerOf(agent('one'));
  return async () => {
    const session = await start();
    await turn(session, answers);
    return session.id;
  };
};

export const growth = () => {
  const { start, turn } = runnerOf(agent('one'));
  return async () => {
    const session = await start();
    return () => turn(session, answers);
  };
};

export const liveChildren = (count) => async () => {
  const { all, arrived } = waitFor(count);
  let gone = 0;
  const model = waiting(arrived, () => gone++);
  const { start, turn } = runnerOf(new ParallelAgent({ name: 'team', subAgents: children(count, { model }) }));
  const controller = new AbortController();
  const ended = turn(await start(), answers, { abortSignal: controller.signal, runConfig: { maxLlmCalls: 0 } });
  await all;
  return async () => {
    controller.abort();
    await ended;
    return gone;
  };
};
