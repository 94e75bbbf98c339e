// LangGraph (`@langchain/langgraph`) with a chat model of our own: a graph node per agent, its own ToolNode, edges for
// the chain and the loop, Send for the fan-out. A checkpointer only where a session must go on (growth, memory).

import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { Annotation, END, MemorySaver, MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { ANSWER, argsOf, CHAIN, CHUNK, CHUNKS, LOOP, PROMPT, roundsIn, TOOL, TOOL_ROUNDS } from '../work.mjs';

class InProcess extends BaseChatModel {
  constructor(answer) {
    super({});
    this.answer = answer;
  }
  _llmType() {
    return 'in-process';
  }
  async _generate(messages) {
    const message = this.answer(messages);
    return { generations: [{ text: message.text, message }] };
  }
}

class Chunking extends InProcess {
  async *_streamResponseChunks(_messages, _options, run) {
    for (let i = 0; i < CHUNKS; i++) {
      const chunk = new ChatGenerationChunk({ text: CHUNK, message: new AIMessageChunk({ content: CHUNK }) });
      yield chunk;
      await run?.handleLLMNewToken(CHUNK, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const says = () => new AIMessage(ANSWER);
const answering = new InProcess(says);

let calls = 0;
const calling = new InProcess((messages) => {
  const round = roundsIn(messages.length);
  if (round >= TOOL_ROUNDS) return says();
  return new AIMessage({ content: '', tool_calls: [{ id: `call_${calls++}`, name: TOOL.name, args: argsOf(round) }] });
});

const chunking = new Chunking(says);

/** A node that asks a model and adds its answer. */
const asks =
  (model) =>
  async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] });

const input = () => ({ messages: [new HumanMessage(PROMPT)] });
const oneNode = (model) =>
  new StateGraph(MessagesAnnotation).addNode('agent', asks(model)).addEdge(START, 'agent').addEdge('agent', END);

export const singleTurn = () => {
  const graph = oneNode(answering).compile();
  return async () => ((await graph.invoke(input())).messages.at(-1).content === ANSWER ? 1 : 0);
};

export const toolRounds = () => {
  let ran = 0;
  const lookUp = tool(
    async () => {
      ran++;
      return TOOL.result;
    },
    { name: TOOL.name, description: TOOL.description, schema: TOOL.parameters },
  );
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', asks(calling))
    .addNode('tools', new ToolNode([lookUp]))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', ({ messages }) => (messages.at(-1).tool_calls?.length ? 'tools' : END))
    .addEdge('tools', 'agent')
    .compile();
  return async () => {
    ran = 0;
    await graph.invoke(input(), { recursionLimit: 4 * TOOL_ROUNDS });
    return ran;
  };
};

/** What one agent said is what the next is asked. */
const Relay = Annotation.Root({ text: Annotation(), done: Annotation({ reducer: (a, b) => a + b, default: () => 0 }) });
const relays = async ({ text }, config) => ({
  text: (await answering.invoke([new HumanMessage(text)], config)).content,
  done: 1,
});

export const chain10 = () => {
  const names = Array.from({ length: CHAIN }, (_, i) => `agent_${i}`);
  const graph = new StateGraph(Relay);
  for (const name of names) graph.addNode(name, relays);
  graph.addEdge(START, names[0]).addEdge(names.at(-1), END);
  for (let i = 1; i < CHAIN; i++) graph.addEdge(names[i - 1], names[i]);
  const compiled = graph.compile();
  return async () => (await compiled.invoke({ text: PROMPT })).done;
};

export const loop100 = () => {
  const graph = new StateGraph(Relay)
    .addNode('agent', relays)
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', ({ done }) => (done < LOOP ? 'agent' : END))
    .compile();
  return async () => (await graph.invoke({ text: PROMPT }, { recursionLimit: LOOP + 5 })).done;
};

export const chunks10000 = () => {
  const graph = oneNode(chunking).compile();
  return async () => {
    let chunks = 0;
    for await (const [message] of await graph.stream(input(), { streamMode: 'messages' })) {
      if (message.content === CHUNK) chunks++;
    }
    return chunks;
  };
};

export const fanOut = (children) => {
  const graph = new StateGraph(Relay)
    .addNode('agent', async ({ text }, config) => {
      const answer = await answering.invoke([new HumanMessage(text)], config);
      return { done: answer.content === ANSWER ? 1 : 0 };
    })
    .addConditionalEdges(START, () => Array.from({ length: children }, () => new Send('agent', { text: PROMPT })))
    .addEdge('agent', END)
    .compile();
  return async () => (await graph.invoke({ text: PROMPT })).done;
};

const threads = () => {
  const graph = oneNode(answering).compile({ checkpointer: new MemorySaver() });
  let count = 0;
  return () => {
    const configurable = { thread_id: `thread_${count++}` };
    return {
      id: configurable.thread_id,
      turn: async () => ((await graph.invoke(input(), { configurable })).messages.at(-1).content === ANSWER ? 1 : 0),
    };
  };
};

export const idleMemory = () => {
  const open = threads();
  return async () => {
    const { id, turn } = open();
    await turn();
    return id;
  };
};

export const growth = () => {
  const open = threads();
  return async () => open().turn;
};
