import { toParts } from '../kernel/content.js';
import { isDefaultInputSchema } from '../kernel/schema.js';
import { type RunInput, toRunInput } from './run-start.js';
import type { CompiledAgent, RunRecord, Thread } from './thread.js';

/** Data is shown as JSON, whatever it looks like: a list of objects with a `type` is no content, a `prompt` not all of it. */
export function dataInput(child: CompiledAgent, value: unknown): RunInput {
  const prompt = JSON.stringify(value);
  return { content: toParts(prompt), value: isDefaultInputSchema(child.descriptor.inputSchema) ? { prompt } : value };
}

/** What the parent itself was given, media included, to a child that takes text. */
export function sameInput(thread: Thread, child: CompiledAgent): RunInput {
  const { input, inbox } = thread.run as RunRecord;
  const [first] = inbox;
  if (first?.kind === 'message' && isDefaultInputSchema(child.descriptor.inputSchema)) {
    return { content: toParts(first.content), value: input };
  }
  return isText(input) ? toRunInput(child, input) : dataInput(child, input);
}

/** The composition's input, as `mapInput` sees it: text where its schema is the default one. */
export function ownInput(thread: Thread): unknown {
  return textOrData(thread.agent, (thread.run as RunRecord).input);
}

export function textOrData(agent: CompiledAgent, input: unknown): unknown {
  if (!isDefaultInputSchema(agent.descriptor.inputSchema)) return input;
  return isText(input) ? input.prompt : typeof input === 'string' ? input : JSON.stringify(input);
}

const isText = (input: unknown): input is { prompt: string } =>
  typeof input === 'object' &&
  input !== null &&
  typeof (input as { prompt?: unknown }).prompt === 'string' &&
  Object.keys(input).length === 1;
