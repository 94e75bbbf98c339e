import { expect, test } from 'vitest';
import { agent, createHost, tool } from '../../src/index.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';

// Nothing here loads the schema validator beforehand: input, arguments, question and result meet it as it loads.

test('the first run of a process holds its input, arguments, answers and result to their schemas', async () => {
  const schema = (key: string) => ({ type: 'object', properties: { [key]: { type: 'number' } }, required: [key] });
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    parameters: schema('n'),
    annotations: { readOnly: true },
    execute: async (_, { elicit }) => (await elicit({ message: '?', requestedSchema: schema('answer') })).action,
  });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'ask', args: { n: 'one' } },
        { name: 'ask', args: { n: 1 } },
      ],
    },
    { text: '{"result":"none"}' },
    { text: '{"result":1}' },
  ]);
  await using host = createHost({ models: { scripted: model } });
  const strict = agent({ name: 'a', tools: [ask], inputSchema: schema('input'), outputSchema: schema('result') });
  const refused = host.run(strict, { input: 'x' } as never);
  await expect(refused.result).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  const run = host.run(strict, { input: 1 } as never);
  const events = [];
  for await (const event of run) {
    events.push(event);
    if (event.type !== 'elicitation_request') continue;
    expect(() => run.respond(event.requestId, { action: 'accept', content: {} })).toThrow('does not fit');
    run.respond(event.requestId, { action: 'accept', content: { answer: 1 } });
  }
  expect(validateLog(events, { finished: true })).toEqual([]);
  expect(await run.result).toMatchObject({ ok: true, result: { result: 1 } });
  expect(model.requests).toHaveLength(3);
});
