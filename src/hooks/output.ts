import type { HookResult } from '../contracts/index.js';
import { GUARD_POINTS } from '../kernel/hook-points.js';
import { cutText } from '../kernel/text.js';
import { isRecord, modificationFault } from './forms.js';
import type { HookProcessEnd } from './process.js';

const LONGEST_TEXT = 4_000;
const DECISIONS: Readonly<Record<string, HookResult['action']>> = {
  block: 'block',
  deny: 'block',
  ask: 'ask',
  approve: 'proceed',
  allow: 'proceed',
};
const FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  continue: (value) => typeof value === 'boolean',
  stopReason: (value) => typeof value === 'string',
  suppressOutput: (value) => typeof value === 'boolean',
  systemMessage: (value) => typeof value === 'string',
  decision: (value) => typeof value === 'string' && Object.hasOwn(DECISIONS, value),
  reason: (value) => typeof value === 'string',
  hookSpecificOutput: isRecord,
};

/** What the end of a command hook says. Throws where it said nothing: it was ended by a signal. */
export function resultOfProcess(point: string, name: string, end: HookProcessEnd): HookResult {
  const { code, stdout, stderr, isTooLong } = end;
  if (isTooLong) return unknownOutput(point, name, stdout, 'it is longer than is taken');
  if (code === null) throw new Error('it was ended by a signal');
  const complaint = cutText(stderr.trim(), LONGEST_TEXT);
  if (code >= 2) return { action: 'block', reason: complaint || `${name} ended with exit code ${code}` };
  if (code === 1) return { action: 'proceed', ...noticeOf('HOOK_FAILED', `${name}: ${complaint || 'exit code 1'}`) };
  if (stdout.trim() === '') return { action: 'proceed' };
  const read = readOutput(point, stdout);
  return typeof read === 'string' ? unknownOutput(point, name, stdout, read) : read;
}

const noticeOf = (code: string, text: string) => ({ _meta: { notices: [{ code, text }] } });

/** A guard that cannot be understood is not a guard that agreed; what others say is shown. */
function unknownOutput(point: string, name: string, stdout: string, why: string): HookResult {
  const text = `what ${name} says is not understood: ${why}`;
  if (GUARD_POINTS.has(point)) return { action: 'block', reason: text };
  return {
    action: 'proceed',
    systemMessage: cutText(stdout.trim(), LONGEST_TEXT),
    ...noticeOf('HOOK_OUTPUT_UNKNOWN', text),
  };
}

/** The answer that is written, or why it is none. */
function readOutput(point: string, stdout: string): HookResult | string {
  let said: unknown;
  try {
    said = JSON.parse(stdout);
  } catch {
    return 'it is no JSON';
  }
  if (!isRecord(said)) return 'it is no object';
  for (const [key, value] of Object.entries(said)) {
    const fits = Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined;
    if (fits === undefined) return `it has a key "${key}"; keys are ${Object.keys(FIELDS).join(', ')}`;
    if (!fits(value)) return `its ${key} is ${cutText(JSON.stringify(value), 100)}`;
  }
  const { hookEventName, ...modifications } = (said.hookSpecificOutput ?? {}) as Record<string, unknown>;
  const fault = modificationFault(point, modifications);
  if (fault !== undefined) return `it ${fault}`;
  const { decision, reason, stopReason, suppressOutput, systemMessage } = said as Record<string, never>;
  const result: HookResult = { action: decision === undefined ? 'proceed' : (DECISIONS[decision] as string) };
  if (reason !== undefined) result.reason = reason;
  if (systemMessage !== undefined) result.systemMessage = systemMessage;
  if (suppressOutput !== undefined) result.suppressOutput = suppressOutput;
  if (said.continue === false) result.continue = false;
  if (stopReason !== undefined) result.stopReason = stopReason;
  if (Object.keys(modifications).length > 0) result.modifications = modifications;
  return result;
}
