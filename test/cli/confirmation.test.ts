import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { editableOf, readEdited } from '../../src/cli/edit-call.js';
import { editText } from '../../src/cli/editor.js';
import { askQuestion } from '../../src/cli/question-form.js';
import type { AgentEvent, Bag } from '../../src/contracts/index.js';
import { TroupeError } from '../../src/kernel/errors.js';
import { confirms, eventList } from './event-list.js';
import { scriptedPrompter } from './scripted-prompter.js';

const ALL = [
  'proceed_once',
  'proceed_always',
  'proceed_always_tool',
  'proceed_always_server',
  'proceed_always_and_save',
  'modify',
  'cancel',
];

function approval(context: Bag, outcomes: readonly string[] = ALL): AgentEvent<'elicitation_request'> {
  const request = confirms('write_file', {}) as AgentEvent<'elicitation_request'>;
  const schema = { type: 'object', properties: { outcome: { enum: [...outcomes] } } };
  const full = { ...request, requestedSchema: schema, context: { ...request.context, ...context } };
  return eventList(full)[0] as AgentEvent<'elicitation_request'>;
}
const ask = (
  request: AgentEvent<'elicitation_request'>,
  prompter: ReturnType<typeof scriptedPrompter>,
  preview?: () => Promise<object>,
) => askQuestion({ request, agentName: 'writer', ...(preview !== undefined && { preview }) }, prompter);

test.each([
  ['Yes, once', 'proceed_once'],
  ['Always, in this session', 'proceed_always'],
  ['Always for write_file', 'proceed_always_tool'],
  ['Always for all tools of hub', 'proceed_always_server'],
  ['Always, and save it as a rule', 'proceed_always_and_save'],
])('"%s" is %s', async (label, outcome) => {
  const request = approval({ mcp: { server: 'hub' } });
  expect(await ask(request, scriptedPrompter([label]))).toEqual({ action: 'accept', content: { outcome } });
});

test('what the question does not offer is not offered, and what would be saved is shown', async () => {
  await expect(ask(approval({}, ['proceed_once']), scriptedPrompter(['Change it first']))).rejects.toThrow(
    'not offered: Yes, once, No',
  );
  const choose = vi.fn((_question: { choices: readonly { hint?: string }[] }) => Promise.resolve('decline'));
  const savedRules = [{ toolName: 'run_shell_command', commandPrefix: 'npm test' }];
  await ask(approval({ savedRules }), { ...scriptedPrompter(), choose: choose as never });
  expect(choose.mock.calls[0]?.[0].choices.map(({ hint }) => hint)).toContain('npm test');
});

test('an approval shows the diff, the commands, and why it would fail', async () => {
  const prompter = scriptedPrompter(['No']);
  const context = { diff: '-a\n+b\u001b[2K', commands: ['git status', 'rm x'], problem: 'no such file' };
  expect(await ask(approval(context), prompter)).toEqual({ action: 'decline' });
  const said = prompter.said.join('\n');
  expect(said).toContain('Change:\n  -a\n  +b<U+001B>[2K');
  expect(said).toContain('Commands:\n  git status\n  rm x');
  expect(said).toContain('It would fail:\n  no such file');
});

test('an edit is changed in the editor, shown again with what it would do, and then sent', async () => {
  const prompter = scriptedPrompter(
    ['Change it first'],
    ['text', 'new\nlines\n'],
    ['Change it again'],
    ['text', 'newer\n'],
    ['Yes, as changed'],
  );
  const preview = vi.fn(async () => ({ diff: '+newer' }));
  const request = approval({ kind: 'edit', args: { path: 'a.md', content: 'old\n' } });
  expect(await ask(request, prompter, preview)).toEqual({
    action: 'accept',
    content: { outcome: 'modify', modifiedArgs: { path: 'a.md', content: 'newer\n' } },
  });
  expect(prompter.asked).toContain('edit old\n');
  expect(prompter.asked).toContain('edit new\nlines\n');
  expect(preview).toHaveBeenLastCalledWith('write_file', { path: 'a.md', content: 'newer\n' });
  expect(prompter.said.join('\n')).toContain('Change:\n  +newer');
});

test('what cannot be read, and an editor that fails, changes nothing; a no after a change is a no', async () => {
  const broken = scriptedPrompter(
    ['Change it first'],
    ['text', '{"a":'],
    ['Change it again'],
    [new TroupeError({ code: 'BAD_USE', message: 'no editor' })],
    ['No'],
  );
  expect(await ask(approval({ kind: 'info', args: { a: 1 } }), broken)).toEqual({ action: 'decline' });
  const said = broken.said.join('\n');
  expect(said).toContain('It is not changed: it is no JSON');
  expect(said).toContain('It is not changed: no editor');
});

test.each([
  ['edit', { path: 'a.ts', content: 'x' }, { text: 'x', extension: '.ts' }],
  ['edit', { path: 'a.ts', old_string: 'a', new_string: 'b' }, { text: 'b', extension: '.ts' }],
  ['execute', { command: 'ls' }, { text: 'ls\n', extension: '.sh' }],
  ['info', { a: 1 }, { text: '{\n  "a": 1\n}\n', extension: '.json' }],
  ['edit', { edits: [] }, { text: '{\n  "edits": []\n}\n', extension: '.json' }],
])('%s %j is edited as it is meant, and read back as it was', (kind, args, editable) => {
  expect(editableOf(kind, args)).toEqual(editable);
  expect(readEdited(kind, args, editable.text)).toEqual({ args });
});

test.each([
  ['execute', { command: 'ls' }, ' \n'],
  ['info', {}, '[]'],
  ['info', {}, ''],
])('%s %j cannot become %j', (kind, args, text) => {
  expect(readEdited(kind, args, text)).toHaveProperty('fault');
});

test('a plan is shown whole, and carried out, carried out with edits, or sent back with what is to be changed', async () => {
  const request = eventList({
    type: 'elicitation_request',
    requestId: 'q1',
    kind: 'user_approval',
    message: 'desk has a plan.',
    context: { kind: 'exit_plan_mode', plan: '1. Look\n2. Write' },
  })[0] as AgentEvent<'elicitation_request'>;
  const prompter = scriptedPrompter(['Yes'], ['Yes, and allow edits'], ['No, go on planning'], ['text', 'less']);
  expect(await ask(request, prompter)).toEqual({ action: 'accept', content: { mode: 'default' } });
  expect(await ask(request, prompter)).toEqual({ action: 'accept', content: { mode: 'auto_edit' } });
  expect(await ask(request, prompter)).toEqual({ action: 'decline', content: { feedback: 'less' } });
  expect(prompter.said).toContain('  2. Write');
});

test('the editor of the environment is given a file of its own, which is gone afterwards', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-editor-'));
  const made = () => readdirSync(tmpdir()).filter((name) => name.startsWith('troupe-edit-'));
  const before = made();
  try {
    const editor = join(folder, 'my editor.sh');
    writeFileSync(editor, '#!/bin/sh\nprintf "%s edited" "$1" > "$2"\n');
    chmodSync(editor, 0o755);
    const { signal } = new AbortController();
    const env = { ...process.env, VISUAL: '', EDITOR: `"${editor}" -w` };
    expect(await editText({ text: 'before', extension: '.md' }, { env, signal })).toBe('-w edited');
    expect(made()).toEqual(before);
    const failing = editText({ text: '', extension: '.md' }, { env: { ...env, EDITOR: 'false' }, signal });
    await expect(failing).rejects.toThrow('the editor false ended with 1; set $EDITOR to another one');
    const closing = new AbortController();
    const closed = editText(
      { text: '', extension: '.md' },
      { env: { ...env, EDITOR: 'tail -f' }, signal: closing.signal },
    );
    setImmediate(() => closing.abort());
    await expect(closed).rejects.toMatchObject({ code: 'BAD_USE' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
