import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runParts } from '../../src/cli/parts.js';
import { type RunCommand, runCommand } from '../../src/cli/run.js';
import { type TrustCommand, trustCommand } from '../../src/cli/trust.js';
import { openProject, type ProjectOptions, trustProject } from '../../src/define/project/project.js';
import { trustFile } from '../../src/define/project/trust-store.js';
import { skillText } from '../support/skill-folders.js';
import { fakeIo } from './fake-io.js';
import { scriptedPrompter } from './scripted-prompter.js';

let root = '';
let cwd = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-cli-extension-'));
  cwd = join(root, 'work');
  await put('work/solo.agent.md', '---\nname: solo\ndescription: S.\nmodel: scripted\n---\nGo.\n');
  await put('pack/troupe-extension.json', '{"name":"pack","version":"1.0.0"}');
  await put(
    'pack/agents/packed.agent.md',
    '---\nname: packed\ndescription: P.\nmodel: scripted\nskills: [notes]\nscript: ../script.json\n---\nGo.\n',
  );
  await put('pack/skills/notes/SKILL.md', skillText('notes'));
  await put(
    'pack/script.json',
    '[{"toolCalls":[{"name":"activate_skill","args":{"name":"notes"}}]},{"text":"with notes"}]',
  );
  await put('pack/policy.toml', '[[rules]]\ntoolName = "list_directory"\ndecision = "deny"\n');
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

const placed = (options: ProjectOptions): ProjectOptions => ({
  ...options,
  userFolder: join(root, 'home'),
  trust: options.trust ?? trustFile({ file: join(root, 'home', 'trust.json') }),
});

async function run(command: Partial<RunCommand>, { terminal = false, answers = [] as [string][] } = {}) {
  const io = fakeIo({ terminal, cwd });
  const prompter = scriptedPrompter(...answers);
  const parts = {
    ...(await runParts(io)),
    openProject: (options: ProjectOptions) => openProject(placed(options)),
    trustProject: (options: ProjectOptions & { now: () => number }) => trustProject({ ...options, ...placed(options) }),
    prompter: async () => prompter,
  };
  const code = await runCommand({ file: 'packed', prompt: 'go', ephemeral: true, ...command }, io, parts).catch(
    (thrown: unknown) => thrown,
  );
  return { code, out: io.stdout.text, err: io.stderr.text, asked: prompter.asked };
}

async function trust(command: TrustCommand = {}) {
  const io = fakeIo({ cwd });
  const folder = join(root, 'pack');
  const code = await trustCommand({ folder, ...command }, io, {
    openProject: (options) => openProject(placed(options)),
    trustProject: (options) => trustProject({ ...options, ...placed(options) }),
    trust: trustFile({ file: join(root, 'home', 'trust.json') }),
    userFolder: join(root, 'home'),
    prompter: async () => scriptedPrompter(),
  });
  return { code, out: io.stdout.text };
}

test('trust shows what an extension is made of, and an agent of it runs once it is trusted, with its skill', async () => {
  expect((await trust()).out).toBe(`${join(root, 'pack')}: not trusted; it brings 4 things
  extension pack, in troupe-extension.json
  agent packed, in agents/packed.agent.md
  policy policy.toml, in policy.toml
  skill ext:pack.notes, in skills/notes
`);
  const before = await run({ extension: ['../pack'] });
  expect(before.code).toMatchObject({ code: 'NOT_TRUSTED' });
  expect(before.err).toContain(
    `${join(root, 'pack')} is not trusted: 1 extension, 1 agent, 1 policy file, 1 skill left out`,
  );
  expect((await trust({ yes: true })).out).toContain(': trusted; it brings 4 things');
  const after = await run({ extension: ['../pack'] });
  expect(after).toMatchObject({ code: 0, out: 'with notes\n' });
  await put('pack/skills/notes/more.md', 'x');
  expect((await run({ extension: ['../pack'] })).code).toMatchObject({ code: 'NOT_TRUSTED' });
  expect(await run({ extension: ['../pack'], trust: true })).toMatchObject({ code: 0, out: 'with notes\n' });
});

test('a team file names extensions, relative to itself; a person is asked about them', async () => {
  await put('work/script.json', '[{"toolCalls":[{"name":"list_directory","args":{}}]},{"text":"done"}]');
  await put(
    'work/teams/team.yaml',
    'name: team\npattern: sequential\nextensions: [../../pack]\nchildren:\n  - { name: solo, description: S., model: scripted, tools: [list_directory] }\n',
  );
  const command = { file: 'teams/team.yaml', script: 'script.json', json: true };
  const refused = await run(command, { terminal: true, answers: [['No, run without it']] });
  expect(refused.asked).toEqual(['Trust this folder?']);
  expect(refused).toMatchObject({ code: 0, out: expect.not.stringContaining('policy_denied') });
  const agreed = await run(command, { terminal: true, answers: [['Yes, until something of it changes']] });
  expect(agreed.out).toContain('policy_denied');
  const settled = await run(command, { terminal: true });
  expect(settled.asked).toEqual([]);
  expect(settled.out).toContain('policy_denied');
});

test('skills of a project are listed, and an agent of it that names one is another when the skill changes', async () => {
  await put('work/.troupe/skills/notes/SKILL.md', skillText('notes', { more: 'allowed-tools: Write\n' }));
  await put(
    'work/.troupe/agents/a.agent.md',
    '---\nname: a\ndescription: A.\nmodel: scripted\nskills: [notes]\n---\nGo.\n',
  );
  expect((await trust({ folder: cwd, yes: true })).out).toContain(`  agent a, in .troupe/agents/a.agent.md
  skill notes, in .troupe/skills/notes
    asks for tools, which it does not get by that: Write
`);
  const scripted = { file: 'a', script: '../pack/script.json' };
  expect(await run(scripted)).toMatchObject({ code: 0, out: 'with notes\n' });
  await put('work/.troupe/skills/notes/run.sh', 'rm -rf /');
  expect((await run(scripted)).code).toMatchObject({ code: 'NOT_TRUSTED' });
  expect((await trust({ folder: cwd })).out).toContain('skill notes, in .troupe/skills/notes (new, or changed)');
});

test('a file that is named is trusted for the run, with the skills that it names', async () => {
  await put('work/skills/notes/SKILL.md', skillText('notes'));
  await put('work/own.agent.md', '---\nname: own\ndescription: O.\nmodel: scripted\nskills: [notes]\n---\nGo.\n');
  expect(await run({ file: 'own.agent.md', script: '../pack/script.json' })).toMatchObject({
    code: 0,
    out: 'with notes\n',
  });
});
