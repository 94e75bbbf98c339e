import { expect, test } from 'vitest';
import { agent, createHost, tool } from '../../src/index.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import { collect, consumerTool, leaf, ofType, readAll, textResult } from '../support/team.js';
import { call, gate } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });

test('the permission mode counts at once: a call of the turn under way is judged by it', async () => {
  let runs = 0;
  const work = gate('work');
  const danger = tool({ name: 'danger', description: '.', parameters: { type: 'object' }, execute: () => void runs++ });
  const model = scriptedModel([call('work'), call('danger'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, elicitation: 'deny' });
  const run = host.run(agent({ name: 'a', tools: [work.tool, danger] }), 'go');
  const reading = collect(run);
  await work.running;
  run.update({ permissionMode: 'autonomous' });
  work.open('');
  const events = await reading;
  expect(runs).toBe(1);
  expect(ofType(events, 'session_update')).toMatchObject([{ permissionMode: 'autonomous', source: 'user' }]);
});

test('another model counts at the next request, not in the one under way', async () => {
  const work = gate('work');
  const one = scriptedModel([call('work')]);
  const two = scriptedModel([{ text: 'from two' }]);
  await using host = createHost({ models: { one, two } });
  const run = host.run(agent({ name: 'a', model: 'one', tools: [work.tool] }), 'go');
  const reading = collect(run);
  await work.running;
  run.update({ model: 'two' });
  work.open('');
  const events = await reading;
  expect(await run.result).toMatchObject({ text: 'from two' });
  expect(ofType(events, 'session_update')).toMatchObject([{ model: 'two' }]);
  expect([one.requests.length, two.requests.length]).toEqual([1, 1]);
});

test('tools of the consumer are replaced; what runs in process stays', async () => {
  const own = tool({ name: 'own', description: '.', parameters: { type: 'object' }, execute: () => 'own' });
  const model = scriptedModel([
    { text: 'one' },
    { toolCalls: [{ id: 'y', name: 'second', args: {} }] },
    { text: 'done' },
  ]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a' }), {
    tools: [own, consumerTool('first')],
    permissionMode: 'autonomous',
  });
  const events = await collect(session.stream(message()).stream);
  session.update({ tools: [consumerTool('second')], title: 'New tools', config: { theme: 'dark' } });
  const paused = await readAll(session.stream(message()).stream);
  expect(ofType(paused, 'session_update')).toMatchObject([
    { tools: [{ name: 'second' }], title: 'New tools', config: { theme: 'dark' } },
  ]);
  const names = model.requests.map((request) => request.tools?.map((one) => one.name));
  expect(names).toEqual([
    ['own', 'first'],
    ['own', 'second'],
  ]);
  const rest = await readAll(session.stream({ kind: 'tool_result', requestId: 'y', result: textResult('Y') }).stream);
  expect(rest.at(-1)).toMatchObject({ reason: 'completed' });
  expect(validateLog([...events, ...paused, ...rest], { finished: true })).toEqual([]);
});

test('what cannot be is refused, and nothing of it is taken', async () => {
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const bad = [
    { model: 'nowhere/x' },
    { permissionMode: 'nosuch' },
    { tools: [{ name: 'a b', description: '' }] as never },
  ];
  for (const update of bad) expect(() => session.update({ title: 'T', ...update })).toThrow();
  await collect(session.stream(message()).stream);
  for (const update of bad) expect(() => session.update({ title: 'T', ...update })).toThrow();
  const events = await readAll(session.stream(message()).stream);
  expect(ofType(events, 'session_update')).toEqual([]);
});

test('before the first message an update is kept, and told once the session begins', async () => {
  const one = scriptedModel([{ text: 'from one' }]);
  const two = scriptedModel([{ text: 'from two' }]);
  await using host = createHost({ models: { one, two } });
  const session = host.session(agent({ name: 'a', model: 'one' }));
  session.update({ model: 'two' });
  session.update({ title: 'Early' });
  const events = await collect(session.stream(message()).stream);
  expect(ofType(events, 'session_update')).toMatchObject([{ model: 'two', title: 'Early' }]);
  expect(events.at(-1)).toMatchObject({ data: { result: 'from two' } });
});

test('an update before the first message keeps what it does not name', async () => {
  const model = scriptedModel([{ text: 'ok' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: ['mine'] }), { tools: [consumerTool('mine')] });
  session.update({ permissionMode: 'autonomous' });
  await collect(session.stream(message()).stream);
  expect(model.requests[0]!.tools?.map((one) => one.name)).toEqual(['mine']);
});

test('the modes of other tools are read as ours', async () => {
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(leaf('a'), 'go', { permissionMode: 'acceptEdits' });
  run.update({ permissionMode: 'yolo' });
  expect(ofType(await collect(run), 'session_update')).toMatchObject([{ permissionMode: 'autonomous' }]);
  expect(() => host.run(leaf('a'), 'go', { permissionMode: 'nosuch' })).toThrow('no permission mode "nosuch"');
});
