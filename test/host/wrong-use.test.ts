import { expect, test } from 'vitest';
import { agent, memoryStore, TroupeError } from '../../src/index.js';
import { collect, consumerTool, leaf, logOf, ofType, readAll, refusalOf } from '../support/team.js';
import { asker, call, gate, hostWith } from '../support/teams.js';

const typed = (code: string) => expect.objectContaining({ constructor: TroupeError, code });

test('what is no data for a stream is refused with a typed error, and the session is as it was', async () => {
  const store = memoryStore();
  const { host } = hostWith(
    { a: [{ toolCalls: [...call('ask').toolCalls, ...call('mine').toolCalls] }, { text: 'A' }] },
    { store },
  );
  const session = host.session(agent({ name: 'a', tools: [asker('ask')] }), {
    tools: [consumerTool('mine')],
    permissionMode: 'autonomous',
  });
  for (const data of [null, undefined, 'go', 7, { kind: 'message' }, { kind: 'message', content: null }] as never[])
    expect(await refusalOf(session.stream(data).stream)).toBe('INVALID_INPUT');
  const paused = await readAll(session.stream({ kind: 'message', content: 'go' }).stream);
  const { requestId } = ofType(paused, 'tool_request').find((event) => event.name === 'mine')!;
  const [state, log] = [session.state(), await logOf(store, session.sessionId)];
  for (const [data, code] of [
    [null, 'INVALID_INPUT'],
    [{ kind: 'something' }, 'INVALID_ANSWER'],
    [{ kind: 'tool_results', results: [null] }, 'UNKNOWN_REQUEST'],
    [{ kind: 'tool_result', requestId }, 'INVALID_ANSWER'],
    [{ kind: 'tool_result', requestId, result: 'text' }, 'INVALID_ANSWER'],
    [{ kind: 'tool_result', requestId, result: { llmContent: [null] } }, 'INVALID_ANSWER'],
    [{ kind: 'tool_result', requestId, result: { llmContent: ['text'] } }, 'INVALID_ANSWER'],
  ] as [never, string][]) {
    expect(await refusalOf(session.stream(data).stream)).toBe(code);
    expect(session.state()).toEqual(state);
  }
  expect(await logOf(store, session.sessionId)).toEqual(log);
  await host.close();
});

test('words that are none, and changes that are none, are refused at the call and harm no run', async () => {
  const work = gate('work');
  const { host } = hostWith({ a: [call('work'), { text: 'A' }] });
  const run = host.run(agent({ name: 'a', tools: [work.tool] }), 'go');
  const session = host.session(leaf('a'));
  const reading = collect(run);
  await work.running;
  const noWords = [null, undefined, 'hurry', { message: 7 }, { message: null }, { message: [null] }, { action: 7 }];
  const noChanges = [null, 'x', { model: 7 }, { permissionMode: 7 }, { tools: 'x' }, { tools: [null] }, { title: 7 }];
  for (const target of [run, session]) {
    for (const words of noWords as never[]) expect(() => target.steer(words)).toThrow(typed('INVALID_INPUT'));
    for (const change of noChanges as never[])
      expect(() => target.update(change)).toThrow(expect.objectContaining({ constructor: TroupeError }));
  }
  run.steer({});
  work.open('');
  await reading;
  expect(await run.result).toMatchObject({ ok: true, text: 'A' });
  await host.close();
});
