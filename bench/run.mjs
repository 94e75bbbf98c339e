// Runs every row for every contender, each in a process of its own, the contenders in turn within a round; prints
// medians, ratios and verdicts; writes results/<date>.json. See README.md.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CONTENDERS } from './contenders.mjs';
import { installed, installedFromSource } from './install-size.mjs';
import { entryOfTroupe, importing, measureInProcess, nodeToUse, root } from './processes.mjs';
import { describe, judge, median, ratiosOf, tables } from './report.mjs';
import { ROWS } from './rows.mjs';

const here = dirname(fileURLToPath(import.meta.url));
/** A cell whose process took longer is not measured again in later rounds. */
const LONG_MS = 25_000;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    cpu: { type: 'boolean', default: false },
    row: { type: 'string', multiple: true },
    contender: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    node: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) {
  console.log(`node bench/start.mjs [--quick] [--row a,b] [--contender a,b] [--rounds n] [--cpu] [--node own|<path>] [--strict]

rows: ${ROWS.map(({ name }) => name).join(', ')}
contenders: ${CONTENDERS.map(({ name }) => name).join(', ')}`);
  process.exit(0);
}

const rounds = Number(options.rounds ?? (options.quick ? 1 : 5));
if (!(Number.isInteger(rounds) && rounds > 0)) refuse(`--rounds ${options.rounds}: a whole number above 0`);
const asked = chosen('row', ROWS);
const rows = ROWS.filter((row) => asked.includes(row) || asked.some(({ of = [] }) => of.includes(row.name)));
const node = nodeToUse(options.node);
const contenders = chosen('contender', CONTENDERS).filter(canRun);
const load = loadavg()[0];

console.log(`Node ${node.version}, ${cpus()[0]?.model.trim()} × ${availableParallelism()}, rounds: ${rounds}`);
if (load > availableParallelism() / 4 && !options.cpu) {
  console.log(`The machine is busy (load ${load.toFixed(1)}): --cpu compares processor time, which is steadier.`);
}

const results = rows.map((row) => ({ row, rounds: {}, cells: {} }));
for (const result of results) await measure(result);
for (const result of results) if (result.row.kind === 'quotient') divide(result);

console.log(`\n${tables(results, contenders)}\n`);
for (const { row, cells } of results) {
  for (const [name, { error }] of Object.entries(cells)) if (error) console.log(`${row.name}, ${name}: ${error}`);
}
console.log(`Written to ${write()}`);
const names = (verdict) =>
  results.filter(({ row, cells }) => judge(row.must, cells) === verdict).map(({ row }) => row.name);
console.log(`must: ${names('ok').length} ok`);
for (const verdict of ['MISSED', 'not measured']) {
  if (names(verdict).length > 0) console.log(`must ${verdict}: ${names(verdict).join(', ')}`);
}
process.exit(options.strict && names('MISSED').length > 0 ? 1 : 0);

function refuse(message) {
  console.error(message);
  process.exit(2);
}

/** What `--row` or `--contender` names (a name, or the beginning of several), in the order of the list. */
function chosen(option, all) {
  const wanted = (options[option] ?? []).flatMap((one) => one.split(',')).filter(Boolean);
  if (wanted.length === 0) return all;
  const names = all.map(({ name }) => name);
  const fits = (name, want) => (names.includes(want) ? name === want : name.startsWith(want));
  for (const want of wanted) {
    if (!names.some((name) => fits(name, want))) refuse(`no ${option} "${want}"; there are: ${names.join(', ')}`);
  }
  return all.filter(({ name }) => wanted.some((want) => fits(name, want)));
}

/** Says why a contender is left out. */
function canRun({ role, title, needsNode = 0 }) {
  if (role === 'ours' && !existsSync(entryOfTroupe)) {
    console.log(`${title} is left out: it is not built (npm run build)`);
    return false;
  }
  if (needsNode <= node.major) return true;
  console.log(`${title} is left out: it needs Node ${needsNode}, and bench brings one only for Linux on x64`);
  return false;
}

/** Fills the cells of one row. */
async function measure(result) {
  const { row } = result;
  if (row.kind === 'quotient') return;
  if (row.kind === 'install') return measureInstall(result);
  if (row.kind === 'import') return measureImport(result);
  for (const { name } of contenders) result.rounds[name] = [];
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      const taken = result.rounds[contender.name];
      const last = taken.at(-1);
      if (last?.missing || last?.error || last?.tookMs > LONG_MS) continue;
      progress(`${row.title}: ${contender.title}, round ${round + 1} of ${rounds}`);
      taken.push(await measureInProcess(node, contender, row, options.quick));
    }
  }
  for (const [name, taken] of Object.entries(result.rounds)) result.cells[name] = summary(taken);
  progress('');
}

function summary(taken) {
  const failed = taken.find(({ error, missing }) => error || missing);
  if (failed) return failed;
  const values = taken.map(figureOf);
  return { value: median(values), least: Math.min(...values), most: Math.max(...values), rounds: taken.length };
}

/** Wall clock, or with `--cpu` processor time where the row has one. */
function figureOf({ value, cpu }) {
  return options.cpu && cpu !== undefined ? cpu : value;
}

/** The median process that imports, less the median process that does nothing. */
async function measureImport(result) {
  const measured = contenders.filter((contender) => contender.package || contender.role === 'ours');
  const taken = Object.fromEntries(['nothing', ...measured.map(({ name }) => name)].map((name) => [name, []]));
  const times = options.quick ? 3 : Math.max(7, rounds);
  // One more than is counted: the first reads the files from disk.
  for (let i = 0; i <= times; i++) {
    progress(`${result.row.title}: ${i} of ${times}`);
    for (const contender of [undefined, ...measured]) {
      const ended = await importing(node, contender);
      if (i > 0) taken[contender?.name ?? 'nothing'].push(ended);
    }
  }
  progress('');
  result.rounds = taken;
  const nothing = median(taken.nothing.map(figureOf));
  for (const { name } of measured) {
    const failed = taken[name].find(({ error }) => error);
    result.cells[name] = failed ?? { value: median(taken[name].map(figureOf)) - nothing };
  }
}

function measureInstall({ row, cells }) {
  for (const contender of contenders) {
    if (contender.role === 'ours') cells[contender.name] = { value: installedFromSource(root)[row.part] };
    else if (contender.package) cells[contender.name] = { value: installed(here, contender.package)[row.part] };
  }
}

/** A row that divides one row's figures by another's. */
function divide({ row, cells }) {
  const [over, under] = row.of.map((name) => results.find((other) => other.row.name === name)?.cells ?? {});
  for (const { name } of contenders) {
    if (over[name]?.value && under[name]?.value) cells[name] = { value: over[name].value / under[name].value };
  }
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function write() {
  const folder = join(here, 'results');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${new Date().toISOString().replaceAll(':', '-').slice(0, 19)}.json`);
  const summarised = results.map(({ row, cells, rounds: taken }) => ({
    name: row.name,
    title: row.title,
    unit: row.unit,
    note: row.note,
    must: { bound: describe(row.must), verdict: judge(row.must, cells) },
    aim: { bound: describe(row.aim), verdict: judge(row.aim, cells) },
    figures: cells,
    ratios: ratiosOf(cells),
    rounds: taken,
  }));
  const time = options.cpu ? 'processor' : 'wall clock';
  const machine = { time, node: node.version, cpu: cpus()[0]?.model.trim(), cores: availableParallelism(), load };
  writeFileSync(file, `${JSON.stringify({ machine, quick: options.quick, rounds, rows: summarised }, null, 2)}\n`);
  return file;
}
