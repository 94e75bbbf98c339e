import { expect, test } from 'vitest';
import { type CheckCommand, checkCommand } from '../../src/cli/check.js';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { TroupeError } from '../../src/kernel/errors.js';
import { fakePipe } from './fake-io.js';

const solo = (more: object = {}) =>
  agent({
    name: 'solo',
    description: 'Alone.',
    constraints: { maxTurns: 8 },
    ...more,
  } as never) as unknown as AgentDefinition;

async function check(definition: () => AgentDefinition, command: Partial<CheckCommand> = {}) {
  const stdout = fakePipe();
  const code = await checkCommand(
    { file: 'team.yaml', ...command },
    { stdout },
    {
      loadDefinition: async () => ({ definition: definition(), notices: ['colour is not read'] }),
      inventory: async () => ({ hostTools: ['read_file'], executors: ['local'] }),
    },
  );
  return { code, text: stdout.text };
}

test('a definition without problems: 0, and the most model calls of a run', async () => {
  expect(await check(solo)).toEqual({
    code: 0,
    text: 'team.yaml: no problems\n  note: colour is not read\nworst case: 8 model calls\n',
  });
});

test('--json has the shape that programs rely on', async () => {
  const { code, text } = await check(() => solo({ tools: ['raed_file'] }), { json: true });
  expect(code).toBe(2);
  expect(JSON.parse(text)).toEqual({
    problems: [
      {
        code: 'UNKNOWN_TOOL',
        path: 'solo.tools[0]',
        message: 'no tool "raed_file" (did you mean "read_file"?); the host has read_file',
      },
    ],
    worstCase: { modelCalls: 8, assumptions: [] },
  });
});

test('the faults of a file that cannot be read as a definition are problems too', async () => {
  const problems = [{ code: 'INVALID_DEFINITION', path: 'team.yaml:3:children', message: 'is missing' }];
  const broken = () => {
    throw new TroupeError({ code: 'INVALID_DEFINITION', message: 'x', problems });
  };
  const { code, text } = await check(broken, { json: true });
  expect(code).toBe(2);
  expect(JSON.parse(text)).toEqual({ problems, worstCase: { modelCalls: null, assumptions: [] } });
  expect((await check(broken)).text).toBe(
    'team.yaml: 1 problem\n  INVALID_DEFINITION at team.yaml:3:children: is missing\nworst case: cannot be said\n',
  );
});

test('what is no fault of the file is thrown', async () => {
  const gone = () => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  };
  await expect(check(gone)).rejects.toThrow('no such file');
});

test('the report shows no control characters of the file', async () => {
  const problems = [{ code: 'INVALID_DEFINITION', path: 'a\u001b[2J', message: 'b\n\u202e' }];
  const { text } = await check(() => {
    throw new TroupeError({ code: 'INVALID_DEFINITION', message: 'x', problems });
  });
  for (const line of text.split('\n')) expect(line).toMatch(/^[^\p{Cc}\p{Cf}]*$/u);
  expect(text.split('\n')).toHaveLength(4);
});
