// One after another: each agent is given what the one before it made; `outputKey` keeps a result for all. Offline.
// Run it: npx jiti examples/04-sequential.ts
// Prints:
//   outliner was given: Tides
//   writer was given: ["moon","sun"]
//   headline was given: The moon pulls, the sun helps.
//   headline was told: Give the text a headline. Its outline was ["moon","sun"].
//   result: Two pulls on one sea
import { agent, createHost, sequential } from 'troupe';
import { scriptedModel } from 'troupe/testing';
import { z } from 'zod';

const model = scriptedModel({
  byAgent: {
    outliner: [{ text: '["moon","sun"]' }],
    writer: [{ text: 'The moon pulls, the sun helps.' }],
    headline: [{ text: 'Two pulls on one sea' }],
  },
});

const team = sequential({
  name: 'article',
  children: [
    agent({ name: 'outliner', model: 'scripted', outputSchema: z.array(z.string()), outputKey: 'outline' }),
    agent({ name: 'writer', model: 'scripted' }),
    agent({
      name: 'headline',
      model: 'scripted',
      instruction: 'Give the text a headline. Its outline was {state.outline}.',
    }),
  ],
});

export default team;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  const { result } = await host.run(team, 'Tides').result;
  for (const { _meta, messages } of model.requests) {
    const [given] = messages[0]?.content ?? [];
    console.log(`${_meta?.agent} was given: ${given?.type === 'text' ? given.text : ''}`);
  }
  console.log(`headline was told: ${model.requests.at(-1)?.systemInstruction}`);
  console.log(`result: ${result}`);
}
