import { expect, test } from 'vitest';
import { agent, createHost, tool } from '../../src/index.js';
import { type ScriptEntry, scriptedModel } from '../../src/testing/index.js';
import { ofType } from '../support/team.js';
import { type Asked, calls, runDesk } from './tool-desk.js';

const parameters = { type: 'object', properties: { path: { type: 'string' } } };
const read = (annotations = {}) =>
  tool({
    name: 'read',
    description: 'Reads.',
    parameters,
    annotations: { readOnly: true, ...annotations },
    execute: () => 'same',
  });
const ask = (path: string): Asked => ['read', { path }];
const times = (count: number, entry: (turn: number) => ScriptEntry) =>
  Array.from({ length: count }, (_, turn) => entry(turn));
const run = (script: ScriptEntry[], annotations = {}) => runDesk({ own: [read(annotations)], script });
const warnings = (events: Awaited<ReturnType<typeof run>>['events']) =>
  ofType(events, 'message').filter(({ role }) => role === 'developer');

test('the same call five times is told to the model, behind the answers; one more ends the run (B043)', async () => {
  const { events, result, model, responses } = await run(times(20, () => calls(ask('a'))));
  expect(result).toMatchObject({ ok: false, reason: 'failed', data: { code: 'LOOP_DETECTED' } });
  expect(ofType(events, 'error')).toMatchObject([{ code: 'LOOP_DETECTED' }]);
  expect(warnings(events)).toHaveLength(1);
  expect(model.requests).toHaveLength(6);
  // The sixth call is answered though it does not run.
  expect(responses.map(({ errorType }) => errorType)).toEqual([...Array(5).fill(undefined), 'cancelled']);
  const last = model.requests.at(-1)?.messages.slice(-2);
  expect(last?.map((message) => message.content[0]?.type)).toEqual(['function_response', 'text']);
  expect(JSON.stringify(last?.[1])).toContain('You repeat yourself');
});

test('two calls in turn are a loop too (B043)', async () => {
  const { result, events, model } = await run(times(20, (turn) => calls(ask(turn % 2 === 0 ? 'a' : 'b'))));
  expect(result.data).toMatchObject({ code: 'LOOP_DETECTED' });
  expect(warnings(events)).toHaveLength(1);
  expect(model.requests).toHaveLength(7);
});

test('five equal calls in one turn are told once; the model may still go on otherwise', async () => {
  const { result, events, responses } = await run([calls(...Array(5).fill(ask('a'))), calls(ask('b'))]);
  expect(result.reason).toBe('completed');
  expect(warnings(events)).toHaveLength(1);
  expect(responses.every(({ isError }) => !isError)).toBe(true);
});

test('the same long sentence beside calls is a loop', async () => {
  const text = 'I will now look at the very same file once more to be quite sure.';
  const { result, events } = await run(times(20, (turn) => ({ ...calls(ask(String(turn % 2))), text })));
  expect(result.data).toMatchObject({ code: 'LOOP_DETECTED' });
  expect(warnings(events)).toHaveLength(1);
});

test('different arguments are no loop, however often', async () => {
  const { result, events } = await run(times(30, (turn) => calls(ask(`file-${turn}`))));
  expect(result.reason).toBe('completed');
  expect(warnings(events)).toEqual([]);
});

test('a polling tool may ask the same as often as it likes', async () => {
  const { result, events } = await run(
    times(30, () => calls(ask('a'))),
    { polling: true },
  );
  expect(result.reason).toBe('completed');
  expect(warnings(events)).toEqual([]);
});

test('the order of keys does not make two calls different', async () => {
  const both = tool({
    name: 'read',
    description: 'R.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => '',
  });
  const { result } = await runDesk({
    own: [both],
    script: times(20, (turn) => calls(['read', turn % 2 === 0 ? { a: 1, b: 2 } : { b: 2, a: 1 }])),
  });
  expect(result.data).toMatchObject({ code: 'LOOP_DETECTED' });
});

test('each run starts afresh', async () => {
  const host = createHost({
    models: { scripted: scriptedModel((_, call) => (call % 5 === 4 ? { text: 'done' } : calls(ask('a')))) },
  });
  const session = host.session(agent({ name: 'desk', tools: [read()] }));
  for (let round = 0; round < 3; round++) {
    const events = [];
    for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
    expect(warnings(events)).toEqual([]);
  }
  await session.close();
  await host.close();
});
