import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openProject, type ProjectOptions, trustProject } from '../../../src/define/project/project.js';
import { trustFile } from '../../../src/define/project/trust-store.js';
import { createHost } from '../../../src/index.js';
import { scriptedModel } from '../../../src/testing/index.js';

let root = '';
let folder = '';
let userFolder = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-project-'));
  folder = join(root, 'work');
  userFolder = join(root, 'home', '.troupe');
  await mkdir(folder, { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, text: string): Promise<string> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

const trustPath = () => join(userFolder, 'trust.json');
const options = (more: Partial<ProjectOptions> = {}): ProjectOptions => ({
  folder,
  userFolder,
  trust: trustFile({ file: trustPath() }),
  ...more,
});
const open = (more?: Partial<ProjectOptions>) => openProject(options(more));
const trust = () => trustProject({ ...options(), now: () => 0 });

const reviewer = '---\nname: reviewer\ndescription: Reviews.\n---\nReview.\n';
const hooks = 'hooks:\n  - point: before_tool\n    command: ./guard.sh\n    timeout_ms: 500\n';

async function fullFolder(): Promise<void> {
  await put('work/.troupe/agents/reviewer.agent.md', reviewer);
  await put(
    'work/.troupe/agents/bold.md',
    '---\nname: bold\ndescription: Bold.\nmodel: sonnet\npermissionMode: bypassPermissions\n---\nGo.\n',
  );
  await put(
    'work/.troupe/agents/coded.ts',
    `import { writeFileSync } from 'node:fs';
import { agent } from 'troupe';
writeFileSync(${JSON.stringify(join(root, 'ran'))}, 'yes');
export default agent({ name: 'coded', description: 'Code.' });
`,
  );
  await put('work/.troupe/hooks.yaml', hooks);
  await put('work/guard.sh', 'exit 2\n');
  await put('work/.troupe/policy.toml', '[[rules]]\ntoolName = "write_file"\ndecision = "allow"\n');
  await put('work/.troupe/settings.json', '{"mcpServers":{"notes":{"command":"notes-server","args":["--all"]}}}');
}

const named = (items: readonly { kind: string; name: string }[]) => items.map(({ kind, name }) => `${kind} ${name}`);

test('nothing of a folder counts before it is trusted; it is listed, with warnings, and no code of it runs', async () => {
  await fullFolder();
  const project = await open();
  expect(project).toMatchObject({ trusted: false, hooks: [], policy: [], mcpServers: {} });
  expect(named(project.untrusted)).toEqual([
    'agent bold',
    'agent reviewer',
    'agent coded',
    'hook before_tool 1',
    'policy .troupe/policy.toml',
    'mcp_server notes',
  ]);
  const warnings = project.untrusted.flatMap((item) => item.warnings);
  expect(warnings).toEqual(
    expect.arrayContaining([
      'bold wants the mode autonomous',
      'is code, which runs as soon as it is loaded',
      'runs at before_tool: ./guard.sh',
      'allows without asking: write_file',
      'starts a program: notes-server --all',
    ]),
  );
  for (const name of ['reviewer', 'coded']) {
    await expect(project.agent(name)).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
  }
  await expect(stat(join(root, 'ran'))).rejects.toThrow();
});

test("the policy of the user counts in every folder, trusted or not, with the user's standing; a fault stops the start", async () => {
  await put('home/.troupe/policy.toml', '[[rules]]\ntoolName = "write_file"\ndecision = "deny"\n');
  await put('home/.troupe/policies/more.toml', '[[rules]]\ntoolName = "replace"\ndecision = "deny"\n');
  expect((await open()).policy).toMatchObject([
    { tier: 'user', rules: [{ toolName: 'write_file' }] },
    { tier: 'user', rules: [{ toolName: 'replace' }] },
  ]);
  await put('home/.troupe/policy.toml', '[[rules]]\ntoolNam = "write_file"\n');
  await expect(open()).rejects.toMatchObject({ code: 'SETTINGS_INVALID', message: expect.stringContaining('toolNam') });
});

test('once it is trusted all of it counts, as it was then; code runs when it is asked for', async () => {
  await fullFolder();
  await trust();
  const project = await open();
  expect(project.trusted).toBe(true);
  expect(project.untrusted).toEqual([]);
  expect(project.hooks).toMatchObject([{ point: 'before_tool', timeoutMs: 500 }]);
  expect(project.policy).toMatchObject([{ tier: 'workspace', rules: [{ toolName: 'write_file' }] }]);
  expect(project.mcpServers).toEqual({ notes: { command: 'notes-server', args: ['--all'] } });
  expect((await project.agent('reviewer')).definition.name).toBe('reviewer');
  await expect(stat(join(root, 'ran'))).rejects.toThrow();
  expect((await project.agent('coded')).definition.name).toBe('coded');
  expect(await readFile(join(root, 'ran'), 'utf8')).toBe('yes');
});

test.each([
  ['an agent', 'work/.troupe/agents/reviewer.agent.md', `${reviewer}More.\n`, ['agent reviewer']],
  ['code', 'work/.troupe/agents/coded.ts', 'export default 1;\n', ['agent coded']],
  ['a hook', 'work/.troupe/hooks.yaml', hooks.replace('500', '600'), ['hook before_tool 1']],
  ['the script of a hook', 'work/guard.sh', 'exit 0\n', ['hook before_tool 1']],
  ['a server', 'work/.troupe/settings.json', '{"mcpServers":{"notes":{"command":"other"}}}', ['mcp_server notes']],
  ['an agent that is new', 'work/.troupe/agents/new.agent.md', reviewer.replace('reviewer', 'new'), ['agent new']],
])('%s that is not as it was acknowledged counts no more, and the rest does', async (_, path, text, left) => {
  await fullFolder();
  await trust();
  await put(path, text);
  const project = await open();
  expect(named(project.untrusted)).toEqual(left);
  await trust();
  expect((await open()).untrusted).toEqual([]);
});

test('a team that an agent file names is part of it', async () => {
  await put(
    'work/.troupe/agents/pair.team.yaml',
    'name: pair\ndescription: Two.\npattern: sequential\nchildren: [./parts/one.agent.md]\n',
  );
  await put('work/.troupe/agents/parts/one.agent.md', reviewer.replace('reviewer', 'one'));
  await trust();
  expect((await open()).untrusted).toEqual([]);
  await put('work/.troupe/agents/parts/one.agent.md', `${reviewer.replace('reviewer', 'one')}Other.\n`);
  expect(named((await open()).untrusted)).toEqual(['agent pair']);
});

test('a policy that has changed in a trusted folder stops the start: to leave it out would lift its denials', async () => {
  await fullFolder();
  await trust();
  await put('work/.troupe/policy.toml', '');
  await expect(open()).rejects.toMatchObject({ code: 'NOT_TRUSTED', message: expect.stringContaining('policy.toml') });
  await trust();
  expect((await open()).trusted).toBe(true);
});

test('a policy that is gone from a trusted folder stops the start too, until the folder is trusted as it is', async () => {
  await fullFolder();
  await trust();
  await rm(join(folder, '.troupe'), { recursive: true });
  await expect(open()).rejects.toMatchObject({
    code: 'NOT_TRUSTED',
    message: expect.stringContaining('policy.toml was acknowledged and is gone'),
  });
  expect((await open({ trusted: true })).items).toEqual([]);
  await trust();
  expect((await open()).trusted).toBe(true);
});

test('a server that is to be taken at its word is listed with that', async () => {
  await put('work/.troupe/settings.json', '{"mcpServers":{"notes":{"command":"notes-server","trust":true}}}');
  expect((await open()).untrusted.flatMap(({ warnings }) => warnings)).toEqual([
    'starts a program: notes-server',
    'is taken at its word: what it says only reads runs without asking',
  ]);
});

test('for one run all of it may be trusted, and nothing is kept of that', async () => {
  await fullFolder();
  expect((await open({ trusted: true })).untrusted).toEqual([]);
  expect((await open()).trusted).toBe(false);
});

test('what is wrong in a trusted folder is said at once; in another it is only listed', async () => {
  await put('work/.troupe/hooks.yaml', 'hooks:\n  - point: before_tol\n    command: ""\n    arg: []\nhoks: []\n');
  const project = await open();
  expect(project.untrusted[0]?.problems).toEqual([expect.stringContaining('unknown key "arg"')]);
  expect(project.problems).toMatchObject([{ path: '.troupe/hooks.yaml:5' }]);
  await expect(open({ trusted: true })).rejects.toMatchObject({ code: 'SETTINGS_INVALID' });
});

test("a user's agents, hooks and extensions are there without being asked about", async () => {
  await put('home/.troupe/agents/helper.agent.md', reviewer.replace('reviewer', 'helper'));
  await put('home/.troupe/hooks.json', '{"hooks":[{"point":"after_run","command":"true","name":"log"}]}');
  await put('home/.troupe/extensions/pack/agents/packed.agent.md', reviewer.replace('reviewer', 'packed'));
  const project = await open();
  expect(project.items.map(({ origin, name }) => `${origin} ${name}`)).toEqual([
    'ext:pack packed',
    'user helper',
    'user log',
  ]);
  expect(project.untrusted).toEqual([]);
  expect(project.hooks).toMatchObject([{ point: 'after_run', name: 'log' }]);
  expect((await project.agent('helper')).definition.name).toBe('helper');
});

test('two agents of one name are refused, naming both', async () => {
  await put('home/.troupe/agents/reviewer.agent.md', reviewer);
  await put('work/.troupe/agents/reviewer.agent.md', reviewer);
  const clash = expect.stringMatching(/two are named "reviewer": .*home.*\(user\) and \.troupe.*\(project\)/);
  await expect((await open({ trusted: true })).agent('reviewer')).rejects.toMatchObject({ message: clash });
  await expect((await open()).agent('reviewer')).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
});

test('trust is kept where only its user may read and write it, under the name that a folder really has', async () => {
  await fullFolder();
  await trust();
  expect((await stat(trustPath())).mode & 0o777).toBe(0o600);
  const link = join(root, 'link');
  await symlink(folder, link);
  expect((await open({ folder: link })).trusted).toBe(true);
  await trustFile({ file: trustPath() }).write(link, undefined);
  expect((await open()).trusted).toBe(false);
});

test.each([
  ['no JSON', 'oops', 0o600],
  ['something else', '{"folders":[]}', 0o600],
  ['what others may write', '{"version":1,"folders":{}}', 0o666],
])('a trust file that is %s is refused, not taken for an empty one', async (_, text, mode) => {
  await put('home/.troupe/trust.json', text);
  await chmod(trustPath(), mode);
  await expect(open()).rejects.toMatchObject({ code: 'TRUST_UNREADABLE' });
});

test('rules of a workspace count only where its folder is trusted', async () => {
  const rules = { tier: 'workspace' as const, file: 'p', rules: [{ toolName: 'a.save', decision: 'allow' as const }] };
  const { agent, tool } = await import('../../../src/index.js');
  const save = tool({ name: 'save', description: 's', parameters: { type: 'object' }, execute: () => 'saved' });
  const outcome = async (trusted: boolean) => {
    const model = scriptedModel([{ toolCalls: [{ name: 'save', args: {} }] }, { text: 'ok' }]);
    const host = createHost({ models: { scripted: model }, policy: [rules], trust: trusted, elicitation: 'deny' });
    const run = host.run(agent({ name: 'a', tools: [save] }), 'go');
    const types: unknown[] = [];
    for await (const event of run) if (event.type === 'tool_response') types.push(event.errorType);
    await host.close();
    return types[0];
  };
  expect(await outcome(true)).toBeUndefined();
  expect(await outcome(false)).toBe('policy_denied');
});
