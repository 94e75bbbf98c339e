// The model of the demo where there is none: a function for each agent. It decides from what the tools returned, as the
// request shows it, and knows nothing else about the folder.
import type { ModelRequest } from 'troupe';
import { type ScriptEntry, type ScriptedModel, scriptedModel } from 'troupe/testing';
import { critic } from './critic.js';
import { inventory } from './inventory.js';
import { structure } from './structure.js';
import { todo } from './todo.js';
import { writer } from './writer.js';

type Answer = (request: ModelRequest) => ScriptEntry;

/** `delayMs` before each answer, so that a person can follow. Usage is estimated: four characters are one token. */
export function offlineModel({ delayMs = 0 } = {}): ScriptedModel {
  const play = (answer: Answer) => (request: ModelRequest) => {
    const entry = answer(request);
    const usage = { inputTokens: tokensOf(request), outputTokens: tokensOf([entry.text, entry.toolCalls]) };
    return { ...entry, usage, ...(delayMs > 0 && { delayMs }) };
  };
  return scriptedModel({
    byAgent: {
      inventory: play(inventory),
      structure: play(structure),
      todo: play(todo),
      writer: play(writer),
      critic: play(critic),
    },
  });
}

function tokensOf(said: ModelRequest | readonly unknown[]): number {
  const text = 'messages' in said ? [said.systemInstruction, said.messages] : said;
  return Math.ceil(JSON.stringify(text).length / 4);
}
