import { expect, test } from 'vitest';
import { confirmationLines } from '../../src/cli/confirmation.js';
import { askQuestion, FormStopped } from '../../src/cli/question-form.js';
import type { AgentEvent, JsonSchema } from '../../src/contracts/index.js';
import { asks, confirms, eventList } from './event-list.js';
import { scriptedPrompter } from './scripted-prompter.js';

const request = (schema: JsonSchema | undefined, kind = 'clarification') =>
  eventList(
    asks('Tell me', { kind, ...(schema === undefined ? {} : { requestedSchema: schema }) }),
  )[0] as AgentEvent<'elicitation_request'>;
const confirmation = (tool: string, args: unknown) =>
  eventList(confirms(tool, args))[0] as AgentEvent<'elicitation_request'>;
const object = (properties: Record<string, JsonSchema>, required: string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
});

test('a confirmation offers once, always and no, and shows tool, arguments and who asks', async () => {
  const prompter = scriptedPrompter(['Yes, once'], ['Always, in this session'], ['No']);
  const question = { request: confirmation('write_file', { path: 'a.md', text: 'x' }), agentName: 'writer' };
  expect(await askQuestion(question, prompter)).toEqual({ action: 'accept', content: { outcome: 'proceed_once' } });
  expect(await askQuestion(question, prompter)).toEqual({ action: 'accept', content: { outcome: 'proceed_always' } });
  expect(await askQuestion(question, prompter)).toEqual({ action: 'decline' });
  const said = prompter.said.join('\n');
  expect(said).toContain('report/writer wants to use write_file');
  expect(said).toContain('"path": "a.md"');
});

test('what is hidden in arguments is shown by name before it is approved', () => {
  const lines = confirmationLines({
    request: confirmation('run\u202e', { command: 'ls\u001b[2K\u200b && rm' }),
    agentName: 'x',
  });
  expect(lines.join('\n')).toContain('run<U+202E>');
  expect(lines.join('\n')).toContain('<U+200B>');
  for (const line of lines) expect(line).toMatch(/^[^\p{Cc}\p{Cf}]*$/u);
});

test('every field of the schema becomes a question of its kind, in order, with its default', async () => {
  const schema = object(
    {
      name: { type: 'string', title: 'Your name', default: 'Ada' },
      age: { type: 'integer', minimum: 1 },
      colour: { enum: ['red', 'blue'], default: 'blue' },
      size: {
        oneOf: [
          { const: 1, title: 'small' },
          { const: 2, title: 'large' },
        ],
      },
      agree: { type: 'boolean', default: true },
      tags: { type: 'array', items: { enum: ['a', 'b', 'c'] }, default: ['b'] },
      extra: { type: 'object' },
    },
    ['name', 'age', 'colour', 'size', 'agree', 'tags'],
  );
  const prompter = scriptedPrompter(
    ['default'],
    ['text', '7'],
    ['default'],
    ['large'],
    ['default'],
    ['default'],
    ['text', '{"k":1}'],
  );
  expect(await askQuestion({ request: request(schema), agentName: 'x' }, prompter)).toEqual({
    action: 'accept',
    content: { name: 'Ada', age: 7, colour: 'blue', size: 2, agree: true, tags: ['b'], extra: { k: 1 } },
  });
  expect(prompter.asked).toEqual(['Your name', 'age', 'colour', 'size', 'agree', 'tags', 'extra (optional)']);
});

test('an optional field that is left empty is left out', async () => {
  const schema = object({ note: { type: 'string' }, pick: { enum: ['a'] } });
  const prompter = scriptedPrompter(['text', ''], ['(no answer)']);
  expect(await askQuestion({ request: request(schema), agentName: 'x' }, prompter)).toEqual({
    action: 'accept',
    content: {},
  });
});

test.each([
  [{ type: 'number' }, 'ten', 'A number is needed.'],
  [{ type: 'integer' }, '1.5', 'A whole number is needed.'],
  [{ type: 'number', minimum: 5 }, '4', 'At least 5.'],
  [{ type: 'number', maximum: 5 }, '6', 'At most 5.'],
  [{ type: 'string', minLength: 3 }, 'ab', 'At least 3 characters.'],
  [{ type: 'string', maxLength: 3 }, 'abcd', 'At most 3 characters.'],
  [{ type: 'array' }, 'a, b', 'JSON is needed, as ["a", "b"].'],
  [{ type: 'integer' }, '', 'An answer is needed.'],
] as const)('%j does not take %j', async (schema, typed, fault) => {
  const prompter = scriptedPrompter(['text', typed]);
  await expect(
    askQuestion({ request: request(object({ x: schema }, ['x'])), agentName: 'x' }, prompter),
  ).rejects.toThrow(fault);
});

test('a credential is typed unseen', async () => {
  const prompter = scriptedPrompter(['text', 'secret-1']);
  const schema = object({ credential: { type: 'string' } }, ['credential']);
  await askQuestion({ request: request(schema, 'auth_required'), agentName: 'x' }, prompter);
  expect(prompter.secrets).toEqual([true]);
});

test('a question without a schema, or of another kind, can be declined', async () => {
  expect(await askQuestion({ request: request(undefined), agentName: 'x' }, scriptedPrompter(['no']))).toEqual({
    action: 'decline',
  });
  expect(await askQuestion({ request: request(undefined), agentName: 'x' }, scriptedPrompter(['yes']))).toEqual({
    action: 'accept',
  });
  const schema = object({ x: { type: 'string' } }, ['x']);
  expect(
    await askQuestion({ request: request(schema, 'user_approval'), agentName: 'x' }, scriptedPrompter(['no'])),
  ).toEqual({
    action: 'decline',
  });
});

test('Escape cancels the question, Ctrl-C is passed on', async () => {
  const question = { request: request(undefined), agentName: 'x' };
  expect(await askQuestion(question, scriptedPrompter([new FormStopped('cancelled')]))).toEqual({ action: 'cancel' });
  await expect(askQuestion(question, scriptedPrompter([new FormStopped('interrupted')]))).rejects.toThrow(FormStopped);
});
