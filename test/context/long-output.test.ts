import { expect, test } from 'vitest';
import { agent, createHost, memoryStore, tool } from '../../src/index.js';
import { LONGEST_OUTPUT, shortened } from '../../src/kernel/long-output.js';
import { scriptedModel } from '../../src/testing/index.js';
import { artifactTools } from '../../src/tools/artifacts.js';
import { fc } from '../support/fast-check.js';
import { collect, ofType } from '../support/team.js';

const HUGE = `${'é🙂x\n'.repeat(60_000)}THE END`;

async function runWith(
  execute: Parameters<typeof tool>[0]['execute'],
  options: { ephemeral?: boolean; tools?: boolean } = {},
) {
  const store = memoryStore();
  const model = scriptedModel((_request, call) =>
    call === 0 ? { toolCalls: [{ name: 'big', args: {} }] } : { text: 'done' },
  );
  const host = createHost({ models: { scripted: model }, store });
  const big = tool({
    name: 'big',
    description: 'b',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute,
  });
  const run = host.run(agent({ name: 'a', tools: [big] }), 'go', { ephemeral: options.ephemeral ?? false });
  const events = await collect(run);
  const { sessionId } = await run.result;
  await host.close();
  const given = JSON.stringify(model.requests[1]?.messages.at(-1)?.content);
  return { events, given, response: ofType(events, 'tool_response')[0]!, store, sessionId, model };
}

test('a cut falls between characters, at any place, and what comes out is never cut again (B170)', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('🙂', 'é', 'x', '\n', '漢'), { minLength: 30, maxLength: 200 }), (letters) => {
      const text = letters.join('');
      for (let room = 1; room < 60; room++) {
        const short = shortened(text, 'the file', room);
        // Throws for half a character.
        expect(() => encodeURIComponent(short)).not.toThrow();
        if (text.length > room) expect(short).toContain('are in the file');
      }
    }),
    { seed: 170, numRuns: 60 },
  );
  const once = shortened(HUGE, 'f');
  expect(once.length).toBeLessThanOrEqual(LONGEST_OUTPUT);
  expect(shortened(once, 'f')).toBe(once);
});

test('a long output reaches the model as head, tail and where the whole is; the log and an artifact have all of it (B171)', async () => {
  const { given, response, store, sessionId } = await runWith(() => HUGE);
  expect(given.length).toBeLessThan(LONGEST_OUTPUT * 1.5);
  expect(given).toContain('THE END');
  expect(given).toContain('left out here');
  expect(response.outputFile).toMatch(/^artifact:/);
  expect(given).toContain(response.outputFile);
  expect(response.contentLength).toBe(HUGE.length);
  expect(response.llmContent).toEqual([{ type: 'text', text: HUGE }]);
  const kept = await store.artifacts?.load(sessionId, `output/${response.requestId}`);
  expect(new TextDecoder().decode(kept?.data)).toBe(HUGE);
  await store.delete(sessionId);
  expect(await store.artifacts?.list(sessionId)).toEqual([]);
});

test('errors, JSON and parts of one result are bounded alike (B171)', async () => {
  const failing = await runWith(() => {
    throw new Error(HUGE);
  });
  const json = await runWith(() => ({ rows: HUGE }));
  const parts = await runWith(() => [
    { type: 'text', text: 'first' },
    { type: 'text', text: HUGE },
    { type: 'media', mimeType: 'image/png', data: 'AAAA' },
    { type: 'text', text: HUGE },
  ]);
  for (const { given } of [failing, json, parts]) {
    expect(given.length).toBeLessThan(LONGEST_OUTPUT * 1.5);
    expect(given).toContain('left out here');
  }
  expect(parts.given).toContain('first');
  expect(parts.given).toContain('image/png');
});

test('an ephemeral session keeps nothing, and the model is told so', async () => {
  const { given, response, store, sessionId } = await runWith(() => HUGE, { ephemeral: true });
  expect(response.outputFile).toBeUndefined();
  expect(given).toContain('it was not kept');
  expect(await store.artifacts?.list(sessionId)).toEqual([]);
});

test('an ephemeral session reads what is remembered of its user, and adds nothing', async () => {
  let found: unknown;
  const { store } = await runWith(
    async (_, { memory, userId }) => {
      await memory?.add(userId, { text: 'likes green tea' });
      found = await memory?.search(userId, 'tea');
      return 'ok';
    },
    { ephemeral: true },
  );
  expect(found).toEqual([]);
  expect(await store.memory?.search('local', 'tea')).toEqual([]);
});

test('a tool that an agent is granted reads on where an output was shortened', async () => {
  const model = scriptedModel((request, call) => {
    if (call === 0) return { toolCalls: [{ name: 'big', args: {} }] };
    if (call === 1) {
      const [, address = ''] = /are in (artifact:[^ ]+)/.exec(JSON.stringify(request.messages)) ?? [];
      return {
        toolCalls: [
          { name: 'read_artifact', args: { name: address, offset: 20_001, limit: 10 } },
          { name: 'read_artifact', args: { name: 'none' } },
          { name: 'list_artifacts', args: {} },
        ],
      };
    }
    return { text: 'done' };
  });
  await using host = createHost({ models: { scripted: model } });
  const big = tool({
    name: 'big',
    description: 'b',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => HUGE,
  });
  const run = host.run(agent({ name: 'a', tools: [big, ...artifactTools()] }), 'go');
  const events = await collect(run);
  const asked = ofType(events, 'tool_request');
  const [, read, missing, list] = asked.map(({ requestId }) =>
    ofType(events, 'tool_response').find((response) => response.requestId === requestId),
  );
  expect(read!.llmContent[0]).toEqual({ type: 'text', text: HUGE.slice(20_001, 20_011) });
  expect(read!.llmContent[1]).toMatchObject({ text: expect.stringContaining('read on with offset 20011') });
  expect(missing).toMatchObject({ errorType: 'file_not_found' });
  expect(JSON.stringify(list!.llmContent)).toContain('output/');
});

test('a tool reaches the artifacts of its own session and the memory of its own user, and no others', async () => {
  const seen: unknown[] = [];
  const keep = tool({
    name: 'keep',
    description: 'k',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    async execute(_args, { artifacts, memory, sessionId, userId }) {
      const saved = await artifacts?.save(sessionId, 'note.txt', 'one', 'text/plain');
      await artifacts?.save(sessionId, 'note.txt', 'two');
      await memory?.add(userId, { text: 'likes green tea' });
      seen.push(saved?.version, await artifacts?.list(sessionId), await memory?.search(userId, 'which tea'));
      for (const other of [() => artifacts?.load('other', 'note.txt'), () => memory?.search('other', 'tea')])
        seen.push(
          await other()?.then(
            () => 'got it',
            () => 'refused',
          ),
        );
      return 'kept';
    },
  });
  const model = scriptedModel((_request, call) =>
    call === 0 ? { toolCalls: [{ name: 'keep', args: {} }] } : { text: 'x' },
  );
  await using host = createHost({ models: { scripted: model } });
  const events = await collect(host.run(agent({ name: 'a', tools: [keep] }), 'go', { userId: 'ann' }));
  expect(seen).toEqual([
    1,
    [{ name: 'note.txt', versions: [1, 2] }],
    [{ text: 'likes green tea', score: 0.5 }],
    'refused',
    'refused',
  ]);
  const deltas = ofType(events, 'custom').filter(({ kind }) => kind === 'artifact_delta');
  expect(deltas.map(({ data }) => (data as { version: number }).version)).toEqual([1, 2]);
});

test.each([
  ['the output of code', { type: 'code_result', output: HUGE }],
  ['code', { type: 'code', language: 'js', code: HUGE }],
  ['a reference', { type: 'reference', text: HUGE, uri: 'file:x' }],
  ['a refusal', { type: 'refusal', text: HUGE }],
  ['a declared UI', { type: 'ui', format: 'x', data: { HUGE } }],
  ['what nobody knows', { type: 'hologram', text: HUGE }],
])('%s that is too long is bounded for the model as a text is, and kept whole (B171)', async (_, part) => {
  const { given, response, store, sessionId } = await runWith(() => ({ llmContent: [part] }));
  expect(given.length).toBeLessThan(LONGEST_OUTPUT * 1.5);
  expect(given).toContain('left out here');
  expect(response.llmContent).toEqual([part]);
  const [kept] = (await store.artifacts?.list(sessionId)) ?? [];
  const whole = await store.artifacts?.load(sessionId, kept?.name ?? '');
  expect(new TextDecoder().decode(whole?.data)).toContain('THE END');
});
