import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { AgentEvent, SessionHandle } from '../contracts/index.js';
import { textOf } from '../kernel/content.js';
import { createRunModel } from '../kernel/run-model.js';
import type { FileStore } from '../stores/file.js';
import { withoutSecrets } from '../testing/secrets.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine, visibleLines } from './plain-text.js';
import { badUse } from './report-error.js';
import { createRunProgress } from './run-progress.js';
import { scriptOf } from './script-of-log.js';
import { plural } from './tree-figures.js';

export interface ReplayCommand {
  session: string;
  /** How many times as fast as it was; 0: at once. Default: 1 in a terminal, else 0. */
  speed?: string | undefined;
  json?: boolean | undefined;
  /** A file that is not there yet: what the models said is written into it, and nothing is played. */
  to?: string | undefined;
}

export interface ReplayParts {
  store: FileStore;
  /** Resolves after that time, or at once when the signal fires. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** No pause is longer, whatever lay between two events: a question may have waited for days. */
const longestPauseMs = 2_000;

/** Plays the log of a stored session as `run` shows a run; nothing runs. Ctrl-C ends it. */
export async function replayCommand(command: ReplayCommand, io: CommandIo, parts: ReplayParts): Promise<number> {
  const speed = speedOf(command.speed, io);
  const handle = await parts.store.load(command.session);
  const { gaps = [] } = handle;
  if (gaps.length > 0)
    void io.stderr.write(`troupe: ${plural(gaps.length, 'place')} of its log cannot be read and is left out\n`);
  if (command.to !== undefined) return writeScript(command.to, handle, io);
  const stop = new AbortController();
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => io.onSignal(name, () => stop.abort()));
  try {
    await play(handle, { speed, json: command.json === true, stop: stop.signal }, io, parts);
    return stop.signal.aborted ? exitCodes.aborted : exitCodes.completed;
  } finally {
    for (const takeOff of handlers) takeOff();
  }
}

async function play(
  handle: SessionHandle,
  { speed, json, stop }: { speed: number; json: boolean; stop: AbortSignal },
  io: CommandIo,
  { wait }: ReplayParts,
): Promise<void> {
  const { model: view, fold } = createRunModel();
  // The time that is shown is the log's own.
  const then = { ...io, now: () => Date.parse(view.lastAt ?? '') || io.now() };
  const progress = createRunProgress(view, then, { json });
  let before: number | undefined;
  try {
    for await (const event of handle.events) {
      const at = Date.parse(event.timestamp);
      const passed = before === undefined ? 0 : at - before;
      before = at;
      if (speed > 0 && passed > 0) await wait(Math.min(passed / speed, longestPauseMs), stop);
      if (stop.aborted) return;
      fold(event);
      const behind = progress.show(event);
      if (behind !== undefined) await behind;
      if (!json) await tell(event, progress, io);
    }
  } finally {
    progress.end();
  }
}

/** What a person said, and what a run came to: on stdout, as the result of a run. */
async function tell(event: AgentEvent, progress: { say(sentence: string): void }, io: CommandIo): Promise<void> {
  if (event.threadId !== undefined) return;
  if (event.type === 'message' && event.role === 'user') progress.say(`› ${textOf(event.content)}`);
  const result = event.type === 'stream_end' ? event.data?.result : undefined;
  if (result === undefined || result === '') return;
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  await io.stdout.write(`${(io.stdout.isTTY ? visibleLines(text) : text).replace(/\n$/, '')}\n`);
}

async function writeScript(file: string, handle: SessionHandle, io: CommandIo): Promise<number> {
  if (!file.endsWith('.json')) throw badUse(`--to writes a script as JSON: give a name that ends with .json`);
  const { byAgent, calls } = await scriptOf(handle.events);
  if (calls === 0) throw badUse(`session "${handle.id}" has no answer of a model that could be written`);
  const text = `${withoutSecrets(JSON.stringify({ byAgent }, undefined, 2))}\n`;
  await writeFile(resolve(io.cwd, file), text, { flag: 'wx', mode: 0o600 });
  const agents = Object.keys(byAgent).length;
  await io.stdout.write(
    `${plural(calls, 'model call')} of ${plural(agents, 'agent')} in ${visibleLine(file)}: --script ${visibleLine(file)} answers from it\n`,
  );
  return exitCodes.completed;
}

function speedOf(given: string | undefined, { stderr }: Pick<CommandIo, 'stderr'>): number {
  if (given === undefined) return stderr.isTTY ? 1 : 0;
  const speed = Number(given);
  if (given.trim() !== '' && Number.isFinite(speed) && speed >= 0) return speed;
  throw badUse(`--speed takes how many times as fast as it was, as 4, or 0 for at once, not "${given}"`);
}
