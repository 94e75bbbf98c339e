import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { root } from '../architecture/import-graph.js';
import { scriptedServer, sse } from '../support/scripted-server.js';
import { runFile } from './jiti-process.js';
import '../support/process-limit.js';

vi.mock('troupe', () => import('../../src/index.js'));
vi.mock('troupe/testing', () => import('../../src/testing/index.js'));
vi.mock('troupe/surfaces/a2a', () => import('../../src/surfaces/a2a.js'));

const folder = join(root, 'examples');
const examples = readdirSync(folder).filter((name) => /^\d\d-.*\.ts$/.test(name));
const offline = examples.filter((name) => !name.includes('live'));
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8');

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  process.exitCode = undefined;
});

/** Runs an example in this process and gives what it prints. */
async function run(name: string): Promise<{ out: string; err: string }> {
  const said = { out: '', err: '' };
  const add = (to: 'out' | 'err', text: string) => {
    said[to] += text;
    return true;
  };
  vi.spyOn(console, 'log').mockImplementation((...values) => void add('out', `${format(...values)}\n`));
  vi.spyOn(console, 'error').mockImplementation((...values) => void add('err', `${format(...values)}\n`));
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => add('out', String(text)));
  vi.resetModules();
  const path = join(folder, name);
  const before = process.argv;
  process.argv = [before[0] ?? '', path];
  try {
    await import(pathToFileURL(path).href);
  } finally {
    process.argv = before;
  }
  return said;
}

/** What the header says that the example prints. */
function promised(text: string): string {
  const header = text.slice(0, text.search(/^(?!\/\/)/m));
  const lines = header.slice(header.indexOf('// Prints:\n') + '// Prints:\n'.length).split('\n');
  return lines.map((line) => line.replace(/^\/\/ {3}/, '')).join('\n');
}

test('there is one for every way to work together', () => {
  expect(examples).toEqual([
    '01-one-agent.ts',
    '02-tool.ts',
    '03-ask-the-user.ts',
    '04-sequential.ts',
    '05-parallel-merge.ts',
    '06-loop.ts',
    '07-transfer.ts',
    '08-hierarchical.ts',
    '09-live.ts',
    '10-graph.ts',
    '11-adk-in-a-team.ts',
    '12-remote-agent.ts',
    '13-bring-your-own-executor.ts',
  ]);
});

test.each(examples)('%s is under 60 lines and says how to run it', (name) => {
  const text = textOf(name);
  expect(text.split('\n').length).toBeLessThan(60);
  expect(text).toContain(`npx jiti examples/${name}`);
});

test.each(offline)('%s prints what its header says', async (name) => {
  const expected = promised(textOf(name));
  expect(expected.split('\n').length).toBeGreaterThan(2);
  expect(await run(name)).toEqual({ out: expected, err: '' });
});

test('09-live.ts without a key says which one is missing, and ends with exit code 2', async () => {
  for (const name of ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL']) vi.stubEnv(name, '');
  const { out, err } = await run('09-live.ts');
  expect(out).toBe('');
  expect(err).toContain('needs GEMINI_API_KEY');
  expect(process.exitCode).toBe(2);
});

test('09-live.ts asks the model, runs the tool it asks for, and prints the answer', async () => {
  const server = await scriptedServer();
  vi.stubEnv('GEMINI_API_KEY', 'k');
  vi.stubEnv('GOOGLE_GEMINI_BASE_URL', server.url);
  const answer = (part: object) => ({
    chunks: [
      sse({
        candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 5 },
      }),
    ],
  });
  server.answer(
    answer({ functionCall: { name: 'clock', args: { timeZone: 'Europe/Rome' } } }),
    answer({ text: 'Tokyo sleeps.' }),
  );
  const { out, err } = await run('09-live.ts');
  await server.close();
  expect(err).toBe('');
  expect(out).toBe('(guide.clock {"timeZone":"Europe/Rome"})\nTokyo sleeps.\ncompleted: 40 tokens in, 10 out\n');
  expect(JSON.stringify(server.lastRequest().body.contents)).toMatch(/"clock".*\d\d:\d\d:\d\d/);
});

test('the team of files runs from the command line, offline, and nothing is wrong with it', async () => {
  const team = 'examples/report/report.team.yaml';
  const run = await runFile('src/cli/main.ts', ['run', team, 'What is this project?']);
  expect(run).toMatchObject({ code: 0, out: 'A package. Nothing in src is marked as left to do.\n' });
  expect(run.err).toContain('[gather_1.skeptic_2] got search_text');
  const check = await runFile('src/cli/main.ts', ['check', team]);
  expect(check).toMatchObject({ code: 0, out: `${team}: no problems\nworst case: 20 model calls\n` });
});
