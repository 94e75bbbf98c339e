import { expect, test } from 'vitest';
import type { AgentEvent, ContentPart, ModelMessage } from '../../src/contracts/index.js';
import { MediaCache } from '../../src/host/media-cache.js';
import { agent, createHost, defineHook, tool } from '../../src/index.js';
import { fileStore } from '../../src/stores/file.js';
import { memoryStore } from '../../src/stores/memory.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import { virtualFiles } from '../support/virtual-files.js';

/** With its artifacts at hand. */
const memory = () => memoryStore() as Required<ReturnType<typeof memoryStore>>;

const picture = (bytes: number, fill = 7): ContentPart<'media'> => ({
  type: 'media',
  mimeType: 'image/png',
  data: Buffer.alloc(bytes, fill).toString('base64'),
});
const LARGEST = 64 * 1_024;
const large = picture(LARGEST + 1);

const collect = async (events: AsyncIterable<AgentEvent>) => {
  const all: AgentEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};
const logOf = async (store: { load(id: string): unknown }, id: string) => {
  const handle = (await store.load(id)) as { events: AsyncIterable<AgentEvent>; close(): unknown };
  const events = await collect(handle.events);
  await handle.close();
  return events;
};
const mediaIn = (value: unknown): ContentPart<'media'>[] => {
  if (typeof value !== 'object' || value === null) return [];
  const own = (value as { type?: unknown }).type === 'media' ? [value as ContentPart<'media'>] : [];
  return [...own, ...Object.values(value).flatMap(mediaIn)];
};
const sent = (messages: readonly ModelMessage[] | undefined) => mediaIn(messages);

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: {} },
  annotations: { readOnly: true },
  execute: () => ({ llmContent: [{ type: 'text' as const, text: 'see' }, large], displayContent: [large] }),
});
const seer = agent({ name: 'seer', description: 'Sees.', model: 'scripted', tools: [look] });
const script = () => scriptedModel([{ toolCalls: [{ name: 'look', args: {} }] }, { text: 'seen' }, { text: 'again' }]);

test('media of more than 64 KB is an artifact before its event is seen, once for the same picture, and models get the bytes', async () => {
  const store = memory();
  const model = script();
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(seer, [{ type: 'text', text: 'this one' }, large, picture(LARGEST, 1)]);
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    for (const { uri } of mediaIn(event)) {
      if (uri !== undefined) expect(await store.artifacts.list(run.sessionId)).toHaveLength(1);
    }
  }
  expect(await run.result).toMatchObject({ ok: true, text: 'seen' });
  expect(validateLog(events)).toEqual([]);
  const [given, small, ...shown] = mediaIn(events);
  expect(given).toEqual({ type: 'media', mimeType: 'image/png', uri: expect.stringMatching(/^artifact:/) });
  expect(small).toEqual(picture(LARGEST, 1));
  expect(shown).toEqual([given, given]);
  const [{ name, versions } = { name: '', versions: [] }] = await store.artifacts.list(run.sessionId);
  expect(versions).toEqual([1]);
  const found = await store.artifacts.load(run.sessionId, name);
  expect(found?.mimeType).toBe('image/png');
  expect(Buffer.from(found?.data ?? []).toString('base64')).toBe(large.data);
  expect(sent(model.requests[0]?.messages)).toEqual([large, picture(LARGEST, 1)]);
  expect(sent(model.requests[1]?.messages)).toEqual([large, picture(LARGEST, 1), large]);
  expect(JSON.stringify(await logOf(store, run.sessionId))).not.toContain(large.data);
});

test('what a model draws is kept as well, and goes back to it whole', async () => {
  const store = memory();
  const model = scriptedModel(() => ({ text: 'drawn' }));
  const drawing = {
    requests: model.requests,
    generate: () => Promise.resolve({ content: [large], finishReason: 'stop' }),
    async *generateStream(request: Parameters<typeof model.generateStream>[0]) {
      if (request.messages.length > 1) yield* model.generateStream(request);
      else {
        yield { content: [{ type: 'text' as const, text: 'here: ' }] };
        yield { content: [large] };
        yield { content: [{ type: 'text' as const, text: '!' }], finishReason: 'stop' };
      }
    },
  };
  await using host = createHost({ models: { scripted: drawing }, store });
  const painter = agent({ name: 'painter', description: 'Draws.', model: 'scripted' });
  const run = host.run(painter, 'draw');
  const events = await collect(run);
  expect(await run.result).toMatchObject({ ok: true, text: 'here: !' });
  expect(mediaIn(events)).toEqual([{ type: 'media', mimeType: 'image/png', uri: expect.any(String) }]);
  expect(validateLog(events)).toEqual([]);
  await host.run(painter, 'and?', { sessionId: run.sessionId }).result;
  expect(sent(model.requests[0]?.messages)).toEqual([large]);
});

test('an ephemeral session, a store without artifacts and what is no base64 keep media where it is', async () => {
  const { artifacts: _, ...bare } = memoryStore();
  const odd = { ...large, data: `data:image/png;base64,${large.data}` };
  for (const [store, part, options] of [
    [memoryStore(), large, { ephemeral: true }],
    [bare, large, {}],
    [memoryStore(), odd, {}],
  ] as const) {
    const model = scriptedModel([{ text: 'ok' }]);
    await using host = createHost({ models: { scripted: model }, store });
    const run = host.run(seer, [part], options);
    expect(mediaIn(await collect(run))).toEqual([part]);
    expect(sent(model.requests[0]?.messages)).toEqual([part]);
  }
});

test('a session that is gone on with elsewhere, and a fork of it, send what was kept; a rewind and a deletion take it away', async () => {
  const files = virtualFiles();
  const open = () => fileStore({ dir: '/store', files });
  const first = createHost({ models: { scripted: script() }, store: open() });
  const run = first.run(seer, 'look');
  const events = await collect(run);
  await first.close();
  const { sessionId } = run;
  const store = open();
  const model = scriptedModel(() => ({ text: 'on' }));
  await using host = createHost({ models: { scripted: model }, store, agents: [seer] });
  await host.run(seer, 'on', { sessionId }).result;
  expect(sent(model.requests[0]?.messages)).toEqual([large]);
  const { sessionId: forked } = await host.fork(sessionId);
  await host.delete(sessionId);
  expect(await store.artifacts.list(sessionId)).toEqual([]);
  await host.run(seer, 'on', { sessionId: forked }).result;
  expect(sent(model.requests.at(-1)?.messages)).toEqual([large]);
  const before = events.find((event) => event.type === 'tool_request')?.seq ?? 0;
  const { sessionId: second } = await host.fork(forked);
  await host.rewind(second, { to: before - 1 });
  expect(await store.artifacts.list(second)).toEqual([]);
  expect(await store.artifacts.list(forked)).toHaveLength(1);
});

test('a rewind keeps a picture that is also told of before it', async () => {
  const store = memory();
  await using host = createHost({ models: { scripted: script() }, store });
  const run = host.run(seer, [large]);
  const given = (await collect(run)).find((event) => event.type === 'message')?.seq ?? 0;
  await host.rewind(run.sessionId, { to: given });
  expect(await store.artifacts.list(run.sessionId)).toHaveLength(1);
});

test('an address of another session, or one that is none, is never read: the model gets words, a person a notice', async () => {
  const store = memory();
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const theirs = host.run(seer, [large]);
  const uri = mediaIn(await collect(theirs))[0]?.uri as string;
  for (const stolen of [uri, 'artifact:x/..%2F..%2Fetc?version=1', 'artifact:', 'artifact:%/%?version=1']) {
    const run = host.run(seer, [{ type: 'media', mimeType: 'image/png', uri: stolen }]);
    const events = await collect(run);
    expect(await run.result).toMatchObject({ ok: true });
    const notices = events.filter((event) => event.type === 'custom' && event.kind === 'notice');
    expect(notices.map((event) => (event as { data?: unknown }).data)).toEqual([
      expect.objectContaining({ code: 'MEDIA_MISSING', severity: 'warning' }),
    ]);
    expect(model.requests.at(-1)?.messages[0]?.content).toEqual([
      { type: 'text', text: expect.stringContaining(stolen) },
    ]);
  }
});

test('a store that cannot keep leaves the media in the log, with a notice', async () => {
  const store = memory();
  const artifacts = { ...store.artifacts, save: () => Promise.reject(new Error('disk full')) };
  const model = scriptedModel([{ text: 'ok' }]);
  await using host = createHost({
    models: { scripted: model },
    store: Object.assign(Object.create(store), { artifacts }),
  });
  const run = host.run(seer, [large]);
  const events = await collect(run);
  expect(await run.result).toMatchObject({ ok: true });
  expect(mediaIn(events)).toEqual([large]);
  expect(JSON.stringify(events)).toContain('MEDIA_NOT_KEPT');
});

test('hooks on events see media before it is kept, and what they put into an event is kept too', async () => {
  const store = memory();
  const hook = defineHook('on_event', ({ event }) =>
    event.type === 'message' && event.role === 'agent'
      ? { action: 'proceed', modifications: { event: { ...event, content: [...event.content, large] } } }
      : { action: 'proceed' },
  );
  await using host = createHost({ models: { scripted: scriptedModel([{ text: 'ok' }]) }, store, hooks: [hook] });
  const run = host.run(seer, 'go');
  expect(mediaIn(await collect(run)).map((part) => part.uri?.startsWith('artifact:'))).toEqual([true]);
  expect(await store.artifacts.list(run.sessionId)).toHaveLength(1);
});

test('words with a picture that are said to a running agent are kept so, in the log as well', async () => {
  const store = memory();
  const model = script();
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(seer, 'go');
  run.steer({ message: [large] });
  const events = await collect(run);
  expect(await run.result).toMatchObject({ ok: true });
  expect(mediaIn(events).every(({ uri }) => uri?.startsWith('artifact:'))).toBe(true);
  expect(JSON.stringify(await logOf(store, run.sessionId))).not.toContain(large.data);
  expect(sent(model.requests.at(-1)?.messages)).toContainEqual(large);
});

test('words whose picture is not kept yet are in the log with a word in its place: a process that ends there loses nothing unsaid', async () => {
  const store = memory();
  let keep: () => void = () => {};
  const { artifacts } = store;
  const slow = {
    ...store,
    artifacts: {
      ...artifacts,
      async save(...given: Parameters<typeof artifacts.save>) {
        await new Promise<void>((resolve) => {
          keep = resolve;
        });
        return artifacts.save(...given);
      },
    },
  };
  const entries = () => scriptedModel([{ toolCalls: [{ name: 'look', args: {} }] }, { text: 'seen' }]);
  await using host = createHost({ models: { scripted: entries() }, store: slow });
  const asks = tool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' });
  const asking = agent({ name: 'seer', tools: [asks] });
  const run = host.run(asking, 'go', { sessionId: 's' });
  for await (const event of run) {
    if (event.type !== 'elicitation_request') continue;
    run.steer({ message: [{ type: 'text', text: 'like this' }, large] });
    const cut = memory();
    const handle = await cut.create('seer', { id: 's' });
    for (const one of await logOf(store, 's')) await handle.append(one);
    await handle.close();
    const model = entries();
    await using second = createHost({ models: { scripted: model }, store: cut });
    const again = await second.resume('s', { agent: asking });
    for await (const one of again) {
      if (one.type === 'elicitation_request') again.respond(one.requestId, { action: 'accept' });
    }
    const said = model.requests[0]?.messages.flatMap(({ content }) => content) ?? [];
    expect(said).toContainEqual({ type: 'text', text: 'like this' });
    expect(said).toContainEqual({
      type: 'text',
      text: '[image/png that is lost: the process ended before it was kept]',
    });
    keep();
    run.respond(event.requestId, { action: 'accept' });
  }
  const log = await logOf(store, 's');
  expect(log.filter((event) => event.type === 'custom' && event.kind === 'steer')).toHaveLength(2);
});

test('what was sent once is not had again from a session that is gone, by one that has its id', async () => {
  const store = memory();
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const first = host.run(seer, [large], { sessionId: 's' });
  const uri = mediaIn(await collect(first))[0]?.uri as string;
  await host.delete('s');
  await host.run(seer, [{ type: 'media', mimeType: 'image/png', uri }], { sessionId: 's' }).result;
  expect(sent(model.requests[0]?.messages)).toEqual([large]);
  expect(sent(model.requests[1]?.messages)).toEqual([]);
});

test('pictures are held for the turns after up to a bound, and not beyond their session', () => {
  const cache = new MediaCache<object>();
  const data = 'x'.repeat(10 * 1_024 * 1_024);
  const [one, other] = [{}, {}];
  cache.set(one, 'a', data);
  cache.set(one, 'b', data);
  cache.set(other, 'a', data);
  expect(cache.get(one, 'b')).toBe(data);
  cache.set(one, 'c', data);
  // The other was used less lately.
  expect([cache.get(other, 'a'), cache.size]).toEqual([undefined, 3 * data.length]);
  cache.set(one, 'd', data);
  expect([cache.get(one, 'a'), cache.get(one, 'd'), cache.size]).toEqual([undefined, data, data.length]);
  cache.set(one, 'e', 'x'.repeat(33 * 1_024 * 1_024));
  expect(cache.get(one, 'e')).toBeUndefined();
  cache.forget(one);
  expect([cache.get(one, 'd'), cache.size]).toEqual([undefined, 0]);
});
