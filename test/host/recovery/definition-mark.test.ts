import { expect, test } from 'vitest';
import type { AgentDefinition } from '../../../src/contracts/index.js';
import { changesSince, markOf } from '../../../src/host/recovery/definition-mark.js';
import type { CompiledAgent } from '../../../src/host/thread.js';
import { agent, parallel } from '../../../src/index.js';

const compiled = (definition: unknown) => ({ definition: definition as AgentDefinition }) as CompiledAgent;

interface Different {
  instruction?: string;
  outputKey?: string;
  name?: string;
  outputSchema?: object;
  tools?: readonly string[];
}

/** A team of 300, one of which may be another than the rest. */
const team = (last: Different = {}, concurrency = 4) =>
  compiled(
    parallel({
      name: 'team',
      concurrency,
      children: Array.from({ length: 300 }, (_, at) =>
        agent({ name: `agent_${at}`, description: 'Answers.', ...(at === 299 && last) } as never),
      ),
    } as never),
  );

test('a large team has one hash and no list of parts, and the same team the same one', () => {
  const mark = markOf(team());
  expect(mark).toEqual({ hash: expect.stringMatching(/^[0-9a-f]{16}$/) });
  expect(markOf(team())).toEqual(mark);
  expect(changesSince(mark, team())).toEqual([]);
});

test('whatever counts of one agent of a large team makes it another team', () => {
  const all: Different[] = [
    {},
    { instruction: 'Be brief.' },
    { outputKey: 'x' },
    { name: 'other' },
    { outputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    { tools: ['search'] },
  ];
  const hashes = [...all.map((last) => markOf(team(last)).hash), markOf(team({}, 5)).hash];
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(changesSince(markOf(team()), team({ outputKey: 'x' }))).toEqual(['the definition is another one']);
});

test('a small team names its parts', () => {
  const small = compiled(agent({ name: 'one', description: 'Answers.', instruction: 'Be brief.' }));
  expect(Object.keys(markOf(small).parts ?? {})).toEqual(['one', 'one inputSchema', 'one instruction']);
});
