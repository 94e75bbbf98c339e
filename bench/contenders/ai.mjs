// The AI SDK (`ai`): generateText and streamText with a provider object of our own. It has no compositions: a chain,
// a loop and a fan-out are what its guide shows, plain JavaScript around generateText.
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import { ANSWER, argsOf, CHAIN, CHUNK, CHUNKS, LOOP, PROMPT, roundsIn, TOOL, TOOL_ROUNDS, waitFor } from '../work.mjs';

const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
const stop = { unified: 'stop', raw: 'stop' };
const says = (text) => ({ content: [{ type: 'text', text }], finishReason: stop, usage, warnings: [] });

const model = (parts) => ({
  specificationVersion: 'v4',
  provider: 'in-process',
  modelId: 'in-process',
  supportedUrls: {},
  ...parts,
});

const answering = model({ doGenerate: async () => says(ANSWER) });

let calls = 0;
const calling = model({
  doGenerate: async ({ prompt }) => {
    const round = roundsIn(prompt.length);
    if (round >= TOOL_ROUNDS) return says(ANSWER);
    return {
      content: [
        { type: 'tool-call', toolCallId: `call_${calls++}`, toolName: TOOL.name, input: JSON.stringify(argsOf(round)) },
      ],
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage,
      warnings: [],
    };
  },
});

const chunking = model({
  doStream: async () => {
    let i = 0;
    return {
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: 'stream-start', warnings: [] });
          controller.enqueue({ type: 'text-start', id: 'text' });
        },
        pull(controller) {
          if (i++ < CHUNKS) return controller.enqueue({ type: 'text-delta', id: 'text', delta: CHUNK });
          controller.enqueue({ type: 'text-end', id: 'text' });
          controller.enqueue({ type: 'finish', finishReason: stop, usage });
          controller.close();
        },
      }),
    };
  },
});

/** Answers only when it is aborted. */
const waiting = (arrived) =>
  model({
    doGenerate: ({ abortSignal }) =>
      new Promise((_, reject) => {
        abortSignal.addEventListener('abort', () => reject(abortSignal.reason), { once: true });
        arrived();
      }),
  });

const inTurn = async (count) => {
  let prompt = PROMPT;
  let done = 0;
  for (; done < count; done++) prompt = (await generateText({ model: answering, prompt })).text;
  return done;
};

export const singleTurn = () => async () => ((await generateText({ model: answering, prompt: PROMPT })).text ? 1 : 0);

export const toolRounds = () => {
  let ran = 0;
  const tools = {
    [TOOL.name]: tool({
      description: TOOL.description,
      inputSchema: jsonSchema(TOOL.parameters),
      execute: async () => {
        ran++;
        return TOOL.result;
      },
    }),
  };
  return async () => {
    ran = 0;
    await generateText({ model: calling, prompt: PROMPT, tools, stopWhen: isStepCount(TOOL_ROUNDS + 5) });
    return ran;
  };
};

export const chain10 = () => () => inTurn(CHAIN);
export const loop100 = () => () => inTurn(LOOP);

export const chunks10000 = () => async () => {
  let chunks = 0;
  for await (const _ of streamText({ model: chunking, prompt: PROMPT }).textStream) chunks++;
  return chunks;
};

export const fanOut = (children) => async () => {
  const all = await Promise.all(
    Array.from({ length: children }, () => generateText({ model: answering, prompt: PROMPT })),
  );
  return all.filter(({ text }) => text).length;
};

/** A conversation is its messages. */
const conversation = () => {
  const messages = [];
  return {
    messages,
    async turn() {
      messages.push({ role: 'user', content: PROMPT });
      const { response } = await generateText({ model: answering, messages });
      messages.push(...response.messages);
      return response.messages.length;
    },
  };
};

export const idleMemory = () => async () => {
  const { messages, turn } = conversation();
  await turn();
  return messages;
};

export const growth = () => async () => conversation().turn;

export const liveChildren = (children) => async () => {
  const controller = new AbortController();
  const { all, arrived } = waitFor(children);
  const model = waiting(arrived);
  const settled = Promise.allSettled(
    Array.from({ length: children }, () =>
      generateText({ model, prompt: PROMPT, abortSignal: controller.signal, maxRetries: 0 }),
    ),
  );
  await all;
  return async () => {
    controller.abort();
    return (await settled).filter(({ status }) => status === 'rejected').length;
  };
};
