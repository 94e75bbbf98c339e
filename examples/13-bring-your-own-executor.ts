// An agent of a framework that Troupe does not know: here a bot of fixed rules, that wants a tool before it answers. The
// host runs the tool, under its policy, and asks. docs/executors.md says what each line is for, and how to prove it.
// Run it: npx jiti examples/13-bring-your-own-executor.ts
// Prints:
//   Let me see.
//   desk asks: desk wants to run desk.look_up
//   The desk is open
//   until 18:00.
//   completed
import { agent, createHost, tool } from 'troupe';
import type { ContentPart, Executor, SessionStreamData } from 'troupe/contracts';

type Said = { text: string } | { call: { id: string; name: string; args: unknown } };
/** The framework: it is told something, and says words and calls. */
async function* bot(told: SessionStreamData | undefined): AsyncGenerator<Said> {
  if (told?.kind !== 'tool_result') {
    yield { text: 'Let me see. ' };
    return yield { call: { id: 'hours-1', name: 'look_up', args: { what: 'hours' } } };
  }
  for (const text of ['The desk is open ', `until ${told.result.llmContent.map(textOf).join('')}.`]) yield { text };
}
const textOf = (part: ContentPart) => (part.type === 'text' ? part.text : '');

/** One turn: what the bot says becomes events; it has ended when the bot wants nothing more. */
const botExecutor = (): Executor => ({
  capabilities: ['streaming', 'host_tool_execution', 'multi_turn', 'cancellation', 'pause_resume', 'stream_end_events'],
  async *turn(inbox, context) {
    const messageId = context.newMessageId();
    let calls = 0;
    for await (const said of bot(inbox.at(-1))) {
      if (context.aborted) return;
      if ('text' in said) {
        yield { type: 'message', messageId, role: 'agent', content: [{ type: 'text', text: said.text }] };
      } else {
        const { id, name, args } = said.call;
        yield { type: 'tool_request', requestId: id, name, args, messageId, index: calls++ };
      }
    }
    if (calls === 0) yield { type: 'stream_end', reason: 'completed' };
  },
});

const lookUp = tool({ name: 'look_up', description: 'Looks up the hours.', execute: () => '18:00' });
const desk = agent({ name: 'desk', executor: 'bot', tools: [lookUp] });
export default desk;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost();
  host.registerExecutor('bot', botExecutor);
  const run = host.run(desk, 'How long are you open?');
  for await (const event of run) {
    if (event.type === 'message' && event.role === 'agent') console.log(event.content.map(textOf).join('').trim());
    if (event.type !== 'elicitation_request') continue;
    console.log(`${event.agentId} asks: ${event.message}`);
    run.respond(event.requestId, { action: 'accept' });
  }
  console.log((await run.result).reason);
}
