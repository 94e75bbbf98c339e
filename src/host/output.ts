import type { TurnEnd } from '../contracts/index.js';
import { validateJson } from '../kernel/schema.js';
import { publish } from './session-tree.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';

/** Times that an answer which does not fit goes back to the agent. */
export const MAX_OUTPUT_FAULTS = 2;

type Verdict = RunEnd | 'again';

/**
 * Makes the end of a run from what the agent said last. With an `outputSchema` the result must fit it: one that does
 * not goes back with the schema's errors, twice at most, then the run has failed (`OUTPUT_INVALID`).
 */
export function checkOutput(thread: Thread, end: TurnEnd): Verdict | Promise<Verdict> {
  const run = thread.run as RunRecord;
  const { outputSchema } = thread.agent.driver.descriptor;
  const given = end.data?.result !== undefined ? end.data.result : run.lastText;
  if (outputSchema === undefined) return { reason: 'completed', data: { ...end.data, result: given } };
  const value = typeof given === 'string' ? parseJson(given) : given;
  if (value === undefined) {
    const text = given === '' ? 'there was none' : 'it was no JSON';
    return again(thread, run, [`the answer must be JSON of the output schema, by complete_task or as text; ${text}`]);
  }
  const check = (errors: string[]): Verdict =>
    errors.length > 0 ? again(thread, run, errors) : { reason: 'completed', data: { ...end.data, result: value } };
  const errors = validateJson(outputSchema, value);
  return errors instanceof Promise ? errors.then(check) : check(errors);
}

function again(thread: Thread, run: RunRecord, errors: string[]): Verdict {
  const text = `The result does not fit: ${errors.join('; ')}`;
  if (run.outputFaults++ >= MAX_OUTPUT_FAULTS || run.graceUsed) {
    publish(thread, { type: 'error', code: 'OUTPUT_INVALID', message: text, fatal: false });
    return { reason: 'failed', data: { code: 'OUTPUT_INVALID', message: text } };
  }
  const messageId = thread.tree.host.stamp.nextId();
  publish(thread, { type: 'message', messageId, role: 'developer', content: [{ type: 'text', text }], source: 'host' });
  return 'again';
}

/** JSON, also inside one fenced block; undefined when it is none. */
function parseJson(text: string): unknown {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text);
  try {
    return JSON.parse(fenced?.[1] ?? text);
  } catch {
    return undefined;
  }
}
