import { describe, expect, test } from 'vitest';
import type { Clock, ModelRequest, ModelResponse } from '../../src/contracts/index.js';
import { ModelError } from '../../src/kernel/errors.js';
import { scriptedModel } from '../../src/models/scripted.js';

const ask = (agent?: string, rest: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  ...(agent === undefined ? {} : { _meta: { agent } }),
  ...rest,
});

async function collect(stream: AsyncIterable<ModelResponse>): Promise<ModelResponse[]> {
  const all: ModelResponse[] = [];
  for await (const increment of stream) all.push(increment);
  return all;
}

/** A clock that stands still; `fire` runs what is scheduled. */
function stillClock() {
  const tasks = new Map<() => void, number>();
  const clock: Clock = {
    now: () => 0,
    schedule(task, delayMs) {
      tasks.set(task, delayMs);
      return () => tasks.delete(task);
    },
  };
  const fire = () => {
    for (const task of [...tasks.keys()]) {
      tasks.delete(task);
      task();
    }
  };
  return { clock, tasks, fire };
}

describe('entries', () => {
  test('chunks of text are streamed one by one and the last increment finishes', async () => {
    const model = scriptedModel([{ text: ['Hel', 'lo'], usage: { inputTokens: 10, outputTokens: 2 } }]);
    expect(await collect(model.generateStream(ask()))).toEqual([
      { content: [{ type: 'text', text: 'Hel' }] },
      { content: [{ type: 'text', text: 'lo' }], finishReason: 'stop', usage: { inputTokens: 10, outputTokens: 2 } },
    ]);
  });

  test('thought, text, raw parts and calls stand together in that order', async () => {
    const entry = {
      thought: 'hm',
      text: 'x',
      content: [{ type: 'code' as const, language: 'js', code: '1' }],
      toolCalls: [{ id: 'c1', name: 'search', args: { q: 1 }, thoughtSignature: 'sig' }],
    };
    const model = scriptedModel([entry, entry]);
    const whole = await model.generate(ask());
    expect(whole.content.map((part) => part.type)).toEqual(['thought', 'text', 'code']);
    expect(whole.toolCalls).toEqual(entry.toolCalls);
    expect(whole.finishReason).toBe('tool_calls');
    const streamed = await collect(model.generateStream(ask()));
    expect(streamed.flatMap((increment) => increment.content)).toEqual(whole.content);
    expect(streamed.at(-1)).toMatchObject({ toolCalls: entry.toolCalls, finishReason: 'tool_calls' });
  });

  test('a refusal finishes with reason refusal; a given finish reason wins', async () => {
    const model = scriptedModel([{ refusal: 'no' }, { text: 'cut', finishReason: 'length' }, {}]);
    expect(await model.generate(ask())).toEqual({
      content: [{ type: 'refusal', text: 'no' }],
      finishReason: 'refusal',
    });
    expect((await model.generate(ask())).finishReason).toBe('length');
    expect(await model.generate(ask())).toEqual({ content: [], finishReason: 'stop' });
  });

  test('an error is a ModelError whose retryability follows its code, after the text beside it', async () => {
    const model = scriptedModel([
      { text: 'half', error: { code: 'RESOURCE_EXHAUSTED', message: 'slow down', retryAfterMs: 0 } },
      { error: { code: 'INVALID_ARGUMENT', message: 'bad' } },
      { error: { code: 'UNAVAILABLE', message: 'gone', retryable: false } },
    ]);
    const stream = model.generateStream(ask());
    expect((await stream.next()).value).toEqual({ content: [{ type: 'text', text: 'half' }] });
    const error = await stream.next().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ code: 'RESOURCE_EXHAUSTED', message: 'slow down', retryable: true, retryAfterMs: 0 });
    await expect(model.generate(ask())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false });
    await expect(model.generate(ask())).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: false });
  });
});

describe('scripts', () => {
  test('requests are recorded as they were given', async () => {
    const model = scriptedModel([{ text: 'a' }, { text: 'b' }]);
    const first = ask();
    await model.generate(first);
    await collect(model.generateStream(ask('x')));
    expect(model.requests[0]).toBe(first);
    expect(model.requests).toHaveLength(2);
  });

  test('a function gets the request and the index of the call, and may be async', async () => {
    const model = scriptedModel(async (request, callIndex) => ({ text: `${request._meta?.agent}${callIndex}` }));
    expect((await model.generate(ask('a'))).content).toEqual([{ type: 'text', text: 'a0' }]);
    expect((await model.generate(ask('a'))).content).toEqual([{ type: 'text', text: 'a1' }]);
    expect(() => model.assertConsumed()).not.toThrow();
  });

  test('byAgent keeps one script per agent', async () => {
    const model = scriptedModel({
      byAgent: { researcher: [{ text: 'r0' }, { text: 'r1' }], writer: (_, callIndex) => ({ text: `w${callIndex}` }) },
    });
    const say = async (agent: string) => (await model.generate(ask(agent))).content[0];
    expect([await say('writer'), await say('researcher'), await say('writer'), await say('researcher')]).toEqual(
      ['w0', 'r0', 'w1', 'r1'].map((text) => ({ type: 'text', text })),
    );
  });

  test('an unscripted call fails, naming the agent and the call', async () => {
    const model = scriptedModel({ byAgent: { researcher: [{ text: 'r0' }] } });
    await model.generate(ask('researcher'));
    await expect(model.generate(ask('researcher'))).rejects.toThrow(/call 2 of agent "researcher"/);
    await expect(model.generate(ask('stranger'))).rejects.toThrow(/call 1 of agent "stranger".*researcher/);
    await expect(model.generate(ask())).rejects.toMatchObject({ code: 'UNSCRIPTED_CALL', retryable: false });
  });

  test('assertConsumed names what is left', async () => {
    const model = scriptedModel({
      byAgent: { a: [{ text: 'one' }, { toolCalls: [{ name: 'search', args: {} }] }], b: [{ text: 'b' }] },
    });
    await model.generate(ask('a'));
    expect(() => model.assertConsumed()).toThrow(/agent "a": #2 calls search.*agent "b": #1 text "b"/);
    await model.generate(ask('a'));
    await model.generate(ask('b'));
    expect(() => model.assertConsumed()).not.toThrow();
  });

  test('what is no script is refused when it is made', () => {
    expect(() => scriptedModel({ byAgent: { a: 'x' } } as never)).toThrow(/byAgent\.a/);
    expect(() => scriptedModel(undefined as never)).toThrow(/list of entries/);
  });
});

describe('time and abort', () => {
  test('delayMs waits on the clock that was given', async () => {
    const still = stillClock();
    const model = scriptedModel([{ text: 'late', delayMs: 5 }], { clock: still.clock });
    let done = false;
    const answer = model.generate(ask()).finally(() => {
      done = true;
    });
    await Promise.resolve();
    expect([...still.tasks.values()]).toEqual([5]);
    expect(done).toBe(false);
    still.fire();
    expect((await answer).content).toEqual([{ type: 'text', text: 'late' }]);
  });

  test('an abort ends the wait and leaves no timer', async () => {
    const still = stillClock();
    const controller = new AbortController();
    const model = scriptedModel([{ text: 'late', delayMs: 5 }], { clock: still.clock });
    const answer = collect(model.generateStream(ask('a', { signal: controller.signal })));
    await Promise.resolve();
    controller.abort();
    await expect(answer).rejects.toMatchObject({ code: 'CANCELLED', retryable: false });
    expect(still.tasks.size).toBe(0);
  });

  test('a signal that is already aborted makes no call', async () => {
    const model = scriptedModel([{ text: 'x' }]);
    await expect(model.generate(ask('a', { signal: AbortSignal.abort() }))).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    await expect(collect(model.generateStream(ask('a', { signal: AbortSignal.abort() })))).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    expect(model.requests).toEqual([]);
    expect(() => model.assertConsumed()).toThrow();
  });

  test('a signal made on demand is read only for a delay', async () => {
    let reads = 0;
    const request = Object.defineProperty(ask('a'), 'signal', {
      enumerable: true,
      get() {
        reads++;
        return new AbortController().signal;
      },
    });
    const still = stillClock();
    const model = scriptedModel([{ text: 'x' }, { text: 'y', delayMs: 1 }], { clock: still.clock });
    await collect(model.generateStream(request));
    expect(reads).toBe(0);
    const late = collect(model.generateStream(request));
    await Promise.resolve();
    still.fire();
    await late;
    expect(reads).toBe(1);
  });
});
