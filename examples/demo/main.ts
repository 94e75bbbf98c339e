// A team reports on a folder: three specialists at once, then a writer and a critic until the critic is content.
// Offline, unless a model is named:
//   npm run demo
//   npm run demo -- <folder>
//   npm run demo -- <folder> --model gemini/gemini-flash-latest      (with GEMINI_API_KEY set)
// Prints the run as it goes on (stderr), then the report in Markdown (stdout), then how it came about (stderr).
// Exit codes: 0 the report is there, 1 it failed, 2 wrong use, 3 a limit was reached, 130 aborted.
import { basename } from 'node:path';
import { createHost, type RunResult, TroupeError } from 'troupe';
import { readOnlyWorkspaceTools, workspaceTools } from 'troupe/tools/workspace';
// How `troupe run` shows a run; not a part of the public interface.
import { type CommandIo, createPipe } from '../../src/cli/command-io.js';
import { exitCodeOf } from '../../src/cli/exit-codes.js';
import { visibleLine, visibleLines } from '../../src/cli/plain-text.js';
import { createRunProgress } from '../../src/cli/run-progress.js';
import { createRunModel } from '../../src/kernel/run-model.js';
import { BadUse, readArguments } from './arguments.js';
import { draftsOf } from './drafts.js';
import { n } from './offline/markdown.js';
import { offlineModel } from './offline/offline-model.js';
import team from './team.js';

const io: CommandIo = {
  stdin: process.stdin,
  stdout: createPipe(process.stdout),
  stderr: createPipe(process.stderr),
  env: process.env,
  cwd: process.cwd(),
  now: () => Date.now(),
  onSignal(signal, handler) {
    process.on(signal, handler);
    return () => process.off(signal, handler);
  },
  exitNow: (code) => process.exit(code),
};
const say = (text: string) => void io.stderr.write(`${text}\n`);

process.exitCode = await main().catch((thrown: unknown) => {
  if (!(thrown instanceof BadUse || thrown instanceof TroupeError)) throw thrown;
  say(`demo: ${visibleLine(sentenceOf(thrown))}`);
  return 2;
});
await Promise.all([io.stdout.flush(), io.stderr.flush()]);

async function main(): Promise<number> {
  const { folder, model, help } = readArguments(process.argv.slice(2));
  if (help) {
    await io.stdout.write('npm run demo [-- [<folder>] [--model gemini/<name> | openai/<name> | openrouter/<name>]]\n');
    return 0;
  }
  const isWatched = io.stdout.isTTY && io.stderr.isTTY;
  await using host = createHost({
    models: { scripted: offlineModel({ delayMs: isWatched ? 100 : 0 }) },
    tools: workspaceTools({ root: folder, only: readOnlyWorkspaceTools }),
    elicitation: 'deny',
  });
  const started = performance.now();
  const run = host.run(team, `Report on the folder "${basename(folder)}".`, { model: model ?? 'scripted' });
  const stopListening = io.onSignal('SIGINT', () => run.abort('interrupted'));

  const { model: view, fold } = createRunModel();
  const progress = createRunProgress(view, io, { json: false });
  const drafts = draftsOf();
  try {
    for await (const event of run) {
      fold(event);
      drafts.see(event);
      // A draft is told when it is finished; a log has no use for it as one line.
      if (!isWatched && event.type === 'message' && event.agentId === 'writer') continue;
      await progress.show(event);
    }
  } finally {
    progress.end();
    stopListening();
  }

  const result = await run.result;
  const report = drafts.latest();
  say('');
  if (report !== undefined) await io.stdout.write(`${io.stdout.isTTY ? visibleLines(report) : report}\n`);
  say(['', ...drafts.story(), summaryOf(result, performance.now() - started, model)].map(visibleLine).join('\n'));
  return exitCodeOf(result.reason);
}

function summaryOf({ reason, data, usage }: RunResult, ms: number, model: string | undefined): string {
  const why = reason === 'completed' || data.message === undefined ? '' : ` (${String(data.message)})`;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const by = model ?? 'a scripted model, offline: four characters are counted as a token';
  return `${reason}${why} in ${(ms / 1000).toFixed(1)} s, ${n(inputTokens)} tokens in, ${n(outputTokens)} out (${by})`;
}

/** The same fault stands at every agent: it is said once. */
function sentenceOf(thrown: Error): string {
  const problems = thrown instanceof TroupeError ? thrown.problems.map(({ message }) => message) : [];
  return problems.length > 0 ? [...new Set(problems)].join('; ') : thrown.message;
}
