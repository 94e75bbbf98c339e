import type { InstructionContext } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { isThenable } from './child-input.js';
import type { Thread } from './thread.js';
import { hiddenTools } from './tool-policy.js';

const PLACEHOLDER = /\{(input|state)\.([A-Za-z_$][\w$.:-]*)\}/g;

/**
 * The system instruction of a thread: text with `{input.x}` and `{state.x}` filled in, or what the instruction
 * function gives. A placeholder without a value stays as it is. Throws, or rejects, with what the function throws, and
 * with `INSTRUCTION_FAILED` when it gives no text.
 */
export function instructionOf(thread: Thread, input: unknown): string | Promise<string> {
  const { instruction } = thread.agent.driver;
  if (instruction === undefined) return '';
  // A run keeps the instruction that it began with, also where it is taken up again.
  const { past } = thread;
  const state = past !== undefined && past.turns > 0 ? past.valuesAtStart : thread.state.values();
  if (typeof instruction === 'string') {
    return instruction.includes('{') ? fillIn(instruction, input, state) : instruction;
  }
  const context: InstructionContext = {
    sessionId: thread.tree.sessionId,
    threadId: thread.threadId,
    agentId: thread.agentId,
    input,
    state,
  };
  const given: unknown = instruction(context);
  return isThenable(given) ? Promise.resolve(given).then(toInstruction) : toInstruction(given);
}

/** The instruction of a thread with the names of its skills, where it may activate them. */
export function withSkills(thread: Thread): string {
  const { instruction = '' } = thread;
  const { skills } = thread.agent;
  if (skills === undefined || hiddenTools(thread).includes(skills.tool.name)) return instruction;
  return instruction === '' ? skills.catalogue : `${instruction}\n\n${skills.catalogue}`;
}

function toInstruction(given: unknown): string {
  if (typeof given === 'string') return given;
  const kind = given === null ? 'null' : typeof given;
  throw new TroupeError({
    code: 'INSTRUCTION_FAILED',
    message: `the instruction function gave ${kind}; it gives a text`,
  });
}

export function fillIn(text: string, input: unknown, state: Readonly<Record<string, unknown>>): string {
  return text.replace(PLACEHOLDER, (whole, source: string, path: string) => {
    const value = valueAt(source === 'input' ? input : state, path.split('.'));
    if (value === undefined) return whole;
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

function valueAt(from: unknown, path: readonly string[]): unknown {
  let value = from;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
