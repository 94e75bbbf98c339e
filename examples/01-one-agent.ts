// One agent, one question, the answer as it streams in. Offline: a script stands in for the model.
// Run it: npx jiti examples/01-one-agent.ts
// Prints:
//   Actors share nothing | and talk by messages.
//   completed: 12 tokens in, 9 out
import { agent, createHost } from 'troupe';
import { scriptedModel } from 'troupe/testing';

const model = scriptedModel([
  { text: ['Actors share nothing', ' and talk by messages.'], usage: { inputTokens: 12, outputTokens: 9 } },
]);

const explainer = agent({ name: 'explainer', model: 'scripted', instruction: 'Explain in one sentence.' });

export default explainer;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(explainer, 'What is the actor model?');

  const pieces: string[] = [];
  for await (const event of run) {
    // The question is an event too, with the role `user`.
    if (event.type !== 'message' || event.role !== 'agent') continue;
    for (const part of event.content) if (part.type === 'text') pieces.push(part.text);
  }
  console.log(pieces.join(' |'));

  const { reason, usage } = await run.result;
  console.log(`${reason}: ${usage.inputTokens} tokens in, ${usage.outputTokens} out`);
}
