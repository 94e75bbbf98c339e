import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { agent, createHost, hierarchical, parallel, type Run, sequential, tool } from '../../src/index.js';
import { type ScriptedModel, scriptedModel } from '../../src/testing/index.js';
import { workspaceTools } from '../../src/tools/workspace.js';
import { collect, ofType } from '../support/team.js';
import { gate } from '../support/teams.js';
import { calls, runDesk, textOf } from './tool-desk.js';

const write = (execute = vi.fn()) => tool({ name: 'write', description: 'Writes.', execute });
const read = tool({ name: 'read', description: 'Reads.', annotations: { readOnly: true }, execute: () => 'text' });
const plan = { permissionMode: 'plan' } as const;
const proposes = calls(['exit_plan_mode', { plan: '1. Write.' }]);
const namesOf = (model: ScriptedModel, index: number) => model.requests[index]?.tools?.map(({ name }) => name) ?? [];
const instructionOf = (model: ScriptedModel, index: number) => model.requests[index]?.systemInstruction ?? '';

test('the model is told that plan mode is on, and has the way out of it; in other modes neither', async () => {
  const planning = await runDesk({ own: [read, write()], script: [], run: plan });
  expect(instructionOf(planning.model, 0)).toContain('Plan mode is on');
  expect(instructionOf(planning.model, 0)).toContain('exit_plan_mode');
  expect(namesOf(planning.model, 0)).toEqual(['read', 'exit_plan_mode']);
  const plain = await runDesk({ own: [read, write()], script: [] });
  expect(plain.model.requests[0]?.systemInstruction).toBeUndefined();
  expect(namesOf(plain.model, 0)).toEqual(['read', 'write']);
});

test.each([
  [{ action: 'accept' }, 'default', true],
  [{ action: 'accept', content: { mode: 'default' } }, 'default', true],
  [{ action: 'accept', content: { mode: 'auto_edit' } }, 'auto_edit', false],
] as const)('an accepted plan (%j) ends the mode: %s', async (answer, mode, asks) => {
  const execute = vi.fn(() => 'written');
  const edit = tool({ name: 'edit', description: 'E.', annotations: { category: 'edit' }, execute });
  const { events, questions, model, responses } = await runDesk({
    own: [edit],
    run: plan,
    script: [calls('edit'), proposes, calls('edit')],
    answer: (question) => (question.kind === 'user_approval' ? answer : { action: 'accept' }),
  });
  expect(responses.map(({ errorType }) => errorType)).toEqual(['policy_denied', undefined, undefined]);
  expect(execute).toHaveBeenCalledTimes(1);
  expect(questions[0]).toMatchObject({
    kind: 'user_approval',
    context: { kind: 'exit_plan_mode', plan: '1. Write.', principalPath: 'desk' },
  });
  expect(questions).toHaveLength(asks ? 2 : 1);
  expect(ofType(events, 'session_update')).toMatchObject([{ permissionMode: mode, source: 'user' }]);
  expect(textOf(responses[1])).toBe(`The plan is approved, and the mode is ${mode}: carry it out.`);
  expect(instructionOf(model, 2)).toBe('');
  expect(namesOf(model, 2)).toEqual(['edit']);
});

test.each([
  [{ action: 'decline', content: { feedback: 'too much' } }, 'not approved: too much; plan mode is still on'],
  [{ action: 'decline' }, 'not approved; plan mode is still on'],
  [{ action: 'cancel' }, 'not approved; plan mode is still on'],
] as const)('a plan that is not accepted (%j) changes nothing', async (answer, text) => {
  const execute = vi.fn();
  const { responses, events, model } = await runDesk({
    own: [write(execute)],
    run: plan,
    script: [proposes, calls('write')],
    answer,
  });
  expect(responses.map(({ errorType }) => errorType)).toEqual(['declined', 'policy_denied']);
  expect(textOf(responses[0])).toContain(text);
  expect(execute).not.toHaveBeenCalled();
  expect(ofType(events, 'session_update')).toEqual([]);
  expect(instructionOf(model, 2)).toContain('Plan mode is on');
});

test('with nobody to ask plan mode stays on', async () => {
  const { responses } = await runDesk({ script: [proposes], run: plan, host: { elicitation: 'deny' } });
  expect(responses).toMatchObject([{ errorType: 'declined' }]);
  expect(textOf(responses[0])).toContain('there is nobody to ask');
});

test('a mode of no known kind in the answer is refused, and the question stays open', async () => {
  const codes: unknown[] = [];
  await runDesk({
    script: [proposes],
    run: plan,
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      for (const mode of ['autonomous', 'yolo']) {
        try {
          run.respond(event.requestId, { action: 'accept', content: { mode } });
        } catch (thrown) {
          codes.push((thrown as { code: string }).code);
        }
      }
      run.respond(event.requestId, { action: 'decline' });
    },
  });
  expect(codes).toEqual(['INVALID_ANSWER', 'INVALID_ANSWER']);
});

test('what a person sets while the plan is open stands', async () => {
  const { events, responses } = await runDesk({
    script: [proposes],
    run: plan,
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      run.update({ permissionMode: 'dont_ask' });
      run.respond(event.requestId, { action: 'accept', content: { mode: 'auto_edit' } });
    },
  });
  expect(ofType(events, 'session_update').map(({ permissionMode }) => permissionMode)).toEqual(['dont_ask']);
  expect(textOf(responses[0])).toContain('the mode is dont_ask');
});

test('a plan that is none is refused, and outside of plan mode there is no such tool', async () => {
  const empty = await runDesk({ script: [calls('exit_plan_mode', ['exit_plan_mode', { plan: ' ' }])], run: plan });
  expect(empty.responses.map(({ errorType }) => errorType)).toEqual(['invalid_tool_params', 'invalid_tool_params']);
  expect(empty.questions).toEqual([]);
  const outside = await runDesk({ script: [proposes] });
  expect(outside.responses).toMatchObject([{ errorType: 'tool_not_registered' }]);
});

test('calls behind the plan in the same turn are judged as the mode is then', async () => {
  const execute = vi.fn();
  const { responses } = await runDesk({
    own: [write(execute)],
    run: plan,
    script: [{ toolCalls: [...(proposes.toolCalls ?? []), { id: 'w', name: 'write', args: {} }] }],
    answer: { action: 'decline' },
  });
  expect(responses.map(({ errorType }) => errorType).sort()).toEqual(['declined', 'policy_denied']);
  expect(execute).not.toHaveBeenCalled();
});

test('a call that was let through and waits for its turn is judged again when the mode has changed', async () => {
  const first = gate('first');
  const slow = { ...first.tool, descriptor: { ...first.tool.descriptor, annotations: {} } };
  const execute = vi.fn();
  const model = scriptedModel([calls('first', 'write'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(agent({ name: 'desk', tools: [slow, write(execute)] }), 'go', { permissionMode: 'autonomous' });
  const reading = collect(run);
  await first.running;
  run.update({ permissionMode: 'plan' });
  first.open('');
  const events = await reading;
  expect(ofType(events, 'tool_response').map(({ errorType }) => errorType)).toEqual([undefined, 'policy_denied']);
  expect(execute).not.toHaveBeenCalled();
});

test('a call that was let through and waits is asked about when the mode asks by then, and runs once', async () => {
  const first = gate('first');
  const slow = { ...first.tool, descriptor: { ...first.tool.descriptor, annotations: {} } };
  const execute = vi.fn(() => 'written');
  const model = scriptedModel([calls('first', 'write', 'write'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(agent({ name: 'desk', tools: [slow, write(execute)] }), 'go', { permissionMode: 'autonomous' });
  const asked: unknown[] = [];
  const reading = collect(
    (async function* () {
      for await (const event of run) {
        if (event.type === 'elicitation_request') {
          asked.push(event.context?.toolRequestId);
          run.respond(event.requestId, { action: event.context?.toolRequestId === 'k2' ? 'accept' : 'decline' });
        }
        yield event;
      }
    })(),
  );
  await first.running;
  run.update({ permissionMode: 'default' });
  first.open('');
  const events = await reading;
  expect(asked).toEqual(['k2', 'k3']);
  expect(execute).toHaveBeenCalledTimes(1);
  expect(ofType(events, 'tool_response').map(({ errorType }) => errorType)).toEqual([undefined, undefined, 'declined']);
});

test('it holds for every agent of a team, and only who acts for no leader can end it', async () => {
  const execute = vi.fn();
  const tools = [write(execute)];
  const lead = agent({ name: 'chief', tools });
  const team = sequential({
    name: 'team',
    children: [
      parallel({ name: 'both', children: [agent({ name: 'left', tools }), agent({ name: 'right', tools })] }),
      hierarchical({ name: 'lead', agent: lead, children: [agent({ name: 'worker', tools })] }),
    ],
  });
  const model = scriptedModel({
    byAgent: {
      left: [calls('write'), { text: 'l' }],
      right: [calls('write'), { text: 'r' }],
      lead: [calls(['worker', { prompt: 'write' }]), { text: 'done' }],
      chief: [calls(['worker', { prompt: 'write' }]), { text: 'done' }],
      worker: [calls('write', ['exit_plan_mode', { plan: 'p' }]), { text: 'w' }],
    },
  });
  await using host = createHost({ models: { scripted: model } });
  const events = await collect(host.run(team, 'go', plan));
  const failed = ofType(events, 'tool_response').filter(({ isError }) => isError);
  expect(failed.map(({ name, errorType }) => `${name} ${errorType}`).sort()).toEqual([
    'exit_plan_mode tool_not_registered',
    'left.write policy_denied',
    'right.write policy_denied',
    'worker.write policy_denied',
  ]);
  expect(execute).not.toHaveBeenCalled();
  const offered = model.requests.map(({ _meta, tools: shown = [] }) => [
    _meta?.agent,
    shown.some(({ name }) => name === 'exit_plan_mode'),
  ]);
  const by = Object.fromEntries(offered);
  expect(by).toMatchObject({ left: true, right: true, worker: false });
  const workers = model.requests.filter(({ _meta }) => _meta?.agent === 'worker');
  expect(workers[0]?.systemInstruction).toContain('Say in your answer what you would do');
});

test('an update of the mode reaches every thread that lives, at its next request', async () => {
  const gates = { left: gate('wait'), right: gate('wait') };
  const child = <const Name extends 'left' | 'right'>(name: Name) =>
    agent({ name, tools: [gates[name].tool, write()] });
  const model = scriptedModel({
    byAgent: { left: [calls('wait'), { text: 'l' }], right: [calls('wait'), { text: 'r' }] },
  });
  await using host = createHost({ models: { scripted: model } });
  const run: Run = host.run(parallel({ name: 'team', children: [child('left'), child('right')] }), 'go');
  const reading = collect(run);
  await Promise.all([gates.left.running, gates.right.running]);
  run.update({ permissionMode: 'plan' });
  gates.left.open('');
  gates.right.open('');
  await reading;
  for (const name of ['left', 'right']) {
    const [before, after] = model.requests.filter(({ _meta }) => _meta?.agent === name);
    expect(before?.systemInstruction).toBeUndefined();
    expect(after?.systemInstruction).toContain('Plan mode is on');
    expect(after?.tools?.map((one) => one.name)).toEqual(['wait', 'exit_plan_mode']);
  }
});

test('in plan mode the plan file may be written, and nothing else: no other path, no link, no command', async () => {
  const root = mkdtempSync(join(tmpdir(), 'troupe-plan-'));
  try {
    writeFileSync(join(root, 'a.txt'), 'a');
    const writes = (path: string) => ['write_file', { path, content: 'x' }] as const;
    const deskOf = (...asked: Parameters<typeof calls>) =>
      runDesk({
        own: ['write_file', 'replace', 'run_shell_command', 'read_file'],
        host: { tools: workspaceTools({ root }) },
        run: plan,
        script: [calls(...asked)],
      });
    const { responses, questions, model } = await deskOf(
      writes('PLAN.md'),
      writes('./PLAN.md'),
      ['replace', { path: 'PLAN.md', old_string: 'x', new_string: 'y' }],
      writes('a.txt'),
      writes('sub/PLAN.md'),
      writes('sub/../PLAN.md'),
      writes('plan.md'),
      ['run_shell_command', { command: 'echo x > PLAN.md' }],
      ['run_shell_command', { command: 'ls' }],
    );
    const ran = responses.filter(({ isError }) => !isError).map(({ requestId }) => requestId);
    expect(ran.sort()).toEqual(['k1', 'k2', 'k3']);
    expect(responses.filter(({ errorType }) => errorType === 'policy_denied')).toHaveLength(6);
    expect(questions).toEqual([]);
    expect(readFileSync(join(root, 'PLAN.md'), 'utf8')).toBe('y');
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('a');
    expect(namesOf(model, 0)).toEqual(['write_file', 'replace', 'read_file', 'exit_plan_mode']);
    expect(instructionOf(model, 0)).toContain('PLAN.md');

    rmSync(join(root, 'PLAN.md'));
    symlinkSync('a.txt', join(root, 'PLAN.md'));
    const linked = await runDesk({
      own: ['write_file'],
      host: { tools: workspaceTools({ root }) },
      run: plan,
      script: [calls(writes('PLAN.md'))],
      answer: { action: 'accept' },
    });
    expect(linked.responses).toMatchObject([{ errorType: 'policy_denied' }]);
    expect(linked.questions).toEqual([]);
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('a');
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test('a rule that asks about the tool, or denies it, holds for the plan file as well', async () => {
  const root = mkdtempSync(join(tmpdir(), 'troupe-plan-'));
  try {
    const under = async (decision: 'ask_user' | 'deny') => {
      const { responses, questions } = await runDesk({
        own: ['write_file'],
        host: { tools: workspaceTools({ root }), policy: [{ rules: [{ toolName: 'write_file', decision }] }] },
        run: plan,
        script: [calls(['write_file', { path: 'PLAN.md', content: 'x' }])],
        answer: { action: 'accept' },
      });
      return [responses[0]?.errorType, questions.length];
    };
    expect(await under('ask_user')).toEqual([undefined, 1]);
    expect(await under('deny')).toEqual(['policy_denied', 0]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
