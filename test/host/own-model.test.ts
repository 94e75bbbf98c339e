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
    null,
    7,
    {},
    { content: 'abc' },
    { content: [null] },
    { content: [{ type: 'text', text: 3n }] },
    { content: [{ type: 'thought', thought: 'hm', thoughtSignature: 7 }] },
    { content: [{ type: 'media', mimeType: 'image/png', data: 7 }] },
    { content: [{ type: 'hologram', size: 3n }] },
    { content: [], toolCalls: null },
    { content: [], toolCalls: [{}] },
    { content: [], toolCalls: [{ name: 'x', id: 7, args: {} }] },
  ]) {
    const { events, result } = await play(model(nonsense));
    expect(result.reason).toBe('failed');
    expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'failed' });
    expect(events.filter((event) => event.type === 'error')).toMatchObject([{ code: 'INVALID_RESPONSE' }]);
    expect(validateLog(events)).toEqual([]);
  }
});

test('a model whose stream is none fails its run, saying what it must be', async () => {
  for (const stream of [undefined, null, 7, {}, Promise.resolve([])]) {
    const own = { generate: () => Promise.reject(new Error('it only streams')), generateStream: () => stream };
    const { result } = await play(own as never);
    expect(result).toMatchObject({
      reason: 'failed',
      data: { code: 'INVALID_RESPONSE', message: expect.stringContaining('async generator') },
    });
  }
});
