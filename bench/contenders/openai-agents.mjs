// The OpenAI Agents SDK (`@openai/agents`) with a Model of our own and tracing off. It has no chain, loop or
// fan-out of its own beyond handoffs: what its guide shows is plain JavaScript around run().
import { Agent, MemorySession, Runner, tool, Usage } from '@openai/agents';
import { ANSWER, argsOf, CHAIN, CHUNK, CHUNKS, LOOP, PROMPT, roundsIn, TOOL, TOOL_ROUNDS, waitFor } from '../work.mjs';

const runner = new Runner({ tracingDisabled: true });
const message = (text) => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
});
const says = (text) => ({ usage: new Usage(), output: [message(text)] });

function unused() {
  throw new Error('this model does not stream');
}

const model = (getResponse, getStreamedResponse = unused) => ({ getResponse, getStreamedResponse });

const answering = model(async () => says(ANSWER));

let calls = 0;
const calling = model(async ({ input }) => {
  const round = roundsIn(input.length);
  if (round >= TOOL_ROUNDS) return says(ANSWER);
  return {
    usage: new Usage(),
    output: [
      {
        type: 'function_call',
        callId: `call_${calls++}`,
        name: TOOL.name,
        status: 'completed',
        arguments: JSON.stringify(argsOf(round)),
      },
    ],
  };
});

const chunking = model(undefined, async function* () {
  yield { type: 'response_started' };
  for (let i = 0; i < CHUNKS; i++) yield { type: 'output_text_delta', delta: CHUNK };
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  yield { type: 'response_done', response: { id: 'response', usage, output: [message(CHUNK.repeat(CHUNKS))] } };
});

/** Answers only when it is aborted. */
const waiting = (arrived) =>
  model(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        arrived();
      }),
  );

const agent = (name, of = answering, tools = []) => new Agent({ name, model: of, tools });

const inTurn = async (agents) => {
  let prompt = PROMPT;
  let done = 0;
  for (const one of agents) {
    prompt = (await runner.run(one, prompt)).finalOutput;
    done++;
  }
  return done;
};

export const singleTurn = () => {
  const one = agent('one');
  return async () => ((await runner.run(one, PROMPT)).finalOutput ? 1 : 0);
};

export const toolRounds = () => {
  let ran = 0;
  const lookUp = tool({
    name: TOOL.name,
    description: TOOL.description,
    parameters: TOOL.parameters,
    strict: true,
    execute: async () => {
      ran++;
      return TOOL.result;
    },
  });
  const one = agent('one', calling, [lookUp]);
  return async () => {
    ran = 0;
    await runner.run(one, PROMPT, { maxTurns: TOOL_ROUNDS + 5 });
    return ran;
  };
};

export const chain10 = () => {
  const agents = Array.from({ length: CHAIN }, (_, i) => agent(`agent_${i}`));
  return () => inTurn(agents);
};

export const loop100 = () => {
  const agents = Array(LOOP).fill(agent('one'));
  return () => inTurn(agents);
};

export const chunks10000 = () => {
  const one = agent('one', chunking);
  return async () => {
    let chunks = 0;
    const stream = await runner.run(one, PROMPT, { stream: true });
    for await (const event of stream) {
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') chunks++;
    }
    await stream.completed;
    return chunks;
  };
};

export const fanOut = (children) => {
  const agents = Array.from({ length: children }, (_, i) => agent(`agent_${i}`));
  return async () => {
    const all = await Promise.all(agents.map((one) => runner.run(one, PROMPT)));
    return all.filter(({ finalOutput }) => finalOutput).length;
  };
};

export const idleMemory = () => {
  const one = agent('one');
  return async () => {
    const session = new MemorySession();
    await runner.run(one, PROMPT, { session });
    return session;
  };
};

export const growth = () => {
  const one = agent('one');
  return async () => {
    const session = new MemorySession();
    return async () => ((await runner.run(one, PROMPT, { session })).finalOutput ? 1 : 0);
  };
};

export const liveChildren = (children) => async () => {
  const { all, arrived } = waitFor(children);
  const agents = Array.from({ length: children }, (_, i) => agent(`agent_${i}`, waiting(arrived)));
  const controller = new AbortController();
  const { signal } = controller;
  const settled = Promise.allSettled(agents.map((one) => runner.run(one, PROMPT, { signal })));
  await all;
  return async () => {
    controller.abort();
    return (await settled).filter(({ status }) => status === 'rejected').length;
  };
};
