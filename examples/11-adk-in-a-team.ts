// An agent of Google's ADK in a team: its own model and its own tool, under the host's policy. Offline.
// Needs `npm i @google/adk`. Run it: npx jiti examples/11-adk-in-a-team.ts
// Prints:
//   legacy.stock asks: legacy wants to run legacy.stock
//   legacy.stock says {"thing":"kite","left":3}
//   clerk: Three kites are left: offer two.
import { BaseLlm, FunctionTool, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import { agent, createHost, sequential } from 'troupe';
import { scriptedModel } from 'troupe/testing';
import { z } from 'zod';

/** Stands in for Gemini: asks for the stock, then says what it was told. */
class Stand extends BaseLlm {
  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const answer = contents.at(-1)?.parts?.find((part) => part.functionResponse)?.functionResponse;
    const parts = answer
      ? [{ text: `In stock: ${JSON.stringify(answer.response)}` }]
      : [{ functionCall: { name: 'stock', args: { thing: 'kite' } } }];
    yield { content: { role: 'model', parts } };
  }
  override connect(): Promise<never> {
    return Promise.reject(new Error('no live connection'));
  }
}

const stock = new FunctionTool({
  name: 'stock',
  description: 'How many are left.',
  parameters: z.object({ thing: z.string() }),
  execute: ({ thing }) => ({ thing, left: 3 }),
});
const keeper = new LlmAgent({ name: 'keeper', model: new Stand({ model: 'stand' }), tools: [stock] });

const team = sequential({
  name: 'offer',
  children: [
    agent({ name: 'legacy', executor: 'adk', backend: { agent: keeper } }),
    agent({ name: 'clerk', instruction: 'Make an offer.' }),
  ],
});

export default team;

if (import.meta.filename === process.argv[1]) {
  const model = scriptedModel({ byAgent: { clerk: [{ text: 'Three kites are left: offer two.' }] } });
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(team, 'What can we offer?');
  for await (const event of run) {
    if (event.type === 'elicitation_request') {
      console.log(`${event.context?.tool} asks: ${event.message}`);
      run.respond(event.requestId, { action: 'accept' });
    }
    if (event.type === 'tool_response') console.log(`${event.name} says ${JSON.stringify(event.data)}`);
  }
  console.log(`clerk: ${(await run.result).text}`);
}
