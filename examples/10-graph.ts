// A graph: a function and agents as nodes, two branches at once, a join, and a way back that is taken as often as a
// guard says. Offline. Run it: npx jiti examples/10-graph.ts
// Prints:
//   topic_1 began
//   prose_2 began
//   verse_3 began
//   editor_4 began
//   editor was given {"prose":"The moon pulls.","verse":"O moon, O sea!"}
//   prose_5 began
//   editor_6 began
//   editor was given {"prose":"The moon pulls the sea twice a day."}
//   tides: fine
import { agent, createHost, graph } from 'troupe';
import { scriptedModel } from 'troupe/testing';

const model = scriptedModel({
  byAgent: {
    prose: [{ text: 'The moon pulls.' }, { text: 'The moon pulls the sea twice a day.' }],
    verse: [{ text: 'O moon, O sea!', delayMs: 20 }],
    editor: [{ text: 'say what it pulls' }, { text: 'fine' }],
  },
});

const tides = graph({
  name: 'tides',
  nodes: {
    topic: ({ input }) => `Write about: ${input}`,
    prose: agent({ name: 'prose', model: 'scripted' }),
    verse: agent({ name: 'verse', model: 'scripted' }),
    editor: agent({ name: 'editor', model: 'scripted', instruction: 'Say "fine", or what is missing.' }),
  },
  edges: [
    { from: 'topic', to: 'prose' },
    { from: 'topic', to: 'verse' },
    { from: 'prose', to: 'editor' },
    { from: 'verse', to: 'editor' },
    { from: 'editor', to: 'prose', guard: ({ last }) => last !== 'fine', label: 'not yet' },
  ],
  start: 'topic',
  end: 'editor',
  joins: { editor: 'all' },
  maxSteps: 10,
});

export default tides;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(tides, 'the sea and the moon');
  for await (const event of run) {
    if (event.type === 'agent_started') console.log(`${event.threadId} began`);
    if (event.type === 'message' && event.role === 'user' && event.threadId?.startsWith('editor')) {
      const [part] = event.content;
      console.log(`editor was given ${part?.type === 'text' ? part.text : ''}`);
    }
  }
  console.log(`tides: ${(await run.result).text}`);
}
