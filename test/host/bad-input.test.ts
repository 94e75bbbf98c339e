import { expect, test, vi } from 'vitest';
import { agent, createHost, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';
import { calls, runDesk, textOf } from './tool-desk.js';

const write = (execute = vi.fn((_args: unknown) => 'written')) =>
  tool({
    name: 'write',
    description: 'Writes.',
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
    execute,
  });

test.each([
  ['a control character', 'wri\u0007te'],
  ['a line break', 'write\n'],
  ['an escape sequence', '\u001b[2Kwrite'],
  ['a mark that turns the text around', 'write\u202e'],
  ['a space that is not seen', 'wri\u200bte'],
  ['a letter of another script', 'wr\u0456te'],
  ['a wide letter', 'ｗrite'],
  ['a pattern', 'write*'],
  ['a name of an object', '__proto__'],
  ['nothing', ''],
  ['more than a provider takes', 'w'.repeat(65)],
])('a tool or an agent whose name holds %s is refused', (_, name) => {
  expect(() => tool({ name, description: '', execute: () => 1 })).toThrow(/tool/);
  expect(() => agent({ name })).toThrow(/name/);
});

test.each(['wr\u0456te', 'write\u200b', 'WRITE', 'desk.wr\u0456te', '__proto__', 'constructor', 'write\u0000'])(
  'a model that says %j has said no tool, and nothing runs',
  async (name) => {
    const execute = vi.fn();
    const { responses, questions } = await runDesk({
      own: [write(execute)],
      run: { permissionMode: 'autonomous' },
      script: [calls(name)],
    });
    expect(responses).toMatchObject([{ isError: true, errorType: 'tool_not_registered' }]);
    expect(questions).toEqual([]);
    expect(execute).not.toHaveBeenCalled();
  },
);

/** An object so many levels deep. */
function deep(levels: number, end: string): object {
  let value: object = { end };
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

test.each([600, 20_000])('arguments %i levels deep are refused, and nobody is asked', async (levels) => {
  const execute = vi.fn();
  const { responses, questions, result } = await runDesk({
    own: [write(execute)],
    script: [calls(['write', deep(levels, 'x')])],
  });
  expect(responses).toMatchObject([{ errorType: 'invalid_tool_params' }]);
  expect(questions).toEqual([]);
  expect(execute).not.toHaveBeenCalled();
  expect(result.ok).toBe(true);
});

test('what a person approved for good is no approval of what differs from it far inside', async () => {
  const execute = vi.fn((_args: unknown) => 'ok');
  const { questions } = await runDesk({
    own: [write(execute)],
    script: [calls(['write', deep(450, 'x')]), calls(['write', deep(450, 'y')])],
    answer: { action: 'accept', content: { outcome: 'proceed_always' } },
  });
  expect(questions).toHaveLength(2);
});

test('an answer that is nested too deep, or no JSON, is refused, and the question stays open', async () => {
  const codes: unknown[] = [];
  const { responses } = await runDesk({
    own: [write()],
    script: [calls(['write', { path: 'a' }])],
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      const loop: { self?: object } = {};
      loop.self = loop;
      for (const modifiedArgs of [deep(600, 'x'), loop, { at: new Date() }, { big: 1n }, new Map()]) {
        try {
          run.respond(event.requestId, { action: 'accept', content: { outcome: 'modify', modifiedArgs } });
        } catch (thrown) {
          codes.push((thrown as { code: string }).code);
        }
      }
      run.respond(event.requestId, { action: 'decline' });
    },
  });
  expect(codes).toEqual(Array(5).fill('INVALID_ANSWER'));
  expect(responses).toMatchObject([{ errorType: 'declined' }]);
});

test('a key __proto__ in arguments, answers or changed arguments is a key like others and reaches no prototype', async () => {
  const seen: unknown[] = [];
  const evil = JSON.parse(
    '{"path":"a","__proto__":{"path":"/etc/passwd","admin":true},"constructor":{"x":1}}',
  ) as object;
  const { questions } = await runDesk({
    own: [
      write(
        vi.fn((args: unknown) => {
          const given = args as { path?: string; admin?: boolean };
          seen.push([given.path, given.admin, Object.getPrototypeOf(given) === Object.prototype]);
          return 'ok';
        }),
      ),
    ],
    script: [calls(['write', evil]), calls(['write', { path: 'b' }])],
    answer: ({ context }) =>
      JSON.stringify(context?.args).includes('admin')
        ? { action: 'accept' }
        : { action: 'accept', content: { outcome: 'modify', modifiedArgs: evil } as never },
  });
  expect(questions).toHaveLength(2);
  expect(seen).toEqual([
    ['a', undefined, true],
    ['a', undefined, true],
  ]);
  expect(({} as { admin?: boolean }).admin).toBeUndefined();
});

test('huge arguments go through the gate like others: asked about, shown whole, and run once', async () => {
  const execute = vi.fn((args: unknown) => String((args as { path: string }).path.length));
  const { responses, questions } = await runDesk({
    own: [write(execute)],
    script: [calls(['write', { path: 'x'.repeat(3_000_000) }])],
    answer: { action: 'accept' },
  });
  expect(questions).toHaveLength(1);
  expect(textOf(responses[0])).toBe('3000000');
  expect(execute).toHaveBeenCalledTimes(1);
});

test('a judge that throws, rejects, says what is not known, or nothing, is a deny that says so', async () => {
  const judges: (() => unknown)[] = [
    () => {
      throw new Error('broken');
    },
    () => Promise.reject(new Error('broken later')),
    () => ({ outcome: 'sure' }),
    () => undefined,
    () => 'allow',
  ];
  for (const evaluate of judges) {
    const execute = vi.fn();
    const { responses } = await runDesk({
      own: [write(execute)],
      host: { policy: [{ rules: [{ toolName: '*', decision: 'allow' }] }, { evaluate: evaluate as never }] },
      script: [calls('write')],
    });
    expect(responses).toMatchObject([{ errorType: 'policy_denied' }]);
    expect(execute).not.toHaveBeenCalled();
  }
});

test('tools of a consumer with such names are refused before anything runs', async () => {
  await using host = createHost({ models: { scripted: scriptedModel([{ text: 'hi' }]) } });
  const named = (name: string) => ({ name, description: '', parametersSchema: { type: 'object' } });
  for (const name of ['wr\u0456te', 'a\u0000', '__proto__', 'provider:x']) {
    expect(() => host.run(agent({ name: 'desk' }), 'go', { tools: [named(name)] })).toThrow(/tool/);
  }
  const events = await collect(host.run(agent({ name: 'desk' }), 'go', { tools: [named('fine')] }));
  expect(ofType(events, 'stream_end')).toMatchObject([{ reason: 'completed' }]);
});
