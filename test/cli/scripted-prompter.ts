import type { Prompter } from '../../src/cli/question-form.js';

/** An answer: the label of a choice, `yes`, `no`, `default`, `text` and what is typed, or what is thrown. */
type Answer = readonly [string | Error, string?];

export interface ScriptedPrompter extends Prompter {
  readonly said: string[];
  readonly asked: string[];
  /** For every text: whether it was typed unseen. */
  readonly secrets: boolean[];
}

/** Answers in order; a text that is not taken, or a choice that is not offered, is an error. */
export function scriptedPrompter(...answers: readonly Answer[]): ScriptedPrompter {
  const left = [...answers];
  const said: string[] = [];
  const asked: string[] = [];
  const secrets: boolean[] = [];
  const next = (message: string): [string, string] => {
    asked.push(message);
    const [what, typed = ''] = left.shift() ?? [new Error(`nobody answers "${message}"`)];
    if (what instanceof Error) throw what;
    return [what, typed];
  };
  return {
    said,
    asked,
    secrets,
    say: (lines) => void said.push(...lines),
    async choose({ message, choices, initial }) {
      const [label] = next(message);
      const choice = choices.find((one) => (label === 'default' ? one.value === initial : one.label === label));
      if (choice === undefined)
        throw new Error(`"${label}" is not offered: ${choices.map((one) => one.label).join(', ')}`);
      return choice.value;
    },
    async chooseMany({ message, choices, initial }) {
      const [labels] = next(message);
      return labels === 'default'
        ? [...initial]
        : choices.filter((one) => labels.split(',').includes(one.label)).map((one) => one.value);
    },
    async edit({ text }) {
      const [word, typed] = next(`edit ${text}`);
      return word === 'default' ? text : typed;
    },
    async confirm({ message, initial }) {
      const [word] = next(message);
      return word === 'default' ? initial : word === 'yes';
    },
    async text({ message, initial, secret, check }) {
      const [word, typed] = next(message);
      secrets.push(secret);
      const text = word === 'default' ? (initial ?? '') : typed;
      const fault = check(text);
      if (fault !== undefined) throw new Error(fault);
      return text;
    },
  };
}
