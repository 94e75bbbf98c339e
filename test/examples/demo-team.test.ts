import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentEvent, createHost, type ModelMessage } from 'troupe';
import { validateLog } from 'troupe/testing';
import { workspaceTools } from 'troupe/tools/workspace';
import { afterEach, expect, test, vi } from 'vitest';
import { draftsOf } from '../../examples/demo/drafts.js';
import { critic } from '../../examples/demo/offline/critic.js';
import { offlineModel } from '../../examples/demo/offline/offline-model.js';
import team from '../../examples/demo/team.js';
import { countFiles, type SampleFolder, sampleFolder, smallProject } from './sample-folder.js';

vi.mock('troupe', () => import('../../src/index.js'));
vi.mock('troupe/testing', () => import('../../src/testing/index.js'));
vi.mock('troupe/tools/workspace', () => import('../../src/tools/workspace.js'));

let folder: SampleFolder | undefined;
afterEach(() => folder?.remove());

async function report(root: string) {
  await using host = createHost({ models: { scripted: offlineModel() }, tools: workspaceTools({ root }) });
  const run = host.run(team, 'Report on the sample.', { model: 'scripted' });
  const drafts = draftsOf();
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    drafts.see(event);
  }
  expect(validateLog(events)).toEqual([]);
  return { events, drafts, text: drafts.latest() ?? '', result: await run.result };
}

test('every count in the report is true', async () => {
  folder = smallProject();
  const files = countFiles(folder.root);
  const of = (pattern: RegExp) => files.filter((file) => pattern.test(file.path));
  const lines = (some: typeof files) => some.reduce((sum, file) => sum + file.lines, 0);
  const { text } = await report(folder.root);

  expect(text).toContain(`${files.length} files with ${lines(files)} lines of text.`);
  const scripts = of(/\.ts$/);
  expect(text).toContain(`| TypeScript | ${scripts.length} | ${lines(scripts)} |`);
  expect(text).toContain(`- \`src/\`: ${of(/^src\//).length} files, ${lines(of(/^src\//))} lines`);
  const [largest] = files.toSorted((a, b) => b.lines - a.lines);
  expect(largest?.path).toBe('src/large.ts');
  expect(text).toContain(`1. \`src/large.ts\`: ${largest?.lines} lines`);
  expect(text).toContain('1. `src/large.ts`: 3 imports');
  const importing = scripts.filter((file) => /from '(\.\.?\/)+hub\.js'/.test(file.text));
  expect(importing).toHaveLength(38);
  expect(text).toContain(`1. \`src/hub.ts\`: by ${importing.length} files`);
});

test('what is marked as left to do is named with its line, and nothing else is', async () => {
  folder = smallProject();
  const { text } = await report(folder.root);
  const large = countFiles(folder.root).find((file) => file.path === 'src/large.ts');
  const at = 1 + (large?.text.split('\n').findIndex((line) => line.includes('TODO')) ?? 0);
  expect(text.slice(text.indexOf('3 places are marked:'), text.indexOf('## Not looked at')).trim().split('\n')).toEqual(
    [
      '3 places are marked:',
      '',
      '- `docs/plan.md:4` box `ship it`',
      `- \`src/large.ts:${at}\` TODO \`split this file\``,
      '- `src/naïve name.ts:2` FIXME `says too little`',
    ],
  );
});

test('the critic sends the first draft back, and the second one meets its objections', async () => {
  folder = smallProject();
  const { drafts, events, result } = await report(folder.root);
  const written = events.flatMap((event) =>
    event.type === 'agent_completed' && event.agentName === 'writer' ? [String(event.result)] : [],
  );
  expect(written).toHaveLength(2);
  const [first, second] = written;
  expect(first).toContain('About 40 files');
  expect(first).not.toContain('## Not looked at');
  expect(second).not.toContain('About');
  expect(second).toContain('## Not looked at\n\n- The lines of 1 file that are binary');
  expect(drafts.story()).toEqual([
    `Draft 1, ${first?.trim().split('\n').length} lines: the critic objects`,
    expect.stringContaining('"About 40 files" is a guess'),
    expect.stringContaining('"about 210 lines" is a guess'),
    '  - The section "Not looked at" is missing.',
    `Draft 2, ${second?.trim().split('\n').length} lines: the critic has no objections`,
  ]);
  expect(events.filter((event) => event.type === 'loop_iteration')).toHaveLength(2);
  expect(result).toMatchObject({ ok: true, text: second });
});

test('a claim that the file itself contradicts is sent back', () => {
  const structure = {
    sourceFiles: 1,
    largest: [{ path: 'a.ts', lines: 10 }],
    importsCountedIn: 0,
    mostImports: [],
    importersCountedFor: 0,
    mostImported: [],
    notes: [],
  };
  const draft = '`a.ts`: 10 lines\n## Not looked at';
  const asked: ModelMessage = {
    role: 'user',
    content: [{ type: 'text', text: JSON.stringify({ task: 't', facts: { structure }, draft }) }],
  };
  const args = { path: 'a.ts', offset: 10, limit: 1 };
  expect(critic({ messages: [asked] }).toolCalls).toEqual([{ name: 'read_file', args }]);
  const after = (output: string): ModelMessage[] => [
    asked,
    { role: 'model', content: [{ type: 'function_call', id: 'c1', name: 'read_file', args }] },
    { role: 'user', content: [{ type: 'function_response', id: 'c1', name: 'read_file', response: { output } }] },
  ];
  const objects = critic({ messages: after('x\n[Lines 10 to 10; the file has 12 lines. Read on with offset 11.]') });
  expect(String(objects.text)).toContain('That a.ts has 10 lines does not hold');
  const agrees = critic({ messages: after('x\n[Lines 10 to 10; the file has 10 lines.]') });
  expect(agrees.toolCalls?.map((call) => call.name)).toEqual(['exit_loop']);
});

test('more files than one listing shows are counted folder by folder', async () => {
  folder = sampleFolder({ 'top.md': 'one\n' });
  for (let at = 0; at < 1_204; at++)
    folder.write(`${['a', 'b', 'c'][at % 3]}/deep/file-${at}.txt`, 'x\n'.repeat(at % 5));
  const files = countFiles(folder.root);
  const { text } = await report(folder.root);
  expect(text).toContain(
    `1,205 files with ${files.reduce((sum, file) => sum + file.lines, 0).toLocaleString('en-US')}`,
  );
  expect(text).toContain('Everything was looked at.');
});

test('importers are counted beyond what one search shows', async () => {
  folder = sampleFolder({ 'lib/index.ts': 'export const lib = 1;\n', 'top.ts': "import './lib/index.js';\n" });
  for (let at = 0; at < 270; at++) {
    const line = at < 60 ? "import { lib } from '../lib/index.js';\n" : "export { lib } from '../lib/index.js';\n";
    folder.write(`${at % 2 === 0 ? 'even' : 'odd'}/file-${at}.ts`, line);
  }
  const { text } = await report(folder.root);
  expect(text).toContain('1. `lib/index.ts`: by 270 files');
});

test('what a cap left out is said', async () => {
  folder = sampleFolder();
  for (let at = 0; at < 1_003; at++) folder.write(`flat/file-${at}.txt`, '');
  const { text } = await report(folder.root);
  expect(text).toContain('At least 1,000 files with 0 lines');
  expect(text).toContain('Of what was listed:');
  expect(text).toContain('The rest of a long listing: `flat: more than 1,000 files match`.');
});

test('an empty folder, and one without source code, are reported on as they are', async () => {
  folder = sampleFolder();
  expect((await report(folder.root)).text).toContain('The folder holds no files.');
  folder.write('notes.txt', 'just words\n');
  const { text } = await report(folder.root);
  expect(text).toContain('1 file with 1 line of text.');
  expect(text).toContain('There are no source files.');
});

test('names with everything that a glob or Markdown takes for its own are read and shown', async () => {
  folder = sampleFolder({
    'a, {b}/[slug].ts': "import x from './we ird!*?.js';\n",
    'a, {b}/we ird!*?.js': "const y = require('./`tick`.js');\nrequire('./[slug]');\n",
    'a, {b}/`tick`.js': `// ${'XXX'}\n`,
    'line\nend.ts': 'export {};\n',
  });
  const { text } = await report(folder.root);
  expect(text).toContain('1. `a, {b}/we ird!*?.js`: 2 lines');
  expect(text).toContain('1. `a, {b}/we ird!*?.js`: 2 imports');
  expect(text).toContain('`` a, {b}/`tick`.js:1 `` XXX');
  expect(text).toContain('`"line\\nend.ts"`: 1 line');
  expect(text).toContain('`a, {b}/[slug].ts`: by 1 file');
});

test('links are not followed and unreadable files are told', async () => {
  folder = sampleFolder({ 'kept.ts': 'export {};\n', 'shut/inner.ts': '' });
  symlinkSync('/', join(folder.root, 'everything'));
  chmodSync(join(folder.root, 'shut'), 0);
  const { text } = await report(folder.root);
  chmodSync(join(folder.root, 'shut'), 0o755);
  expect(text).toContain('- Where symbolic links lead (1).');
  // The superuser reads what it likes.
  if (process.getuid?.() !== 0) expect(text).toContain('- What could not be read (1 place).');
});
