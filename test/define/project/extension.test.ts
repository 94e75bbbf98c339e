import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openExtension } from '../../../src/define/extension/open-extension.js';
import { openProject, trustProject } from '../../../src/define/project/project.js';
import { trustFile } from '../../../src/define/project/trust-store.js';
import { type AgentDefinition, agent, createHost, hierarchical, policyFromToml } from '../../../src/index.js';
import { TroupeError } from '../../../src/kernel/errors.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { skillText } from '../../support/skill-folders.js';
import { collect, ofType } from '../../support/team.js';

let root = '';
let folder = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-extension-'));
  folder = join(root, 'pack');
  await mkdir(folder);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, text: string): Promise<string> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}
const manifest = (more: object = {}) =>
  put('troupe-extension.json', JSON.stringify({ name: 'git-kit', version: '1.0.0', ...more }));
const trust = () => trustFile({ file: join(root, 'home', 'trust.json') });
const agree = () => trustProject({ folder, userFolder: join(root, 'home'), trust: trust(), now: () => 0 });
const open = (trusted?: boolean) => openExtension(folder, { trust: trust(), ...(trusted && { trusted }) });
const problems = async (opening: Promise<unknown>): Promise<string[]> => {
  const thrown: unknown = await opening.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof TroupeError)) throw thrown;
  const list = thrown.problems.length > 0 ? thrown.problems : [thrown];
  return list.map((one) =>
    `${'path' in one && one.path ? `${one.path}: ` : ''}${one.message}`.replaceAll(`${folder}/`, ''),
  );
};

const dice = (name = 'dice') => `import { writeFileSync } from 'node:fs';
import { tool } from 'troupe';
writeFileSync(${JSON.stringify(join(root, 'ran'))}, 'yes');
export default tool({ name: '${name}', description: 'Throws.', annotations: { readOnly: true }, execute: () => 4 });
`;
const ran = () =>
  stat(join(root, 'ran')).then(
    () => true,
    () => false,
  );

async function fullExtension(): Promise<void> {
  await manifest({
    description: 'Works with git.',
    mcpServers: { github: { command: 'node', args: [`\${extensionPath}/server.mjs`], trust: true } },
    contextFileName: 'CONTEXT.md',
    excludeTools: ['write_file', 'run_shell_command(rm -rf)'],
  });
  await put('server.mjs', 'process.exit(0)\n');
  await put('CONTEXT.md', 'Commits are small.\n');
  await put(
    'agents/reviewer.agent.md',
    '---\nname: reviewer\ndescription: Reviews.\ntools: ["ext:git-kit.dice", mcp_github_search]\nskills: [notes]\n---\nReview.\n',
  );
  await put('skills/notes/SKILL.md', skillText('notes', { more: 'allowed-tools: Bash(git:*)\n' }));
  await put('hooks.yaml', `hooks:\n  - point: before_tool\n    command: \${extensionPath}/guard.sh\n`);
  await put('policy.toml', '[[rules]]\ntoolName = "mcp_github_*"\ndecision = "ask_user"\n');
  await put('tools/dice.ts', dice());
}

test('nothing of an extension counts before it is trusted; all of it is listed, with warnings, and no code runs', async () => {
  await fullExtension();
  const extension = await open();
  expect(extension).toMatchObject({ origin: 'ext:git-kit', version: '1.0.0', trusted: false });
  expect(extension).toMatchObject({ hooks: [], policy: [], mcpServers: {}, skills: {} });
  expect(await extension.tools()).toEqual([]);
  expect(extension.untrusted.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'extension git-kit',
    'agent reviewer',
    'hook before_tool 1',
    'policy policy.toml',
    'policy troupe-extension.json excludeTools',
    'mcp_server ext:git-kit.github',
    'skill ext:git-kit.notes',
    'tool dice.ts',
    'context CONTEXT.md',
  ]);
  expect(extension.untrusted.flatMap(({ warnings }) => warnings)).toEqual([
    `runs at before_tool: ${folder}/guard.sh`,
    `starts a program: node ${folder}/server.mjs`,
    '"trust" is left out: an extension cannot have its servers believed',
    'asks for tools, which it does not get by that: Bash(git:*)',
    'is code, which runs as soon as it is loaded',
    'is told to agents as a session begins',
  ]);
  expect(new Set(extension.items.map(({ origin }) => origin))).toEqual(new Set(['ext:git-kit']));
  await expect(extension.agent('reviewer')).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
  expect(await ran()).toBe(false);
});

test('a trusted one brings all of it under names of its own, and a changed file takes all of it back', async () => {
  await fullExtension();
  await agree();
  const extension = await open();
  expect(extension.untrusted).toEqual([]);
  expect(extension.mcpServers).toEqual({ 'ext:git-kit.github': { command: 'node', args: [`${folder}/server.mjs`] } });
  expect(extension.skills).toEqual({ 'ext:git-kit.notes': join(folder, 'skills', 'notes') });
  expect(
    extension.policy.flatMap(({ rules, tier }) => rules.map((rule) => [tier, rule.toolName, rule.decision])),
  ).toEqual([
    ['extension', 'mcp_ext:git-kit.github_*', 'ask_user'],
    ['extension', 'write_file', 'deny'],
    ['extension', 'run_shell_command', 'deny'],
  ]);
  expect(extension.hooks.map(({ name }) => name)).toEqual(['ext:git-kit before_tool 1', 'ext:git-kit CONTEXT.md']);
  expect(await ran()).toBe(false);
  expect((await extension.tools()).map(({ name }) => name)).toEqual(['ext:git-kit.dice']);
  expect(await ran()).toBe(true);
  const { definition } = await extension.agent('reviewer');
  expect(definition).toMatchObject({
    origin: 'ext:git-kit',
    tools: ['ext:git-kit.dice', 'mcp_ext:git-kit.github_search'],
    skills: [join(folder, 'skills', 'notes')],
  });
  await put('server.mjs', 'process.exit(1)\n');
  expect(await problems(open())).toEqual([expect.stringContaining('policy.toml is not as it was acknowledged')]);
  await rm(join(folder, 'policy.toml'));
  await manifest();
  await agree();
  await put('tools/other.ts', dice('other'));
  const changed = await open();
  expect(changed.untrusted.length).toBe(changed.items.length);
});

test('its agents, tools and context take part in a run, and rules name them by ext:<name>', async () => {
  await fullExtension();
  await put(
    'agents/reviewer.agent.md',
    '---\nname: reviewer\ndescription: R.\ntools: ["ext:git-kit.*"]\n---\nReview.\n',
  );
  await rm(join(folder, 'hooks.yaml'));
  const extension = await open(true);
  const { definition } = await extension.agent('reviewer');
  const run = async (rules: string) => {
    const call = { toolCalls: [{ name: 'ext:git-kit.dice', args: {} }] };
    const model = scriptedModel([call, { text: 'done' }]);
    await using host = createHost({
      models: { scripted: model },
      tools: await extension.tools(),
      hooks: extension.hooks,
      policy: [...extension.policy, policyFromToml(rules)],
    });
    const events = await collect(host.run(definition, 'go'));
    return { model, response: ofType(events, 'tool_response')[0] };
  };
  const free = await run('');
  expect(free.response).toMatchObject({ name: 'ext:git-kit.dice', llmContent: [{ text: '4' }] });
  expect(JSON.stringify(free.model.requests[0])).toContain('Commits are small.');
  const byTool = await run('[[rules]]\ntoolName = "ext:git-kit.*"\ndecision = "deny"\n');
  expect(byTool.response).toMatchObject({ errorType: 'policy_denied' });
  const byAgent = await run('[[rules]]\ntoolName = "*"\nprincipal = "ext:git-kit"\ndecision = "deny"\n');
  expect(byAgent.response).toMatchObject({ errorType: 'policy_denied' });
  const other = await run('[[rules]]\ntoolName = "*"\nprincipal = "ext:git"\ndecision = "deny"\n');
  expect(other.response?.isError).not.toBe(true);
});

test('a leader that an extension brought bounds what acts for it by the rules about the extension', async () => {
  await manifest();
  await put('agents/boss.agent.md', '---\nname: boss\ndescription: B.\n---\nLead.\n');
  await put('tools/dice.ts', dice());
  const extension = await open(true);
  const { definition: boss } = await extension.agent('boss');
  const worker = agent({ name: 'worker', tools: ['ext:git-kit.dice'] });
  const model = scriptedModel({
    byAgent: {
      boss: [{ toolCalls: [{ name: 'worker', args: { prompt: 'go' } }] }, { text: 'done' }],
      worker: [{ toolCalls: [{ name: 'ext:git-kit.dice', args: {} }] }, { text: 'done' }],
    },
  });
  const policy = [
    policyFromToml('[[rules]]\ntoolName = "ext:git-kit.dice"\nprincipal = "ext:git-kit"\ndecision = "deny"\n'),
  ];
  await using host = createHost({ models: { scripted: model }, tools: await extension.tools(), policy });
  const events = await collect(
    host.run(hierarchical({ name: 'team', agent: boss, children: [worker] as readonly AgentDefinition[] }), 'go'),
  );
  expect(ofType(events, 'tool_response')[0]).toMatchObject({ name: 'ext:git-kit.dice', errorType: 'policy_denied' });
});

test.each([
  ['an allow', 'toolName = "*"\ndecision = "allow"', 'an extension cannot allow'],
  ['a grant', 'toolName = "*"\ndecision = "allow"\ngrant = true\nprincipal = "x"', 'an extension cannot grant'],
  ['the autonomous mode', 'toolName = "*"\ndecision = "deny"\nmodes = ["yolo"]', 'no say in the autonomous mode'],
])('%s in its policy stops the start', async (_, rule, message) => {
  await manifest();
  await put('policy.toml', `[[rules]]\n${rule}\n`);
  expect((await open()).items.flatMap((item) => item.problems).join('\n')).toContain(message);
  await agree();
  expect((await problems(open())).join('\n')).toContain(message);
});

test.each([
  ['[]', 'troupe-extension.json:1: must be an object'],
  ['{', 'troupe-extension.json:1: is no JSON'],
  ['{"name":"a","version":"1","nmae":1}', 'troupe-extension.json:1:nmae: is unknown (did you mean "name"?)'],
  ['{"version":"1"}', 'troupe-extension.json:1:name: is missing'],
  ['{"name":"a"}', 'troupe-extension.json:1:version: is missing'],
  ['{"name":"../a","version":"1"}', 'troupe-extension.json:1:name: "../a" is no name of an extension'],
  ['{"name":"a\\u001b","version":"1"}', 'is no name of an extension'],
  ['{"name":"a","version":"1","__proto__":{"x":1}}', '__proto__: is no key that is allowed'],
  ['{"name":"a","version":"1","mcpServers":[]}', 'mcpServers: must be a map, not a list'],
  ['{"name":"a","version":"1","excludeTools":[7]}', 'excludeTools[0]: must be a text, not 7'],
])('a manifest %j is refused, with its place', async (text, message) => {
  await put('troupe-extension.json', text);
  const extension = await open();
  expect(extension.items).toEqual([]);
  expect((await problems(open(true))).join('\n')).toContain(message);
});

test('a folder without a manifest is no extension, and one that is not there is said so', async () => {
  expect(await problems(open(true))).toEqual([`${folder}: is no extension: it has no troupe-extension.json`]);
  await expect(openExtension(join(root, 'gone'))).rejects.toThrow('there is no such folder');
});

test('a link that leads out of it, or a context file that does, is a reason not to take any of it', async () => {
  await manifest({ contextFileName: ['../secret.md', 'in.md'] });
  await writeFile(join(root, 'secret.md'), 'secret');
  await put('in.md', 'x');
  await symlink(join(folder, 'in.md'), join(folder, 'link.md'));
  expect((await problems(open(true))).join('\n')).toContain('"../secret.md" does not lie in the folder');
  await manifest();
  expect((await open(true)).untrusted).toEqual([]);
  await symlink(join(root, 'secret.md'), join(folder, 'out.md'));
  expect((await problems(open(true))).join('\n')).toContain('the folder holds a link that leads out of it: "out.md"');
  await rm(join(folder, 'out.md'));
  await put('.git/evil.ts', 'export default 1;\n');
  await mkdir(join(folder, 'tools'), { recursive: true });
  await symlink('../.git/evil.ts', join(folder, 'tools', 'evil.ts'));
  expect((await problems(open(true))).join('\n')).toContain('holds a link into .git, which is not looked at');
});

test('an agent of it that names files outside is not taken', async () => {
  await manifest();
  await writeFile(join(root, 'other.agent.md'), '---\nname: other\ndescription: O.\n---\nX.\n');
  await put('agents/a.team.yaml', 'name: a\npattern: sequential\nchildren: [../../other.agent.md]\n');
  const extension = await open(true);
  await expect(extension.agent('a')).rejects.toThrow('names a file outside of the extension');
});

test('an agent of it that wants to ask nobody is not taken', async () => {
  await manifest();
  await put(
    'agents/a.md',
    '---\nname: a\ndescription: A.\nmodel: sonnet\npermissionMode: bypassPermissions\n---\nGo.\n',
  );
  await put('agents/b.agent.md', '---\nname: b\ndescription: B.\nmetadata: { permissionMode: yolo }\n---\nGo.\n');
  const extension = await open(true);
  for (const name of ['a', 'b']) {
    await expect(extension.agent(name)).rejects.toThrow(`${name} wants the mode autonomous`);
  }
});

test('gemini-extension.json is read as far as its keys have a counterpart', async () => {
  await put(
    'gemini-extension.json',
    JSON.stringify({
      name: 'flow',
      version: '2.1.0',
      settings: [],
      mcpServers: {
        api: { httpUrl: 'http://127.0.0.1:1/mcp', timeout: 5, description: 'x' },
        odd: { command: 'x', includeTools: [] },
      },
      contextFileName: 'GEMINI.md',
    }),
  );
  await put('GEMINI.md', 'Be kind.');
  const { items, origin } = await open();
  expect(origin).toBe('ext:flow');
  expect(items.find(({ kind }) => kind === 'extension')?.warnings).toEqual([
    'settings has no counterpart here and is not used',
  ]);
  const [api, odd] = items.filter((item) => item.kind === 'mcp_server');
  expect(api).toMatchObject({ name: 'ext:flow.api', config: { url: 'http://127.0.0.1:1/mcp' }, problems: [] });
  expect(odd?.problems.join()).toContain('unknown key "includeTools"');
});

test('a project takes extensions that are named, and those that a user has installed', async () => {
  await manifest();
  await put('agents/reviewer.agent.md', '---\nname: reviewer\ndescription: R.\n---\nReview.\n');
  const home = join(root, 'home');
  const installed = join(home, 'extensions', 'own');
  await mkdir(join(installed, 'agents'), { recursive: true });
  await writeFile(join(installed, 'troupe-extension.json'), '{"name":"own","version":"1"}');
  await writeFile(join(installed, 'agents', 'mine.agent.md'), '---\nname: mine\ndescription: M.\n---\nGo.\n');
  const work = join(root, 'work');
  await mkdir(work);
  const options = { folder: work, userFolder: home, trust: trust() };
  const opened = () => openProject({ ...options, extensions: [folder, folder] });
  expect((await (await opened()).agent('mine')).definition.origin).toBe('ext:own');
  await expect((await opened()).agent('reviewer')).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
  await agree();
  const project = await opened();
  expect(project).toMatchObject({ trusted: false, untrusted: [] });
  expect((await project.agent('reviewer')).definition.origin).toBe('ext:git-kit');
  await writeFile(join(installed, 'troupe-extension.json'), '{"name":"another","version":"1"}');
  await expect(opened()).rejects.toThrow('is named "another" and installed as "own"');
  expect(JSON.parse(await readFile(join(home, 'trust.json'), 'utf8')).folders).toHaveProperty([folder]);
});
