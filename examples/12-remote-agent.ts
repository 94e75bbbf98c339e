// Two programs in one: a team served over A2A, and another team that has it as a member, over HTTP on this machine.
// The member runs its own model and tools, so it is refused until a rule grants it.
// Run it: npx jiti examples/12-remote-agent.ts
// Prints:
//   bookings asks: travel wants to run travel.book
//   Dear guest: 9:12, track 4.
//   two sessions
import { agent, createHost, sequential, tool } from 'troupe';
import { serveA2a } from 'troupe/surfaces/a2a';
import { scriptedModel } from 'troupe/testing';
import { z } from 'zod';

const book = tool({
  name: 'book',
  description: 'Books a train.',
  parameters: z.object({ to: z.string() }),
  execute: ({ to }) => `booked to ${to}`,
});
const travel = agent({ name: 'travel', description: 'Books journeys.', tools: [book] });

const deskOf = (cardUrl: string) =>
  sequential({
    name: 'desk',
    children: [agent({ name: 'bookings', executor: 'remote', backend: { cardUrl } }), agent({ name: 'writer' })],
  });
// As `troupe serve --a2a --port 4000` serves a team.
export default deskOf('http://127.0.0.1:4000/.well-known/agent-card.json');

if (import.meta.filename === process.argv[1]) {
  await using far = createHost({
    models: {
      scripted: scriptedModel([
        { toolCalls: [{ name: 'book', args: { to: 'Oslo' } }] },
        { text: 'You are on the 9:12 to Oslo.' },
      ]),
    },
  });
  const server = await serveA2a(far, travel);
  await using near = createHost({
    models: { scripted: scriptedModel([{ text: 'Dear guest: 9:12, track 4.' }]) },
    policy: [{ rules: [{ toolName: 'bookings', decision: 'allow', context: { opaque: true } }] }],
  });
  const run = near.run(deskOf(server.cardUrl), 'Oslo, please.');
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    console.log(`${event.agentId} asks: ${event.message}`);
    run.respond(event.requestId, { action: 'accept', content: { answer: 'yes' } });
  }
  const { text, sessionId } = await run.result;
  console.log(text);
  console.log((await far.list()).some((session) => session.id === sessionId) ? 'one session' : 'two sessions');
  await server.close();
}
