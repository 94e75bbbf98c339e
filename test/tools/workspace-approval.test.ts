import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ElicitationAnswer } from '../../src/contracts/index.js';
import { agent, createHost } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { workspaceTools } from '../../src/tools/workspace.js';
import { collect, ofType } from '../support/team.js';
import { workspaceFolders } from './workspace-folder.js';

const made = workspaceFolders();

/** Runs one agent whose model makes these calls, one after the other; each question gets the next answer. */
async function edit(
  calls: { name: string; args: object }[],
  answers: (ElicitationAnswer | ((root: string) => Promise<ElicitationAnswer>))[],
  permissionMode = 'default',
) {
  const folder = await made({ 'notes.md': 'one\ntwo\nthree\n' });
  const model = scriptedModel([...calls.map((call) => ({ toolCalls: [call] })), { text: 'done' }]);
  const rest = [...answers];
  await using host = createHost({
    models: { scripted: model },
    tools: workspaceTools({ root: folder.root }),
    elicitation: async () => {
      const answer = rest.shift() ?? { action: 'cancel' };
      return typeof answer === 'function' ? answer(folder.root) : answer;
    },
  });
  const coder = agent({ name: 'coder', tools: calls.map(({ name }) => name) });
  const events = await collect(host.run(coder, 'go', { permissionMode }));
  return {
    folder,
    questions: ofType(events, 'elicitation_request'),
    responses: ofType(events, 'tool_response'),
    notes: await readFile(join(folder.root, 'notes.md'), 'utf8').catch(() => ''),
  };
}

const change = { name: 'replace', args: { path: 'notes.md', old_string: 'two', new_string: 'zwei' } };

test('an edit is asked about with the diff of what it would change, and made once it is accepted', async () => {
  const { questions, responses, notes } = await edit([change], [{ action: 'accept' }]);
  expect(questions).toMatchObject([
    {
      kind: 'tool_confirmation',
      title: 'Edit notes.md',
      context: {
        kind: 'edit',
        tool: 'replace',
        locations: [{ path: 'notes.md' }],
        diff: '--- a/notes.md\n+++ b/notes.md\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n',
      },
    },
  ]);
  expect(notes).toBe('one\nzwei\nthree\n');
  expect(responses[0]?.llmContent).toEqual([{ type: 'text', text: 'Replaced 1 occurrence in "notes.md" (line 2).' }]);
  expect(responses[0]?.displayContent).toMatchObject([{ text: questions[0]?.context?.diff }]);
});

test('an edit that is declined changes nothing', async () => {
  const write = { name: 'write_file', args: { path: 'new/file', content: 'x\n' } };
  const { folder, questions, responses, notes } = await edit([change, write], [{ action: 'decline' }]);
  expect(questions[1]?.context?.diff).toBe('--- /dev/null\n+++ b/new/file\n@@ -0,0 +1,1 @@\n+x\n');
  expect(responses.map(({ errorType }) => errorType)).toEqual(['declined', 'declined']);
  expect(notes).toBe('one\ntwo\nthree\n');
  expect(await readdir(folder.root)).toEqual(['notes.md']);
});

test('an edit that a person changes is made as changed', async () => {
  const modifiedArgs = { ...change.args, new_string: 'deux' };
  const { notes } = await edit([change], [{ action: 'accept', content: { outcome: 'modify', modifiedArgs } }]);
  expect(notes).toBe('one\ndeux\nthree\n');
});

const overwrite = { name: 'write_file', args: { path: 'notes.md', content: 'new\n' } };
const create = { name: 'write_file', args: { path: 'made.md', content: 'new\n' } };
const accept = { action: 'accept' };

test.each<[string, typeof overwrite | typeof change, (root: string) => Promise<void>, string]>([
  ['changed', overwrite, (root) => writeFile(join(root, 'notes.md'), 'theirs\n'), '-theirs\n+new\n'],
  ['changed beside the edit', change, (root) => writeFile(join(root, 'notes.md'), 'ONE\ntwo\n'), ' ONE\n-two\n+zwei\n'],
  ['removed', overwrite, (root) => rm(join(root, 'notes.md')), '--- /dev/null'],
  ['made', create, (root) => writeFile(join(root, 'made.md'), 'theirs\n'), '-theirs\n+new\n'],
])(
  'a file that was %s while its edit was being approved is asked about again, and left as it is until then',
  async (_, call, meddle, diff) => {
    const meddling = async (root: string) => {
      await meddle(root);
      return accept;
    };
    const declined = await edit([call], [meddling, { action: 'decline' }]);
    expect(declined.questions[1]?.context?.diff).toContain(diff);
    expect(declined.responses.map(({ errorType }) => errorType)).toEqual(['declined']);
    const accepted = await edit([call], [meddling, accept]);
    expect(accepted.questions).toHaveLength(2);
    expect(accepted.responses[0]?.displayContent).toMatchObject([{ text: accepted.questions[1]?.context?.diff }]);
  },
);

const long = (end: string) => `${'x'.repeat(99)}\n`.repeat(1_000) + end;

test.each([
  ['a binary file', 'a\0b', 'c\0d'],
  ['the part of a long file that its diff does not show', long('mine\n'), long('your\n')],
])('%s that changed while its edit was being approved is asked about again', async (_, before, after) => {
  const writing = async (root: string) => {
    await writeFile(join(root, 'notes.md'), before);
    return accept;
  };
  const meddling = async (root: string) => {
    await writeFile(join(root, 'notes.md'), after);
    return accept;
  };
  const { questions, notes } = await edit([overwrite], [writing, meddling, { action: 'decline' }]);
  expect(questions).toHaveLength(3);
  expect(notes).toBe(after);
});

test.each([
  ['beside each other', 'three', 2],
  ['far from each other', 'nine', 1],
])(
  'of two edits in one turn %s the second is asked about again where the first changed what was shown',
  async (_, other, asked) => {
    const folder = await made({ 'notes.md': 'one\ntwo\nthree\n4\n5\n6\n7\n8\nnine\n' });
    const replacing = (old_string: string) => ({
      name: 'replace',
      args: { path: 'notes.md', old_string, new_string: 'X' },
    });
    const model = scriptedModel([{ toolCalls: [replacing('one'), replacing(other)] }, { text: 'done' }]);
    let release = () => {};
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    const shown: unknown[] = [];
    await using host = createHost({
      models: { scripted: model },
      tools: workspaceTools({ root: folder.root }),
      // Nobody answers until both are asked about.
      elicitation: async ({ context }) => {
        shown.push(context?.diff);
        if (shown.length === 2) release();
        await both;
        return accept;
      },
    });
    const events = await collect(host.run(agent({ name: 'coder', tools: ['replace'] }), 'go'));
    expect(shown).toHaveLength(1 + asked);
    const last = asked === 2 ? ' X\n two\n-three\n+X\n' : ' 8\n-nine\n+X\n';
    expect(shown).toContainEqual(expect.stringContaining(last));
    expect(ofType(events, 'tool_response').map(({ isError }) => isError)).toEqual([undefined, undefined]);
  },
);

test('a person’s own changes are void with the file that they were made for', async () => {
  const modify = {
    action: 'accept',
    content: { outcome: 'modify', modifiedArgs: { ...overwrite.args, content: 'mine\n' } },
  };
  const meddling = async (root: string) => {
    await writeFile(join(root, 'notes.md'), 'theirs\n');
    return modify;
  };
  expect((await edit([overwrite], [meddling, { action: 'decline' }])).notes).toBe('theirs\n');
  expect((await edit([overwrite], [meddling, modify])).notes).toBe('mine\n');
});

test('the question about an edit that would fail says why, and the model is told only once it was tried', async () => {
  const args = { path: 'notes.md', old_string: 'four', new_string: 'vier' };
  const { questions, responses } = await edit([{ name: 'replace', args }], [{ action: 'accept' }]);
  expect(questions[0]?.context).not.toHaveProperty('diff');
  expect(questions[0]?.context?.problem).toContain('old_string does not stand in "notes.md"');
  expect(responses[0]?.errorType).toBe('edit_no_occurrence_found');
  const declined = await edit([{ name: 'replace', args }], [{ action: 'decline' }]);
  expect(JSON.stringify(declined.responses)).not.toContain('stand in');
});

test('in the mode auto_edit files are edited unasked, and commands are asked about', async () => {
  const command = { name: 'run_shell_command', args: { command: 'echo x > made' } };
  const { folder, questions, notes } = await edit([change, command], [{ action: 'decline' }], 'auto_edit');
  expect(notes).toBe('one\nzwei\nthree\n');
  expect(questions).toMatchObject([
    { title: 'Run "echo x > made"', context: { kind: 'execute', args: { command: 'echo x > made' } } },
  ]);
  expect(await readdir(folder.root)).toEqual(['notes.md']);
});
