import type { AgentDescriptor } from '../contracts/index.js';
import { type CommandIo, readAll } from './command-io.js';
import { badUse } from './report-error.js';

/** The prompt: the argument; with `-`, or without one where stdin is no terminal, all of stdin. */
export async function readPrompt(argument: string | undefined, io: Pick<CommandIo, 'stdin'>): Promise<string> {
  const fromStdin = argument === '-' || argument === undefined;
  if (argument === undefined && io.stdin.isTTY === true)
    throw badUse('no prompt: give it after the file, or pipe it in ("-" reads it from stdin)');
  const prompt = fromStdin ? (await readAll(io.stdin)).replace(/\r?\n$/, '') : argument;
  if (prompt.trim() === '')
    throw badUse(`the prompt is empty: give it after the file${fromStdin ? ', or pipe it in' : ''}`);
  return prompt;
}

/** Data where the agent takes more than a prompt and the text is a JSON object; else the text. */
export function inputOf(prompt: string, descriptor: Pick<AgentDescriptor, 'inputSchema'>): string | object {
  const properties = Object.keys((descriptor.inputSchema.properties ?? {}) as object);
  if (properties.length === 1 && properties[0] === 'prompt') return prompt;
  try {
    const data: unknown = JSON.parse(prompt);
    return typeof data === 'object' && data !== null && !Array.isArray(data) ? data : prompt;
  } catch {
    return prompt;
  }
}
