// Three reviewers at once, one merged stream. One of them fails: the others are kept. Offline.
// Run it: npx jiti examples/05-parallel-merge.ts
// Prints:
//   style_1: started
//   security_2: started
//   speed_3: started
//   style_1: Names are fine.
//   style_1: completed
//   security_2: No secrets.
//   security_2: completed
//   speed_3: failed
//   kept: style, security
//   failed: speed (INVALID_ARGUMENT)
import { agent, createHost, parallel } from 'troupe';
import { scriptedModel } from 'troupe/testing';

const model = scriptedModel({
  byAgent: {
    style: [{ text: ['Names ', 'are ', 'fine.'], delayMs: 10 }],
    security: [{ text: ['No ', 'secrets.'], delayMs: 30 }],
    speed: [{ error: { code: 'INVALID_ARGUMENT', message: 'too much code' }, delayMs: 50 }],
  },
});

const reviewer = <const Name extends string>(name: Name) => agent({ name, model: 'scripted' });
const review = parallel({ name: 'review', children: [reviewer('style'), reviewer('security'), reviewer('speed')] });

export default review;

if (import.meta.filename === process.argv[1]) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(review, 'Review this change.');

  // The pieces of the messages come interleaved: each thread's own pieces are in order.
  const said = new Map<string, string>();
  for await (const { threadId = 'review', ...event } of run) {
    if (event.type === 'agent_started') console.log(`${threadId}: started`);
    if (event.type === 'message' && event.role === 'agent') {
      const text = event.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      said.set(threadId, (said.get(threadId) ?? '') + text);
    }
    if (event.type === 'stream_end' && threadId !== 'review') {
      if (said.has(threadId)) console.log(`${threadId}: ${said.get(threadId)}`);
      console.log(`${threadId}: ${event.reason}`);
    }
  }

  const { result, data } = await run.result;
  console.log(`kept: ${Object.keys(result).join(', ')}`);
  const failures = Object.entries(data.failures as Record<string, { code: string }>);
  console.log(`failed: ${failures.map(([name, { code }]) => `${name} (${code})`).join(', ')}`);
}
