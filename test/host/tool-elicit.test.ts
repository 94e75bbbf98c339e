import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { ElicitationAnswer, ToolContext } from '../../src/index.js';
import { tool } from '../../src/index.js';
import { virtualClock } from '../../src/testing/index.js';
import { ofType } from '../support/team.js';
import { calls, runDesk, textOf, told } from './tool-desk.js';

type Question = Parameters<ToolContext['elicit']>[0];
const asks = (question: Question) =>
  tool({
    name: 'ask',
    description: 'Asks.',
    annotations: { readOnly: true },
    execute: async (_, { elicit }) => JSON.stringify(await elicit(question)),
  });
const script = [calls('ask')];
const answered = async (question: Question, answer: ElicitationAnswer) => {
  const { responses, questions } = await runDesk({ own: [asks(question)], script, answer });
  return { said: textOf(responses[0]), question: questions[0] };
};

test('a question of a tool carries kind, title, schema, context and expiry; its answer comes back', async () => {
  const { said, question } = await answered(
    {
      message: 'Which one?',
      kind: 'clarification',
      title: 'Choice',
      requestedSchema: { type: 'object', properties: { one: { enum: ['a', 'b'] } }, required: ['one'] },
      expiresAt: '2999-01-01T00:00:00.000Z',
      context: { why: 'two fit' },
    },
    { action: 'accept', content: { one: 'b' } },
  );
  expect(question).toMatchObject({
    kind: 'clarification',
    message: 'Which one?',
    title: 'Choice',
    requestedSchema: { properties: { one: { enum: ['a', 'b'] } }, required: ['one'] },
    expiresAt: '2999-01-01T00:00:00.000Z',
    context: { why: 'two fit', toolRequestId: 'k1' },
  });
  expect(said).toBe('{"action":"accept","content":{"one":"b"}}');
});

test('a schema that holds nothing takes an empty answer and none (B176)', async () => {
  const requestedSchema = { type: 'object', properties: {} };
  for (const content of [{}, undefined]) {
    const answer = content === undefined ? { action: 'accept' } : { action: 'accept', content };
    expect((await answered({ message: 'ok?', requestedSchema }, answer)).said).toMatch(/^\{"action":"accept"/);
  }
});

test('defaults of the schema are offered, and count where the answer leaves them out', async () => {
  const requestedSchema = {
    type: 'object',
    properties: { env: { type: 'string', default: 'staging' }, force: { type: 'boolean' } },
  };
  const plain = await answered({ message: 'where?', requestedSchema }, { action: 'accept', content: { force: true } });
  expect(plain.question?.requestedSchema).toMatchObject({ properties: { env: { default: 'staging' } } });
  expect(plain.said).toBe('{"action":"accept","content":{"force":true,"env":"staging"}}');
  const own = z.object({ env: z.string().default('staging'), n: z.number().transform((n) => n * 2) });
  const parsed = await answered({ message: 'where?', requestedSchema: own }, { action: 'accept', content: { n: 2 } });
  expect(parsed.said).toBe('{"action":"accept","content":{"env":"staging","n":4}}');
});

test.each(['decline', 'cancel'])('%s brings no content, whatever was sent with it', async (action) => {
  expect((await answered({ message: 'ok?' }, { action, content: { x: 1 } })).said).toBe(`{"action":"${action}"}`);
});

test('a schema that is none, or an expiry that is none, is an error of the tool', async () => {
  for (const question of [
    { message: 'ok?', requestedSchema: { type: 'string' } },
    { message: 'ok?', expiresAt: new Date(Number.NaN) },
    { message: 'ok?', expiresAt: null as never },
  ]) {
    const { responses, questions } = await runDesk({ own: [asks(question)], script });
    expect(questions).toEqual([]);
    expect(responses).toMatchObject([{ isError: true, errorType: 'execution_failed' }]);
  }
});

test('a question whose time has passed already is answered at once, once (B078)', async () => {
  const clock = virtualClock(1_000_000);
  const { events, responses } = await runDesk({
    own: [asks({ message: 'still there?', expiresAt: new Date(999_000) })],
    host: { clock },
    script,
    onEvent: (event) => event.type === 'elicitation_request' && void clock.advance(0),
  });
  expect(ofType(events, 'elicitation_response')).toMatchObject([
    { action: 'cancel', _meta: { reason: 'it has expired' } },
  ]);
  expect(textOf(responses[0])).toBe('{"action":"cancel"}');
});

test('an expiry may be a date, its text, or epoch milliseconds', async () => {
  for (const expiresAt of [new Date(999_000), new Date(999_000).toISOString(), 999_000]) {
    const clock = virtualClock(0);
    const { questions } = await runDesk({
      own: [asks({ message: 'ok?', expiresAt })],
      host: { clock },
      script,
      answer: { action: 'accept' },
    });
    expect(questions).toMatchObject([{ expiresAt: '1970-01-01T00:16:39.000Z' }]);
  }
});

test('an answer before the expiry leaves no timer', async () => {
  const clock = virtualClock(0);
  await runDesk({
    own: [asks({ message: 'ok?', expiresAt: new Date(60_000) })],
    host: { clock },
    script,
    answer: { action: 'accept' },
  });
  expect(clock.pending).toBe(0);
});

test('with nobody to ask, a tool gets a cancel, and a notice says why', async () => {
  const { responses, events } = await runDesk({
    own: [asks({ message: 'ok?' })],
    host: { elicitation: 'deny' },
    script,
  });
  expect(textOf(responses[0])).toBe('{"action":"cancel"}');
  expect(ofType(events, 'custom')).toMatchObject([
    { kind: 'notice', data: { code: 'NOBODY_TO_ASK', text: expect.stringContaining('elicitation is off') } },
  ]);
});

test('a tool may ask several things at once, each answered once', async () => {
  const both = tool({
    name: 'ask',
    description: 'Asks.',
    annotations: { readOnly: true },
    async execute(_, { elicit }) {
      const answers = await Promise.all([elicit({ message: 'one?' }), elicit({ message: 'two?' })]);
      return answers.map(({ action }) => action).join();
    },
  });
  const { responses, questions } = await runDesk({
    own: [both],
    script,
    answer: ({ message }) => ({ action: message === 'one?' ? 'accept' : 'decline' }),
  });
  expect(questions).toHaveLength(2);
  expect(textOf(responses[0])).toBe('accept,decline');
});

test('a credential reaches who asked for it and nobody else', async () => {
  const seen = vi.fn();
  const auth = tool({
    name: 'ask',
    description: 'Asks.',
    annotations: { readOnly: true },
    async execute(_, { elicit }) {
      seen(await elicit({ message: 'token?', kind: 'auth_required' }));
      return 'authorised';
    },
  });
  const { events, model } = await runDesk({
    own: [auth],
    script,
    answer: { action: 'accept', content: { credential: 's3cret' } },
  });
  expect(seen).toHaveBeenCalledWith({ action: 'accept', content: { credential: 's3cret' } });
  expect(JSON.stringify(events)).not.toContain('s3cret');
  expect(JSON.stringify(model.requests)).not.toContain('s3cret');
});

const askUser = (args: object) => [calls(['ask_user', args])];
const userSays = (answers: unknown): ElicitationAnswer => ({ action: 'accept', content: { answers } });

test('ask_user asks the person and gives the words back', async () => {
  const { questions, model } = await runDesk({
    own: ['ask_user'],
    script: askUser({ question: 'Which colour?', header: 'Colour' }),
    answer: userSays('green'),
  });
  expect(questions).toMatchObject([
    {
      kind: 'clarification',
      message: 'Which colour?',
      title: 'Colour',
      requestedSchema: { properties: { answers: { type: 'string' } }, required: ['answers'] },
      context: { questions: [{ question: 'Which colour?' }] },
    },
  ]);
  expect(told(model)).toMatchObject([{ name: 'ask_user', response: { output: 'green' } }]);
});

test('ask_user with options takes one of them, or several where that is said', async () => {
  const refused: string[] = [];
  const one = await runDesk({
    own: ['ask_user'],
    script: askUser({ question: 'Which?', options: ['a', 'b', 'a'] }),
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      expect(() => run.respond(event.requestId, userSays('c'))).toThrow(/must be equal to one of the allowed values/);
      refused.push('c');
      run.respond(event.requestId, userSays('b'));
    },
  });
  expect(refused).toEqual(['c']);
  expect(told(one.model)).toMatchObject([{ response: { output: 'b' } }]);
  const several = await runDesk({
    own: ['ask_user'],
    script: askUser({ question: 'Which?', options: ['a', 'b'], multiSelect: true }),
    answer: userSays(['a', 'b']),
  });
  expect(several.questions[0]?.context).toMatchObject({ questions: [{ options: ['a', 'b'], multiSelect: true }] });
  expect(told(several.model)).toMatchObject([{ response: { output: '["a","b"]' } }]);
});

test.each([
  ['nothing', {}, 'invalid_tool_params'],
  ['no text', { question: 7 }, 'invalid_tool_params'],
])('ask_user that asks %s is refused', async (_, args, errorType) => {
  const { responses, questions } = await runDesk({ own: ['ask_user'], script: askUser(args) });
  expect(questions).toEqual([]);
  expect(responses).toMatchObject([{ isError: true, errorType }]);
});

test('an empty list of options is none', async () => {
  const { model } = await runDesk({
    own: ['ask_user'],
    script: askUser({ question: 'Which?', options: [] }),
    answer: userSays('any'),
  });
  expect(told(model)).toMatchObject([{ response: { output: 'any' } }]);
});

test.each([
  ['decline', 'declined: the user declined to answer'],
  ['cancel', 'declined: no answer'],
])('ask_user after %s tells the model', async (action, text) => {
  const { responses } = await runDesk({
    own: ['ask_user'],
    script: askUser({ question: 'Which?' }),
    answer: { action },
  });
  expect(responses).toMatchObject([{ isError: true, errorType: 'declined' }]);
  expect(textOf(responses[0])).toBe(text);
});

test('a question that is none is an error of the tool: nothing is asked, and nothing stands in the log', async () => {
  const none = [
    null,
    {},
    { message: 5 },
    { message: '?', kind: 7 },
    { message: '?', title: {} },
    { message: '?', expiresAt: 'soon' },
    { message: '?', expiresAt: new Date(Number.NaN) },
    { message: '?', context: { big: 10n } },
  ];
  for (const question of none as never[]) {
    const { responses, questions } = await runDesk({ own: [asks(question)], script, answer: { action: 'accept' } });
    expect(responses[0]).toMatchObject({ isError: true, errorType: 'execution_failed' });
    expect(textOf(responses[0])).toContain('elicit takes { message');
    expect(questions).toEqual([]);
  }
});
