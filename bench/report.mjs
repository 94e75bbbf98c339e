// Verdicts and the two tables.
import { CONTENDERS } from './contenders.mjs';

export const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const byRole = (role) => CONTENDERS.find((contender) => contender.role === role).name;
const OURS = byRole('ours');
const FLOOR = byRole('floor');
const RAW = byRole('raw');
const PEERS = CONTENDERS.filter(({ role }) => role === 'peer').map(({ name }) => name);

/** `cells`: contender → `{ value, … }`. Ratios of our figure over each of the others'. */
export function ratiosOf(cells) {
  const ours = cells[OURS]?.value;
  if (ours === undefined) return {};
  return Object.fromEntries(
    Object.entries(cells)
      .filter(([name, cell]) => name !== OURS && cell.value !== undefined)
      .map(([name, { value }]) => [name, ours / value]),
  );
}

/** One bound against the figures: `ok`, `MISSED`, or undefined where a figure is lacking. */
function judgeBound(kind, bound, ours, ratios) {
  if (kind === 'needs') return undefined;
  if (kind === 'atMost') return ours <= bound;
  if (kind === 'floor') return ratios[FLOOR] === undefined ? undefined : ratios[FLOOR] <= bound;
  if (kind === 'raw') return ratios[RAW] === undefined ? undefined : ratios[RAW] <= bound;
  const seen = PEERS.filter((name) => ratios[name] !== undefined);
  return seen.length === 0 ? undefined : seen.every((name) => ratios[name] < 1);
}

/** A column of spec 10.1 for one row: '' when it asks for nothing. */
export function judge(column, cells) {
  const bounds = Object.entries(column);
  const ours = cells[OURS]?.value;
  if (bounds.length === 0) return '';
  if (ours === undefined) return cells[OURS]?.error === undefined ? 'not measured' : 'MISSED';
  const ratios = ratiosOf(cells);
  const verdicts = bounds.map(([kind, bound]) => judgeBound(kind, bound, ours, ratios));
  if (verdicts.includes(false)) return 'MISSED';
  return verdicts.includes(undefined) ? 'not measured' : 'ok';
}

export function describe(column) {
  const words = {
    floor: (bound) => `≤ ${bound} × by hand`,
    raw: (bound) => `≤ ${bound} × XState`,
    peers: () => 'below every peer',
    atMost: (bound) => `≤ ${bound}`,
    needs: (what) => what,
  };
  return Object.entries(column)
    .map(([kind, bound]) => words[kind](bound))
    .join(', ');
}

const significant = (value, unit) => {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const shown = digits === 0 ? Math.round(value).toLocaleString('en-US') : value.toFixed(digits);
  return unit === '' || unit === '×' ? shown : `${shown} ${unit}`;
};

function shown({ value, missing, error }, unit) {
  if (error !== undefined) return 'failed';
  if (missing || value === undefined) return '–';
  if (unit === 'µs' && value >= 100_000) return significant(value / 1_000, 'ms');
  return significant(value, unit);
}

function layOut(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  ');
  const [head, ...body] = rows.map(line);
  return [head, '─'.repeat(head.length), ...body].join('\n');
}

/** `results`: `[{ row, cells }]`. */
export function tables(results, contenders) {
  const names = contenders.map(({ name }) => name);
  const titles = contenders.map(({ title }) => title);
  const figures = [
    ['median', ...titles],
    ...results.map(({ row, cells }) => [
      row.title,
      ...names.map((name) => (cells[name] ? shown(cells[name], row.unit) : '')),
    ]),
  ];
  const others = contenders.filter(({ role }) => role !== 'ours');
  const ratios = [
    ['Troupe ÷', ...others.map(({ title }) => title), 'must', 'aim', 'must is'],
    ...results.map(({ row, cells }) => {
      const of = ratiosOf(cells);
      const cell = ({ name }) => (of[name] === undefined ? '' : of[name].toFixed(2));
      return [row.title, ...others.map(cell), judge(row.must, cells), judge(row.aim, cells), describe(row.must)];
    }),
  ];
  return `${layOut(figures)}\n\n${layOut(ratios)}`;
}
