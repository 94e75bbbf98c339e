import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type AnyStateNode, createMachine, fromCallback, initialTransition, setup, transition } from 'xstate';
import { loopMachine } from '../../compositions/loop.machine.js';
import { sessionMachine } from '../../machines/session.machine.js';
import { toDot } from '../../src/cli/drawing-dot.js';
import { toMermaid } from '../../src/cli/drawing-mermaid.js';
import { type GraphCommand, graphCommand } from '../../src/cli/graph.js';
import { machinesToMermaid } from '../../src/cli/machine-mermaid.js';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { graph as defineGraph } from '../../src/define/graph.js';
import { drawMachine } from '../../src/drawing/machine-picture.js';
import { boxId, type Drawing } from '../../src/drawing/picture.js';
import { eventList, initialize } from './event-list.js';
import { fakePipe } from './fake-io.js';
import { sampleTeam } from './sample-team.js';

async function graph(command: GraphCommand, definition: AgentDefinition = sampleTeam): Promise<string> {
  const stdout = fakePipe();
  expect(await graphCommand(definition, command, { stdout })).toBe(0);
  return stdout.text;
}

test.each([
  ['team.mmd', {}],
  ['team.dot', { format: 'dot' }],
  ['team.xstate', { format: 'xstate' }],
])('%s is drawn as it is on record, every time', async (file, command) => {
  const text = await graph(command);
  await expect(text).toMatchFileSnapshot(`golden/${file}`);
  expect(await graph(command)).toBe(text);
});

test('names, models and labels cannot break out of a drawing', () => {
  const hostile = `a"]; end\n--> x["<script>#quot;\\n\u202e\`;%%{init}`;
  const drawing: Drawing = {
    title: hostile,
    boxes: [
      { id: boxId(hostile), ref: hostile, label: [hostile], boxes: [{ id: 'inner', ref: hostile, label: [hostile] }] },
    ],
    arrows: [{ from: 'inner', to: boxId(hostile), label: [hostile] }],
  };
  const mermaid = toMermaid(drawing);
  expect(mermaid.trimEnd().split('\n')).toHaveLength(5);
  const labels = [...mermaid.matchAll(/"([^"]*)"/g)].map(([, label]) => label);
  expect(labels).toHaveLength(3);
  for (const label of labels) expect(label).toMatch(/^[^<>\\`%&\p{Cc}\p{Cf}]*$/u);
  // Every quote inside a string of DOT is escaped, so that strings and the rest alternate.
  const dot = toDot(drawing);
  expect(dot.replace(/\\[\s\S]/g, '').split('"').length % 2).toBe(1);
  expect(dot).toMatch(/^[^\u202e]*$/u);
});

test('an agent by itself can be drawn too', async () => {
  const solo = agent({ name: 'solo', description: 'Alone.' }) as unknown as AgentDefinition;
  expect(await graph({}, solo)).toBe('flowchart TB\n  t_solo["solo"]\n');
  expect(JSON.parse(await graph({ format: 'xstate' }, solo))).toMatchObject({ id: 'solo', initial: 'running' });
});

test('the statechart of a team is a machine that ends when its agents have', async () => {
  let iterations = 1;
  const names = ['researcher', 'skeptic', 'writer', 'critic', 'lead', 'helper', 'end', 'triage', 'billing'];
  const machine = createMachine(JSON.parse(await graph({ format: 'xstate' }))).provide({
    actors: Object.fromEntries(names.map((name) => [name, fromCallback(() => {})])),
    guards: {
      hasMoreIterations: (_, params) => iterations++ < (params as { maxIterations: number }).maxIterations,
      hasTransfersLeft: (_, params) => (params as { maxTransfers: number }).maxTransfers === 10,
    },
  });
  let [state] = initialTransition(machine);
  const seen: string[] = [];
  const happens = (type: string) => {
    [state] = transition(machine, state, { type });
    seen.push(JSON.stringify(state.value));
  };
  for (const name of ['researcher', 'skeptic', 'writer', 'critic', 'writer']) happens(`xstate.done.actor.${name}`);
  expect(seen).toEqual([
    '{"gather":{"researcher":"done","skeptic":"running"}}',
    '{"polish":"writer"}',
    '{"polish":"critic"}',
    '{"polish":"writer"}',
    '{"polish":"critic"}',
  ]);
  for (const name of ['critic', 'writer', 'critic']) happens(`xstate.done.actor.${name}`);
  happens('call.helper');
  expect(state.value).toEqual({ team: { leading: { helper: 'running', end: 'idle' } } });
  happens('xstate.done.actor.helper');
  happens('xstate.done.actor.lead');
  happens('transfer_to_agent.billing');
  expect(state.value).toEqual({ desk: 'billing' });
  happens('xstate.done.actor.billing');
  expect(state.status).toBe('done');
});

test('a machine as JSON is the machine again: the same states, and the same events between them', async () => {
  const config = JSON.parse(await graph({ machine: 'session', format: 'xstate' }));
  const again = createMachine(config);
  const shape = (machine: { states: object }) =>
    Object.entries(machine.states).map(([key, state]) => [
      key,
      state.type,
      [...state.transitions].map(([event, list]: [string, { target?: { id: string }[] }[]]) => [
        event,
        list.map(({ target }) => target?.map(({ id }) => id)),
      ]),
    ]);
  expect(config.id).toBe('session');
  expect(shape(again)).toEqual(shape(sessionMachine));
});

test('several machines as JSON are regions of one that can be made', async () => {
  const config = JSON.parse(await graph({ states: true, format: 'xstate' }));
  expect(Object.keys(config.states)).toEqual([
    ...['session', 'toolCall', 'elicitation'],
    ...['sequential', 'parallel', 'loop', 'transfer', 'hierarchical'],
  ]);
  expect(() => createMachine(config)).not.toThrow();
});

test.each(['session', 'loop'])('every state and every transition of the %s machine is drawn', async (name) => {
  const machine = name === 'session' ? sessionMachine : loopMachine;
  const mermaid = await graph({ machine: name });
  const dot = await graph({ machine: name, format: 'dot' });
  const states = Object.values(machine.states) as AnyStateNode[];
  const transitions = [machine.root as AnyStateNode, ...states].flatMap((state) => [
    ...[...state.transitions.values()].flat(),
    ...(state.always ?? []),
  ]);
  for (const { key } of states) expect(mermaid).toContain(`state "${key}" as ${name}__${key}`);
  const labels = [...mermaid.matchAll(/ --> \w+ : (.*)/g)].flatMap(([, label]) => label!.split('<br/>'));
  expect(labels).toHaveLength(transitions.length);
  expect([...dot.matchAll(/ -> .*label="([^"]*)"/g)].flatMap(([, label]) => label!.split('\\n'))).toEqual(labels);
});

test('a drawing of a machine reads like its config: events, guards, actions, beginnings and ends', () => {
  const machine = setup({
    actors: { wind: fromCallback(() => {}) },
    guards: { isOpen: () => true },
    actions: { keep: () => {}, shout: (_, _word: { word: string }) => {} },
  }).createMachine({
    id: 'door',
    initial: 'shut',
    on: { 'door.break': { target: '.gone', actions: { type: 'shout', params: { word: 'crash' } } } },
    states: {
      shut: { always: { guard: 'isOpen', target: 'both' }, on: { 'door.knock': { actions: 'keep' } } },
      both: {
        type: 'parallel',
        states: { left: { initial: 'a', states: { a: {} } }, right: {} },
        invoke: { src: 'wind', onDone: 'gone' },
      },
      gone: { type: 'final' },
    },
  });
  expect(machinesToMermaid([drawMachine(machine)])).toBe(`stateDiagram-v2
  state "door" as door {
    [*] --> door__shut
    state "shut" as door__shut
    state "both<br/>runs wind" as door__both {
      state "left" as door__both__left {
        [*] --> door__both__left__a
        state "a" as door__both__left__a
      }
      --
      state "right" as door__both__right
    }
    state "gone" as door__gone
    door__gone --> [*]
    state "in any of these" as door__anywhere
  }
  door__shut --> door__shut : door.knock / keep
  door__shut --> door__both : at once [isOpen]
  door__both --> door__gone : done of wind
  door__anywhere --> door__gone : door.break / shout(crash)
`);
});

test('only the machines that run the team are drawn', async () => {
  const solo = agent({ name: 'solo', description: 'Alone.' }) as unknown as AgentDefinition;
  const { states } = JSON.parse(await graph({ states: true, format: 'xstate' }, solo));
  expect(Object.keys(states)).toEqual(['session', 'toolCall', 'elicitation']);
  await expect(graph({ machine: 'loop' }, solo)).rejects.toThrow(
    'no machine "loop" in this team: it is run by session, toolCall, elicitation',
  );
});

test('an unknown format is refused, with those that there are', async () => {
  await expect(graph({ format: 'png' })).rejects.toThrow('no format "png": choose one of mermaid, dot, svg, xstate');
});

const review = defineGraph({
  name: 'review',
  nodes: { writer: agent({ name: 'writer' }), count: () => 1, critic: agent({ name: 'critic' }) },
  edges: [
    { from: 'writer', to: 'count' },
    { from: 'count', to: 'critic', guard: () => true, label: 'long enough' },
    { from: 'count', to: 'writer', guard: 'otherwise' },
  ],
  start: 'writer',
  end: 'critic',
  maxSteps: 9,
}) as unknown as AgentDefinition;

test('a graph is drawn with its nodes and edges, as a team and as the machine that runs it', async () => {
  expect(await graph({}, review)).toBe(`flowchart TB
  subgraph t_review["review<br/>graph, at most 9 steps"]
    t_writer["writer<br/>begins"]
    t_count["count<br/>function"]
    t_critic["critic<br/>ends"]
  end
  t_writer --> t_count
  t_count -.->|"long enough"| t_critic
  t_count -.->|"otherwise"| t_writer
`);
  const config = JSON.parse(await graph({ machine: 'review', format: 'xstate' }, review));
  expect(Object.keys(config.states.running.states)).toEqual(['writer', 'count', 'critic']);
  expect(() => createMachine(config)).not.toThrow();
  const statechart = createMachine(JSON.parse(await graph({ format: 'xstate' }, review))).provide({
    actors: Object.fromEntries(['writer', 'count', 'critic'].map((name) => [name, fromCallback(() => {})])),
    guards: { 'long enough': () => false },
  });
  let [state] = initialTransition(statechart);
  for (const type of ['xstate.done.actor.writer', 'xstate.done.actor.count']) {
    [state] = transition(statechart, state, { type });
  }
  expect(state.value).toBe('writer');
});

test('a run that was kept is laid over the team, in every format that draws it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-graph-'));
  const file = join(folder, 'run.jsonl');
  const events = eventList(
    initialize('review'),
    { type: 'agent_started', agentName: 'writer', threadId: 'writer_1', thread: 'writer_1' },
    { type: 'usage', inputTokens: 1_200, outputTokens: 30, cost: { usd: 0.01 }, thread: 'writer_1' },
    { type: 'stream_end', reason: 'completed', thread: 'writer_1' },
    { type: 'agent_started', agentName: 'count', threadId: 'count_2', thread: 'count_2' },
    { type: 'stream_end', reason: 'failed', thread: 'count_2' },
  );
  await writeFile(file, `${events.map((event) => JSON.stringify(event)).join('\n')}\n{"type":"cut o`);
  const mermaid = await graph({ run: file }, review);
  expect(mermaid).toContain('t_writer["writer<br/>begins<br/>completed<br/>1.2k in 30 out · $0.0100 · 2s"]');
  expect(mermaid).toContain('t_count["count<br/>function<br/>failed<br/>1s"]');
  expect(mermaid).toContain('t_critic["critic<br/>ends<br/>has not run"]');
  const svg = await graph({ run: file, format: 'svg' }, review);
  expect(svg).toMatch(/<g class="box is-failed" data-ref="count">/);
  expect(svg).toMatch(/<g class="frame is-running" data-ref="review">/);
  await expect(graph({ run: join(folder, 'none.jsonl') }, review)).rejects.toThrow('there is no such file');
  await writeFile(file, 'hello\n{}\n');
  await expect(graph({ run: file }, review)).rejects.toThrow('run.jsonl:1 is no event of a run');
  await expect(graph({ run: file, states: true }, review)).rejects.toThrow('--run is laid over a team');
  await rm(folder, { recursive: true });
});
