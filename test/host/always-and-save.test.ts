import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  agent,
  createHost,
  defineHook,
  type HostOptions,
  parallel,
  policyFromToml,
  type TroupeError,
  tool,
} from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';
import { calls, runDesk } from './tool-desk.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-save-'));
  file = join(folder, 'policy.toml');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const save = tool({
  name: 'save',
  description: 'Saves.',
  parameters: z.object({ path: z.string() }),
  execute: () => 'saved',
});
const shell = (execute = vi.fn((_args: unknown) => 'ran')) =>
  tool({
    name: 'run_shell_command',
    description: 'Runs.',
    parameters: z.object({ command: z.string() }),
    annotations: { category: 'execute' },
    execute,
  });
const saveIt = { action: 'accept', content: { outcome: 'proceed_always_and_save' } } as const;
const outcomesOf = (question: { requestedSchema?: unknown } | undefined) => {
  const schema = question?.requestedSchema as { properties: { outcome: { enum: string[] } } } | undefined;
  return schema?.properties.outcome.enum;
};
const rulesIn = () => policyFromToml(readFileSync(file, 'utf8')).rules;
const noticesIn = (events: readonly { type: string }[]) =>
  events.flatMap((event) => {
    const { kind, data } = event as { kind?: string; data?: { code: string; text: string } };
    return kind === 'notice' && data !== undefined ? [data] : [];
  });

const runSave = (host: HostOptions, paths = ['a', 'a', 'b']) =>
  runDesk({
    own: ['save'],
    host: { tools: [save], userPolicyFile: file, ...host },
    script: paths.map((path) => calls(['save', { path }])),
    answer: saveIt,
  });

test('"always and save" writes one rule for exactly this, which counts at once and in the next host', async () => {
  const first = await runSave({});
  expect(first.questions.map(({ context }) => context?.args)).toEqual([{ path: 'a' }, { path: 'b' }]);
  expect(first.questions[0]?.context?.savedRules).toEqual([rulesIn()[0]]);
  expect(rulesIn()).toEqual([
    { toolName: 'save', decision: 'allow', always: true, argsPattern: '^\\{"path":"a"\\}$' },
    { toolName: 'save', decision: 'allow', always: true, argsPattern: '^\\{"path":"b"\\}$' },
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['policy.toml']);
  const second = await runSave({}, ['a', 'c']);
  expect(second.questions.map(({ context }) => context?.args)).toEqual([{ path: 'c' }]);
});

test('the file is there before what was allowed runs, and counts for other sessions of the host', async () => {
  const seen: string[] = [];
  const looker = tool({
    name: 'look',
    description: 'Looks.',
    execute: () => {
      seen.push(readFileSync(file, 'utf8'));
      return 'ok';
    },
  });
  const model = scriptedModel([calls('look'), { text: 'done' }, calls('look'), { text: 'done' }]);
  const host = createHost({ models: { scripted: model }, tools: [looker], userPolicyFile: file });
  const desk = agent({ name: 'desk', tools: ['look'] });
  const asked: string[] = [];
  for (let turn = 0; turn < 2; turn++) {
    const run = host.run(desk, 'go');
    for await (const event of run) {
      if (event.type !== 'elicitation_request') continue;
      asked.push(event.requestId);
      run.respond(event.requestId, saveIt);
    }
  }
  await host.close();
  expect(asked).toHaveLength(1);
  expect(seen[0]).toContain('toolName = "look"');
});

test('of a command line each inner command is kept by its beginning, never what starts it (B136)', async () => {
  const { questions } = await runDesk({
    own: ['run_shell_command'],
    host: { tools: [shell()], userPolicyFile: file },
    script: [
      calls(['run_shell_command', { command: 'env git status && npm test' }]),
      calls(['run_shell_command', { command: 'git status -s' }]),
      calls(['run_shell_command', { command: 'npm test' }]),
      calls(['run_shell_command', { command: 'env rm x' }]),
    ],
    answer: saveIt,
  });
  expect(rulesIn().map(({ commandPrefix, commandRegex }) => commandPrefix ?? commandRegex)).toEqual([
    'git status',
    'npm test',
    'rm x$',
  ]);
  expect(questions.map(({ context }) => context?.commands)).toEqual([
    ['env git status', 'git status', 'npm test'],
    ['env rm x', 'rm x'],
  ]);
});

test('where no rule can be made, or there is no file, it is not offered and refused, and the question stays open', async () => {
  const refusals: (string | undefined)[] = [];
  const answerWith = (own: HostOptions, command: string) =>
    runDesk({
      own: ['run_shell_command'],
      host: { tools: [shell()], ...own },
      script: [calls(['run_shell_command', { command }])],
      onEvent(event, run) {
        if (event.type !== 'elicitation_request') return;
        try {
          run.respond(event.requestId, saveIt);
        } catch (thrown) {
          refusals.push((thrown as TroupeError).code);
          run.respond(event.requestId, { action: 'decline' });
        }
      },
    });
  const unknowable = await answerWith({ userPolicyFile: file }, 'echo $X');
  const fileless = await answerWith({}, 'git status');
  expect(refusals).toEqual(['INVALID_ANSWER', 'INVALID_ANSWER']);
  for (const { questions } of [unknowable, fileless]) {
    expect(outcomesOf(questions[0])).toEqual([
      'proceed_once',
      'proceed_always',
      'proceed_always_tool',
      'modify',
      'cancel',
    ]);
    expect(questions[0]?.context).not.toHaveProperty('savedRules');
  }
  expect(readdirSync(folder)).toEqual([]);
});

test('what was changed is what is kept', async () => {
  await runDesk({
    own: ['save'],
    host: { tools: [save], userPolicyFile: file },
    script: [calls(['save', { path: 'a' }])],
    answer: { action: 'accept', content: { outcome: 'proceed_always_and_save', modifiedArgs: { path: 'b' } } },
  });
  expect(rulesIn()).toMatchObject([{ argsPattern: '^\\{"path":"b"\\}$' }]);
});

test('a rule that another asks above is kept, and the person is told; in this session it is not asked again', async () => {
  const { questions, events } = await runSave({
    policy: [{ rules: [{ toolName: 'save', decision: 'ask_user' }], file: 'mine.toml' }],
  });
  expect(questions).toHaveLength(2);
  expect(noticesIn(events)).toMatchObject([
    { code: 'RULE_OUTRANKED', text: expect.stringContaining('mine.toml[0] asks all the same') },
    { code: 'RULE_OUTRANKED' },
  ]);
});

test('a file that cannot be written is told; what was allowed runs, and is not asked again in this session', async () => {
  const run = runSave({}, ['a', 'a']);
  writeFileSync(file, 'rules = 1');
  const { questions, events, responses } = await run;
  expect(questions).toHaveLength(1);
  expect(responses.map(({ isError }) => isError)).toEqual([undefined, undefined]);
  expect(noticesIn(events)).toMatchObject([{ code: 'RULE_NOT_SAVED' }]);
  expect(readFileSync(file, 'utf8')).toBe('rules = 1');
});

test('a file of the user that does not load stops the start', () => {
  writeFileSync(file, '[[rules]]\ntoolName = "x"\ndecision = "alow"\n');
  expect(() => createHost({ userPolicyFile: file })).toThrow(
    /policy\.toml:3:rules\[0\]\.decision.*did you mean "allow"/,
  );
  chmodSync(file, 0o600);
});

test('its rules count like those of a user', async () => {
  writeFileSync(file, '[[rules]]\ntoolName = "save"\ndecision = "deny"\n');
  const { responses } = await runSave({}, ['a']);
  expect(responses).toMatchObject([{ errorType: 'policy_denied' }]);
});

test('two branches that save at the same time write both rules, each once', async () => {
  const child = (name: string) => agent({ name, tools: ['save'] });
  const entries = (path: string) => [calls(['save', { path }], ['save', { path: 'both' }]), { text: 'ok' }];
  const host = createHost({
    models: { scripted: scriptedModel({ byAgent: { left: entries('l'), right: entries('r') } }) },
    tools: [save],
    userPolicyFile: file,
  });
  const run = host.run(parallel({ name: 'team', children: [child('left'), child('right')] }), 'go');
  const events = await collect(
    (async function* () {
      for await (const event of run) {
        if (event.type === 'elicitation_request') run.respond(event.requestId, saveIt);
        yield event;
      }
    })(),
  );
  await host.close();
  expect(ofType(events, 'tool_response').map(({ isError }) => isError)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(
    rulesIn()
      .map(({ argsPattern }) => argsPattern)
      .sort(),
  ).toEqual(['^\\{"path":"both"\\}$', '^\\{"path":"l"\\}$', '^\\{"path":"r"\\}$']);
});

test('what the rules allow and a hook wants asked needs no rule, and none is offered', async () => {
  const { questions } = await runDesk({
    own: ['save'],
    host: {
      tools: [save],
      userPolicyFile: file,
      policy: [{ rules: [{ toolName: 'save', decision: 'allow' }] }],
      hooks: [defineHook('before_tool', () => ({ action: 'ask' }))],
    },
    script: [calls(['save', { path: 'a' }])],
    answer: { action: 'accept' },
  });
  expect(outcomesOf(questions[0])).not.toContain('proceed_always_and_save');
});
