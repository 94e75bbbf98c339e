import type { ToolResultData } from '../../contracts/index.js';
import type { CommandEnd } from './run-command.js';
import type { ShellBounds } from './shell-options.js';
import { count } from './shown-text.js';

/**
 * What the model is given: the output, then what went to stderr, then how it ended where that is worth a word. A command
 * that did not exit with 0 is an error result.
 */
export function presentCommand(
  end: CommandEnd,
  { bounds, timeoutMs }: { bounds: Pick<ShellBounds, 'maxOutputChars'>; timeoutMs: number },
): ToolResultData {
  const { stdout, stderr, exitCode, signal, stopped, leftBehind, alive } = end;
  const [forStdout, forStderr] = shares(bounds.maxOutputChars, stdout.length(), stderr.length());
  const parts: string[] = [];
  if (stdout.length() > 0) parts.push(stdout.shown(forStdout));
  if (stderr.length() > 0) parts.push(`[stderr]\n${stderr.shown(forStderr)}`);
  const notes = notesOf(end, timeoutMs);
  if (notes.length > 0) parts.push(`[${notes.join(' ')}]`);
  if (parts.length === 0) parts.push('[No output.]');
  const contentLength = stdout.length() + stderr.length();
  const isCut = contentLength > bounds.maxOutputChars;
  return {
    llmContent: parts.map((text) => ({ type: 'text', text })),
    ...errorOf(end),
    ...(isCut && { contentLength }),
    data: {
      exitCode,
      signal,
      stdoutLength: stdout.length(),
      stderrLength: stderr.length(),
      truncated: isCut,
      leftBehind,
      ...(alive > 0 && { alive }),
      ...(stopped !== undefined && { stopped }),
    },
  };
}

/** What each output may take of the room: half, and what the other one does not need. */
function shares(room: number, stdout: number, stderr: number): [number, number] {
  const half = Math.floor(room / 2);
  return [Math.max(half, room - stderr), Math.max(half, room - stdout)];
}

function errorOf({ exitCode, stopped }: CommandEnd): Pick<ToolResultData, 'isError' | 'errorType'> {
  if (stopped === 'cancelled') return { isError: true, errorType: 'cancelled' };
  if (stopped === 'timeout') return { isError: true, errorType: 'tool_timeout' };
  if (stopped === 'output' || exitCode !== 0) return { isError: true, errorType: 'execution_failed' };
  return {};
}

function notesOf({ exitCode, signal, stopped, leftBehind, alive }: CommandEnd, timeoutMs: number): string[] {
  const notes: string[] = [];
  if (stopped === 'timeout') notes.push(`Ended, as it had not ended by itself within ${timeoutMs} ms.`);
  else if (stopped === 'output') notes.push('Ended, as it went on and on printing.');
  else if (stopped === 'cancelled') notes.push('The call was cancelled.');
  else if (signal !== null) notes.push(`Ended by ${signal}.`);
  else if (exitCode !== 0) notes.push(`Exit code ${exitCode}.`);
  if (leftBehind > 0) notes.push(`Ended with it: ${count(leftBehind, 'process', 'processes')} in the background.`);
  if (alive > 0) notes.push(`Still running, as it could not be ended: ${count(alive, 'process', 'processes')}.`);
  return notes;
}
