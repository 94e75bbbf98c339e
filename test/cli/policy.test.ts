import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { policyParts } from '../../src/cli/parts.js';
import { policyCheckCommand, policyExplainCommand } from '../../src/cli/policy.js';
import { runCommand } from '../../src/cli/run.js';
import { trustProject } from '../../src/define/project/project.js';
import { trustFile } from '../../src/define/project/trust-store.js';
import { ends, initialize } from './event-list.js';
import { fakeHost } from './fake-host.js';
import { fakeIo } from './fake-io.js';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'troupe-policy-'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const good = '[[rules]]\ntoolName = "run_shell_command"\ndecision = "allow"\ncommandPrefix = "git status"\n';
const put = (name: string, text: string) => {
  writeFileSync(join(cwd, name), text);
  return name;
};
const explain = async (tool: string, args: object, more: object = {}) => {
  const io = fakeIo({ cwd });
  const code = await policyExplainCommand(
    { tool, args: JSON.stringify(args), json: true, ...more },
    io,
    policyParts(io, { userFolder: join(cwd, 'home') }),
  );
  return [code, JSON.parse(io.stdout.text)] as const;
};

test('check says every fault of every file with its place, and exits with 2', async () => {
  put('a.toml', good);
  put(
    'b.toml',
    '[[rules]]\ntoolName = "write_fil"\ndecision = "deny"\n\n[[rules]]\ntoolName = "x"\ndecison = "deny"\n',
  );
  const io = fakeIo({ cwd });
  expect(await policyCheckCommand({ files: ['a.toml', 'b.toml'], json: true }, io)).toBe(2);
  expect(JSON.parse(io.stdout.text).problems.map(({ path }: { path: string }) => path)).toEqual([
    'b.toml:2:rules[0].toolName',
    'b.toml:7:rules[1].decison',
    'b.toml:5:rules[1].decision',
  ]);
  const fine = fakeIo({ cwd });
  expect(await policyCheckCommand({ files: ['a.toml'] }, fine)).toBe(0);
  expect(fine.stdout.text).toBe('a.toml: no problems (1 rule)\n');
});

test('a file that is pinned must be the one that was pinned', async () => {
  put('a.toml', good);
  const sha256 = createHash('sha256').update(good).digest('hex');
  const check = async (file: string) => {
    const io = fakeIo({ cwd });
    return [await policyCheckCommand({ files: [file] }, io), io.stdout.text] as const;
  };
  expect(await check(`a.toml#sha256=${sha256}`)).toEqual([0, expect.any(String)]);
  const [code, said] = await check(`a.toml#sha256=${'0'.repeat(64)}`);
  expect([code, said]).toEqual([2, expect.stringContaining(`its SHA-256 is ${sha256}`)]);
  expect((await check('a.toml#sha256=12'))[0]).toBe(2);
});

test('explain names outcome, rule, tier and reason', async () => {
  put('a.toml', good);
  const policy = ['a.toml'];
  expect(await explain('run_shell_command', { command: 'git status -s' }, { policy })).toEqual([
    0,
    {
      outcome: 'allow',
      rule: 'a.toml[0]',
      tier: 'user',
      reason: 'a.toml[0] allows "git status -s"',
      line: 1,
      commands: [expect.objectContaining({ command: 'git status -s', outcome: 'allow' })],
    },
  ]);
  const [, asked] = await explain('run_shell_command', { command: 'git status; rm x' }, { policy });
  expect(asked).toMatchObject({ outcome: 'ask_user', rule: null, tier: null, reason: expect.any(String) });
  const [, planned] = await explain('write_file', { path: 'a' }, { mode: 'plan' });
  expect(planned).toMatchObject({ outcome: 'deny', rule: null, tier: null });
  const [, plan] = await explain('write_file', { path: 'PLAN.md' }, { mode: 'plan' });
  expect(plan).toMatchObject({ outcome: 'allow' });
});

const steps = [initialize('solo'), ends('completed')];

test('run --policy gives the host the rules of the files, as a user’s; the own file of the user is where choices go', async () => {
  put('a.toml', good);
  put('b.toml', good);
  const io = fakeIo({ cwd, env: { HOME: '/people/ann' } });
  const { parts, hostOptions } = fakeHost({ steps });
  expect(await runCommand({ file: 'a.yaml', prompt: 'go', policy: ['a.toml', 'b.toml'] }, io, parts)).toBe(0);
  expect(hostOptions[0]?.policy).toMatchObject([
    { file: 'a.toml', tier: 'user', rules: [{ commandPrefix: 'git status' }] },
    { file: 'b.toml', tier: 'user' },
  ]);
  expect(hostOptions[0]?.userPolicyFile).toBe('/people/ann/.config/troupe/policy.toml');
  const elsewhere = fakeHost({ steps });
  await runCommand({ file: 'a.yaml', prompt: 'go' }, fakeIo({ env: { XDG_CONFIG_HOME: '/conf' } }), elsewhere.parts);
  expect(elsewhere.hostOptions[0]?.userPolicyFile).toBe('/conf/troupe/policy.toml');
  const nowhere = fakeHost({ steps });
  await runCommand({ file: 'a.yaml', prompt: 'go' }, fakeIo(), nowhere.parts);
  expect(nowhere.hostOptions[0]).not.toHaveProperty('userPolicyFile');
});

test('a policy that does not load stops the run before it begins, with every fault', async () => {
  put('a.toml', 'rules = 1');
  put('b.toml', '[[rules]]\n');
  const { parts, hostOptions } = fakeHost({ steps });
  const run = (policy: string[]) => runCommand({ file: 'a.yaml', prompt: 'go', policy }, fakeIo({ cwd }), parts);
  await expect(run(['a.toml', 'b.toml'])).rejects.toMatchObject({
    code: 'POLICY_INVALID',
    message: expect.stringMatching(/a\.toml:1:rules[\s\S]*b\.toml:1:rules\[0\]/),
  });
  await expect(run(['none.toml'])).rejects.toMatchObject({
    code: 'POLICY_INVALID',
    message: /none\.toml: cannot be read/,
  });
  expect(hostOptions).toEqual([]);
});

test.each([{ command: 5 }, { command: ['ls'] }, { command: null }, {}])(
  'explain says of %j that it is no command',
  async (args) => {
    const [, explained] = await explain('run_shell_command', args);
    expect(explained).toMatchObject({
      outcome: 'ask_user',
      reason: 'no rule is about it, and of run_shell_command: its command is no text',
    });
  },
);

test('explain counts what a run here counts: what the user wrote and saved, and what a trusted folder brings', async () => {
  const rule = (tool: string, decision: string) => `[[rules]]\ntoolName = "${tool}"\ndecision = "${decision}"\n`;
  for (const folder of ['home', '.troupe', 'config/troupe']) mkdirSync(join(cwd, folder), { recursive: true });
  put('home/policy.toml', rule('mail', 'deny'));
  put('config/troupe/policy.toml', `${rule('print', 'allow')}always = true\n`);
  put('.troupe/policy.toml', rule('fax', 'deny'));
  const env = { XDG_CONFIG_HOME: join(cwd, 'config') };
  const home = { userFolder: join(cwd, 'home'), trust: trustFile({ file: join(cwd, 'home', 'trust.json') }) };
  const of = async (tool: string) => {
    const io = fakeIo({ cwd, env });
    await policyExplainCommand({ tool, args: '{}', json: true }, io, policyParts(io, home));
    const { outcome, tier } = JSON.parse(io.stdout.text);
    return [outcome, tier];
  };
  expect(await of('mail')).toEqual(['deny', 'user']);
  expect(await of('print')).toEqual(['allow', 'user']);
  expect(await of('fax')).toEqual(['ask_user', null]);
  await trustProject({ folder: cwd, ...home, now: () => 0 });
  expect(await of('fax')).toEqual(['deny', 'workspace']);
});

test('explain judges as for an agent that the host runs itself', async () => {
  put('a.toml', '[[rules]]\ntoolName = "mail"\ndecision = "allow"\ncontext = { executor = "local" }\n');
  expect(await explain('mail', {}, { policy: ['a.toml'] })).toMatchObject([0, { outcome: 'allow' }]);
});

test('explain judges a path where it leads, as a run does', async () => {
  put('a.toml', `[[rules]]\ntoolName = "write_file"\ndecision = "allow"\nargsPattern = '"path":"docs/'\n`);
  const of = async (path: string) =>
    (await explain('write_file', { path, content: '' }, { policy: ['a.toml'] }))[1].outcome;
  expect(await of('docs/a.md')).toBe('allow');
  expect(await of('docs/../src/a.ts')).toBe('ask_user');
});

test('a file that cannot be read is one fault among those of all files', async () => {
  put('bad.toml', '[[rules]]\ntoolName = "x"\n');
  const io = fakeIo({ cwd });
  expect(await policyCheckCommand({ files: ['nope.toml', 'bad.toml'], json: true }, io)).toBe(2);
  expect(JSON.parse(io.stdout.text).problems).toMatchObject([
    { path: 'nope.toml', message: 'cannot be read (ENOENT)' },
    { path: 'bad.toml:1:rules[0].decision' },
  ]);
});
