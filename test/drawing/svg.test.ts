import { describe, expect, test } from 'vitest';
import { type AnyStateMachine, createMachine } from 'xstate';
import { graphMachine } from '../../compositions/graph.machine.js';
import { hierarchicalMachine } from '../../compositions/hierarchical.machine.js';
import { loopMachine } from '../../compositions/loop.machine.js';
import { parallelMachine } from '../../compositions/parallel.machine.js';
import { sequentialMachine } from '../../compositions/sequential.machine.js';
import { transferMachine } from '../../compositions/transfer.machine.js';
import { elicitationMachine } from '../../machines/elicitation.machine.js';
import { sessionMachine } from '../../machines/session.machine.js';
import { toolCallMachine } from '../../machines/tool-call.machine.js';
import { layOutDrawing, type Place, type PlacedBox } from '../../src/drawing/layout.js';
import { litStates } from '../../src/drawing/lit-states.js';
import { drawMachine } from '../../src/drawing/machine-picture.js';
import { withRun } from '../../src/drawing/overlay.js';
import type { Drawing } from '../../src/drawing/picture.js';
import { toSvg } from '../../src/drawing/svg.js';
import { drawTeam } from '../../src/drawing/team-picture.js';
import { createRunModel } from '../../src/kernel/run-model.js';
import { eventList, initialize } from '../cli/event-list.js';
import { sampleTeam } from '../cli/sample-team.js';
import { tides } from './sample-graph.js';

const pictureOf = (machine: AnyStateMachine): Drawing => {
  const { state, arrows } = drawMachine(machine);
  return { title: machine.id, boxes: [state], arrows };
};

const nested = createMachine({
  id: 'nested',
  type: 'parallel',
  states: {
    lamp: {
      initial: 'off',
      on: { reset: '.off' },
      states: { off: { on: { toggle: 'on' } }, on: { on: { toggle: 'off', dim: {}, brighten: { target: 'on' } } } },
    },
    player: {
      invoke: { src: 'decoder', onDone: '.over', onError: { target: '.over', actions: 'complain' } },
      initial: 'playing',
      states: {
        playing: { initial: 'slow', states: { slow: { always: { guard: 'isHurried', target: 'fast' } }, fast: {} } },
        over: { type: 'final' },
      },
    },
  },
});

const run = createRunModel();
for (const event of eventList(
  initialize('report'),
  { type: 'agent_started', agentName: 'gather', threadId: 'gather_1', thread: 'gather_1' },
  {
    type: 'agent_started',
    agentName: 'researcher',
    threadId: 'gather_1.researcher_1',
    thread: 'gather_1.researcher_1',
  },
  { type: 'usage', inputTokens: 5_000, outputTokens: 120, cost: { usd: 0.02 }, thread: 'gather_1.researcher_1' },
  { type: 'stream_end', reason: 'completed', thread: 'gather_1.researcher_1' },
  { type: 'agent_started', agentName: 'skeptic', threadId: 'gather_1.skeptic_2', thread: 'gather_1.skeptic_2' },
  { type: 'stream_end', reason: 'failed', thread: 'gather_1.skeptic_2' },
)) {
  run.fold(event);
}

const pictures: Record<string, Drawing> = {
  session: pictureOf(sessionMachine),
  'tool-call': pictureOf(toolCallMachine),
  elicitation: pictureOf(elicitationMachine),
  sequential: pictureOf(sequentialMachine),
  parallel: pictureOf(parallelMachine),
  loop: pictureOf(loopMachine),
  transfer: pictureOf(transferMachine),
  hierarchical: pictureOf(hierarchicalMachine),
  graph: pictureOf(graphMachine(tides.descriptor)),
  nested: pictureOf(nested),
  team: drawTeam(sampleTeam),
  'team-run': withRun(drawTeam(sampleTeam), run.model),
  'team-graph': drawTeam(tides),
};

describe.each(Object.entries(pictures))('%s', (name, drawing) => {
  test('it is drawn as it is on record, every time', async () => {
    const svg = await toSvg(drawing);
    await expect(svg).toMatchFileSnapshot(`../golden/${name}.svg`);
    expect(await toSvg(structuredClone(drawing))).toBe(svg);
  });

  test('no label stands on another, on a box or outside of the picture, and no box on another', async () => {
    const { boxes, arrows, width, height } = await layOutDrawing(drawing);
    const labels = arrows.flatMap((arrow) => arrow.labels);
    const leaves = boxes.flatMap(leavesOf);
    const collisions = [
      ...pairs(labels).filter(([one, other]) => overlap(one, other)),
      ...pairs(leaves).filter(([one, other]) => overlap(one, other)),
      ...labels.flatMap((label) => leaves.filter((leaf) => overlap(label, leaf)).map((leaf) => [label, leaf])),
      ...[...labels, ...leaves].filter((one) => !isInside(one, { x: 0, y: 0, width, height })),
    ];
    expect(collisions).toEqual([]);
    for (const box of boxes) expect(looseIn(box)).toEqual([]);
  });

  test('every box and every arrow is there', async () => {
    const svg = await toSvg(drawing);
    const refs = [...svg.matchAll(/data-ref="([^"]*)"/g)].map(([, ref]) => ref);
    const count = (box: Drawing['boxes'][number]): number =>
      1 + (box.boxes ?? []).reduce((sum, one) => sum + count(one), 0);
    expect(refs).toHaveLength(drawing.boxes.reduce((sum, box) => sum + count(box), 0));
    expect(new Set(refs).size).toBe(refs.length);
    expect([...svg.matchAll(/data-from=/g)]).toHaveLength(drawing.arrows.length);
    expect(svg).not.toContain('NaN');
    expect(svg).not.toContain(' d=""');
  });
});

const leavesOf = (box: PlacedBox): PlacedBox[] => (box.boxes.length === 0 ? [box] : box.boxes.flatMap(leavesOf));

/** Inner boxes that are not inside of their frame. */
const looseIn = (box: PlacedBox): PlacedBox[] =>
  box.boxes.flatMap((inner) => [...(isInside(inner, box) ? [] : [inner]), ...looseIn(inner)]);

const overlap = (one: Place, other: Place): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

const isInside = (one: Place, frame: Place): boolean =>
  one.x >= frame.x &&
  one.y >= frame.y &&
  one.x + one.width <= frame.x + frame.width &&
  one.y + one.height <= frame.y + frame.height;

const pairs = <T>(list: readonly T[]): [T, T][] =>
  list.flatMap((one, index) => list.slice(index + 1).map((other): [T, T] => [one, other]));

test('a picture holds no script, loads nothing, and text of any origin is text in it', async () => {
  const hostile = `</text><script>alert(1)</script><image href="javascript:x"/>&"'\u202e\u0000\ud800`;
  const svg = await toSvg({
    title: hostile,
    boxes: [{ id: 'a', ref: hostile, label: [hostile, hostile], boxes: [{ id: 'b', ref: 'b', label: [hostile] }] }],
    arrows: [{ from: 'b', to: 'b', label: [hostile] }],
  });
  expect(svg).not.toMatch(/<(script|image|a|use|foreignObject|style [^>]*src)\b/);
  const plain = svg.replace(/<style>.*<\/style>/, '');
  expect(plain.match(/</g)).toHaveLength(plain.match(/>/g)?.length ?? 0);
  expect(svg).not.toMatch(/[^\P{C}\n]/u);
  expect(plain.replace(/"[^"]*"/g, '')).not.toMatch(/<[^>]*(?:href|src|style|on\w+)=/);
  expect(svg).not.toMatch(/url\(|@import/);
});

test('a name of any length leaves a picture that can be looked at', async () => {
  const long = 'x'.repeat(100_000);
  const svg = await toSvg({
    title: 't',
    boxes: [{ id: 'a', ref: 'a', label: [long, long] }],
    arrows: [{ from: 'a', to: 'a', label: [long] }],
  });
  expect(Number(/width="(\d+)"/.exec(svg)?.[1])).toBeLessThan(1_000);
});

test('states whose names differ in punctuation only are two', () => {
  const machine = createMachine({
    id: 'm',
    initial: 'a-b',
    states: { 'a-b': { on: { go: 'a_b' } }, a_b: {}, a: { initial: 'b', states: { b: {} } } },
  });
  const { state, arrows } = drawMachine(machine);
  const ids = (box: typeof state): string[] => [box.id, ...(box.boxes ?? []).flatMap(ids)];
  expect(new Set(ids(state)).size).toBe(5);
  expect(arrows).toHaveLength(1);
  expect(arrows[0]?.from).not.toBe(arrows[0]?.to);
});

test('lit are the machine, what is active in it, and what that stands in', async () => {
  const lit = litStates('nested', { lamp: 'on', player: { playing: 'slow' } });
  expect(lit).toEqual([
    'nested',
    'nested.lamp',
    'nested.lamp.on',
    'nested.player',
    'nested.player.playing',
    'nested.player.playing.slow',
  ]);
  const svg = await toSvg(pictures.nested as Drawing);
  for (const ref of lit) expect(svg).toContain(`data-ref="${ref}"`);
});

test('a way that leads back is drawn upwards, from where the frame begins', async () => {
  const { boxes } = await layOutDrawing(pictureOf(loopMachine));
  const at = (name: string) => boxes[0]?.boxes.find(({ box }) => box.label[0] === name)?.y ?? 0;
  expect(at('running')).toBeLessThan(at('deciding'));
  expect(at('deciding')).toBeLessThan(at('concluding'));
  expect(at('concluding')).toBeLessThan(at('ended'));
});
