// A leader that has other agents as its tools; two of them called in one turn work at the same time. Offline.
// Run it: npx jiti examples/08-hierarchical.ts
// Prints:
//   planner calls tides {"prompt":"What pulls the sea?"}
//   planner calls winds {"prompt":"What moves the air?"}
//   tides_1 began
//   winds_2 began
//   planner got tides: the moon
//   planner got winds: the sun
//   lead: The moon pulls the sea, the sun moves the air.
import { agent, createHost, hierarchical } from 'troupe';
import { scriptedModel } from 'troupe/testing';

const model = scriptedModel({
  byAgent: {
    planner: [
      {
        toolCalls: [
          { name: 'tides', args: { prompt: 'What pulls the sea?' } },
          { name: 'winds', args: { prompt: 'What moves the air?' } },
        ],
      },
      { text: 'The moon pulls the sea, the sun moves the air.' },
    ],
    tides: [{ text: 'the moon', delayMs: 10 }],
    winds: [{ text: 'the sun', delayMs: 30 }],
  },
});

const lead = hierarchical({
  name: 'lead',
  agent: agent({ name: 'planner', model: 'scripted', instruction: 'Ask those who know, then answer.' }),
  children: [
    agent({ name: 'tides', description: 'Knows the sea.', model: 'scripted' }),
    agent({ name: 'winds', description: 'Knows the air.', model: 'scripted' }),
  ],
});

export default lead;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(lead, 'What moves sea and air?');
  for await (const event of run) {
    if (event.type === 'tool_request') console.log(`planner calls ${event.name} ${JSON.stringify(event.args)}`);
    if (event.type === 'agent_started') console.log(`${event.threadId} began`);
    if (event.type === 'tool_response') {
      const [part] = event.llmContent;
      console.log(`planner got ${event.name}: ${part?.type === 'text' ? part.text : ''}`);
    }
  }
  console.log(`lead: ${(await run.result).text}`);
}
