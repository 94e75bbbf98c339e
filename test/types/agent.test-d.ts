import { type } from 'arktype';
import { z } from 'zod';
import type { AgentDefinition, DefaultAgentInput } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import type { Equal, Expect } from './equal.js';

const plain = agent({ name: 'plain', instruction: ({ state, agentId }) => `${agentId}: ${String(state.topic)}` });
const data = agent({
  name: 'data',
  description: 'Takes and gives data.',
  model: 'scripted',
  inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
  outputSchema: z.object({ facts: z.array(z.string()), when: z.coerce.date() }),
  outputKey: 'facts',
  constraints: { maxTurns: 8, graceTurn: true },
});
const ark = agent({ name: 'ark', outputSchema: type({ ok: 'boolean' }) });
const json = agent({ name: 'json', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } });
const text = agent({ name: 'text', outputKey: 'draft' });

type Types<D extends AgentDefinition> = NonNullable<D['~types']>;

export type AgentCases = [
  Expect<Equal<(typeof plain)['name'], 'plain'>>,
  Expect<Equal<Types<typeof plain>['input'], string | DefaultAgentInput>>,
  Expect<Equal<Types<typeof plain>['output'], string>>,
  // The input as a caller writes it, the output as it comes out of the schema.
  Expect<Equal<Types<typeof data>['input'], { city: string; days?: number | undefined }>>,
  Expect<Equal<Types<typeof data>['output'], { facts: string[]; when: Date }>>,
  Expect<Equal<Types<typeof data>['state'], { facts?: { facts: string[]; when: Date } }>>,
  Expect<Equal<Types<typeof ark>['output'], { ok: boolean }>>,
  Expect<Equal<Types<typeof json>['input'], object>>,
  Expect<Equal<Types<typeof json>['output'], unknown>>,
  Expect<Equal<Types<typeof text>['state'], { draft?: string }>>,
];

// @ts-expect-error a typing error in a key
agent({ name: 'a', instructions: 'x' });
// @ts-expect-error a limit that does not exist
agent({ name: 'b', constraints: { maxTurn: 3 } });
// @ts-expect-error a model has generate and generateStream
agent({ name: 'c', model: { generate: async () => ({ content: [] }) } });
// @ts-expect-error an instruction is a text
agent({ name: 'd', instruction: () => 3 });
// @ts-expect-error every agent has a name
agent({ description: 'x' });
