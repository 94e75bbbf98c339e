import type { AgentDefinition, JsonSchema, TurnEnd } from '../contracts/index.js';
import { validateJson } from '../kernel/schema.js';
import { applyValidator } from './apply-validator.js';
import { lastTextOf } from './last-text.js';
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
  const given = end.data?.result !== undefined ? end.data.result : lastTextOf(run);
  const judge = (output: Output): Verdict =>
    output.faults.length > 0
      ? again(thread, run, output.faults)
      : { reason: 'completed', data: { ...end.data, result: output.value } };
  const output = readOutput(thread, given);
  return output instanceof Promise ? output.then(judge) : judge(output);
}

/** What a run that is out of its limits has: the value where it fits, else the text that was said. */
export function bestResult(thread: Thread, end: TurnEnd | undefined): unknown {
  const lastText = lastTextOf(thread.run as RunRecord);
  const given = end?.data?.result !== undefined ? end.data.result : lastText;
  const choose = ({ faults, value }: Output) => (faults.length > 0 || value === '' ? lastText || undefined : value);
  const output = readOutput(thread, given);
  return output instanceof Promise ? output.then(choose) : choose(output);
}

/** A result as the schema and then its own validator make it, or what is wrong with it. */
export interface Output {
  readonly faults: readonly string[];
  readonly value: unknown;
}

/** Text counts as the JSON that it is, and where that does not fit as itself. */
function readOutput(thread: Thread, given: unknown): Output | Promise<Output> {
  const { outputSchema } = thread.agent.driver.descriptor;
  if (outputSchema === undefined) return { faults: [], value: given };
  if (typeof given !== 'string') return readValue(thread, outputSchema, given);
  const parsed = parseJson(given);
  const read = (asJson: Output | undefined): Output | Promise<Output> => {
    if (asJson?.faults.length === 0) return asJson;
    const asText = readValue(thread, outputSchema, given);
    const choose = (text: Output): Output => (text.faults.length === 0 ? text : (asJson ?? noJson(given)));
    return asText instanceof Promise ? asText.then(choose) : choose(asText);
  };
  const asJson = parsed === undefined ? undefined : readValue(thread, outputSchema, parsed);
  return asJson instanceof Promise ? asJson.then(read) : read(asJson);
}

const noJson = (given: string): Output => ({
  faults: [
    `the answer must be JSON of the output schema, by complete_task or as text; ${given === '' ? 'there was none' : 'it was no JSON'}`,
  ],
  value: undefined,
});

/** A value against the schema, then through the schema's own validator where there is one. */
export function readValue(thread: Thread, outputSchema: JsonSchema, value: unknown): Output | Promise<Output> {
  const { outputValidator } = thread.agent.driver;
  const faults = validateJson(outputSchema, value);
  if (!(faults instanceof Promise) && (outputValidator === undefined || faults.length > 0)) return { faults, value };
  return applyBoth(faults, outputValidator, value);
}

async function applyBoth(
  checking: string[] | Promise<string[]>,
  validator: AgentDefinition['outputValidator'],
  value: unknown,
): Promise<Output> {
  const faults = await checking;
  return faults.length > 0 || validator === undefined ? { faults, value } : applyValidator(validator, value);
}

function again(thread: Thread, run: RunRecord, errors: readonly string[]): Verdict {
  const text = `The result does not fit: ${errors.join('; ')}`;
  if (run.outputFaults++ >= MAX_OUTPUT_FAULTS) {
    publish(thread, { type: 'error', code: 'OUTPUT_INVALID', message: text, fatal: false });
    return { reason: 'failed', data: { code: 'OUTPUT_INVALID', message: text } };
  }
  const messageId = thread.tree.host.stamp.nextId();
  publish(thread, {
    type: 'message',
    messageId,
    role: 'developer',
    content: [{ type: 'text', text }],
    source: 'host',
    _meta: { outputFault: run.outputFaults },
  });
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
