import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { BadUse, readArguments } from '../../examples/demo/arguments.js';
import { root } from '../architecture/import-graph.js';
import { type ReceivedRequest, type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { runFile } from './jiti-process.js';
import { countFiles, type SampleFolder, smallProject } from './sample-folder.js';
import '../support/process-limit.js';

let folder: SampleFolder | undefined;
let server: ScriptedServer | undefined;
afterEach(async () => {
  folder?.remove();
  await server?.close();
  server = undefined;
});

const demo = (args: readonly string[], options: Parameters<typeof runFile>[2] = {}) =>
  runFile('examples/demo/main.ts', args, options);

test('the report goes to stdout with real names and true counts, the run and its story to stderr', async () => {
  folder = smallProject();
  const files = countFiles(folder.root);
  const { code, out, err } = await demo([folder.root]);
  expect(code).toBe(0);
  expect(out).toMatch(/^# Report on the folder "troupe-demo-[^"]+"\n/);
  expect(out).toContain(
    `${files.length} files with ${files.reduce((sum, file) => sum + file.lines, 0)} lines of text.`,
  );
  expect(out).toContain('1. `src/hub.ts`: by 38 files');
  expect(out).toContain('## Not looked at');
  expect(err).toContain('[look_1.structure_2] calls glob');
  expect(err).toContain('[polish_2] iteration 2 of 3');
  expect(err).toMatch(/Draft 1, \d+ lines: the critic objects\n {2}- "About 40 files"/);
  expect(err).toMatch(/Draft 2, \d+ lines: the critic has no objections\n/);
  expect(err).toMatch(/\ncompleted in [\d.]+ s, [\d,]+ tokens in, [\d,]+ out \(a scripted model, offline.*\)\n$/);
});

test('a model without its key is one sentence and exit code 2', async () => {
  expect(await demo(['src', '--model', 'gemini/gemini-flash-latest'])).toEqual({
    code: 2,
    out: '',
    err: 'demo: model "gemini/gemini-flash-latest" needs GEMINI_API_KEY or GOOGLE_API_KEY or GOOGLE_GEMINI_BASE_URL in the environment\n',
  });
});

test.each([
  [['no-such-folder'], '"no-such-folder" does not exist'],
  [['package.json'], '"package.json" is not a folder'],
  [['src', 'test'], 'one folder at a time, not 2'],
  [['--wrong'], "Unknown option '--wrong'; see --help"],
])('%j is wrong use: %s', (args, sentence) => {
  expect(() => readArguments(args)).toThrow(new BadUse(sentence));
});

test('without a folder it is this repository; a folder is meant from where the command was typed', () => {
  vi.stubEnv('INIT_CWD', join(root, 'test'));
  expect(readArguments([])).toEqual({ folder: root, model: undefined, help: false });
  expect(readArguments(['examples', '-m', 'openai/x']).folder).toBe(join(root, 'test', 'examples'));
  vi.unstubAllEnvs();
});

test('an interrupt ends the run, and the process with 130', async () => {
  // A folder that takes seconds: the run is in the middle of it when the signal comes.
  const { code, err } = await demo(['node_modules'], { until: /structure_2\] calls glob/ });
  expect(code).toBe(130);
  expect(err).toMatch(/\naborted in [\d.]+ s, /);
  expect(err).not.toContain('[report] completed');
});

test('a live model of that name is asked over HTTP, with the same team and the same tools', async () => {
  folder = smallProject();
  server = await scriptedServer();
  server.answer(...Array.from({ length: 40 }, () => answerAsGemini));
  const env = { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: server.url };
  const { code, out, err } = await demo([folder.root, '--model', 'gemini/gemini-test'], { env });
  expect(err).toMatch(/completed in [\d.]+ s, [\d,]+ tokens in, [\d,]+ out \(gemini\/gemini-test\)\n$/);
  expect(code).toBe(0);
  expect(out).toBe('# Report\n\nThere are 43 files.\n');
  expect(new Set(server.requests.map((request) => request.path))).toEqual(
    new Set(['/v1beta/models/gemini-test:streamGenerateContent?alt=sse']),
  );
  // Every specialist, the writer twice, and the critic, who lets the second draft pass.
  const asked = server.requests.map(agentOf);
  expect(asked.filter((name) => name === 'writer')).toHaveLength(2);
  expect(new Set(asked)).toEqual(new Set(['inventory', 'structure', 'todo', 'writer', 'critic']));
});

const openings: Record<string, RegExp> = {
  inventory: /^You take stock/,
  structure: /^You look for the largest/,
  todo: /^You look for what is left/,
  writer: /^You write a report/,
  critic: /^You check the draft/,
};

function agentOf({ body }: ReceivedRequest): string | undefined {
  const { parts } = body.systemInstruction as { parts: { text: string }[] };
  return Object.keys(openings).find((name) => openings[name]?.test(parts[0]?.text ?? ''));
}

/** A model that does the least that each role asks for, and does it from what it is sent. */
function answerAsGemini(request: ReceivedRequest) {
  const contents = request.body.contents as { parts: { text?: string; functionResponse?: object }[] }[];
  const parts = contents.flatMap((content) => content.parts);
  const seen = JSON.stringify(parts);
  const agent = agentOf(request);
  const hasLooked = parts.some((part) => part.functionResponse !== undefined);
  const call = (name: string, args: object) => ({ functionCall: { name, args } });
  const leftOut = { ignored: 0, links: 0, unreadable: 0, tooDeep: 0, stopped: [] };
  const answers: Record<string, () => object> = {
    inventory: () => {
      if (!hasLooked) return call('glob', { pattern: '**/*', stats: true });
      const [, files, lines, bytes] = /Together (\d+) files, (\d+) lines, ([\d,]+) bytes/.exec(seen) ?? [];
      const counts = { files: Number(files), lines: Number(lines), bytes: Number(bytes?.replace(',', '')) };
      return call('complete_task', { ...counts, uncounted: 1, kinds: [], folders: [], leftOut });
    },
    structure: () =>
      call('complete_task', {
        ...{
          sourceFiles: 0,
          largest: [],
          importsCountedIn: 0,
          mostImports: [],
          importersCountedFor: 0,
          mostImported: [],
          notes: [],
        },
      }),
    todo: () => call('complete_task', { total: 0, atLeast: false, markers: [] }),
    writer: () => ({
      text: seen.includes('please count')
        ? `# Report\n\nThere are ${/files\\":(\d+)/.exec(seen)?.[1]} files.`
        : '# Report',
    }),
    critic: () => (seen.includes('There are') ? call('exit_loop', {}) : { text: 'please count' }),
  };
  const part = answers[agent ?? '']?.() ?? { text: 'who is asked?' };
  const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10 };
  const candidates = [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }];
  return { chunks: [sse({ candidates, usageMetadata })] };
}
