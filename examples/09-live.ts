// The same kind of program on a live model: it needs a network and a key, and costs what the provider charges.
// Run it: GEMINI_API_KEY=… npx jiti examples/09-live.ts
//     or: OPENROUTER_API_KEY=… npx jiti examples/09-live.ts openrouter/google/gemini-2.5-flash
// Prints the answer as it comes, each tool call on a line of its own, then what it took. Without a key it says which one
// is missing, and ends with exit code 2.
import { agent, createHost, TroupeError, tool } from 'troupe';
import { z } from 'zod';

const clock = tool({
  name: 'clock',
  description: 'The time in a place, by its IANA time zone.',
  parameters: z.object({ timeZone: z.string().describe('Such as Europe/Rome.') }),
  annotations: { readOnly: true },
  execute: ({ timeZone }) => new Date().toLocaleTimeString('en-GB', { timeZone }),
});

const guide = agent({
  name: 'guide',
  model: 'gemini/gemini-flash-latest',
  instruction: 'Answer in at most two sentences. Look the time up, do not guess it.',
  tools: [clock],
  constraints: { maxTurns: 5 },
});

export default guide;

if (import.meta.filename === process.argv[1]) {
  const [, , model] = process.argv;
  await using host = createHost();
  try {
    const question = 'What time is it in Rome and in Tokyo, and who is likely asleep?';
    const run = host.run(guide, question, model === undefined ? {} : { model });
    for await (const event of run) {
      if (event.type === 'tool_request') console.log(`(${event.name} ${JSON.stringify(event.args)})`);
      if (event.type === 'error') console.error(`${event.code}: ${event.message}`);
      if (event.type !== 'message' || event.role !== 'agent') continue;
      for (const part of event.content) if (part.type === 'text') process.stdout.write(part.text);
    }
    const { reason, usage } = await run.result;
    console.log(`\n${reason}: ${usage.inputTokens} tokens in, ${usage.outputTokens} out`);
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) throw thrown;
    console.error(thrown.message);
    process.exitCode = 2;
  }
}
