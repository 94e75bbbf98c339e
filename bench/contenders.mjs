// Who is measured, in the order of a round.
export const CONTENDERS = [
  { name: 'troupe', title: 'Troupe', role: 'ours' },
  { name: 'hand-written', title: 'by hand', role: 'floor' },
  { name: 'raw-xstate', title: 'XState', role: 'raw', package: 'xstate' },
  { name: 'raw-xstate-spawned', title: 'XState spawned', role: 'other' },
  { name: 'ai', title: 'ai', role: 'peer', package: 'ai', needsNode: 22 },
  { name: 'openai-agents', title: 'OpenAI Agents', role: 'peer', package: '@openai/agents' },
  { name: 'google-adk', title: 'ADK', role: 'peer', package: '@google/adk' },
  { name: 'langgraph', title: 'LangGraph', role: 'peer', package: '@langchain/langgraph' },
];
