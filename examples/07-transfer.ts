// A desk whose members hand the conversation over to one another; who may hand over to whom is declared. Offline.
// Run it: npx jiti examples/07-transfer.ts
// Prints:
//   permitted: {"triage":["billing"],"billing":["legal"]}
//   triage -> billing (a refund)
//   billing sees 4 messages, the first: I was charged twice.
//   billing: The second charge is refunded.
import { agent, createHost, transfer } from 'troupe';
import { scriptedModel } from 'troupe/testing';

const model = scriptedModel({
  byAgent: {
    triage: [
      {
        text: 'I know who can help.',
        toolCalls: [{ name: 'transfer_to_agent', args: { target: 'billing', reason: 'a refund' } }],
      },
    ],
    billing: [{ text: 'The second charge is refunded.' }],
  },
});

const member = <const Name extends string>(name: Name) => agent({ name, model: 'scripted' });
const desk = transfer({
  name: 'desk',
  members: [member('triage'), member('billing'), member('legal')],
  start: 'triage',
  // Not named here: hands over to nobody.
  targets: { triage: ['billing'], billing: ['legal'] },
});

export default desk;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  console.log('permitted:', JSON.stringify(host.describe(desk).composition?.transferTargets));
  const run = host.run(desk, 'I was charged twice.');
  for await (const event of run) {
    if (event.type === 'agent_transfer') console.log(`${event.from} -> ${event.to} (${event.reason})`);
  }
  const { messages } = model.requests.at(-1) ?? { messages: [] };
  const [first] = messages[0]?.content ?? [];
  console.log(`billing sees ${messages.length} messages, the first: ${first?.type === 'text' ? first.text : ''}`);
  console.log(`billing: ${(await run.result).text}`);
}
