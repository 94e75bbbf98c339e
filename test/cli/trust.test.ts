import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hooksListCommand } from '../../src/cli/hooks.js';
import { type ProjectUse, projectFor } from '../../src/cli/project-trust.js';
import { type TrustCommand, trustCommand } from '../../src/cli/trust.js';
import { openProject, trustProject } from '../../src/define/project/project.js';
import { trustFile } from '../../src/define/project/trust-store.js';
import { fakeIo } from './fake-io.js';
import { scriptedPrompter } from './scripted-prompter.js';

let root = '';
let folder = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-trust-'));
  folder = join(root, 'work');
  await mkdir(join(folder, '.troupe', 'agents'), { recursive: true });
  await writeFile(join(folder, '.troupe', 'hooks.yaml'), 'hooks:\n  - point: before_tool\n    command: ./guard.sh\n');
  await writeFile(join(folder, '.troupe', 'agents', 'a.agent.md'), '---\nname: a\ndescription: A.\n---\nGo.\n');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const userFolder = () => join(root, 'home');
const store = () => trustFile({ file: join(userFolder(), 'trust.json') });

async function trust(command: TrustCommand, { terminal = false, answers = [] as [string][] } = {}) {
  const io = fakeIo({ terminal, cwd: folder });
  const prompter = scriptedPrompter(...answers);
  const code = await trustCommand({ folder, ...command }, io, {
    openProject,
    trustProject,
    trust: store(),
    userFolder: userFolder(),
    prompter: async () => prompter,
  });
  return { code, out: io.stdout.text, err: io.stderr.text, asked: prompter.asked };
}

const isTrusted = async () => (await store().read(folder)) !== undefined;

test('without a terminal it shows what the folder would bring, and changes nothing', async () => {
  const { code, out } = await trust({});
  expect(code).toBe(0);
  expect(out).toBe(`${folder}: not trusted; it brings 2 things
  agent a, in .troupe/agents/a.agent.md
  hook before_tool 1, in .troupe/hooks.yaml
    runs at before_tool: ./guard.sh
`);
  expect(await isTrusted()).toBe(false);
});

test('--yes trusts it, --remove does so no more; a change is shown', async () => {
  expect((await trust({ yes: true })).out).toContain(': trusted; it brings 2 things');
  await writeFile(join(folder, 'guard.sh'), 'exit 2\n');
  expect((await trust({})).out).toContain('hook before_tool 1, in .troupe/hooks.yaml (new, or changed)');
  expect((await trust({ remove: true })).out).toContain(': not trusted');
  expect(await isTrusted()).toBe(false);
  await expect(trust({ yes: true, remove: true })).rejects.toThrow('exclude each other');
});

test.each([
  ['yes', true],
  ['no', false],
])('in a terminal a person is asked, and %s is heeded', async (answer, trusted) => {
  const { err, asked } = await trust({}, { terminal: true, answers: [[answer]] });
  expect(err).toContain('hook before_tool 1');
  expect(asked).toEqual(['Trust this folder, with all of this?']);
  expect(await isTrusted()).toBe(trusted);
});

test('--json says all of it', async () => {
  await trust({ yes: true });
  await writeFile(join(folder, 'guard.sh'), 'exit 2\n');
  const report = JSON.parse((await trust({ json: true }, { terminal: true })).out);
  expect(report).toEqual({
    folder,
    trusted: true,
    gone: [],
    items: [
      {
        kind: 'agent',
        name: 'a',
        path: '.troupe/agents/a.agent.md',
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        acknowledged: true,
        warnings: [],
        problems: [],
      },
      {
        kind: 'hook',
        name: 'before_tool 1',
        path: '.troupe/hooks.yaml',
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        acknowledged: false,
        warnings: ['runs at before_tool: ./guard.sh'],
        problems: [],
      },
    ],
    problems: [],
  });
});

test('hooks list shows what is on and what is off, as text and as JSON', async () => {
  const options = { folder, userFolder: userFolder(), trust: store() };
  const list = async (json = false) => {
    const io = fakeIo();
    expect(await hooksListCommand({ json }, io, await openProject(options))).toBe(0);
    return io.stdout.text;
  };
  expect(await list()).toContain('off before_tool: ./guard.sh (before_tool 1, project, .troupe/hooks.yaml)');
  await trust({ yes: true });
  expect(await list()).toContain('on  before_tool: ./guard.sh');
  expect(JSON.parse(await list(true))).toEqual({
    hooks: [
      {
        name: 'before_tool 1',
        point: 'before_tool',
        command: './guard.sh',
        timeoutMs: 60_000,
        origin: 'project',
        path: '.troupe/hooks.yaml',
        active: true,
        problems: [],
      },
    ],
  });
});

async function projectIn(use: Partial<ProjectUse>) {
  const io = fakeIo();
  const options = { folder, userFolder: userFolder(), trust: store() };
  const project = await projectFor(options, { trust: false, prompter: undefined, ...use }, io, {
    openProject,
    trustProject,
  });
  return { project, err: io.stderr.text };
}

test('a run without a terminal leaves out what is not trusted, and says so', async () => {
  const { project, err } = await projectIn({});
  expect(project.hooks).toEqual([]);
  expect(err).toBe(
    `troupe: ${folder} is not trusted: 1 agent, 1 hook left out; see troupe trust, or run with --trust\n`,
  );
});

test('--trust takes all of it, this once', async () => {
  const { project, err } = await projectIn({ trust: true });
  expect(project.hooks).toHaveLength(1);
  expect(err).toBe('');
  expect(await isTrusted()).toBe(false);
});

test.each([
  ['No, run without it', 0, false],
  ['For this run', 1, false],
  ['Yes, until something of it changes', 1, true],
])('a person who says "%s" is heeded', async (label, hooks, kept) => {
  const prompter = scriptedPrompter([label]);
  const { project } = await projectIn({ prompter: async () => prompter });
  expect(prompter.said.join('\n')).toContain('runs at before_tool: ./guard.sh');
  expect(project.hooks).toHaveLength(hooks);
  expect(await isTrusted()).toBe(kept);
});

test('a policy that has changed is asked about, and without an answer nothing starts', async () => {
  await writeFile(join(folder, '.troupe', 'policy.toml'), '');
  await trust({ yes: true });
  await writeFile(join(folder, '.troupe', 'policy.toml'), '[[rules]]\ntoolName = "*"\ndecision = "allow"\n');
  await expect(projectIn({})).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
  const no = scriptedPrompter(['No, run without it']);
  await expect(projectIn({ prompter: async () => no })).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
  const yes = scriptedPrompter(['For this run']);
  expect((await projectIn({ prompter: async () => yes })).project.policy).toHaveLength(1);
});

test('a policy that is gone is asked about, is shown by trust, and settled by it', async () => {
  await writeFile(join(folder, '.troupe', 'policy.toml'), '');
  await trust({ yes: true });
  await rm(join(folder, '.troupe'), { recursive: true });
  await expect(projectIn({})).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
  const yes = scriptedPrompter(['For this run']);
  await expect(projectIn({ prompter: async () => yes })).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
  expect((await trust({})).out).toContain('policy .troupe/policy.toml was trusted and is gone');
  expect(JSON.parse((await trust({ json: true })).out)).toMatchObject({ gone: ['.troupe/policy.toml'] });
  await trust({ yes: true });
  expect((await projectIn({})).project.policy).toEqual([]);
});
