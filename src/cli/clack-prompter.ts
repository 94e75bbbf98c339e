import type { Readable, Writable } from 'node:stream';
import type { InputStream } from './command-io.js';
import { editText } from './editor.js';
import { FormStopped, type Prompter } from './question-form.js';

type Clack = typeof import('@clack/prompts');

interface PromptStreams {
  input: Readable;
  output: Writable;
  signal: AbortSignal;
}

const ctrlC = 3;
/** Long enough for the terminal to hand over what it holds, too short to be noticed. */
const typeAheadMs = 40;

/** Forms in a terminal. `signal` withdraws the form that is shown. */
export async function createClackPrompter(options: {
  input: InputStream;
  output: Writable;
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
}): Promise<Prompter> {
  const clack = await import('@clack/prompts');
  const { input, output, env, signal } = options;
  await discardTypeAhead(input);

  const ask = async <Value>(show: (streams: PromptStreams) => Promise<Value | symbol>): Promise<Value> => {
    if (signal.aborted) throw new FormStopped('withdrawn');
    // A signal of its own: the prompt keeps listening to its signal after it has ended.
    const open = new AbortController();
    const withdraw = () => open.abort();
    let interrupted = false;
    const watch = (chunk: Buffer | string) => {
      interrupted ||= typeof chunk === 'string' ? chunk.includes('\u0003') : chunk.includes(ctrlC);
    };
    signal.addEventListener('abort', withdraw, { once: true });
    input.on('data', watch);
    try {
      const value = await show({ input: input as Readable, output, signal: open.signal });
      if (!clack.isCancel(value)) return value as Value;
      throw new FormStopped(signal.aborted ? 'withdrawn' : interrupted ? 'interrupted' : 'cancelled');
    } finally {
      signal.removeEventListener('abort', withdraw);
      input.off('data', watch);
      input.pause();
    }
  };

  return {
    say(lines) {
      output.write(`\n${lines.join('\n')}\n`);
    },
    // Indices stand for the values: what an answer may be is any JSON.
    async choose({ message, choices, initial }) {
      const at = choices.findIndex((choice) => sameJson(choice.value, initial));
      const picked = await ask<number>((streams) =>
        clack.select({ ...streams, message, options: optionsOf(choices), initialValue: Math.max(0, at) }),
      );
      return pick(choices, picked);
    },
    async chooseMany({ message, choices, initial, required }) {
      const at = choices.flatMap((choice, index) =>
        initial.some((value) => sameJson(value, choice.value)) ? [index] : [],
      );
      const picked = await ask<number[]>((streams) =>
        clack.multiselect({ ...streams, message, options: optionsOf(choices), initialValues: at, required }),
      );
      return picked.map((index) => pick(choices, index));
    },
    edit: (text) => editText(text, { env, signal }),
    confirm: ({ message, initial }) =>
      ask<boolean>((streams) => clack.confirm({ ...streams, message, initialValue: initial })),
    text: ({ message, initial, secret, check }) =>
      ask<string>((streams) => askText(clack, streams, { message, initial, secret, check })),
  };
}

async function askText(
  clack: Clack,
  streams: PromptStreams,
  question: Parameters<Prompter['text']>[0],
): Promise<string | symbol> {
  const { message, initial, secret, check } = question;
  const validate = (text: string | undefined) => check(text ?? '');
  if (secret) return clack.password({ ...streams, message, validate });
  return clack.text({ ...streams, message, validate, ...(initial === undefined ? {} : { initialValue: initial }) });
}

/** Keys pressed before a question was shown do not answer it. */
async function discardTypeAhead(input: InputStream): Promise<void> {
  if (input.isTTY !== true || !('setRawMode' in input)) return;
  const terminal = input as unknown as { setRawMode(raw: boolean): void };
  const ignore = () => {};
  terminal.setRawMode(true);
  input.on('data', ignore);
  input.resume();
  await new Promise((resolve) => setTimeout(resolve, typeAheadMs));
  input.off('data', ignore);
  input.pause();
  terminal.setRawMode(false);
}

function optionsOf(
  choices: readonly { label: string; hint?: string }[],
): { value: number; label: string; hint?: string }[] {
  return choices.map(({ label, hint }, value) => ({ value, label, ...(hint === undefined ? {} : { hint }) }));
}

function pick<Value>(choices: readonly { value: Value }[], index: number): Value {
  const choice = choices[index];
  if (choice === undefined) throw new FormStopped('cancelled');
  return choice.value;
}

function sameJson(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
