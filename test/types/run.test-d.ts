import { z } from 'zod';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { hierarchical } from '../../src/define/hierarchical.js';
import { loop } from '../../src/define/loop.js';
import { parallel } from '../../src/define/parallel.js';
import { sequential } from '../../src/define/sequential.js';
import { transfer } from '../../src/define/transfer.js';
import type { Host, Run } from '../../src/host/types.js';
import type { Equal, Expect } from './equal.js';

declare const host: Host;
declare const loaded: AgentDefinition;

const text = agent({ name: 'text' });
const typed = agent({
  name: 'typed',
  inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
  outputSchema: z.object({ ok: z.boolean() }),
});
const team = sequential({
  name: 'team',
  children: [text, loop({ name: 'again', children: [typed], maxIterations: 2, until: ({ last }) => last.ok })],
});
const both = parallel({ name: 'both', children: [text, typed] });
const desk = transfer({ name: 'desk', members: [text, typed], start: 'text' });
const lead = hierarchical({ name: 'lead', agent: text, children: [typed] });

export const runs = {
  text: host.run(text, 'hello'),
  prompt: host.run(text, { prompt: 'hello' }),
  parts: host.run(text, [{ type: 'text', text: 'hello' }]),
  data: host.run(typed, { city: 'Oslo' }, { permissionMode: 'plan' }),
  told: host.run(typed, 'the weather in Oslo'),
  team: host.run(team, 'hello'),
  both: host.run(both, 'hello'),
  desk: host.run(desk, 'hello'),
  lead: host.run(lead, 'hello'),
  loaded: host.run(loaded, { whatever: 1 }),
};

export const readResult = async (): Promise<boolean> => {
  const { ok, result, cost } = await runs.both.result;
  // @ts-expect-error a price may be unknown
  cost.usd.toFixed();
  // @ts-expect-error a child may have failed
  result.typed.ok;
  return ok && result.typed?.ok === true;
};

export type RunCases = [
  Expect<Equal<(typeof runs)['text'], Run<string>>>,
  Expect<Equal<(typeof runs)['data'], Run<{ ok: boolean }>>>,
  Expect<Equal<(typeof runs)['team'], Run<{ ok: boolean }>>>,
  Expect<Equal<(typeof runs)['both'], Run<{ text?: string; typed?: { ok: boolean } }>>>,
  Expect<Equal<(typeof runs)['desk'], Run<string | { ok: boolean }>>>,
  Expect<Equal<(typeof runs)['lead'], Run<string>>>,
  Expect<Equal<(typeof runs)['loaded'], Run<unknown>>>,
];

// Every definition stands where any definition is taken.
export const agents: AgentDefinition[] = [text, typed, team, both, desk, lead];
host.session(team);
host.describe(lead);

// @ts-expect-error the schema says a text
host.run(typed, { city: 3 });
// @ts-expect-error the schema asks for a city
host.run(typed, { days: 3 });
// @ts-expect-error neither text nor { prompt }
host.run(text, { promt: 'hello' });
// @ts-expect-error a number is no input
host.run(text, 3);
// @ts-expect-error no such option
host.run(text, 'hello', { permisionMode: 'plan' });
