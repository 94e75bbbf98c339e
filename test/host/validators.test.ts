import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import type { StandardSchema } from '../../src/contracts/index.js';
import { agent, tool } from '../../src/index.js';
import { runTeam } from '../support/teams.js';
import { calls, runDesk, textOf } from './tool-desk.js';

/** A schema whose JSON Schema takes any object, and whose validator says what it is told to say. */
const saying = (validate: (value: unknown) => unknown) => ({
  schema: { '~standard': { version: 1, vendor: 'own', validate } } as StandardSchema<unknown, unknown>,
  jsonSchema: { type: 'object' },
});

const nonsense: [string, () => unknown, RegExp][] = [
  ['nothing', () => undefined, /must say \{ value \} or \{ issues \}/],
  ['null', () => null, /must say/],
  ['a text', () => 'fine', /must say/],
  ['true', () => true, /must say/],
  ['neither a value nor issues', () => ({}), /must say/],
  ['a value that is undefined', () => ({ value: undefined }), /must say/],
  ['an empty list of issues', () => ({ value: {}, issues: [] }), /without saying why/],
  ['issues that are no list', () => ({ value: {}, issues: 'none' }), /without saying why/],
  ['issues that are null', () => ({ value: {}, issues: null }), /without saying why/],
  ['an issue that is null', () => ({ issues: [null] }), /does not fit/],
  ['a promise of nothing', () => Promise.resolve(), /must say/],
  ['a promise of another realm', () => runInNewContext('Promise.resolve({})'), /must say/],
  ['a rejected promise', () => Promise.reject(new Error('the validator broke')), /the validator broke/],
  [
    'an error that it throws',
    () => {
      throw new Error('the validator broke');
    },
    /the validator broke/,
  ],
];

test.each(nonsense)('a tool whose validator says %s does not run, and the model hears why', async (_, say, why) => {
  const execute = vi.fn();
  const own = [tool({ name: 'act', description: 'Acts.', parameters: saying(say), execute })];
  const { responses, result } = await runDesk({ own, script: [calls('act')], run: { permissionMode: 'autonomous' } });
  expect(responses).toMatchObject([{ isError: true, errorType: 'invalid_tool_params' }]);
  expect(textOf(responses[0])).toMatch(why);
  expect(execute).not.toHaveBeenCalled();
  expect(result.ok).toBe(true);
});

test.each(nonsense)('an output whose validator says %s is no output', async (_, say, why) => {
  const lines = Array.from({ length: 3 }, () => ({ text: '{"a":1}' }));
  const { result } = await runTeam(agent({ name: 'a', outputSchema: saying(say) }), { a: lines });
  expect(result).toMatchObject({ ok: false, reason: 'failed', data: { code: 'OUTPUT_INVALID' } });
  expect((result.data as { message: string }).message).toMatch(why);
});

test.each(nonsense)('an input whose validator says %s is refused, and no model is asked', async (_, say, why) => {
  const run = runTeam(agent({ name: 'a', inputSchema: saying(say) }), { a: [] }, { input: { x: 1 } });
  await expect(run).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(why) });
});

const asking = (validate: (value: unknown) => unknown) =>
  tool({
    name: 'ask',
    description: 'Asks.',
    annotations: { readOnly: true },
    async execute(_, { elicit }) {
      const answer = await elicit({ message: 'Which?', requestedSchema: saying(validate) as never });
      return JSON.stringify(answer);
    },
  });

test('an answer that the author’s own schema does not take is refused with its errors, and the question stays open', async () => {
  const refusals: string[] = [];
  const validate = (value: unknown) =>
    (value as { n: number }).n > 3 ? { value: { big: true } } : { issues: [{ message: 'too small', path: ['n'] }] };
  const { responses } = await runDesk({
    own: [asking(validate)],
    script: [calls('ask')],
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      try {
        run.respond(event.requestId, { action: 'accept', content: { n: 1 } });
      } catch (thrown) {
        refusals.push(`${(thrown as { code: string }).code} ${(thrown as Error).message}`);
      }
      run.respond(event.requestId, { action: 'accept', content: { n: 4 } });
    },
  });
  expect(refusals).toEqual([expect.stringMatching(/^INVALID_ANSWER .*\/n too small; the question stays open/)]);
  expect(textOf(responses[0])).toBe('{"action":"accept","content":{"big":true}}');
});

test.each(nonsense)('an answer whose validator says %s never reaches the tool as accepted', async (_, say) => {
  const { responses } = await runDesk({
    own: [asking(say)],
    script: [calls('ask')],
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      try {
        run.respond(event.requestId, { action: 'accept', content: { n: 1 } });
      } catch {
        run.respond(event.requestId, { action: 'decline' });
      }
    },
  });
  expect(textOf(responses[0])).not.toContain('accept');
});

test('a schema without a validator that can be called is refused when the tool or agent is defined', () => {
  const standard = (rest: object) => ({ '~standard': { version: 1, vendor: 'own', ...rest } });
  const jsonSchema = { input: () => ({ type: 'object' }) };
  for (const schema of [
    standard({ jsonSchema }),
    standard({ jsonSchema, validate: 'yes' }),
    { schema: standard({ validate: 5 }), jsonSchema: { type: 'object' } },
    { '~standard': null },
  ] as never[]) {
    const make = () => tool({ name: 'act', description: 'Acts.', parameters: schema, execute: () => 1 });
    expect(make).toThrow(
      expect.objectContaining({ code: 'INVALID_DEFINITION', message: expect.stringContaining('"~standard".validate') }),
    );
    expect(() => agent({ name: 'a', outputSchema: schema })).toThrow(/"~standard"\.validate/);
  }
  const broken = {
    '~standard': {
      validate: () => ({ value: 1 }),
      get jsonSchema() {
        throw new Error('boom');
      },
    },
  };
  expect(() => agent({ name: 'a', inputSchema: broken as never })).toThrow(/a\.inputSchema: .*boom/);
});
