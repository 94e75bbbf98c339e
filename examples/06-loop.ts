// A writer and a critic, again and again, until the critic says that it is good. Offline.
// Run it: npx jiti examples/06-loop.ts
// Prints:
//   iteration 1 of 5
//   writer: The sea rises.
//   critic: {"good":false,"wish":"say why"}
//   iteration 2 of 5
//   writer: The sea rises, because the moon pulls.
//   critic: {"good":true}
//   ended by until after 2 iterations
import { agent, createHost, loop } from 'troupe';
import { scriptedModel } from 'troupe/testing';
import { z } from 'zod';

const model = scriptedModel({
  byAgent: {
    writer: (request) => {
      // It is given the verdict on its last draft: from the second iteration on there is a wish.
      const given = JSON.stringify(request.messages);
      return { text: given.includes('say why') ? 'The sea rises, because the moon pulls.' : 'The sea rises.' };
    },
    critic: (request) => {
      const given = JSON.stringify(request.messages);
      return { text: given.includes('because') ? '{"good":true}' : '{"good":false,"wish":"say why"}' };
    },
  },
});

const critic = agent({
  name: 'critic',
  model: 'scripted',
  outputSchema: z.object({ good: z.boolean(), wish: z.string().optional() }),
});

const polish = loop({
  name: 'polish',
  children: [agent({ name: 'writer', model: 'scripted' }), critic],
  maxIterations: 5,
  // `last` is the critic's output, with its type: a misspelt field is a compile error.
  until: ({ last }) => last.good,
});

export default polish;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(polish, 'One sentence on tides.');
  for await (const event of run) {
    if (event.type === 'loop_iteration') console.log(`iteration ${event.iteration} of ${event.maxIterations}`);
    if (event.type === 'agent_completed') {
      const { agentName, result } = event;
      console.log(`${agentName}: ${typeof result === 'string' ? result : JSON.stringify(result)}`);
    }
  }
  const { data } = await run.result;
  console.log(`ended by ${data.exit} after ${data.iterations} iterations`);
}
