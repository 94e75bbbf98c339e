// What is measured. `kind` says how `run-one.mjs` (or, for import and install, `run.mjs`) takes it; `does` names the
// function of a contender, `units` is how much of the work a run must report to count.
// `must` and `aim`: `floor` and `raw` are ratios of Troupe's figure over theirs, `peers` means below each of them,
// `atMost` is an absolute bound in the row's own unit.
import { CHAIN, CHUNKS, EVENTS, LOOP, TOOL_ROUNDS } from './work.mjs';

const KB = 1024;

export const ROWS = [
  time('single-turn', 'single turn', 'singleTurn', 1, { raw: 2, peers: true }, { raw: 1.5 }),
  time('tool-rounds', '20 tool rounds', 'toolRounds', TOOL_ROUNDS, { raw: 3, peers: true }, { raw: 2 }),
  time('chain', 'chain of 10', 'chain10', CHAIN, { raw: 2, peers: true }, { raw: 1.5 }),
  time('loop', 'loop of 100', 'loop100', LOOP, { raw: 2, peers: true }, { raw: 1.5 }),
  time('chunks', '10,000 chunks', 'chunks10000', CHUNKS, { floor: 4, peers: true }, { floor: 2.5 }),
  fanOut(100, {}, {}),
  fanOut(1_000, { raw: 2, peers: true }, { raw: 1.2 }),
  fanOut(10_000, { raw: 2, peers: true }, { raw: 1.2 }),
  {
    name: 'fan-out-scaling',
    title: 'fan-out 10,000 ÷ 1,000',
    kind: 'quotient',
    of: ['fan-out-10000', 'fan-out-1000'],
    unit: '×',
    must: { atMost: 12 },
    aim: {},
  },
  {
    name: 'block-fan-out',
    title: 'longest block, fan-out 10,000',
    kind: 'block',
    does: 'fanOut',
    input: 10_000,
    units: 10_000,
    unit: 'ms',
    must: { atMost: 50 },
    aim: {},
  },
  {
    name: 'block-abort',
    title: 'longest block, aborting 10,000',
    kind: 'block-abort',
    does: 'liveChildren',
    input: 10_000,
    units: 10_000,
    unit: 'ms',
    must: { atMost: 50 },
    aim: {},
  },
  {
    name: 'idle-memory',
    title: 'idle session, log in a store',
    kind: 'memory',
    does: 'idleMemory',
    unit: 'bytes',
    must: { atMost: 6 * KB },
    aim: { needs: '1 KB when passivated' },
  },
  {
    name: 'idle-memory-log',
    title: 'idle session with its log',
    kind: 'memory',
    does: 'idleMemoryWithLog',
    unit: 'bytes',
    must: {},
    aim: {},
  },
  {
    name: 'growth',
    title: 'turn 1,000 ÷ turn 10',
    kind: 'growth',
    does: 'growth',
    unit: '×',
    must: { atMost: 1.5 },
    aim: { atMost: 1.1 },
  },
  {
    name: 'observers',
    title: 'a run with ten observers ÷ without',
    kind: 'observers',
    does: 'observed',
    unit: '×',
    must: { atMost: 1.1 },
    aim: {},
  },
  {
    name: 'studio-open',
    title: 'a run with Studio open ÷ without',
    kind: 'studio',
    does: 'studioOpen',
    part: 'took',
    unit: '×',
    must: { atMost: 1.05 },
    aim: {},
  },
  {
    name: 'studio-cpu',
    title: 'processor time with Studio open ÷ without',
    kind: 'studio',
    does: 'studioCpu',
    part: 'cpu',
    unit: '×',
    must: {},
    aim: {},
  },
  { name: 'import', title: 'cold import', kind: 'import', unit: 'ms', must: { atMost: 100 }, aim: { atMost: 50 } },
  {
    name: 'install-size',
    title: 'installed',
    kind: 'install',
    part: 'megabytes',
    unit: 'MB',
    must: { atMost: 15 },
    aim: {},
  },
  {
    name: 'install-packages',
    title: 'installed packages',
    kind: 'install',
    part: 'packages',
    unit: '',
    must: { atMost: 30 },
    aim: {},
  },
  time('durable-turns', 'durable turn, file store', 'durableTurn', 1, { floor: 2.5 }, { floor: 1.25 }),
  {
    name: 'durable-together',
    title: 'a durable turn among 64 sessions ÷ alone',
    kind: 'together',
    does: 'durableTogether',
    input: 64,
    unit: '×',
    must: { atMost: 1 / 8 },
    aim: {},
  },
  time('open', 'opening 10,000 events, file store', 'open10000', EVENTS, { floor: 3 }, { floor: 1.5 }),
  {
    name: 'growth-file',
    title: 'turn 1,000 ÷ turn 10, file store',
    kind: 'growth',
    does: 'growthFile',
    unit: '×',
    must: { atMost: 1.5 },
    aim: { atMost: 1.1 },
  },
];

function time(name, title, does, units, must, aim) {
  return { name, title, kind: 'time', does, units, unit: 'µs', must, aim };
}

function fanOut(children, must, aim) {
  const shown = children.toLocaleString('en-US');
  return {
    ...time(`fan-out-${children}`, `fan-out to ${shown}`, 'fanOut', children, must, aim),
    input: children,
  };
}
