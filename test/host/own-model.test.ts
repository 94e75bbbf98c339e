import { expect, test } from 'vitest';
import type { ModelInterface, ModelResponse } from '../../src/contracts/index.js';
import { agent, createHost } from '../../src/index.js';
import { validateLog } from '../../src/testing/index.js';
import { collect } from '../support/team.js';

const model = (...increments: unknown[]): ModelInterface => ({
  generate: () => Promise.reject(new Error('it only streams')),
  async *generateStream() {
    for (const increment of increments) yield increment as ModelResponse;
  },
});

async function play(own: ModelInterface) {
  const host = createHost();
  const run = host.run(agent({ name: 'a', description: 'Answers.', model: own }), 'go');
  const events = await collect(run);
  const result = await run.result;
  await host.close();
  return { events, result };
}

test('a model of one’s own need not say why it stopped', async () => {
  const { result } = await play(
    model({ content: [{ type: 'text', text: 'hel' }] }, { content: [{ type: 'text', text: 'lo' }] }),
  );
  expect(result).toMatchObject({ ok: true, text: 'hello' });
});

test('a model that answers with nonsense fails its run, and the log stays whole', async () => {
  for (const nonsense of [
    { content: 'abc' },
    { content: [{ type: 'text', text: 3n }] },
    { content: [], toolCalls: [{}] },
    7,
  ]) {
    const { events, result } = await play(model(nonsense));
    expect(result.reason).toBe('failed');
    expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'failed' });
    expect(events.filter((event) => event.type === 'error')).toHaveLength(1);
    expect(validateLog(events)).toEqual([]);
  }
});
