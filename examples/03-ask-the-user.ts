// Two ways to ask a person: the agent asks by itself, and the host asks before a tool that changes something. Offline:
// the answers are given by the program.
// Run it: npx jiti examples/03-ask-the-user.ts
// Prints:
//   clarification: For how many people? -> {"answers":"4"}
//   tool_confirmation: concierge wants to run concierge.book_table {"people":4} -> accept
//   booked for 4
//   A table for 4 is booked.
import { agent, createHost, tool } from 'troupe';
import { scriptedModel } from 'troupe/testing';
import { z } from 'zod';

const bookTable = tool({
  name: 'book_table',
  description: 'Books a table for tonight.',
  parameters: z.object({ people: z.number() }),
  // Not marked `readOnly`: the policy asks before it runs.
  execute({ people }) {
    console.log(`booked for ${people}`);
    return 'done';
  },
});

const model = scriptedModel([
  { toolCalls: [{ name: 'ask_user', args: { question: 'For how many people?' } }] },
  { toolCalls: [{ name: 'book_table', args: { people: 4 } }] },
  { text: 'A table for 4 is booked.' },
]);

const concierge = agent({ name: 'concierge', model: 'scripted', tools: ['ask_user', bookTable] });

export default concierge;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(concierge, 'Book a table for tonight.');
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    const { kind, message, requestId, context } = event;
    if (kind === 'clarification') {
      const content = { answers: '4' };
      console.log(`${kind}: ${message} -> ${JSON.stringify(content)}`);
      run.respond(requestId, { action: 'accept', content });
    } else {
      console.log(`${kind}: ${message} ${JSON.stringify(context?.args)} -> accept`);
      run.respond(requestId, { action: 'accept' });
    }
  }
  console.log((await run.result).text);
}
