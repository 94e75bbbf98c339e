import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AgentEvent, ElicitationAnswer } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, policyFromToml, sequential } from '../../src/index.js';
import { type ScriptEntry, scriptedModel, validateLog } from '../../src/testing/index.js';
import { workspaceTools } from '../../src/tools/workspace.js';
import { ofType } from '../support/team.js';
import '../support/process-limit.js';

const POLICY = `
# Looking is free; a commit by the clerk only; nothing leaves the machine.
[[rules]]
toolName = "run_shell_command"
decision = "allow"
commandPrefix = "git status"

[[rules]]
toolName = "run_shell_command"
decision = "allow"
commandRegex = "git (add|commit|diff)"
principal = "clerk"

[[rules]]
toolName = "run_shell_command"
decision = "deny"
commandPrefix = "git push"
priority = 900
denyMessage = "nothing leaves the machine"

[[rules]]
toolName = ["write_file", "replace"]
decision = "deny"
argsPattern = '"path":"\\.github/'
denyMessage = "the pipeline is not for agents"
`;

let folder: string;
let root: string;
const git = (...args: string[]) =>
  execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', env: { ...process.env, ...IDENTITY } });
const IDENTITY = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.org',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-repository-'));
  root = join(folder, 'ws');
  mkdirSync(root);
  git('init', '-q', '-b', 'main');
  writeFileSync(join(root, 'README.md'), '# Tool\nInstal it.\n');
  writeFileSync(join(root, 'CHANGES.md'), 'none\n');
  writeFileSync(join(root, 'LICENSE'), 'MIT\n');
  git('add', '.');
  git('commit', '-qm', 'first');
  writeFileSync(join(folder, 'policy.toml'), POLICY);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const call = (...asked: [name: string, args: object][]): ScriptEntry => ({
  toolCalls: asked.map(([name, args]) => ({ name, args })),
});
const shell = (command: string): [string, object] => ['run_shell_command', { command }];
const done: ScriptEntry = { text: 'done' };

test('a team edits a repository under a policy file: one edit approved, one changed, one declined, and the commit is what was approved', async () => {
  const file = join(folder, 'policy.toml');
  const model = scriptedModel({
    byAgent: {
      chief: [call(['editor', { prompt: 'Correct the README.' }], ['notary', { prompt: 'Note it.' }]), done],
      editor: [
        call(shell('git status --short')),
        call(
          ['replace', { path: 'README.md', old_string: 'Instal ', new_string: 'Install ' }],
          ['replace', { path: 'LICENSE', old_string: 'MIT', new_string: 'Mine' }],
        ),
        call(['write_file', { path: '.github/ci.yml', content: 'x' }], shell('git commit -am sneaky')),
        done,
      ],
      notary: [call(['write_file', { path: 'CHANGES.md', content: 'spelling, and a virus\n' }]), done],
      clerk: [
        call(shell('git add -A && git commit -qm "Spelling"')),
        call(shell('git status; git push origin main')),
        done,
      ],
    },
  });
  const tools = ['read_file', 'write_file', 'replace', 'run_shell_command'];
  const team = sequential({
    name: 'desk',
    children: [
      hierarchical({
        name: 'lead',
        agent: agent({ name: 'chief' }),
        children: [agent({ name: 'editor', tools }), agent({ name: 'notary', tools })],
      }),
      agent({ name: 'clerk', tools }),
    ],
  });
  const answers: Record<string, ElicitationAnswer> = {
    'README.md': { action: 'accept' },
    LICENSE: { action: 'decline', content: { reason: 'not yours' } },
    'CHANGES.md': {
      action: 'accept',
      content: { outcome: 'modify', modifiedArgs: { path: 'CHANGES.md', content: 'spelling\n' } },
    },
  };
  const asked: { principal: unknown; about: string; diff: unknown }[] = [];
  const host = createHost({
    models: { scripted: model },
    tools: workspaceTools({ root, shell: { env: IDENTITY } }),
    policy: [policyFromToml(readFileSync(file, 'utf8'), { tier: 'user', file })],
  });
  const events: AgentEvent[] = [];
  try {
    const run = host.run(team, 'Make it ready.');
    for await (const event of run) {
      events.push(event);
      if (event.type !== 'elicitation_request') continue;
      const { args, principalPath, diff, commands } = event.context as Record<string, unknown>;
      const { path } = args as { path?: string };
      asked.push({ principal: principalPath, about: path ?? String(commands), diff });
      run.respond(event.requestId, (path === undefined ? undefined : answers[path]) ?? { action: 'decline' });
    }
    expect((await run.result).ok).toBe(true);
  } finally {
    await host.close();
  }

  expect(validateLog(events)).toEqual([]);
  expect(asked.map(({ principal, about }) => `${principal}: ${about}`).sort()).toEqual([
    'desk/lead/editor: LICENSE',
    'desk/lead/editor: README.md',
    'desk/lead/editor: git commit -am sneaky',
    'desk/lead/notary: CHANGES.md',
  ]);
  expect(asked.find(({ about }) => about === 'README.md')?.diff).toContain('-Instal it.\n+Install it.');
  const outcomes = ofType(events, 'tool_response').map(
    ({ agentId, name, errorType }) => `${agentId} ${name} ${errorType ?? 'ran'}`,
  );
  expect(outcomes.filter((text) => !text.startsWith('chief')).sort()).toEqual([
    'clerk run_shell_command policy_denied',
    'clerk run_shell_command ran',
    'editor replace declined',
    'editor replace ran',
    'editor run_shell_command declined',
    'editor run_shell_command ran',
    'editor write_file policy_denied',
    'notary write_file ran',
  ]);
  expect(JSON.stringify(events)).toContain('nothing leaves the machine');
  expect(JSON.stringify(events)).toContain('the pipeline is not for agents');

  expect(git('log', '--format=%s').trim().split('\n')).toEqual(['Spelling', 'first']);
  expect(git('show', '--format=', '--name-only', 'HEAD').trim().split('\n').sort()).toEqual([
    'CHANGES.md',
    'README.md',
  ]);
  expect(git('status', '--short')).toBe('');
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toBe('# Tool\nInstall it.\n');
  expect(readFileSync(join(root, 'CHANGES.md'), 'utf8')).toBe('spelling\n');
  expect(readFileSync(join(root, 'LICENSE'), 'utf8')).toBe('MIT\n');
});
