import type { AgentEvent } from '../contracts/events.js';
import type { Run, RunResult } from '../host/types.js';
import { createRunModel, type RunModel } from '../kernel/run-model.js';
import type { CommandIo } from './command-io.js';
import type { PreviewCall } from './edit-call.js';
import { visibleLines } from './plain-text.js';
import { createQuestionDesk } from './question-desk.js';
import type { Prompter } from './question-form.js';
import { createRunProgress, type RunProgress } from './run-progress.js';
import type { SignalWatch } from './signal-watch.js';

export interface Follow {
  preview: PreviewCall;
  /** Absent: there is nobody to ask. */
  prompter: ((signal: AbortSignal) => Promise<Prompter>) | undefined;
  signals: SignalWatch;
  /** Default: `createRunProgress`. */
  progressOf?: (view: RunModel) => RunProgress;
  onEvent?: (event: AgentEvent) => void;
  /** Whether the result is shown once there is one. Default: it is. */
  showsResult?: () => boolean;
}

interface Answers {
  /** Questions may be answered in its page. */
  studio?: boolean | undefined;
  json?: boolean | undefined;
  yes?: boolean | undefined;
  no?: boolean | undefined;
}

/** Shows a run to its end and asks what it wants to know; then its result. */
export async function followRun(
  run: Run,
  command: Answers,
  io: CommandIo,
  { prompter, preview, signals, progressOf, onEvent, showsResult }: Follow,
): Promise<RunResult> {
  const { model: view, fold } = createRunModel();
  const progress = progressOf?.(view) ?? createRunProgress(view, io, { json: command.json === true });
  signals.onFirst = () => progress.say('stopping the run; once more ends it at once');
  const desk = createQuestionDesk({
    run,
    confirmations: command.yes === true ? 'yes' : command.no === true ? 'no' : 'ask',
    prompter,
    preview,
    screen: progress,
    isAnsweredElsewhere: command.studio === true,
    onInterrupt: () => signals.raise(),
  });
  // Wrong use rejects both the iterator and the result: one of them is enough to hear of it.
  run.result.catch(() => {});
  try {
    for await (const event of run) {
      fold(event);
      onEvent?.(event);
      desk.see(event);
      const behind = progress.show(event);
      if (behind !== undefined) await behind;
    }
  } finally {
    await desk.close().finally(() => progress.end());
  }
  const result = await run.result;
  if (command.json !== true && showsResult?.() !== false) await showResult(result, progress, io);
  return result;
}

/** The text on stdout, where it has not been shown yet: as it is for a file or a program, neutralised for a terminal. */
async function showResult(result: RunResult, progress: RunProgress, io: CommandIo): Promise<void> {
  if (result.text !== '' && progress.hasShown?.(result.text) !== true) {
    const text = io.stdout.isTTY ? visibleLines(result.text) : result.text;
    const whole = text.endsWith('\n') ? text : `${text}\n`;
    if (progress.print === undefined) await io.stdout.write(whole);
    else progress.print(whole);
  }
  if (!result.ok) progress.say(endSentence(result));
}

function endSentence({ reason, data }: RunResult): string {
  const { code, message, limit, used } = data as AgentEvent<'stream_end'>['data'] & object;
  if (reason === 'failed')
    return `the run failed${code === undefined ? '' : ` with ${code}`}${message === undefined ? '' : `: ${message}`}`;
  if (reason === 'aborted') return 'the run was aborted';
  if (reason === 'refusal') return 'the model refused';
  return `the run ended with ${reason}${limit === undefined ? '' : ` (limit ${limit}${used === undefined ? '' : `, used ${used}`})`}`;
}
