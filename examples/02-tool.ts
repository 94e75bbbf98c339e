// An agent with a tool of its own: two calls in one turn, their progress, and arguments that do not fit. Offline.
// Run it: npx jiti examples/02-tool.ts
// Prints:
//   weather.forecast {"city":"Rome"}
//   weather.forecast {"city":7}
//     error: the arguments of weather.forecast do not fit: /city must be string
//     looking at Rome
//     Rome: 21 degrees
//   Rome has 21 degrees; the other city I could not look up.
import { agent, createHost, tool } from 'troupe';
import { scriptedModel } from 'troupe/testing';
import { z } from 'zod';

const forecast = tool({
  name: 'forecast',
  description: 'The weather of today in a city.',
  parameters: z.object({ city: z.string() }),
  annotations: { readOnly: true },
  async *execute({ city }) {
    yield `looking at ${city}`;
    return `${city}: 21 degrees`;
  },
});

const model = scriptedModel([
  {
    toolCalls: [
      { name: 'forecast', args: { city: 'Rome' } },
      { name: 'forecast', args: { city: 7 } },
    ],
  },
  { text: 'Rome has 21 degrees; the other city I could not look up.' },
]);

const weather = agent({ name: 'weather', model: 'scripted', tools: [forecast] });

export default weather;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(weather, 'How warm is it?');
  for await (const event of run) {
    if (event.type === 'tool_request') console.log(event.name, JSON.stringify(event.args));
    if (event.type === 'tool_update' && event.content) console.log(`  ${textOf(event.content)}`);
    if (event.type === 'tool_response') console.log(`  ${event.isError ? 'error: ' : ''}${textOf(event.llmContent)}`);
  }
  console.log((await run.result).text);
}

function textOf(parts: readonly { type: string; text?: unknown }[]): string {
  return parts.map((part) => (part.type === 'text' ? String(part.text) : '')).join('');
}
