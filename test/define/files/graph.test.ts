import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadAgentFile } from '../../../src/define/files/load.js';
import { createHost } from '../../../src/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { agentFile, agentFolder, faults } from './agent-folder.js';

const team = `name: review
pattern: graph
nodes: [./writer.agent.md, ./critic.agent.md, ./sender.agent.md]
start: writer
end: sender
max_steps: 9
state: { tries: { initial: 0, reducer: sum } }
edges:
  - { from: writer, to: critic }
  - { from: critic, to: sender, guard: { last: ok, equals: true }, label: fine }
  - { from: critic, to: writer, guard: otherwise }
`;
const critic = `---
name: critic
description: Judges.
output_schema: { type: object, properties: { ok: { type: boolean } }, required: [ok] }
---
Judge.
`;

test('a graph is written as a file: nodes, edges with conditions as guards, and a bound', async () => {
  const folder = await agentFolder({
    'review.team.yaml': team,
    'writer.agent.md': agentFile('writer'),
    'critic.agent.md': critic,
    'sender.agent.md': agentFile('sender'),
  });
  const { definition } = await loadAgentFile(join(folder, 'review.team.yaml'));
  expect(definition.descriptor.composition).toMatchObject({
    pattern: 'graph',
    children: ['writer', 'critic', 'sender'],
    edges: [
      { from: 'writer', to: 'critic' },
      { from: 'critic', to: 'sender', guard: 'custom', label: 'fine' },
      { from: 'critic', to: 'writer', guard: 'otherwise' },
    ],
    maxSteps: 9,
  });
  const byAgent = {
    writer: [{ text: 'one' }, { text: 'two' }],
    critic: [{ text: '{"ok":false}' }, { text: '{"ok":true}' }],
    sender: [{ text: 'sent' }],
  };
  const host = createHost({ models: { scripted: scriptedModel({ byAgent }) } });
  expect((await host.run(definition, 'go').result).text).toBe('sent');
  await host.close();
});

test('what is wrong in it is told at its place, all at once', async () => {
  const wrong = `name: review
pattern: graph
nodes:
  - ./writer.agent.md
start: writr
edges:
  - { from: writer, to: critic, guard: sometimes }
  - { from: writer, gard: otherwise }
  - 7
joins: { editor: some }
until: { last: ok, equals: true }
`;
  expect(await faults({ 'review.yaml': wrong, 'writer.agent.md': agentFile('writer') })).toEqual([
    'review.yaml:1:end: is missing: the node whose output is the output, or a list of them',
    'review.yaml:5:start: "writr" is none of the nodes (did you mean "writer"?)',
    'review.yaml:7:edges[0].guard: must be one of otherwise, not "sometimes"',
    'review.yaml:7:edges[0].to: "critic" is none of the nodes (did you mean "writer"?)',
    'review.yaml:8:edges[1].gard: is unknown (did you mean "guard"?)',
    'review.yaml:8:edges[1].to: is missing: the name of a node',
    'review.yaml:9:edges[2]: must be { from, to, guard? }',
    'review.yaml:10:joins.editor: must be one of all, any, not "some"',
    'review.yaml:10:joins.editor: "editor" is none of the nodes (did you mean "writer"?)',
    'review.yaml:11:until: belongs to loop, not to graph',
  ]);
});

test('a state key that a guard asks for must be declared; an unbounded cycle is told at the file', async () => {
  const round = (more: string) => `name: r
pattern: graph
nodes: [./a.agent.md, ./b.agent.md]
start: a
end: b
${more}edges:
  - { from: a, to: b }
  - { from: b, to: a, guard: { state: done, equals: true } }
`;
  const files = { 'a.agent.md': agentFile('a'), 'b.agent.md': agentFile('b') };
  expect(await faults({ 'r.yaml': round('max_steps: 4\n'), ...files })).toEqual([
    'r.yaml:9:edges[1].guard.state: no state key "done" is declared, by state or an output_key; declared: none',
  ]);
  expect(await faults({ 'r.yaml': round('state: { done: { initial: false } }\n'), ...files })).toEqual([
    'r.yaml:1:max_steps: is required, a whole number from 1: the graph has a cycle (a → b → a)',
  ]);
});
