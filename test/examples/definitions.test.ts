import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runProgram } from '../../src/cli/program.js';
import { root } from '../architecture/import-graph.js';
import { fakeIo } from '../cli/fake-io.js';
import '../support/process-limit.js';

const examples = readdirSync(join(root, 'examples')).filter((name) => /^\d\d-.*\.ts$/.test(name));

/** What each agent of the examples says, in the form that it is asked for. */
const said: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    'explainer weather concierge writer headline style security speed triage planner guide prose verse'
      .split(' ')
      .map((name) => [name, 'from the script']),
  ),
  outliner: '["from the script"]',
  critic: '{"good":true,"wish":"from the script"}',
  editor: 'fine',
};

let folder = '';
let script = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-examples-'));
  script = join(folder, 'script.json');
  const byAgent = Object.fromEntries(Object.entries(said).map(([name, text]) => [name, [{ text }, { text }]]));
  writeFileSync(script, JSON.stringify({ byAgent }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A command over an example, which is loaded for it. Nothing in it may print: it is not the program here. */
async function command(...args: string[]) {
  const printed = vi.spyOn(console, 'log');
  const io = fakeIo({ cwd: root });
  const code = await runProgram({ args, io, version: '1.2.3' });
  expect(printed).not.toHaveBeenCalled();
  return { code, out: io.stdout.text, err: io.stderr.text };
}

test.each(examples)('%s exports its team: graph draws it', async (name) => {
  const { out, ...rest } = await command('graph', `examples/${name}`);
  expect(rest).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^flowchart /);
});

test.each(examples)('%s exports its team: check says of it what is so', async (name) => {
  const { out } = await command('check', `examples/${name}`, '--json');
  const { problems } = JSON.parse(out) as { problems: { code: string }[] };
  // The executor of the last one is registered by its program.
  expect(problems.map(({ code }) => code)).toEqual(name.startsWith('13') ? ['UNKNOWN_EXECUTOR'] : []);
});

test.each(examples.filter((name) => !/^1[1-3]/.test(name)))('%s exports its team: run runs it', async (name) => {
  const { code, err } = await command('run', `examples/${name}`, 'go', '--script', script, '--ephemeral', '--yes');
  expect({ code, said: err.includes('from the script') }).toEqual({ code: 0, said: true });
});
