import { expect, test } from 'vitest';
import type { ModelInterface, ModelResponse } from '../../src/contracts/index.js';
import { agent, createHost, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';

/** Enough to be without end, and few enough that a test which fails ends. */
const MANY = 3_000_000;

function* always<T>(piece: T): Generator<T> {
  for (let at = 0; at < MANY; at++) yield piece;
}

const says = (piece: ModelResponse): ModelInterface => ({
  generate: async () => ({ content: [] }),
  async *generateStream() {
    yield* always(piece);
    yield { content: [{ type: 'text', text: 'the end' }] };
  },
});

async function runOn(model: ModelInterface, whenBegun: (abort: () => void) => void = () => {}) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(agent({ name: 'a', model: 'scripted' }), 'go');
  whenBegun(() => run.abort('enough'));
  const events = await collect(run);
  return { events, result: await run.result };
}

test('a model that says nothing without end holds nobody up: an abort ends it', async () => {
  const { result } = await runOn(says({ content: [] }), (abort) => setImmediate(() => setImmediate(abort)));
  expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
});

test.each([
  ['text', { content: [{ type: 'text', text: 'x'.repeat(1_000_000) }] }],
  ['thoughts', { content: [{ type: 'thought', thought: 'x'.repeat(1_000_000) }] }],
  ['calls', { content: [], toolCalls: [{ name: 'f', args: {} }] }],
] as [string, ModelResponse][])('a model whose %s never end is an error of the run', async (_, piece) => {
  const { events, result } = await runOn(says(piece));
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'INVALID_RESPONSE' } });
  expect(ofType(events, 'error')).toHaveLength(1);
  expect(ofType(events, 'tool_request')).toEqual([]);
});

test('an executor and a tool that yield nothing without end hold nobody up either', async () => {
  await using host = createHost({
    models: { scripted: scriptedModel([{ toolCalls: [{ name: 't', args: {} }] }]) },
  });
  host.registerExecutor('idle', () => ({
    async *turn() {
      yield* always({ type: 'initialize' } as never);
    },
  }));
  const t = tool({
    name: 't',
    description: 'Yields.',
    annotations: { readOnly: true },
    execute: () =>
      (async function* () {
        yield* always({ progress: 'none' });
        return 'the end';
      })(),
  });
  for (const one of [agent({ name: 'a', executor: 'idle' }), agent({ name: 'a', tools: [t], model: 'scripted' })]) {
    const run = host.run(one, 'go');
    const events = collect(run);
    setImmediate(() => setImmediate(() => setImmediate(() => run.abort('enough'))));
    await events;
    expect((await run.result).reason).toBe('aborted');
  }
});
