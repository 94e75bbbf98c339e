import type { ModelRequest } from 'troupe';

/** A tool call of this conversation with what it returned, as the model sees it. */
export interface Answered {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly failed: boolean;
}

/** The calls that were made so far, in order, each with its answer. */
export function answeredCalls({ messages }: ModelRequest): Answered[] {
  const answers = new Map<string, { text: string; failed: boolean }>();
  for (const part of messages.flatMap((message) => message.content)) {
    if (part.type !== 'function_response') continue;
    const { output, error } = part.response as { output?: unknown; error?: unknown };
    answers.set(part.id, { text: String(output ?? error ?? ''), failed: error !== undefined });
  }
  return messages
    .flatMap((message) => message.content)
    .flatMap((part) => {
      if (part.type !== 'function_call') return [];
      const answer = answers.get(part.id);
      return answer === undefined ? [] : [{ name: part.name, args: part.args as Answered['args'], ...answer }];
    });
}

/** The text that this conversation began with. */
export function firstWords({ messages }: ModelRequest): string {
  const [first] = messages;
  return (first?.content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The answer to a call with exactly these arguments, once there is one. */
export function answerTo(done: readonly Answered[], name: string, args: object): Answered | undefined {
  const wanted = JSON.stringify(args);
  return done.find((call) => call.name === name && JSON.stringify(call.args) === wanted);
}
