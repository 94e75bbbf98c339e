import { expect, test } from 'vitest';
import { agent, createHost } from '../../src/index.js';
import { scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';

test('an alias gives an agent its model and parameters, below those of the agent and of the run', async () => {
  const model = scriptedModel([{ text: 'x', usage: { inputTokens: 1, outputTokens: 1 } }]);
  await using host = createHost({
    models: { real: model },
    aliases: {
      base: { generation: { temperature: 0.1, topK: 5, thinking: { budget: 10, includeThoughts: true } } },
      fast: { extends: 'base', model: 'real', generation: { topP: 0.9 } },
    },
  });
  const worker = agent({ name: 'a', model: 'fast', generation: { temperature: 0.5 } });
  const events = await collect(host.run(worker, 'go', { generation: { thinking: { budget: 0 } } }));
  expect(model.requests[0]?.config).toEqual({
    temperature: 0.5,
    topK: 5,
    topP: 0.9,
    thinking: { budget: 0, includeThoughts: true },
  });
  expect(model.requests[0]?.signal?.aborted).toBe(false);
  // The log says what was really asked.
  expect(ofType(events, 'usage')).toMatchObject([
    { model: 'real', _meta: { routing: { requested: 'fast', model: 'real' } } },
  ]);
  expect(ofType(events, 'message').at(-1)?._meta).toMatchObject({ routing: { by: 'default', model: 'real' } });
});

test('overrides are chosen anew for every request: by agent, and for the retry', async () => {
  const clock = virtualClock();
  const one = scriptedModel([{ error: { code: 'UNAVAILABLE', message: 'down', retryAfterMs: 0 } }, { text: 'x' }]);
  const host = createHost({
    clock,
    models: { one },
    aliases: {
      chat: {
        model: 'one',
        generation: { temperature: 0 },
        overrides: [
          { when: { retry: true }, generation: { temperature: 1 } },
          { when: { agent: 'a' }, generation: { topK: 3 } },
          { when: { agent: 'b' }, generation: { topK: 4 } },
        ],
      },
    },
  });
  await collect(host.run(agent({ name: 'a', model: 'chat' }), 'go'));
  expect(one.requests.map(({ config }) => config)).toEqual([
    { temperature: 0, topK: 3 },
    { temperature: 1, topK: 3 },
  ]);
  await host.close();
});

test('a model without an alias takes the parameters of chat-base', async () => {
  const model = scriptedModel([{ text: 'x' }]);
  await using host = createHost({
    models: { real: model },
    aliases: { 'chat-base': { generation: { temperature: 0.3 } } },
  });
  await collect(host.run(agent({ name: 'a', model: 'real' }), 'go'));
  expect(model.requests[0]?.config).toEqual({ temperature: 0.3 });
});

test('an alias set while the host runs counts from the next request', async () => {
  const models = {
    one: scriptedModel([{ text: 'one' }]),
    two: scriptedModel([{ text: 'two' }, { text: 'two again' }]),
  };
  await using host = createHost({ models, aliases: { chat: 'one' } });
  const session = host.session(agent({ name: 'a', model: 'chat' }));
  const say = async () => {
    let text = '';
    for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) {
      if (event.type === 'stream_end') text = String(event.data?.result);
    }
    return text;
  };
  expect(await say()).toBe('one');
  host.models.setAlias('chat', 'two');
  expect(await say()).toBe('two');
  host.models.setAlias('new', { extends: 'chat' });
  expect((await host.run(agent({ name: 'b', model: 'new' }), 'go').result).text).toBe('two again');
  expect(() => host.models.setAlias('chat', { extends: 'new' })).toThrow(/circle/);
});

test('a run may ask for an alias; one that names no model is refused before anything runs', () => {
  const host = createHost({
    models: { real: scriptedModel([]) },
    aliases: { 'chat-base': { generation: { topK: 1 } } },
  });
  const worker = agent({ name: 'a', model: 'real' });
  expect(() => host.run(worker, 'go', { model: 'chat-base' })).toThrow(/the alias "chat-base" names no model/);
  expect(() => host.run(worker, 'go', { model: 'laast' })).toThrow(/no model "laast".*aliases: chat-base/);
});

test('a circle is refused when the host is made', () => {
  expect(() => createHost({ aliases: { a: { extends: 'b' }, b: { extends: 'a' } } })).toThrow(/circle: a → b → a/);
  // Its own name is the model's of that name, where there is one.
  expect(() => createHost({ aliases: { a: 'a' } })).toThrow(/aliases\.a: no model "a"/);
  expect(() => createHost({ aliases: { a: 'a', 'chat-base': {} }, models: { a: scriptedModel([]) } })).not.toThrow();
});

test('what is known of models can be listed', async () => {
  await using host = createHost({
    models: { real: scriptedModel([{ text: 'x' }]) },
    aliases: { fast: 'real' },
    prices: { real: { input: 1, output: 2 } },
  });
  expect(host.models.list()).toEqual([
    { name: 'fast', model: 'real', health: { state: 'healthy' }, price: { input: 1, output: 2 } },
    { name: 'real', health: { state: 'healthy' }, price: { input: 1, output: 2 } },
  ]);
});
