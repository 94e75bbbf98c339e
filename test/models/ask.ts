import type {
  ContentPart,
  ModelMessage,
  ModelRequest,
  ModelResponse,
  ToolDescriptor,
} from '../../src/contracts/index.js';
import type { ModelError } from '../../src/kernel/errors.js';

/** A request with one question in it, or with what is given. */
export const ask = (rest: Partial<ModelRequest> = {}): ModelRequest => ({ messages: [user('hi')], ...rest });

export const user = (...content: (string | ContentPart)[]): ModelMessage => ({
  role: 'user',
  content: content.map(part),
});

export const model = (...content: (string | ContentPart)[]): ModelMessage => ({
  role: 'model',
  content: content.map(part),
});

export const call = (id: string, name: string, args: unknown = {}, thoughtSignature?: string): ContentPart =>
  thoughtSignature === undefined
    ? { type: 'function_call', id, name, args }
    : { type: 'function_call', id, name, args, thoughtSignature };

export const result = (id: string, name: string, output: unknown): ContentPart => ({
  type: 'function_response',
  id,
  name,
  response: { output },
});

export const toolNamed = (name: string, properties: object = { q: { type: 'string' } }): ToolDescriptor => ({
  name,
  description: `runs ${name}`,
  parametersSchema: { type: 'object', properties },
});

/** The increments of a stream that ends well. */
export async function collect(stream: AsyncIterable<ModelResponse>): Promise<ModelResponse[]> {
  const all: ModelResponse[] = [];
  for await (const increment of stream) all.push(increment);
  return all;
}

/** What a stream gave before it failed, and how it failed; `error` is absent when it did not. */
export async function attempt(
  stream: AsyncIterable<ModelResponse>,
): Promise<{ increments: ModelResponse[]; error?: ModelError }> {
  const increments: ModelResponse[] = [];
  try {
    for await (const increment of stream) increments.push(increment);
    return { increments };
  } catch (error) {
    return { increments, error: error as ModelError };
  }
}

/** Text of all increments. */
export const textIn = (increments: readonly ModelResponse[]): string =>
  increments
    .flatMap(({ content }) => content)
    .map((each) => (each.type === 'text' ? each.text : ''))
    .join('');

export const callsIn = (increments: readonly ModelResponse[]) => increments.flatMap(({ toolCalls }) => toolCalls ?? []);

const part = (given: string | ContentPart): ContentPart =>
  typeof given === 'string' ? { type: 'text', text: given } : given;
