// Measures one row of one contender in this process and prints it as one JSON line that starts with `@@`.
// node --expose-gc run-one.mjs <contender> <row> [--quick]
import { ROWS } from './rows.mjs';

const [, , contenderName, rowName, mode] = process.argv;
const quick = mode === '--quick';
const row = ROWS.find(({ name }) => name === rowName);
const contender = await import(`./contenders/${contenderName}.mjs`);
const make = contender[row.does];

/** Processor time, so that a busy machine shortens nothing. XState itself is at its pace after two seconds only. */
const WARM_UP_MS = quick ? 1_500 : 3_000;
const MEASURE_MS = quick ? 300 : 1_000;
/** An operation that takes longer is measured once, unwarmed: at that length warming up changes nothing. */
const SLOW_MS = 4_000;
const SAMPLE_MS = 10;

const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const elapsed = async (operation) => {
  const from = performance.now();
  const seen = await operation();
  const took = performance.now() - from;
  checkWork(seen);
  return took;
};

function checkWork(seen) {
  if (row.units !== undefined && seen !== row.units) {
    throw new Error(`${contenderName}, ${row.name}: ${seen} of ${row.units} done`);
  }
}

/** µs per operation: wall clock, and processor time of all threads (collector and compiler included). */
async function time() {
  const operation = await make(row.input);
  const before = process.cpuUsage();
  const first = await elapsed(operation);
  if (first > SLOW_MS) return { value: first * 1_000, cpu: usedSince(before), samples: 1 };
  let each = first;
  while (usedSince(before) < WARM_UP_MS * 1_000) each = await elapsed(operation);
  const perSample = Math.max(1, Math.ceil(SAMPLE_MS / each));
  const samples = [];
  const warm = process.cpuUsage();
  while (samples.length < 3 || usedSince(warm) < MEASURE_MS * 1_000) {
    const from = performance.now();
    for (let i = 0; i < perSample; i++) checkWork(await operation());
    samples.push((performance.now() - from) / perSample);
  }
  const cpu = usedSince(warm) / (samples.length * perSample);
  return { value: median(samples) * 1_000, cpu, samples: samples.length };
}

const usedSince = (before) => {
  const { user, system } = process.cpuUsage(before);
  return user + system;
};

/** Longest time, in ms, between two turns of the event loop while `operation` runs. */
async function longestBlock(operation) {
  let longest = 0;
  let last = performance.now();
  let watching = true;
  const look = () => {
    const at = performance.now();
    longest = Math.max(longest, at - last);
    last = at;
    if (watching) setImmediate(look);
  };
  setImmediate(look);
  await new Promise((resolve) => setImmediate(resolve));
  longest = 0;
  last = performance.now();
  const seen = await operation();
  // The turn in which the operation ended counts too.
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  watching = false;
  checkWork(seen);
  return longest;
}

async function block() {
  const warm = await make(row.input / 10);
  for (let i = 0; i < 3; i++) await warm();
  const operation = await make(row.input);
  globalThis.gc();
  const from = performance.now();
  const value = await longestBlock(operation);
  return { value, samples: 1, tookMs: performance.now() - from };
}

async function blockAbort() {
  const start = await make(row.input / 10);
  for (let i = 0; i < 3; i++) await (await start())();
  const abort = await (await make(row.input))();
  globalThis.gc();
  const from = performance.now();
  const value = await longestBlock(abort);
  return { value, samples: 1, tookMs: performance.now() - from };
}

const settledHeap = async () => {
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
};

/** Bytes of heap per session that is held after one turn. */
async function memory() {
  const count = quick ? 1_000 : 3_000;
  const open = await make();
  const warm = [];
  for (let i = 0; i < 300; i++) warm.push(await open());
  const held = new Array(count);
  const before = await settledHeap();
  for (let i = 0; i < count; i++) held[i] = await open();
  const after = await settledHeap();
  if (held.length + warm.length !== count + 300) throw new Error('sessions were lost');
  return { value: (after - before) / count, samples: count };
}

/** Median of turns around the 1,000th over the median of turns around the 10th, both warm. */
async function growth() {
  const start = await make();
  const around = async (turn, from, to, into) => {
    for (let i = 1; i <= to; i++) {
      const before = performance.now();
      await turn();
      if (i >= from) into.push(performance.now() - before);
    }
  };
  const short = async (into) => around(await start(), 6, 15, into);
  const early = [];
  const late = [];
  for (let i = 0; i < 100; i++) await short([]);
  for (let i = 0; i < 30; i++) await short(early);
  await around(await start(), 976, 1_025, late);
  for (let i = 0; i < 30; i++) await short(early);
  return { value: median(late) / median(early), samples: late.length, earlyMs: median(early), lateMs: median(late) };
}

/** Pairs of runs, with and without ten observers, one after the other. */
async function observers() {
  const run = await make();
  const pairs = quick ? 6 : 20;
  const [without, withTen] = [[], []];
  for (let i = 0; i < pairs + 3; i++) {
    const alone = await run(0);
    const observed = await run(10);
    if (i < 3) continue;
    without.push(alone);
    withTen.push(observed);
  }
  return { value: median(withTen) / median(without), samples: pairs, withoutMs: median(without) };
}

/** Pairs of runs, one looked at in Studio and one not. */
async function studio() {
  const run = await make();
  const pairs = quick ? 6 : 25;
  const [alone, shown] = [[], []];
  for (let i = 0; i < pairs + 3; i++) {
    const without = await run(false);
    const within = await run(true);
    if (i < 3) continue;
    alone.push(without);
    shown.push(within);
  }
  const ratioOf = (part) => median(shown.map((one) => one[part])) / median(alone.map((one) => one[part]));
  return { value: ratioOf(row.part), samples: pairs, tookRatio: ratioOf('took'), cpuRatio: ratioOf('cpu') };
}

/** ms per turn of many sessions at once over ms per turn of one, in pairs. */
async function together() {
  const run = await make();
  const [turns, pairs] = quick ? [20, 5] : [50, 15];
  const [alone, among] = [[], []];
  for (let i = 0; i < pairs + 3; i++) {
    const one = (await run(1, turns)) / turns;
    const many = (await run(row.input, turns)) / (turns * row.input);
    if (i < 3) continue;
    alone.push(one);
    among.push(many);
  }
  return { value: median(among) / median(alone), samples: pairs, aloneMs: median(alone), amongMs: median(among) };
}

const kinds = { time, block, 'block-abort': blockAbort, memory, growth, observers, studio, together };

const result = make === undefined ? { missing: true } : await kinds[row.kind]();
process.stdout.write(`\n@@${JSON.stringify(result)}\n`, () => process.exit(0));
