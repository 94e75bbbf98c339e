import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { workspaceTools } from '../../src/tools/workspace.js';
import { calls, runDesk } from '../host/tool-desk.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'troupe-rules-'));
  for (const folder of ['docs', 'src', '.github']) {
    mkdirSync(join(root, folder));
    writeFileSync(join(root, folder, 'a.txt'), 'old');
  }
  symlinkSync('.github', join(root, 'assets'));
  symlinkSync('../src', join(root, 'docs', 'more'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const inDocs = { toolName: '*', decision: 'allow' as const, argsPattern: '"path":"docs/' };
const notPipeline = { toolName: '*', decision: 'deny' as const, argsPattern: '"path":"\\.github/' };

async function outcome(name: string, path: string, rules: readonly object[], mode = 'default') {
  const more =
    name === 'write_file' ? { content: 'new' } : name === 'replace' ? { old_string: 'old', new_string: 'new' } : {};
  const { responses, questions } = await runDesk({
    own: [name],
    host: { tools: workspaceTools({ root }), policy: [{ rules: rules as never }] },
    run: { permissionMode: mode },
    script: [calls([name, { path, ...more }])],
    answer: { action: 'decline' },
  });
  return questions.length > 0 ? 'asked' : (responses[0]?.errorType ?? 'ran');
}

test('a deny about a path holds however the path is spelled, and whatever link leads there', async () => {
  for (const path of ['.github/a.txt', './.github/a.txt', 'src/../.github/a.txt', './/.github//a.txt', 'assets/a.txt'])
    for (const name of ['write_file', 'replace', 'read_file'])
      expect([path, name, await outcome(name, path, [notPipeline], 'autonomous')]).toEqual([
        path,
        name,
        'policy_denied',
      ]);
  expect(await outcome('write_file', join(root, '.github', 'a.txt'), [notPipeline], 'autonomous')).toBe(
    'policy_denied',
  );
  expect(
    await outcome('list_directory', 'src/../.github/', [{ ...notPipeline, argsPattern: '"path":"\\.github' }]),
  ).toBe('policy_denied');
  expect(await outcome('write_file', './src/a.txt', [notPipeline], 'autonomous')).toBe('ran');
  expect(readFileSync(join(root, '.github', 'a.txt'), 'utf8')).toBe('old');
});

test('an allow about a folder allows no way out of it', async () => {
  for (const path of ['docs/../src/a.txt', 'docs/more/a.txt', 'docs/../.github/a.txt', 'docs/./../src/new.txt'])
    expect([path, await outcome('write_file', path, [inDocs])]).toEqual([path, 'asked']);
  expect(await outcome('write_file', 'docs/new.txt', [inDocs])).toBe('ran');
  expect(await outcome('write_file', 'docs/./b/new.txt', [inDocs])).toBe('ran');
  expect(readFileSync(join(root, 'src', 'a.txt'), 'utf8')).toBe('old');
});

test('a deny that names the link itself holds too', async () => {
  const rule = { toolName: '*', decision: 'deny' as const, argsPattern: '"path":"assets/' };
  expect(await outcome('write_file', 'assets/a.txt', [rule], 'autonomous')).toBe('policy_denied');
});

test('an "always and save" about a path that is spelled otherwise is asked about once', async () => {
  const ask = async () => {
    const { questions, responses } = await runDesk({
      own: ['write_file'],
      host: { tools: workspaceTools({ root }), userPolicyFile: join(root, 'mine.toml') },
      script: [calls(['write_file', { path: './src/../src/b.txt', content: 'new' }])],
      answer: { action: 'accept', content: { outcome: 'proceed_always_and_save' } },
    });
    expect(responses[0]?.isError).toBeUndefined();
    return questions.length;
  };
  expect(await ask()).toBe(1);
  expect(await ask()).toBe(0);
});
