import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { policyParts } from '../../src/cli/parts.js';
import { policyExplainCommand } from '../../src/cli/policy.js';
import { policyFromToml } from '../../src/index.js';
import { workspaceTools } from '../../src/tools/workspace.js';
import { calls, runDesk } from '../host/tool-desk.js';
import { fakeIo } from './fake-io.js';

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'troupe-explain-'));
  for (const folder of ['docs', '.github']) mkdirSync(join(root, folder));
  symlinkSync('.github', join(root, 'linked'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const rule = (toolName: string, decision: string, more = '') =>
  `[[rules]]\ntoolName = "${toolName}"\ndecision = "${decision}"\n${more}\n`;
const POLICIES = [
  '',
  rule('write_file', 'allow', `argsPattern = '"path":"docs/'`) +
    rule('*', 'deny', `argsPattern = '"path":"\\.github/'`),
  rule('run_shell_command', 'allow', 'commandPrefix = "ls"') +
    rule('run_shell_command', 'deny', 'commandPrefix = "rm"'),
  rule('*', 'ask_user', 'priority = 5') + rule('read_file', 'deny', 'modes = ["plan", "dont_ask"]\npriority = 9'),
  rule('run_shell_command', 'allow', 'commandPrefix = "ls"\nsandbox = true') +
    rule('write_file', 'deny', 'principal = "b"'),
  rule('*', 'allow', 'principal = "desk"\ncontext = { executor = "local" }\nmodes = ["plan", "default"]'),
];
const CALLS: readonly [string, object][] = [
  ['read_file', { path: 'linked/x' }],
  ['list_directory', { path: 'docs' }],
  ['write_file', { path: 'docs/a', content: 'x' }],
  ['write_file', { path: 'docs/../b', content: 'x' }],
  ['write_file', { path: './.github/x', content: 'x' }],
  ['write_file', { path: './PLAN.md', content: 'x' }],
  ['run_shell_command', { command: 'ls' }],
  ['run_shell_command', { command: 'env ls > out' }],
  ['run_shell_command', { command: 'true && rm none' }],
];
const NAMES = [...new Set(CALLS.map(([name]) => name))];

test.each(['default', 'auto_edit', 'autonomous', 'plan', 'dont_ask'])(
  'policy explain says what a run does, in the mode %s',
  async (mode) => {
    for (const [at, policy] of POLICIES.entries()) {
      writeFileSync(join(root, 'p.toml'), policy);
      for (const [tool, args] of CALLS) {
        const io = fakeIo({ cwd: root });
        const command = { tool, args: JSON.stringify(args), policy: ['p.toml'], mode, principal: 'desk', json: true };
        await policyExplainCommand(command, io, policyParts(io, { userFolder: join(root, 'home') }));
        const { responses, questions } = await runDesk({
          own: NAMES,
          host: { tools: workspaceTools({ root }), policy: [policyFromToml(policy, { tier: 'user', file: 'p.toml' })] },
          run: { permissionMode: mode },
          script: [calls([tool, args])],
          answer: { action: 'decline' },
        });
        const ruled = responses[0]?.errorType === 'policy_denied' ? 'deny' : 'allow';
        const outcome = questions.length > 0 ? 'ask_user' : ruled;
        expect([at, tool, args, JSON.parse(io.stdout.text).outcome]).toEqual([at, tool, args, outcome]);
      }
    }
  },
);
