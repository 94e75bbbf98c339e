import { type } from 'arktype';
import { z } from 'zod';
import type { AgentDefinition, StandardSchema, ToolContext, ToolDefinition } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { tool } from '../../src/define/tool.js';
import type { Equal, Expect, IsAny, Not } from './equal.js';

const byZod = tool({
  name: 'by_zod',
  description: 'Takes what zod gives out: defaults filled in.',
  parameters: z.object({ query: z.string(), limit: z.number().default(10) }),
  confirm: ({ query, limit }) => query.length > limit && 'a long one',
  describe: ({ query }) => ({ title: query.toUpperCase() }),
  async execute({ query, limit }, { signal, state, elicit, progress, requestId }) {
    signal.throwIfAborted();
    state.set('seen', query);
    progress(0.5);
    const { action } = await elicit({ message: requestId, requestedSchema: z.object({ ok: z.boolean() }) });
    return { found: [query], limit, action };
  },
});

const byArk = tool({
  name: 'by_ark',
  description: 'Arktype.',
  parameters: type({ path: 'string', 'line?': 'number' }),
  execute: ({ path, line }) => `${path}:${line ?? 1}`,
});

const valibotLike = z.object({ n: z.number() }) as unknown as StandardSchema<{ n: string }, { n: number }>;
const byPair = tool({
  name: 'by_pair',
  description: 'A validator with its JSON Schema beside it.',
  parameters: { schema: valibotLike, jsonSchema: { type: 'object', properties: { n: { type: 'string' } } } },
  execute: ({ n }) => n * 2,
});

const byJson = tool({
  name: 'by_json',
  description: 'Plain JSON Schema says nothing to the compiler.',
  parameters: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
  execute: (args, context) => [args.a, context.agentId],
});

const generator = tool({
  name: 'generator',
  description: 'Progress, then a result.',
  parameters: z.object({}),
  async *execute() {
    yield 'half way';
    yield 0.5;
    return { done: true };
  },
});

const bare = tool({ name: 'bare', description: 'No arguments.', execute: () => undefined });

export type ToolCases = [
  Expect<
    Equal<
      typeof byZod,
      ToolDefinition<'by_zod', { query: string; limit: number }, { found: string[]; limit: number; action: string }>
    >
  >,
  Expect<Equal<typeof byArk, ToolDefinition<'by_ark', { path: string; line?: number }, string>>>,
  Expect<Equal<typeof byPair, ToolDefinition<'by_pair', { n: number }, number>>>,
  Expect<Equal<typeof byJson, ToolDefinition<'by_json', Record<string, unknown>, unknown[]>>>,
  Expect<Equal<typeof generator, ToolDefinition<'generator', Record<string, never>, { done: boolean }>>>,
  Expect<Equal<typeof bare, ToolDefinition<'bare', Record<string, unknown>, undefined>>>,
  Expect<Not<IsAny<Parameters<(typeof byZod)['execute']>[1]>>>,
  Expect<Equal<ReturnType<ToolContext['state']['get']>, unknown>>,
];

// Tools of every kind stand together, and beside names.
export const holder: AgentDefinition = agent({
  name: 'holder',
  tools: [byZod, byArk, byPair, byJson, generator, bare, 'read_file'],
});

tool({
  name: 'wrong_field',
  description: '',
  parameters: z.object({ query: z.string() }),
  // @ts-expect-error the arguments have no `url`
  execute: ({ url }) => url,
});

tool({
  name: 'wrong_confirm',
  description: '',
  parameters: z.object({ query: z.string() }),
  // @ts-expect-error a reason is a text
  confirm: () => 3,
  execute: () => null,
});

// @ts-expect-error what would it do?
tool({ name: 'no_code', description: '' });
// @ts-expect-error a typing error in a key
tool({ name: 'typo', descripton: '', execute: () => 1 });
// @ts-expect-error a schema is an object
tool({ name: 'no_schema', description: '', parameters: 'string', execute: () => 1 });
// @ts-expect-error neither a tool nor a name
agent({ name: 'odd_tools', tools: [42] });
